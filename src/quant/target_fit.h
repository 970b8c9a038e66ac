/* target_fit.h - a target as it is for one model and one processor. */
#ifndef QDQ_TARGET_FIT_H
#define QDQ_TARGET_FIT_H

#include "ir/ir.h"
#include "target/target.h"

/* The processor that a model for this target is made for: `asked`, or for QDQ_CPU_AUTO the one that
 * runs. */
qdq_cpu qdq_target_cpu(qdq_cpu asked);

/* The target for this model (qdq_half_follow), with weights whose products do not saturate on this
 * processor, as the target's key `without_vnni` has it, and without the rules for other processors
 * (key `cpu`). Rules for a name hold with QDQ_CPU_AUTO alone, if the processor that runs has it.
 * *out: NULL if nothing is to be changed, else to be freed. */
qdq_status qdq_target_fit(const qdq_model *m, const qdq_target *t, qdq_cpu asked,
                          const qdq_job *job, qdq_target **out, qdq_error *err);

/* The same for a model that is quantized already: only the rules for other processors go. */
qdq_status qdq_target_fit_rules(const qdq_target *t, qdq_cpu asked, qdq_target **out,
                                qdq_error *err);

#endif /* QDQ_TARGET_FIT_H */
