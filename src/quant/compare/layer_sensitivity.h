/* layer_sensitivity.h - the effect of each quantized layer on a model's outputs, from one
 * comparison of all layers: the error that it introduces times its influence. Effects add up, as
 * noise power does. */
#ifndef QDQ_LAYER_SENSITIVITY_H
#define QDQ_LAYER_SENSITIVITY_H

#include "ir/ir.h"
#include "qdq/compare.h"

/* `found` compares g's model with a quantized copy of it. is_layer[node id]: nodes that can be
 * charged. If Q/DQ lie before another node (one that moves data, or a float one that reads a
 * quantized result), the layer before it is charged. Near outputs, the error of the worst slice
 * counts: the scores of a detector may all be lost next to its boxes. Adds noise over signal at the
 * outputs to harm[node id], and the same before influence to error[node id]. */
qdq_status qdq_sensitivity_of_layers(const qdq_graph *g, const qdq_compare_layers_result *found,
                                     const bool *is_layer, double *sensitivity, double *error,
                                     qdq_error *err);

#endif /* QDQ_LAYER_SENSITIVITY_H */
