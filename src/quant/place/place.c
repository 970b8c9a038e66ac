/* place.c - chooses the ways in which a target wants placement to be done: one for nodes that run
 * on codes, and one for those whose weights alone are quantized, which a target or an override may
 * ask for. */
#include "quant/place/place.h"

#include "base/fail.h"
#include "quant/place/place_joins.h"
#include "quant/place/place_state.h"

static qdq_status go(qdq_place_way *way, const qdq_model *m, const qdq_target *t,
                     const qdq_place_opts *opts, qdq_plan *plan, qdq_error *err)
{
    qdq_placing p = {.model = m, .target = t, .opts = opts, .scratch = QDQ_ARENA_INIT};
    qdq_status st = qdq_place_start(&p, err);

    if (st == QDQ_OK)
        st = way(&p, plan, err);
    if (st == QDQ_OK && way != qdq_place_weights)
        st = qdq_place_find_joins(&p, plan, err);
    qdq_map_free(&p.finite);
    qdq_arena_free(&p.scratch);
    return st;
}

static bool overrides_with_weights_alone(const qdq_target *t)
{
    for (size_t i = 0; i < t->overrides.n; i++)
        if (qdq_format_weight_only(&t->overrides.at[i].format))
            return true;
    return false;
}

qdq_status qdq_place(const qdq_model *m, const qdq_target *t, const qdq_place_opts *opts,
                     qdq_plan *plan, qdq_error *err)
{
    qdq_place_opts again = opts != NULL ? *opts : (qdq_place_opts){0};

    qdq_why_find(again.why, m);
    if (qdq_format_weight_only(&t->format))
        return go(qdq_place_weights, m, t, opts, plan, err);
    QDQ_TRY(
        go(t->partitions != NULL ? qdq_place_partitions : qdq_place_chains, m, t, opts, plan, err));
    if (!overrides_with_weights_alone(t))
        return QDQ_OK;
    again.job = NULL; /* what fits no node has been told */
    return go(qdq_place_weights, m, t, &again, plan, err);
}
