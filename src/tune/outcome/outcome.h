/* outcome.h - what a run leaves: reports, and what they are made of. */
#ifndef QDQ_OUTCOME_H
#define QDQ_OUTCOME_H

#include "base/json_write.h"
#include "quant/report/plan_picture.h"
#include "tune/state/tune_state.h"

/* Of units, for state/units.h: into report.json, and what won where into report.html. */
void qdq_tune_put_regions(const qdq_tune_state *t, qdq_json_out j);
void qdq_tune_put_groups(const qdq_tune_state *t, qdq_json_out j);
void qdq_tune_show_patterns(const qdq_tune_state *t, const qdq_tune_candidate *best, qdq_buf *b);
void qdq_tune_show_groups(const qdq_tune_state *t, const qdq_tune_candidate *best, qdq_buf *b);

void qdq_tune_show_front(const qdq_tune_state *t, qdq_buf *b); /* nothing without --pareto */

/* report.json as text: qdq_free(). Out of memory, there is none. */
qdq_status qdq_tune_report_text(const qdq_tune_state *t, char **text, qdq_error *err);

/* report.json, patterns.yaml, report.html */
qdq_status qdq_tune_write_results(qdq_tune_state *t, qdq_error *err);

/* Fills t->out->overruled from plan.json, once the verdict is known. */
qdq_status qdq_tune_find_overruled(qdq_tune_state *t, qdq_error *err);

/* The drawing of what was written, which is `p`: it refers to p and to t. */
qdq_status qdq_tune_draw(qdq_tune_state *t, const qdq_plan *p, qdq_plan_picture *out,
                         qdq_error *err);

/* report.html: what came out, how the search went, what won where. */
qdq_status qdq_tune_write_page(qdq_tune_state *t, qdq_error *err);

#endif /* QDQ_OUTCOME_H */
