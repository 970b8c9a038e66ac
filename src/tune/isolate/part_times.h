/* part_times.h - what a group costs, by the times of nodes and tensors (measure/layer_times.h): in
 * the whole model, or in its part of a model of isolated groups. */
#ifndef QDQ_PART_TIMES_H
#define QDQ_PART_TIMES_H

#include "tune/isolate/bench_model.h"
#include "tune/measure/layer_times.h"

/* us; of a part whose layers cannot be told from another part's, NAN. */
typedef struct qdq_group_time {
    /* kernels of the group's nodes, and their number */
    double own, rows;
    /* Q, DQ and changes of layout of tensors that no other group has */
    double inside;
    /* the same of tensors that another group has, too: if that group is in 8 bits, they share Q and
     * DQ, or need none */
    double border;
    /* kernels of all other nodes: in a part, its neighbours */
    double halo;
} qdq_group_time;

qdq_group_time qdq_group_time_of(const qdq_fusions *f, uint32_t group, const qdq_tune_times *t);

/* Whether the group has other kernels here than there: they compute more of it, or less. */
bool qdq_group_time_differs(const qdq_group_time *here, const qdq_group_time *there);

/* How qdq_parts_time() attributes layers, in keys of stored samples. What changes the times that it
 * gives of the same layers changes this name: samples of before are not read then. */
#define QDQ_PARTS_ATTRIBUTION "layers by groups"

/* Times of all parts, from the engine's n layers of p->model in order of execution. `end_to_end_us`
 * is the latency of a run without profile: what is beyond it, profiling added to each layer; NAN:
 * unknown. `out` has p->n elements. */
qdq_status qdq_parts_time(const qdq_parts *p, const qdq_layer *layer, size_t n,
                          double end_to_end_us, qdq_group_time *out, qdq_error *err);

#endif /* QDQ_PART_TIMES_H */
