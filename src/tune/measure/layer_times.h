/* layer_times.h - where the time of a model goes, by the layers of an engine. */
#ifndef QDQ_TUNE_LAYER_TIMES_H
#define QDQ_TUNE_LAYER_TIMES_H

#include "engine/layer_nodes.h"
#include "qdq/engine.h"

/* The distribution of a model's time over the clean model's nodes, by node id. */
typedef struct qdq_tune_times {
    /* us of the node's kernel, and number of its layers */
    double *own, *rows;
    /* us of conversions next to it; one between two nodes counts for both */
    double *boundary;
    /* by value id: us and number of its conversions; one without a name counts for the output of
     * the kernel before it */
    double *converted, *conversions;
    /* number of layers */
    double n_rows;
    /* us of all layers, and of layers whose nodes are known */
    double sum, known;
    /* part of `known` whose nodes the engine reports, because the names are not enough */
    double reported;
    /* the nodes of most of the time are known */
    bool is_known;
} qdq_tune_times;

/* Computes times of a graph's nodes from layers in order of execution, with or without their nodes.
 * Arrays are in the arena. */
qdq_status qdq_tune_attribute(const qdq_graph *g, const qdq_layer *from, size_t n_layers,
                              qdq_arena *arena, qdq_tune_times *out, qdq_error *err);
/* The same for a graph whose names are known, for several lists of layers. */
qdq_status qdq_tune_attribute_by(const qdq_layer_index *names, const qdq_layer *from,
                                 size_t n_layers, qdq_arena *arena, qdq_tune_times *out,
                                 qdq_error *err);

/* Time of the kernels of n nodes in us; NAN: t is NULL, or the nodes are not known well enough. */
double qdq_tune_kernels_us(const qdq_tune_times *t, const qdq_node *const *node, size_t n);

/* The same in ms, where the whole model takes model_ns. */
double qdq_tune_kernels_ms(const qdq_tune_times *t, const qdq_node *const *node, size_t n,
                           double model_ns);

#endif /* QDQ_TUNE_LAYER_TIMES_H */
