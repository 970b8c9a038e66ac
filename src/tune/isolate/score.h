/* score.h - the cost of an isolated group: attributes the executed layers of a model of several
 * parts to the parts. Layers of the halo do not count; a conversion counts for the tensor that it
 * converts. */
#ifndef QDQ_SCORE_H
#define QDQ_SCORE_H

#include "qdq/engine.h"
#include "tune/isolate/bench_model.h"

typedef struct qdq_part_score {
    /* a layer computes the group, and all its layers have times */
    bool known;
    /* layers with nodes of the group */
    double own_us;
    /* Q and DQ of the plan that are layers of their own */
    double qdq_us;
    /* part of qdq_us: at tensors of other groups, which share them if these are in 8 bits */
    double boundary_qdq_us;
    /* changes of layout or precision between nodes of the group */
    double reformat_us;
    /* layers with neighbours only; added if only one of two scores is `shared` */
    double halo_us;
    /* number of layers with nodes of the group */
    uint32_t layers;
    /* some of them also compute nodes of the halo */
    bool shared;
} qdq_part_score;

/* Computes the scores. `layer` has the engine's n layers of p->model in order of execution.
 * `end_to_end_us` is the latency of a run without profile, which corrects for the overhead of
 * profiling; NAN: unknown. `out` has p->n elements; unknown times are NAN. */
qdq_status qdq_parts_score(const qdq_parts *p, const qdq_layer *layer, size_t n,
                           double end_to_end_us, qdq_part_score *out, qdq_error *err);

/* The layers of a group in the whole model. */
typedef struct qdq_group_layers {
    uint32_t n;
    /* one of them computes nodes of other groups, too */
    bool shared;
    /* while they are counted: the last one, plus one */
    size_t last;
} qdq_group_layers;

/* Counts the layers of each group in n layers of the whole model; by group, in the arena. */
qdq_status qdq_count_group_layers(const qdq_fusions *f, const qdq_layer *whole, size_t n,
                                  qdq_arena *arena, qdq_group_layers **out, qdq_error *err);

/* Whether the group has more layers than in the whole model with the same Q/DQ, or shares a layer
 * with its halo, and none with other groups there. */
bool qdq_part_mismatches(const qdq_part_score *s, const qdq_group_layers *there);

/* Time with all neighbours in float; with all neighbours in 8 bits, it is shorter by
 * boundary_qdq_us. */
static inline double qdq_part_cold_us(const qdq_part_score *s)
{
    return s->own_us + s->qdq_us + s->reformat_us;
}

#endif /* QDQ_SCORE_H */
