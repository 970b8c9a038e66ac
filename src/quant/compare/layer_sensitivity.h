/* layer_sensitivity.h - what quantized layers do to a model's outputs, one by one, from one
 * comparison of all of them: the error that each introduces, times its influence. Adds up, as noise
 * power does. */
#ifndef QDQ_LAYER_SENSITIVITY_H
#define QDQ_LAYER_SENSITIVITY_H

#include "ir/ir.h"
#include "qdq/compare.h"

/* `found` compares g's model with a quantized copy of it. is_layer[node id]: those that can be
 * charged; where Q/DQ stand in front of a node that is none (it moves data, or is float and reads
 * what the layer before it gave as codes), that layer is. Near outputs the error of its worst slice
 * counts: all scores of a detector may be lost beside its boxes. Adds to harm[node id], noise over
 * signal at the outputs, and to error[node id], the same before it counts by influence. */
qdq_status qdq_harm_of_layers(const qdq_graph *g, const qdq_compare_layers_result *found,
                              const bool *is_layer, double *harm, double *error, qdq_error *err);

#endif /* QDQ_LAYER_SENSITIVITY_H */
