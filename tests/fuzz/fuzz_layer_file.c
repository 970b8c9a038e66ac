/* fuzz_layer_file.c - a file with layers from hostile text, and fusion groups from what it says of
 * a model: every node in one of them, or a reason. */
#include <stdlib.h>

#include "engine/layer_file.h"
#include "ir/shape.h"
#include "tune/group/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char model[] =
    "<ir_version: 9, opset_import: [\"\" : 17]>\n"
    "g (float[1,4] x) => (float[1,4] y) <float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}>"
    "{ [a] t = MatMul(x, w) [b] u = Relu(t) [c] v = MatMul(u, w) [d] r = Add(v, t) [e] s = "
    "Softmax(r) [f] y "
    "= Mul(s, u) }";

static void group(const qdq_model *m, const qdq_layer *layer, size_t n)
{
    qdq_fusion_opts opts = {.size = sizeof opts, .max_ops = 1, .min_matched = 1e-9};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_fusion_keys *keys;
    qdq_fusions *f;
    uint32_t covered = 0;

    if (qdq_fusions_find(m, layer, n, &opts, &f, &err) != QDQ_OK) {
        if (err.text[0] == '\0')
            abort();
        return;
    }
    for (uint32_t i = 0; i < f->n; i++)
        covered += f->at[i].n;
    if (covered != f->g.n || qdq_fusion_keys_find(f, &keys, &err) != QDQ_OK)
        abort();
    qdq_fusion_keys_free(keys);
    qdq_fusions_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    qdq_layer *layer;
    size_t n;

    if (qdq_model_from_text(model, "fuzz", &m, &err) != QDQ_OK ||
        qdq_model_infer(m, NULL, &err) != QDQ_OK)
        abort();
    if (qdq_layer_file_parse((const char *)data, size, "fuzz", &layer, &n, &err) == QDQ_OK)
        group(m, layer, n);
    else if (err.text[0] == '\0')
        abort();
    qdq_free(layer);
    qdq_model_free(m);
    return 0;
}
