/* ort_weights.c - the model as ONNX Runtime shall get it. */
#include "engine/ort_session.h"

#include <limits.h>

#include "base/fail.h"

qdq_status qdq_ort_model_bytes(const qdq_ort_api *api, const qdq_model *m, const qdq_job *job,
                               qdq_ort_model *out, qdq_error *err)
{
    (void)api;
    (void)job;
    *out = (qdq_ort_model){0};
    QDQ_TRY(qdq_model_to_bytes(m, &out->bytes, &out->size, err));
    /* The length is narrowed to int inside, and protobuf stops there too. */
    if (out->size > INT_MAX) {
        qdq_free(out->bytes);
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "the model takes %zu bytes in one piece: at most %d are possible", out->size,
                        INT_MAX);
    }
    return QDQ_OK;
}
