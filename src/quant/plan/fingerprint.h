/* fingerprint.h - what a plan calls "the model it was made for". */
#ifndef QDQ_FINGERPRINT_H
#define QDQ_FINGERPRINT_H

#include "ir/ir.h"

/* 32 hexadecimal digits over graph and weights (XXH3, 128 bits), in `arena`. Where the weights are
 * stored, in the file or beside it, makes no difference. `job` may be NULL. */
qdq_status qdq_model_fingerprint(const qdq_model *m, const qdq_job *job, qdq_arena *arena,
                                 const char **out, qdq_error *err);

#endif /* QDQ_FINGERPRINT_H */
