/* place.c - chooses the way in which a target wants placement to be done. */
#include "quant/place.h"

#include "quant/place_state.h"

qdq_status qdq_place(const qdq_model *m, const qdq_target *t, const qdq_place_opts *opts, qdq_plan *plan,
                     qdq_error *err)
{
    qdq_why_find(opts != NULL ? opts->why : NULL, m);
    if (t->partitions != NULL)
        return qdq_place_partitions(m, t, opts, plan, err);
    return qdq_place_chains(m, t, opts, plan, err);
}
