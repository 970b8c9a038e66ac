/* legal_inputs.h - can a part of a model run on random numbers? Inputs of a whole model may be
 * given by its user; those of a part are tensors inside, and an integer there may be an index or a
 * shape. */
#ifndef QDQ_LEGAL_INPUTS_H
#define QDQ_LEGAL_INPUTS_H

#include "tune/extract/group_model.h"

/* *why is "" if the model of `g` runs on what qdq_random_inputs() makes: floats, and integers that
 * are 0 or 1 wherever they are indices of something with two elements, or numbers to compute with;
 * else the reason, in the arena. A type without random numbers and an unknown dim for the
 * usual shapes are reasons, too. */
qdq_status qdq_legal_inputs(const qdq_group_model *g, qdq_arena *arena, const char **why,
                            qdq_error *err);

#endif /* QDQ_LEGAL_INPUTS_H */
