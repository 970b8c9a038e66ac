/* score.h - what an isolated group costs: the layers that an engine executed of a model of several
 * parts, told to the parts, and of those what is theirs. Layers of the halo are not; a conversion
 * counts by what it converts. */
#ifndef QDQ_SCORE_H
#define QDQ_SCORE_H

#include "qdq/engine.h"
#include "tune/isolate/bench_model.h"

typedef struct qdq_part_score {
    bool known;    /* a layer computes the group, and the times of all its layers are known */
    double own_us; /* of layers that compute nodes of the group */
    double qdq_us; /* of Q and DQ that the plan put there and no layer took in */
    /* part of qdq_us: at tensors that another group touches, which would share them in 8
     * bits */
    double boundary_qdq_us;
    double reformat_us; /* changes of layout or precision between nodes of the group */
    /* of layers that compute neighbours alone: to be added where only one of two is `shared` */
    double halo_us;
    uint32_t layers; /* that compute nodes of the group */
    bool shared;     /* some of them compute nodes of the halo, too */
    /* layers are more than in the whole model; qdq_parts_compare() knows it better */
    bool context_mismatch;
} qdq_part_score;

/* `layer`: what an engine says of p->model, in order of execution. `end_to_end_us`: the time of a
 * run without a profile, by which what profiling adds to each layer is taken off; NAN: not known.
 * `out` has p->n places; times of what is not known are NAN. */
qdq_status qdq_parts_score(const qdq_parts *p, const qdq_layer *layer, size_t n,
                           double end_to_end_us, qdq_part_score *out, qdq_error *err);

/* `whole`: layers of the whole model, with Q/DQ as the parts have them, or without. Sets
 * context_mismatch of the scores of p by them, and not by the layers that groups were found from: a
 * group is in more layers than there, or in one with nodes of its halo and there it is in none with
 * nodes of other groups. That of a group that no layer computes there stays. */
qdq_status qdq_parts_compare(const qdq_fusions *f, const qdq_parts *p, const qdq_layer *whole,
                             size_t n, qdq_part_score *score, qdq_error *err);

/* With all neighbours in float; with all of them in 8 bits it is shorter by boundary_qdq_us. */
static inline double qdq_part_cold_us(const qdq_part_score *s)
{
    return s->own_us + s->qdq_us + s->reformat_us;
}

#endif /* QDQ_SCORE_H */
