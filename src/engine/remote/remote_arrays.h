/* remote_arrays.h - arrays and the descriptions of inputs and outputs, on their way between two
 * processes: numbers lie in shared memory, and a row of JSON says what and where they are. */
#ifndef QDQ_REMOTE_ARRAYS_H
#define QDQ_REMOTE_ARRAYS_H

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/shared.h"
#include "qdq/model.h"

/* Copies an array to the first aligned place from *end on, which moves behind it, and adds its row
 * to the list: [name, element type, offset, bytes, dim, ...]. */
qdq_status qdq_remote_array_put(qdq_shared *s, size_t *end, const char *name, const qdq_array *a,
                                qdq_json_out list, qdq_error *err);

/* The array of a row: its numbers are those in the shared memory, its name is in the arena.
 * QDQ_E_FORMAT: that is no such row, or there is no such memory. */
qdq_status qdq_remote_array_get(qdq_shared *s, const json_t *row, qdq_arena *arena,
                                qdq_named_array *out, qdq_error *err);

/* Inputs or outputs of a session: a list of rows [name, element type, rank, [dim, ...], [param or
 * null, ...]]. NULL: no memory. */
json_t *qdq_remote_ios_json(const qdq_io *io, size_t n);

/* In the arena. QDQ_E_FORMAT: that is no such list. */
qdq_status qdq_remote_ios_read(const json_t *list, qdq_arena *arena, qdq_io **out, size_t *n,
                               qdq_error *err);

/* Shapes that inputs are fixed to: [{name, dims}, ...]. NULL: no memory. */
json_t *qdq_remote_shapes_json(const qdq_input_shape *shapes, size_t n);

/* The member `shapes`, in the reader's arena; what is wrong with it is known to the reader. */
qdq_status qdq_remote_shapes_read(const qdq_json_place *p, const qdq_input_shape **out, size_t *n,
                                  qdq_error *err);

#endif /* QDQ_REMOTE_ARRAYS_H */
