/* legal_inputs.h - whether a part of a model can run on random numbers. Inputs of a part are inner
 * tensors of the model, and integers among them may be indices or shapes. */
#ifndef QDQ_LEGAL_INPUTS_H
#define QDQ_LEGAL_INPUTS_H

#include "tune/extract/group_model.h"

/* Sets *why to "" if the model of `g` runs on the arrays of qdq_random_inputs(): floats, and
 * integers 0 or 1 that are values, or indices of at least two elements. Else *why is the reason, in
 * the arena. A type without random numbers, and an unknown dim of the opt shapes, are reasons
 * too. */
qdq_status qdq_legal_inputs(const qdq_group_model *g, qdq_arena *arena, const char **why,
                            qdq_error *err);

#endif /* QDQ_LEGAL_INPUTS_H */
