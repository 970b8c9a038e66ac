/* fuzz_ort_groups.c - graphs that ONNX Runtime says it has made of a model, as hostile text, up to
 * a line "---", and the profile behind it: what their nodes and layers compute are nodes of the
 * model, and no node of a layer came from nowhere. */
#include <stdlib.h>
#include <string.h>

#include "engine/ort/optimized_nodes.h"
#include "engine/ort/ort_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char source[] =
    "<ir_version: 9, opset_import: [\"\" : 17]>\n"
    "g (float[1,4,8,8] x, float[1,4,8,8] z) => (float[1,4,8,8] y)\n"
    "<float[4,4,1,1] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}, float s = {1}, uint8 c = {0}>\n"
    "{ [conv] t = Conv(x, w)\n u = Add(t, z)\n [relu] v = Relu(u)\n q = QuantizeLinear(v, s, c)\n"
    "  d = DequantizeLinear(q, s, c)\n [\"a b/_nchwc\"] p = MaxPool(d)\n y = MaxPool(p) }\n";

static void check_list(const qdq_layer_node_list *l, const qdq_model *m)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i]->graph != m->graph || l->at[i]->dead)
            abort();
}

static void check_nodes(const qdq_model *m, const qdq_model *optimized, qdq_arena *arena)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimized_node *o;
    size_t n;

    if (qdq_optimized_nodes(m->graph, optimized->graph, arena, &o, &n, &err) != QDQ_OK)
        abort();
    for (size_t i = 0; i < n; i++) {
        if (o[i].node->graph != optimized->graph ||
            (o[i].source == QDQ_LAYER_NONE) != (o[i].nodes.n == 0))
            abort();
        check_list(&o[i].nodes, m);
    }
}

static void check_layers(const qdq_model *m, const qdq_model *optimized, char *profile,
                         qdq_arena *arena)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_layer *g = NULL;
    qdq_engine_layer *l;
    unsigned runs;
    size_t n, n_all;

    if (qdq_ort_profile_rows(profile, NULL, arena, &l, &n_all, &runs, &err) != QDQ_OK)
        return;
    n = n_all;
    if (qdq_ort_join_groups(m->graph, optimized->graph, l, &n, arena, &err) != QDQ_OK || n > n_all)
        abort();
    for (size_t i = 0; i < n; i++)
        check_list(&l[i].nodes, m);
    if (qdq_engine_layers_pack(l, n, arena, &g, &n, &err) != QDQ_OK)
        abort();
    qdq_free(g);
}

static qdq_model *load(const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    return qdq_model_from_text(text, "fuzz", &m, &err) == QDQ_OK ? m : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n---\n";
    qdq_arena arena = QDQ_ARENA_INIT;
    char *text = qdq_arena_strndup(&arena, (const char *)data, size);

    if (text == NULL)
        abort();
    char *profile = strstr(text, mark);
    if (profile != NULL)
        *profile = '\0';
    qdq_model *m = load(source), *optimized = load(text);
    if (m == NULL)
        abort();
    if (optimized != NULL) {
        check_nodes(m, optimized, &arena);
        if (profile != NULL)
            check_layers(m, optimized, profile + sizeof mark - 1, &arena);
    }
    qdq_model_free(optimized);
    qdq_model_free(m);
    qdq_arena_free(&arena);
    return 0;
}
