/* compare_run.h - a model compared with others, part by part, into one result: in cross-validation
 * each range of samples is judged by a model of its own. */
#ifndef QDQ_COMPARE_RUN_H
#define QDQ_COMPARE_RUN_H

#include "quant/compare/reference_outputs.h"
#include "quant/half_precision/safe_session.h"

/* A session that is not open yet, as the options of a comparison want it; `which` is for errors. */
qdq_safe_session qdq_compare_session(qdq_engine *e, const qdq_model *m, const qdq_compare_opts *o,
                                     const char *which);

typedef struct qdq_comparing qdq_comparing;

/* Begins a comparison of of->a on the samples that the options ask for; all that `of` points to but
 * the options must outlive it. *out goes to qdq_comparing_free(). */
qdq_status qdq_comparing_begin(const qdq_comparison *of, qdq_comparing **out, qdq_error *err);

/* Runs a and b on samples [first, first + count), counted as in the data; count 0: all that the
 * comparison has. Outputs that are compared are those that a and the first b have in common: a
 * later b that lacks one is QDQ_E_FORMAT. A sample that was there before, or is not of this
 * comparison, is QDQ_E_BUG. */
qdq_status qdq_comparing_add(qdq_comparing *c, const qdq_model *b, size_t first, size_t count,
                             qdq_error *err);

/* Before the first qdq_comparing_add(): model 0 or 1 runs with this level of the engine's
 * optimizations; all, if it is not said. */
void qdq_comparing_set_level(qdq_comparing *c, int model, qdq_opt_level level);

/* Of the samples so far. *out is one block, freed with qdq_free(). */
qdq_status qdq_comparing_get(const qdq_comparing *c, qdq_compare_result **out, qdq_error *err);
void qdq_comparing_free(qdq_comparing *c); /* NULL is allowed */

#endif /* QDQ_COMPARE_RUN_H */
