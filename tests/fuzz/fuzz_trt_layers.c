/* fuzz_trt_layers.c - layer information from hostile text, and its names and metadata against a
 * model: what is found are nodes of that model, each once. */
#include <stdlib.h>

#include "engine/trt/trt_map.h"
#include "ir/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "graph (float[1,4] x) => (float[1,4] y) <float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}> {"
    " [\"/l0/Mat.Mul\"] a = MatMul(x, w) [\"/l0/Relu\"] b = Relu(a) [\"a]b\"] c = Sigmoid(b)"
    " [\"x + y\"] d = Mul(b, c) e = Relu(d) [\"y, z\"] y = Neg(e) }";

static void check(const qdq_trt_layers *l, const qdq_model *m, qdq_arena *arena)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_trt_nodes *nodes = qdq_arena_array(arena, l->n + 1, sizeof *nodes);

    if (nodes == NULL || qdq_trt_map(l, m->graph, arena, nodes, &err) != QDQ_OK)
        abort();
    for (size_t i = 0; i < l->n; i++) {
        if (nodes[i].set > i || nodes[nodes[i].set].set != nodes[i].set ||
            qdq_trt_type(l->at[i].type) == NULL)
            abort();
        (void)qdq_trt_layer_class(&l->at[i]);
        for (size_t k = 0; k < nodes[i].n; k++) {
            if (nodes[i].at[k]->graph != m->graph)
                abort();
            for (size_t j = 0; j < k; j++)
                if (nodes[i].at[j] == nodes[i].at[k])
                    abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_model *m = NULL;
    qdq_trt_layers l;

    if (qdq_model_from_text(text, "fuzz", &m, &err) != QDQ_OK)
        abort();
    if (qdq_trt_layers_parse((const char *)data, size, 0, &arena, &l, &err) == QDQ_OK)
        check(&l, m, &arena);
    else if (err.text[0] == '\0')
        abort();
    qdq_model_free(m);
    qdq_arena_free(&arena);
    return 0;
}
