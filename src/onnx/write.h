/* write.h - what the files of the writer share. Private to write*.c and save.c. */
#ifndef QDQ_WRITE_H
#define QDQ_WRITE_H

#include "onnx/onnx_io.h"
#include "onnx/wire.h"

#include <string.h>

/* The model in wire form, tensor bytes by reference into what the model holds: `m` must outlive
 * *out, which is to be freed with qdq_wire_out_free() in every case. */
qdq_status qdq_onnx_encode(const qdq_model *m, const qdq_onnx_write_opts *opts, qdq_wire_out *out,
                           qdq_error *err);

/* What protobuf readers accept in one piece. */
#define QDQ_MAX_MODEL_BYTES ((uint64_t)INT32_MAX)

/* QDQ_E_UNSUPPORTED where *out is larger; `inside`: all tensors are in it. */
qdq_status qdq_check_model_size(const qdq_wire_out *out, bool inside, qdq_error *err);

/* The options of the writer that out->ctx is. Never NULL. */
const qdq_onnx_write_opts *qdq_writer_opts(const qdq_wire_out *out);

static inline qdq_span qdq_pb_text(const char *s)
{
    return (qdq_span){(const unsigned char *)s, strlen(s)};
}

/* One field each, tag and length included. qdq_emit_type: a qdq_wire_emit for a qdq_type. */
void qdq_emit_type(qdq_wire_out *out, unsigned number, const void *obj);
void qdq_put_tensor(qdq_wire_out *out, unsigned number, const qdq_tensor *t, const char *name,
                    bool is_init);
/* name NULL: the name that its values have. */
void qdq_put_sparse(qdq_wire_out *out, unsigned number, const qdq_sparse *s, const char *name);

#endif /* QDQ_WRITE_H */
