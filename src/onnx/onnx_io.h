/* onnx_io.h - writing models to memory for engines: weights by reference, more outputs; reading a
 * tensor that is a file of its own. The public ways to load and save are in qdq/model.h. */
#ifndef QDQ_ONNX_IO_H
#define QDQ_ONNX_IO_H

#include "base/buf.h"
#include "base/file.h"
#include "ir/ir.h"

/* Where an engine finds a tensor's raw bytes. */
typedef struct qdq_onnx_ref {
    /* relative path, "weights.bin"; lives as long as the writing */
    const char *location;
    uint64_t offset, length;
} qdq_onnx_ref;

/* Asked once for every tensor but strings, in the order in which they are written: true fills *ref,
 * and the tensor is written as external data; false: it is written inline. `is_init`: an
 * initializer, else a tensor in an attribute or part of a sparse one, where few readers expect
 * external data. */
typedef bool qdq_onnx_external_fn(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref);

typedef struct qdq_onnx_write_opts {
    /* NULL: everything is inline */
    qdq_onnx_external_fn *external;
    void *ctx;
    /* values of the main graph that become outputs, too, untyped */
    const char *const *expose;
    size_t n_expose;
    /* the model's own outputs are left out */
    bool only_exposed;
} qdq_onnx_write_opts;

/* Appends the model to `buf`; opts may be NULL. The nodes come in an order that can run. An exposed
 * name that the main graph does not have is QDQ_E_USAGE; one that is an output already is not
 * listed twice. */
qdq_status qdq_onnx_write_to_buf(const qdq_model *m, const qdq_onnx_write_opts *opts, qdq_buf *buf,
                                 qdq_error *err);

/* A model without external data, as it lies in a file, to `path`, as qdq_model_save() writes: whole
 * or not at all, over what is there, whose side file goes, too. */
qdq_status qdq_onnx_save_copy(const qdq_mapping *file, const char *path, const qdq_job *job,
                              qdq_error *err);

/* A file with external data, under the name that the model has for it. */
typedef struct qdq_onnx_part {
    const char *location;
    qdq_mapping *map;
} qdq_onnx_part;

/* Reads the model in `size` bytes at `offset` of a mapped file, with external data from `parts`
 * alone. The location of `model` is the model's path. The model holds what it uses of all these;
 * the caller's references stay the caller's. */
qdq_status qdq_onnx_read_parts(const qdq_onnx_part *model, size_t offset, size_t size,
                               const qdq_onnx_part *parts, size_t n, qdq_model **out,
                               qdq_error *err);

/* Fills *ref if the bytes of `t` lie as they are in a mapped file (a file of external data or the
 * model file itself): the file's base name, and where they are in it. Its folder:
 * qdq_mapping_path(t->owner). */
bool qdq_onnx_mapped_ref(const qdq_tensor *t, qdq_onnx_ref *ref);

/* Reads a file that holds one TensorProto, as ONNX's test data do (input_0.pb). The tensor and the
 * mapped file belong to *holder, an empty model that the caller frees. External data are
 * refused. */
qdq_status qdq_onnx_read_tensor(const char *path, qdq_model **holder, const qdq_tensor **out,
                                qdq_error *err);
/* The same of bytes, which are copied; `name` stands for them in messages. */
qdq_status qdq_onnx_read_tensor_bytes(const void *data, size_t bytes, const char *name,
                                      qdq_model **holder, const qdq_tensor **out, qdq_error *err);

#endif /* QDQ_ONNX_IO_H */
