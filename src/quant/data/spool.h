/* spool.h - samples in a file without a name, for a source that can be read only once. Knows
 * arrays, and no models. One thread at a time. */
#ifndef QDQ_SPOOL_H
#define QDQ_SPOOL_H

#include "qdq/tensor.h"

typedef struct qdq_spool qdq_spool;

/* Samples of `n_arrays` arrays each. The file is in `folder` (NULL: /tmp), needs as much room as
 * the samples do, and is gone with the spool or with the process. */
qdq_status qdq_spool_open(const char *folder, size_t n_arrays, qdq_spool **out, qdq_error *err);
void qdq_spool_close(qdq_spool *s); /* NULL is allowed */

size_t qdq_spool_count(const qdq_spool *s);

/* One more sample. QDQ_E_IO names the folder; the spool is then of no further use. */
qdq_status qdq_spool_add(qdq_spool *s, const qdq_named_array *arrays, qdq_error *err);

/* Type, shape and bytes of each array of sample i, without data; then, in this order, the bytes of
 * each. */
qdq_status qdq_spool_begin(qdq_spool *s, size_t i, qdq_array *shapes, qdq_error *err);
qdq_status qdq_spool_read(qdq_spool *s, void *data, size_t bytes, qdq_error *err);

#endif /* QDQ_SPOOL_H */
