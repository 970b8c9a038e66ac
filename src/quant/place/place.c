/* place.c - chooses the way in which a target wants placement to be done. */
#include "quant/place/place.h"

#include "base/fail.h"
#include "quant/place/place_state.h"

qdq_status qdq_place(const qdq_model *m, const qdq_target *t, const qdq_place_opts *opts, qdq_plan *plan,
                     qdq_error *err)
{
    qdq_why_find(opts != NULL ? opts->why : NULL, m);
    bool weights_alone = qdq_format_weight_only(&t->format);
    qdq_place_opts again = opts != NULL ? *opts : (qdq_place_opts){0};

    if (!weights_alone)
        again.job = NULL; /* what fits no node was told */
    if (!weights_alone)
        QDQ_TRY(t->partitions != NULL ? qdq_place_partitions(m, t, opts, plan, err)
                                      : qdq_place_chains(m, t, opts, plan, err));
    for (size_t i = 0; i < t->overrides.n; i++)
        weights_alone = weights_alone || qdq_format_weight_only(&t->overrides.at[i].format);
    return weights_alone ? qdq_place_weights(m, t, &again, plan, err) : QDQ_OK;
}
