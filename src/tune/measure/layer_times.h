/* layer_times.h - where the time of a model goes, by the layers of an engine. */
#ifndef QDQ_TUNE_LAYER_TIMES_H
#define QDQ_TUNE_LAYER_TIMES_H

#include "ir/ir.h"
#include "qdq/engine.h"

/* Where the time of a model goes, by ids of the clean model's nodes. */
typedef struct qdq_tune_times {
    double *own, *rows; /* us of the node's kernel, and layers that were it */
    double *boundary;   /* of conversions beside it; one between two nodes counts for both */
    /* us and layers of conversions of a value, by its id; of one without a name: of what the kernel
     * before it gives */
    double *converted, *conversions;
    double n_rows; /* layers */
    double sum, known;
    double reported; /* of `known`: whose names say nothing, but whose nodes the engine tells */
    bool is_known;   /* does the profile say of most of the time where it goes? */
} qdq_tune_times;

/* Times of a graph's nodes from layers in order of execution, with their nodes or without. Arrays
 * in the arena. */
qdq_status qdq_tune_attribute(const qdq_graph *g, const qdq_layer *from, size_t n_layers,
                              qdq_arena *arena, qdq_tune_times *out, qdq_error *err);

/* us that the kernels of n nodes take there; NAN: there is no profile (NULL), or it says too
 * little. */
double qdq_tune_kernels_us(const qdq_tune_times *t, const qdq_node *const *node, size_t n);

/* The same in ms, where the whole model takes model_ns. */
double qdq_tune_kernels_ms(const qdq_tune_times *t, const qdq_node *const *node, size_t n,
                           double model_ns);

#endif /* QDQ_TUNE_LAYER_TIMES_H */
