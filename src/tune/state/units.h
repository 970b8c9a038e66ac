/* units.h - the units of decision, as a table of functions: regions of one pattern (region mode),
 * or groups of nodes that the engine computes in one layer (subgraph mode). */
#ifndef QDQ_TUNE_UNITS_H
#define QDQ_TUNE_UNITS_H

#include "base/json_write.h"
#include "report/page.h"
#include "tune/state/tune_state.h"

struct qdq_tune_units {
    /* name in reports */
    const char *mode;
    /* phase of the search over units */
    const char *phase;
    /* words for units and their classes, as in "3 regions of 2 patterns" */
    const char *units, *kinds;
    /* keep the first proposal, and time it at the end */
    bool raw;
    /* Before any measurement: reads the user's files, and opens those of an earlier run (NULL:
     * there are none). */
    qdq_status (*read)(qdq_tune_state *t, qdq_error *err);
    qdq_status (*open)(qdq_tune_state *t, qdq_error *err);
    /* Finds patterns, after the baseline was timed. */
    qdq_status (*find)(qdq_tune_state *t, qdq_error *err);
    /* Time of an assignment in another run, as a fraction of the baseline's; NAN: none. NULL: it is
     * never known. */
    qdq_status (*known_share)(qdq_tune_state *t, const qdq_assign *a, double *out, qdq_error *err);
    /* Before the first trial (e NULL), and after each trial: writes files that other runs read. */
    qdq_status (*learn)(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err);
    /* After the last trial; may be NULL. */
    qdq_status (*finish)(qdq_tune_state *t, qdq_error *err);
    /* Write sections of report.json, and of report.html next to the best placement. */
    void (*put)(const qdq_tune_state *t, qdq_json_out report);
    void (*show)(const qdq_tune_state *t, const qdq_tune_candidate *best, qdq_buf *page);
};

/* The units of a mode; an unknown mode has regions. Defined in tune_units.c. */
const qdq_tune_units *qdq_tune_units_of(qdq_tune_mode mode);

#endif /* QDQ_TUNE_UNITS_H */
