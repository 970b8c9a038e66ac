/* openvino_weights.c - the model as OpenVINO shall get it, with weights by reference.
 *
 * OpenVINO reads a model from memory, but then resolves external data against the working folder
 * and takes no other. Its ONNX reader has one more way, made for ONNX Runtime's execution provider:
 * a location of this name says that the "offset" is an address in this process. So every tensor of
 * some size is written as a reference to where its bytes lie, be it in a mapped file or on the
 * heap: no file is made, no 2 GB limit is met, and the one copy is OpenVINO's own. */
#include <limits.h>

#include "base/fail.h"
#include "engine/openvino/openvino_session.h"
#include "onnx/onnx_io.h"

enum { MIN_EXTERNAL_BYTES = 1024 }; /* shapes and other small constants may as well be inline */

static bool refer(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    (void)ctx;
    if (!is_init || t->storage != QDQ_STORE_BYTES || t->bytes.size < MIN_EXTERNAL_BYTES)
        return false;
    ref->location = "*/_ORT_MEM_ADDR_/*";
    ref->offset = (uint64_t)(uintptr_t)t->bytes.data;
    ref->length = t->bytes.size;
    return true;
}

qdq_status qdq_ov_model_bytes(const qdq_model *m, qdq_buf *out, qdq_error *err)
{
    const qdq_onnx_write_opts opts = {.external = refer};

    QDQ_TRY(qdq_onnx_write_to_buf(m, &opts, out, err));
    if (out->size > INT_MAX)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "the model takes %zu bytes without its weights: openvino takes %d at most",
                        out->size, INT_MAX);
    return QDQ_OK;
}
