/* tune_units.c - regions and fusion groups, as the tables that a run of each mode follows. */
#include "base/fail.h"
#include "tune/candidate/tune_files.h"
#include "tune/greedy/greedy.h"
#include "tune/outcome/outcome.h"
#include "tune/problem/tune_cache_read.h"
#include "tune/problem/tune_known.h"
#include "tune/problem/tune_problem.h"
#include "tune/state/units.h"

static qdq_status learn_regions(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err)
{
    if (e != NULL)
        QDQ_TRY(qdq_tune_remember_share(t, e, err));
    return qdq_tune_learn(t, e, err);
}

/* What was proposed before anything of it was rejected: greedy may go on with a part of it. */
static const qdq_assign *proposed_of(const qdq_tune_state *t, const qdq_search_event *e)
{
    return t->run.proposed != NULL && t->run.proposed->word != NULL ? t->run.proposed
                                                                    : e->candidate;
}

static qdq_status learn_groups(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err)
{
    if (e == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_write_cache(t, e->accepted ? e->candidate : e->incumbent,
                                 e->phase == QDQ_PHASE_DONE, err));
    return e->phase != QDQ_PHASE_START && e->phase != QDQ_PHASE_DONE
               ? qdq_tune_write_raw(t, proposed_of(t, e), err)
               : QDQ_OK;
}

const qdq_tune_units *qdq_tune_units_of(qdq_tune_mode mode)
{
    static const qdq_tune_units regions = {.mode = "region",
                                           .phase = "regions",
                                           .units = "regions",
                                           .kinds = "patterns",
                                           .read = qdq_tune_read_regions,
                                           .find = qdq_tune_name_patterns,
                                           .known_share = qdq_tune_known_share,
                                           .learn = learn_regions,
                                           .finish = qdq_tune_write_patterns,
                                           .put = qdq_tune_put_regions,
                                           .show = qdq_tune_show_patterns};
    static const qdq_tune_units groups = {.mode = "subgraph",
                                          .phase = "groups",
                                          .units = "fusion groups",
                                          .kinds = "kinds",
                                          .raw = true,
                                          .read = qdq_tune_read_layers,
                                          .open = qdq_tune_open_cache,
                                          .find = qdq_tune_find_fusions,
                                          .learn = learn_groups,
                                          .put = qdq_tune_put_groups,
                                          .show = qdq_tune_show_groups};

    return mode == QDQ_TUNE_SUBGRAPH ? &groups : &regions;
}
