/* fingerprint.c - hashes what the writer would write, with large tensors by their content: a model
 * that was only moved to other files keeps its fingerprint. */
#include "quant/plan/fingerprint.h"

#include <inttypes.h>
#include <xxhash.h>

#include "base/fail.h"
#include "ir/pages.h"
#include "onnx/onnx_io.h"

enum { INLINE_MAX = 1024 };

typedef struct hashing {
    XXH3_state_t *weights;
    const qdq_job *job;
    qdq_status status;
    qdq_error *err;
} hashing;

static qdq_status hash_bytes(const hashing *h, qdq_span bytes)
{
    for (size_t at = 0, size; at < bytes.size; at += size) {
        size = bytes.size - at < QDQ_POLL_BYTES ? bytes.size - at : QDQ_POLL_BYTES;
        QDQ_TRY(qdq_job_poll(h->job, h->err));
        XXH3_128bits_update(h->weights, (const char *)bytes.data + at, size);
    }
    return QDQ_OK;
}

static bool hash_tensor(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    hashing *h = ctx;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span bytes = {NULL, 0};
    size_t size = 0;

    (void)is_init;
    if (!qdq_elem_bytes(t->elem, t->count, &size) || size < INLINE_MAX)
        return false;
    *ref = (qdq_onnx_ref){"weights", 0, size};
    if (h->status != QDQ_OK) /* what is written is thrown away: without the weights, it is short */
        return true;
    h->status = qdq_tensor_data(t, &scratch, &bytes, h->err);
    if (h->status == QDQ_OK)
        h->status = hash_bytes(h, bytes);
    qdq_tensor_rest(t);
    qdq_arena_free(&scratch);
    return true;
}

qdq_status qdq_model_fingerprint(const qdq_model *m, const qdq_job *job, qdq_arena *arena,
                                 const char **out, qdq_error *err)
{
    hashing h = {XXH3_createState(), job, QDQ_OK, err};
    qdq_onnx_write_opts opts = {.external = hash_tensor, .ctx = &h};
    qdq_buf graph = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    *out = NULL;
    QDQ_NEED(h.weights != NULL, err);
    XXH3_128bits_reset(h.weights);
    qdq_status st = qdq_onnx_write_to_buf(m, &opts, &graph, err);
    if (h.status != QDQ_OK)
        st = h.status;
    if (st == QDQ_OK) {
        XXH3_128bits_update(h.weights, graph.data, graph.size);
        XXH128_hash_t hash = XXH3_128bits_digest(h.weights);
        *out = qdq_arena_printf(arena, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
                                (uint64_t)hash.low64);
        st = qdq_allocated(*out != NULL, err);
    }
    XXH3_freeState(h.weights);
    qdq_buf_free(&graph);
    return st;
}
