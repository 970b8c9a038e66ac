/* awq.h - weights whose scales are searched by what the activations of samples hold: channels that
 * matter are scaled up (lite), ranges are cut where the products lose least (clip). After AWQ,
 * activation-aware weight quantization (Lin et al., 2023), as Model-Optimizer has it, with blocks
 * along the input channels. */
#ifndef QDQ_AWQ_H
#define QDQ_AWQ_H

#include "quant/calib/quantizing.h"

/* Searches for all weights of q->plan whose method asks for it; fills their `clip` and
 * plan->scalings. One sweep over the samples for all of them, as far as `memory` lets it. Weights
 * that are not matrices behind one activation stay as they are. */
qdq_status qdq_awq(const qdq_quantizing *q, qdq_error *err);

#endif /* QDQ_AWQ_H */
