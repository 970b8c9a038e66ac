/* merge_equal.c - merge-equal: of two nodes that compute the same from the same, the later one
 * goes.
 *
 * One walk in the order of the list, so that chains merge: what a node reads was merged before it.
 * Each graph for itself. DequantizeLinear stays: engines want one for each node that they run in 8
 * bits. */
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "ir/function.h"
#include "opt/opt.h"

enum {
    MAX_ATTRS = 32,    /* nodes with more are not looked at */
    MAX_DATA = 1 << 20 /* bytes of one attribute */
};

#define NONE SIZE_MAX

/* A node that stays, and the next one with the same hash. */
typedef struct seen {
    qdq_node *node;
    size_t next;
} seen;

typedef struct merger {
    qdq_opt *o;
    qdq_functions functions;
    /* lists */
    qdq_arena memory;
    /* for one node */
    qdq_arena scratch;
    /* -> index in `seen` */
    qdq_map by_hash;
    QDQ_VEC(seen) seen;
    /* of one node: what its hash is of */
    QDQ_VEC(uint64_t) words;
    /* data could not be read for it */
    bool nomem;
} merger;

/* --- which nodes ------------------------------------------------------------------------------ */

/* Dropout may draw random numbers, and Identity is drop-identity's business. */
static bool is_mergeable(const merger *m, const qdq_node *n)
{
    return (qdq_op_get_info(n->op)->flags & QDQ_OP_PURE) != 0 && n->op != QDQ_OP_DEQUANTIZELINEAR &&
           n->op != QDQ_OP_DROPOUT && n->op != QDQ_OP_IDENTITY && n->n_attr <= MAX_ATTRS &&
           qdq_functions_callee(&m->functions, n) == QDQ_NO_FUNCTION;
}

/* The two operands may change places, to the last bit. */
static bool commutes(const qdq_node *n)
{
    return n->n_in == 2 && (n->op == QDQ_OP_ADD || n->op == QDQ_OP_MUL || n->op == QDQ_OP_AND ||
                            n->op == QDQ_OP_OR || n->op == QDQ_OP_XOR || n->op == QDQ_OP_EQUAL);
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Attributes of one type are equal when these bytes are; of tensors, the type goes beside. False:
 * an attribute that is not compared. */
static bool content_of(merger *m, const qdq_attr *a, qdq_span *content)
{
    const qdq_attr_type_info *info = qdq_attr_type_get_info(a->type);
    qdq_status st;
    size_t size;

    if (a->ref != NULL) {
        *content = (qdq_span){(const unsigned char *)a->ref, strlen(a->ref)};
        return true;
    }
    if (info->item == QDQ_ATTR_FLOAT || info->item == QDQ_ATTR_INT) {
        *content = (qdq_span){qdq_attr_item(a, 0), qdq_attr_items(a) * info->size};
        return content->size <= MAX_DATA;
    }
    if (a->type == QDQ_ATTR_STRING) {
        *content = a->v.s;
        return true;
    }
    if (a->type != QDQ_ATTR_TENSOR || !qdq_elem_bytes(a->v.t->elem, a->v.t->count, &size) ||
        size > MAX_DATA)
        return false;
    st = qdq_tensor_data(a->v.t, &m->scratch, content, NULL);
    m->nomem |= st == QDQ_E_NOMEM;
    return st == QDQ_OK;
}

static bool has_nan(const qdq_attr *a, qdq_span content)
{
    if (a->ref != NULL)
        return false;
    if (a->type == QDQ_ATTR_TENSOR)
        return qdq_elem_has_nan(a->v.t->elem, content.data, a->v.t->count);
    return (a->type == QDQ_ATTR_FLOAT || a->type == QDQ_ATTR_FLOATS) &&
           qdq_elem_has_nan(QDQ_FLOAT, content.data, (int64_t)a->count);
}

static bool same_attr(merger *m, const qdq_attr *a, const qdq_attr *b)
{
    qdq_span x, y;

    return a->type == b->type && (a->ref == NULL) == (b->ref == NULL) && content_of(m, a, &x) &&
           content_of(m, b, &y) && qdq_span_equal(x, y) &&
           (a->ref != NULL || a->type != QDQ_ATTR_TENSOR || qdq_tensor_same_type(a->v.t, b->v.t));
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool push(merger *m, const void *p)
{
    return QDQ_PUSH(&m->memory, &m->words, (uint64_t)(uintptr_t)p);
}

/* What a node does and reads; attributes in any order. *known false: it has an attribute that is
 * not compared, or holds NaN, which is equal to nothing: thousands of those must not be looked at
 * one by one. */
static bool hash_node(merger *m, const qdq_node *n, uint64_t *hash, bool *known)
{
    bool swap = commutes(n) && (uintptr_t)n->in[0].value > (uintptr_t)n->in[1].value;
    uint64_t sum = 0;

    *known = true;
    for (uint32_t i = 0; i < n->n_attr && *known; i++) {
        const qdq_attr *a = n->attr[i];
        qdq_span content;

        *known = content_of(m, a, &content) && !has_nan(a, content);
        if (*known)
            sum += XXH3_64bits_withSeed(content.data, content.size,
                                        (uint64_t)(uintptr_t)a->name + (uint64_t)a->type);
    }
    m->words.n = 0;
    if (!push(m, n->type) || !push(m, n->domain) || !QDQ_PUSH(&m->memory, &m->words, sum))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (!push(m, n->in[swap ? 1 - i : i].value))
            return false;
    *hash = XXH3_64bits(m->words.at, m->words.n * sizeof *m->words.at);
    return true;
}

static bool same_inputs(const qdq_node *a, const qdq_node *b)
{
    bool same = true;

    for (uint32_t i = 0; i < a->n_in && same; i++)
        same = a->in[i].value == b->in[i].value;
    return same ||
           (commutes(a) && a->in[0].value == b->in[1].value && a->in[1].value == b->in[0].value);
}

/* How many outputs there are can be part of what a node does (Split), so the same ones must be
 * there. */
static bool same_node(merger *m, const qdq_node *a, const qdq_node *b)
{
    if (a->type != b->type || a->domain != b->domain || strcmp(a->overload, b->overload) != 0 ||
        a->n_in != b->n_in || a->n_out != b->n_out || a->n_attr != b->n_attr || !same_inputs(a, b))
        return false;
    for (uint32_t i = 0; i < a->n_out; i++)
        if ((a->out[i] == NULL) != (b->out[i] == NULL))
            return false;
    for (uint32_t i = 0; i < a->n_attr; i++) {
        const qdq_attr *other = qdq_node_attr(b, a->attr[i]->name);

        if (other == NULL || !same_attr(m, a->attr[i], other))
            return false;
    }
    return true;
}

/* *twin: the first node that does the same, else NULL, and n is noted. */
static bool find_twin(merger *m, qdq_node *n, qdq_node **twin)
{
    seen one = {n, NONE};
    qdq_map_value *place;
    uint64_t hash;
    bool known, is_new;

    *twin = NULL;
    if (!hash_node(m, n, &hash, &known))
        return false;
    if (!known)
        return true;
    if ((place = qdq_map_put_int(&m->by_hash, hash, &is_new)) == NULL)
        return false;
    for (size_t i = is_new ? NONE : place->num; i != NONE; i = m->seen.at[i].next)
        if (same_node(m, n, m->seen.at[i].node)) {
            *twin = m->seen.at[i].node;
            return true;
        }
    one.next = is_new ? NONE : place->num;
    place->num = m->seen.n;
    return QDQ_PUSH(&m->memory, &m->seen, one);
}

/* --- merging ---------------------------------------------------------------------------------- */

/* Two outputs of the graph in the same place keep two names. With one output, n becomes Identity,
 * which is less than it was, unless it is a Constant: fold-constants would make that of it
 * again. */
static bool fits(const qdq_node *n, const qdq_node *twin)
{
    for (uint32_t i = 0; i < n->n_out && (n->n_out > 1 || n->op == QDQ_OP_CONSTANT); i++)
        if (n->out[i] != NULL && n->out[i]->n_output > 0 && twin->out[i]->n_output > 0)
            return false;
    return n->n_out > 0;
}

static bool merge(qdq_node *n, qdq_node *twin)
{
    if (n->n_out == 1)
        return qdq_opt_alias(n, twin->out[0]);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && !qdq_value_replace(n->out[i], twin->out[i]))
            return false;
    qdq_node_remove(n);
    return true;
}

static qdq_status merge_graph(merger *m, qdq_graph *g, qdq_error *err)
{
    QDQ_FOR_NODES (n, g) {
        qdq_node *twin;

        if (!is_mergeable(m, n))
            continue;
        qdq_arena_mark mark = qdq_arena_get_loop_mark(&m->scratch);
        bool ok = find_twin(m, n, &twin) && !m->nomem;
        qdq_arena_reset(&m->scratch, mark);
        QDQ_NEED(ok, err);
        if (twin != NULL && fits(n, twin) && qdq_opt_take(m->o, n) && !merge(n, twin))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

static qdq_status walk_all(merger *m, qdq_error *err)
{
    QDQ_NEED(qdq_functions_open(&m->functions, m->o->model, &m->memory), err);
    QDQ_FOR_GRAPHS (g, m->o->model) {
        qdq_map_free(&m->by_hash);
        m->seen.n = 0;
        QDQ_TRY(merge_graph(m, g, err));
    }
    return QDQ_OK;
}

qdq_status qdq_pass_merge_equal(qdq_opt *o, qdq_error *err)
{
    merger m = {.o = o};
    qdq_status st = walk_all(&m, err);

    qdq_functions_close(&m.functions);
    qdq_map_free(&m.by_hash);
    qdq_arena_free(&m.memory);
    qdq_arena_free(&m.scratch);
    return st;
}
