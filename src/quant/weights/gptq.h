/* gptq.h - weights whose codes are chosen one input channel after the other: what rounding a
 * channel loses, the channels after it make up for, as far as the activations of samples let them.
 * After Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
 * Transformers" (arXiv 2210.17323): the error (1) of the products is minimized by the updates (4)
 * and (5), from a Cholesky factor of the inverse Hessian (section 3.3, algorithm 1). */
#ifndef QDQ_GPTQ_H
#define QDQ_GPTQ_H

#include "quant/calib/quantizing.h"

/* Rounds all weights of q->plan whose method asks for it, matrices behind one activation with a
 * scale for each column or in blocks; fills their scales, zero points and codes, and plan->rounded,
 * which says what came of each. One part of the samples' rows makes the Hessian, the other one
 * decides: codes are kept where the products of the held-out rows lose less than with the nearest
 * codes. The matrices that are there at once take at most q->opts->memory bytes; there are as many
 * sweeps over the samples as that needs. Activations are those of the float model. */
qdq_status qdq_gptq(const qdq_quantizing *q, qdq_error *err);

#endif /* QDQ_GPTQ_H */
