/* npz_write.h - arrays into NumPy's .npz, so that another process reads what this one has at
 * hand. */
#ifndef QDQ_NPZ_WRITE_H
#define QDQ_NPZ_WRITE_H

#include "qdq/tensor.h"

/* Writes `n` arrays, not compressed, over what may be at `path`. Types that .npy does not have
 * (bfloat16, 8-bit floats, text, ...) are QDQ_E_UNSUPPORTED. */
qdq_status qdq_npz_write(const char *path, const qdq_named_array *arrays, size_t n, qdq_error *err);

#endif /* QDQ_NPZ_WRITE_H */
