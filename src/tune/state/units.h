/* units.h - what a run decides together, as a table of functions: regions of one pattern
 * (region mode), or groups that the engine computes in one layer (subgraph mode). */
#ifndef QDQ_TUNE_UNITS_H
#define QDQ_TUNE_UNITS_H

#include "base/json_write.h"
#include "report/page.h"
#include "tune/state/tune_state.h"

struct qdq_tune_units {
    const char *mode;          /* as in reports */
    const char *phase;         /* of the search, among units */
    const char *units, *kinds; /* as in "3 regions of 2 patterns" */
    bool raw;                  /* what was proposed first stays, and is timed at the end */
    /* Before anything is measured: what users hand in, and what an earlier run left. */
    qdq_status (*read)(qdq_tune_state *t, qdq_error *err);
    qdq_status (*open)(qdq_tune_state *t, qdq_error *err);
    /* Patterns, once the baseline was timed. */
    qdq_status (*find)(qdq_tune_state *t, qdq_error *err);
    /* A time that another run measured, as a share of the baseline's; NAN: none. */
    qdq_status (*known_share)(qdq_tune_state *t, const qdq_assign *a, double *out, qdq_error *err);
    /* After each trial, and before the first one (NULL): files that other runs read. */
    qdq_status (*learn)(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err);
    /* After the last one. */
    qdq_status (*finish)(qdq_tune_state *t, qdq_error *err);
    /* Into report.json, and into report.html beside the best placement. */
    void (*put)(const qdq_tune_state *t, qdq_json_out report);
    void (*show)(const qdq_tune_state *t, const qdq_tune_candidate *best, qdq_buf *page);
};

/* Those of a mode; one that is none has regions. tune_units.c */
const qdq_tune_units *qdq_tune_units_of(qdq_tune_mode mode);

#endif /* QDQ_TUNE_UNITS_H */
