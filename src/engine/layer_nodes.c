/* layer_nodes.c - names and tensors of engines' layers, told to nodes. Knows engines' habits, but
 * no engine. */
#include "engine/layer_nodes.h"

#include <ctype.h>
#include <string.h>

#include "base/fail.h"
#include "base/words.h"

/* --- the index -------------------------------------------------------------------------------- */

qdq_status qdq_layer_index_make(qdq_layer_index *x, const qdq_graph *g, qdq_arena *arena,
                                qdq_error *err)
{
    *x = (qdq_layer_index){.graph = g, .labels = QDQ_MAP_INIT};
    x->seen = qdq_arena_array(arena, (size_t)g->next_node_id + 1, sizeof *x->seen);
    QDQ_NEED(x->seen != NULL && qdq_graph_map_labels(g, arena, &x->labels), err);
    for (size_t i = 0; i < x->labels.n_entry; i++)
        if (x->labels.entry[i].key_size > x->longest)
            x->longest = x->labels.entry[i].key_size;
    for (size_t i = 0; i < g->values.n; i++) {
        size_t n = g->values.at[i]->dead ? 0 : strlen(g->values.at[i]->name);
        if (n > x->longest)
            x->longest = n;
    }
    return QDQ_OK;
}

void qdq_layer_index_free(qdq_layer_index *x)
{
    qdq_map_free(&x->labels);
}

/* --- one name --------------------------------------------------------------------------------- */

qdq_layer_owner qdq_layer_find(const qdq_layer_index *x, const char *name, size_t size)
{
    const qdq_map_value *at = qdq_map_get_n(&x->labels, name, size);
    qdq_layer_owner o = {0};

    if (at != NULL) {
        o.node = at->ptr;
        return o;
    }
    at = qdq_map_get_n(&x->graph->by_name, name, size);
    o.value = at != NULL ? at->ptr : NULL;
    o.node = o.value != NULL ? o.value->producer : NULL;
    return o;
}

static bool cut_at(char *name, const char *ending)
{
    size_t n = strlen(name), end = strlen(ending);

    if (n <= end || strcmp(name + n - end, ending) != 0)
        return false;
    name[n - end] = '\0';
    return true;
}

/* "_token_12": the name was taken. */
static bool cut_number(char *name)
{
    static const char before[] = "_token_";
    size_t n = strlen(name), digits = 0;

    while (digits < n && isdigit((unsigned char)name[n - 1 - digits]))
        digits++;
    if (digits == 0 || n - digits < sizeof before)
        return false;
    char *at = name + n - digits - (sizeof before - 1);
    if (strncmp(at, before, sizeof before - 1) != 0)
        return false;
    *at = '\0';
    return true;
}

/* "/MatMulAddFusion", "/MatmulTransposeFusion/": what made one node of several. */
static bool cut_fusion(char *name)
{
    static const char ending[] = "Fusion";
    size_t n = strlen(name);

    if (n > 0 && name[n - 1] == '/')
        n--;
    if (n < sizeof ending ||
        strncmp(name + n - (sizeof ending - 1), ending, sizeof ending - 1) != 0)
        return false;
    while (n > 1 && name[n - 1] != '/')
        n--;
    if (n <= 1)
        return false;
    name[n - 1] = '\0';
    return true;
}

/* Those of ONNX Runtime: "_nchwc" for a layout, "_pre_q" for what is quantized now; and our own,
 * around Q and DQ. */
static bool cut_ending(char *name)
{
    const char *const *ending =
        QDQ_WORDS("_nchwc", "/duplicated", "_QuantizeLinear_Output", "_DequantizeLinear_Output",
                  "_QuantizeLinear_Input", "_DynamicQuantizeLinear", "_QuantizeLinear",
                  "_DequantizeLinear", "_pre_q", "_q_to_dq", "_q", "_dq");

    for (; *ending != NULL; ending++)
        if (cut_at(name, *ending))
            return true;
    return cut_fusion(name) || cut_number(name);
}

qdq_layer_owner qdq_layer_find_ending(const qdq_layer_index *x, char *name)
{
    qdq_layer_owner o;

    do
        o = qdq_layer_find(x, name, strlen(name));
    while (o.node == NULL && o.value == NULL && cut_ending(name));
    return o;
}

/* --- several names in one text ---------------------------------------------------------------- */

/* The length of the separator that stands at p, 0 if none does. */
static size_t separator_at(const char *p, const char *const *separators)
{
    for (size_t i = 0; separators[i] != NULL; i++) {
        size_t n = strlen(separators[i]);
        if (n > 0 && strncmp(p, separators[i], n) == 0)
            return n;
    }
    return 0;
}

/* The longest known name that begins at p and ends at a separator or with the text. 0: none; then
 * *piece is how far it is to the first separator. */
static size_t longest_name(const qdq_layer_index *x, const char *p, const char *const *separators,
                           size_t *piece, qdq_layer_owner *owner)
{
    size_t best = 0, i = 0;

    *piece = 0;
    for (bool first = true; i <= x->longest || first; i++) {
        if (p[i] != '\0' && separator_at(p + i, separators) == 0)
            continue;
        if (first)
            *piece = i;
        first = false;
        qdq_layer_owner o = qdq_layer_find(x, p, i);
        if (i > 0 && (o.node != NULL || o.value != NULL)) {
            best = i;
            *owner = o;
        }
        if (p[i] == '\0')
            break;
    }
    return best;
}

qdq_status qdq_layer_split(const qdq_layer_index *x, const char *text,
                           const char *const *separators, qdq_arena *arena, qdq_layer_names *out,
                           qdq_error *err)
{
    const char *p = text;

    while (*p != '\0') {
        qdq_layer_owner owner = {0};
        size_t piece, n = longest_name(x, p, separators, &piece, &owner);
        if (n > 0 && !QDQ_PUSH(arena, &out->known, owner))
            return qdq_nomem(err);
        out->n_unknown += n == 0 && piece > 0;
        p += n > 0 ? n : piece;
        p += separator_at(p, separators);
    }
    return QDQ_OK;
}

/* --- kernels ---------------------------------------------------------------------------------- */

bool qdq_layer_is_conversion(const char *op, const qdq_node *node)
{
    return QDQ_WORD_IS_IN(op, "QuantizeLinear", "DequantizeLinear", "ReorderInput", "ReorderOutput",
                          "Transpose", "Cast", "MemcpyFromHost", "MemcpyToHost", "Reformat") &&
           (node == NULL || strcmp(node->type, op) != 0);
}

bool qdq_layer_is_core(const char *op, const qdq_node *node)
{
    return strstr(op, node->type) != NULL;
}

bool qdq_layer_is_movement(const qdq_node *n)
{
    return QDQ_OP_IS_IN(n->op, QDQ_OP_RESHAPE, QDQ_OP_TRANSPOSE, QDQ_OP_SQUEEZE, QDQ_OP_UNSQUEEZE,
                        QDQ_OP_FLATTEN, QDQ_OP_IDENTITY, QDQ_OP_SLICE, QDQ_OP_SPLIT, QDQ_OP_CONCAT);
}

static const qdq_node *core_of(const char *op, const qdq_node *called, const qdq_node *n,
                               const bool *named, int depth)
{
    if (qdq_layer_is_core(op, n))
        return n == called || !named[n->id] ? n : NULL;
    for (uint32_t i = 0; i < n->n_in && depth > 0; i++) {
        const qdq_value *v = qdq_node_in(n, i);
        const qdq_node *from = v != NULL ? v->producer : NULL;
        const qdq_node *core = from != NULL && from->graph == n->graph
                                   ? core_of(op, called, from, named, depth - 1)
                                   : NULL;
        if (core != NULL)
            return core;
    }
    return NULL;
}

const qdq_node *qdq_layer_core(const char *op, const qdq_node *node, const bool *named)
{
    const int longest = 4; /* an epilogue of Add and an activation of three nodes */

    return core_of(op, node, node, named, longest);
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* Computed before anything runs, as engines do: but what quantizes a constant says in which type it
 * is used. */
static bool is_folded(const qdq_node *n)
{
    if (n->op == QDQ_OP_CONSTANT)
        return true;
    if (n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR || n->n_in == 0)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (qdq_node_in(n, i) != NULL && qdq_node_const(n, i) == NULL)
            return false;
    return true;
}

static bool push(qdq_layer_index *x, const qdq_value *v, qdq_arena *arena, qdq_layer_node_list *out)
{
    const qdq_node *n = v->producer;

    if (n == NULL || n->graph != x->graph || is_folded(n) || x->seen[n->id] == x->slices)
        return true;
    x->seen[n->id] = x->slices;
    return QDQ_PUSH(arena, out, n);
}

static void reverse(const qdq_node **at, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const qdq_node *other = at[n - 1 - i];
        at[n - 1 - i] = at[i];
        at[i] = other;
    }
}

qdq_status qdq_layer_slice(qdq_layer_index *x, const qdq_value *const *to, size_t n_to,
                           const bool *given, qdq_arena *arena, qdq_layer_node_list *out,
                           qdq_error *err)
{
    const size_t first = out->n;

    x->slices++;
    for (size_t i = 0; i < n_to; i++)
        QDQ_NEED(push(x, to[i], arena, out), err);
    /* what is appended is looked at in its turn */
    for (size_t next = first; next < out->n; next++) {
        const qdq_node *n = out->at[next];
        for (uint32_t i = 0; i < n->n_in; i++) {
            const qdq_value *v = qdq_node_in(n, i);
            if (v != NULL && v->graph == x->graph && !given[v->id] && !push(x, v, arena, out))
                return qdq_nomem(err);
        }
    }
    if (out->n > first)
        reverse(out->at + first, out->n - first);
    return QDQ_OK;
}
