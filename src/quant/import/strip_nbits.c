/* strip_nbits.c - MatMulNBits and GatherBlockQuantized as MatMul, Gemm and Gather that read a
 * DequantizeLinear in blocks: the inverse of insert_nbits.c, where the layouts are described. What
 * reads and removes DequantizeLinear does the rest.
 *
 * The file does not say what a product was. With a bias and data of rank 2 it becomes a Gemm with
 * transB, with a bias and other data MatMul and Add, without one a MatMul. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/words.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/qdq_node.h"
#include "ir/shape.h"
#include "quant/import/strip.h"

/* A weight that was taken out of products and tables; others that share it find it again. */
typedef struct packed {
    qdq_value *codes, *scales, *zeros;
    /* [N, K] */
    bool columns;
    /* k: of a table, the dimension along which blocks lie */
    int64_t k, block, level;
    qdq_node *dq;
} packed;

/* B of a MatMulNBits: N columns of K codes in blocks. */
typedef struct product {
    int64_t k, n, block, n_block;
    unsigned bits;
    /* zeros NULL: the middle of the codes */
    const qdq_tensor *codes, *scales, *zeros;
} product;

/* A product whose bias waits for the rank of its data. */
typedef struct biased {
    qdq_node *n;
    qdq_value *bias;
    product weight;
    packed from;
} biased;

typedef struct apart {
    qdq_model *m;
    qdq_map *levels;
    qdq_leftover *left;
    qdq_arena scratch;
    QDQ_VEC(packed) known;
    QDQ_VEC(biased) biased;
    /* address of the codes, and the layout -> the last entry of `known` for it */
    qdq_map by_codes;
    qdq_error *err;
} apart;

/* --- MatMulNBits ------------------------------------------------------------------------------ */

/* What keeps the node from being read; NULL: nothing. */
static const char *read_product(const qdq_node *n, product *p)
{
    int64_t bits = qdq_node_int(n, "bits", 4);

    *p = (product){.k = qdq_node_int(n, "K", 0),
                   .n = qdq_node_int(n, "N", 0),
                   .block = qdq_node_int(n, "block_size", 0),
                   .bits = (unsigned)bits,
                   .codes = qdq_node_const(n, 1),
                   .scales = qdq_node_const(n, 2),
                   .zeros = qdq_node_const(n, 3)};
    if (qdq_node_in(n, 0) == NULL || qdq_node_out(n, 0) == NULL)
        return "it has no input or no output";
    if (bits != 4 && bits != 8)
        return "its codes do not have 4 or 8 bits";
    if (p->codes == NULL || p->scales == NULL || (p->zeros == NULL && qdq_node_in(n, 3) != NULL))
        return "its weight is not constant";
    if (qdq_node_in(n, 4) != NULL)
        return "its blocks are in another order";
    if (qdq_node_int(n, "weight_prepacked", 0) != 0)
        return "its weight is packed for one kernel";
    if (p->codes->elem != QDQ_UINT8 || p->codes->rank != 3 || p->codes->count == 0 ||
        p->codes->dim[0] != p->n || p->codes->dim[2] > INT32_MAX ||
        p->codes->dim[2] * 8 / bits != p->block)
        return "its codes do not have the shape that N, K and block_size say";
    p->n_block = p->codes->dim[1];
    if (p->k < 1 || (p->k - 1) / p->block != p->n_block - 1)
        return "its codes do not have the shape that N, K and block_size say";
    if (p->scales->count != p->n * p->n_block)
        return "it has not as many scales as blocks";
    if (p->zeros != NULL &&
        (p->zeros->elem != QDQ_UINT8 || p->zeros->count != p->n * ((p->n_block * bits + 7) / 8)))
        return "its zero points are not codes, one for each block";
    return NULL;
}

static int64_t code_in(const unsigned char *bytes, unsigned bits, int64_t i)
{
    return bits == 8 ? bytes[i] : bytes[i / 2] >> (i % 2 * 4) & 15;
}

static qdq_elem type_of_codes(const product *p)
{
    if (p->bits == 4)
        return p->zeros != NULL ? QDQ_UINT4 : QDQ_INT4;
    return p->zeros != NULL ? QDQ_UINT8 : QDQ_INT8;
}

/* A tensor that is filled by row and column. */
typedef struct matrix {
    qdq_tensor *t;
    int64_t step_row, step_column;
    void *data;
} matrix;

/* Of `rows` rows for each of N columns, or transposed. */
static qdq_status new_matrix(apart *a, const product *p, qdq_elem elem, int64_t rows, bool columns,
                             matrix *out)
{
    const int64_t dim[2] = {columns ? p->n : rows, columns ? rows : p->n};

    *out = (matrix){.step_row = columns ? 1 : p->n, .step_column = columns ? rows : 1};
    out->t = qdq_tensor_new(a->m, elem, 2, dim, &out->data);
    return qdq_allocated(out->t != NULL, a->err);
}

static void put_code(const matrix *m, int64_t row, int64_t column, int64_t code)
{
    qdq_elem_put_int(m->t->elem, m->data, row * m->step_row + column * m->step_column, code);
}

static qdq_status unpack_codes(apart *a, const product *p, bool columns, qdq_tensor **out)
{
    const int64_t blob = p->codes->dim[2],
                  middle = p->zeros != NULL ? 0 : (int64_t)1 << (p->bits - 1);
    qdq_span from;
    matrix to;

    QDQ_TRY(qdq_tensor_data(p->codes, &a->scratch, &from, a->err));
    QDQ_TRY(new_matrix(a, p, type_of_codes(p), p->k, columns, &to));
    for (int64_t n = 0; n < p->n; n++)
        for (int64_t k = 0; k < p->k; k++) {
            const unsigned char *block = from.data + (n * p->n_block + k / p->block) * blob;

            put_code(&to, k, n, code_in(block, p->bits, k % p->block) - middle);
        }
    *out = to.t;
    return QDQ_OK;
}

static qdq_status unpack_scales(apart *a, const product *p, bool columns, qdq_tensor **out)
{
    size_t size = qdq_elem_bits(p->scales->elem) / 8;
    qdq_span from;
    matrix to;

    QDQ_TRY(qdq_tensor_data(p->scales, &a->scratch, &from, a->err));
    QDQ_TRY(new_matrix(a, p, p->scales->elem, p->n_block, columns, &to));
    for (int64_t n = 0; n < p->n; n++)
        for (int64_t b = 0; b < p->n_block; b++)
            memcpy((char *)to.data + (size_t)(b * to.step_row + n * to.step_column) * size,
                   from.data + (size_t)(n * p->n_block + b) * size, size);
    *out = to.t;
    return QDQ_OK;
}

/* Those of each column begin with a byte of their own. */
static qdq_status unpack_zeros(apart *a, const product *p, bool columns, qdq_tensor **out)
{
    const int64_t row = (p->n_block * p->bits + 7) / 8;
    qdq_span from;
    matrix to;

    *out = NULL;
    if (p->zeros == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_tensor_data(p->zeros, &a->scratch, &from, a->err));
    QDQ_TRY(new_matrix(a, p, type_of_codes(p), p->n_block, columns, &to));
    for (int64_t n = 0; n < p->n; n++)
        for (int64_t b = 0; b < p->n_block; b++)
            put_code(&to, b, n, code_in(from.data + n * row, p->bits, b));
    *out = to.t;
    return QDQ_OK;
}

/* --- signs ------------------------------------------------------------------------------------ */

/* Codes, scales and zero points as DequantizeLinear takes them, whose scales are above 0: ONNX
 * Runtime's tool gives the largest weight of a block the lowest code, with a scale below 0 if that
 * weight is. Codes counted from the other end mean the same; signed ones become unsigned ones, so
 * that they have an end of the same distance. */
static qdq_status count_from_above(apart *a, qdq_tensor *t[3], const float *scale,
                                   const qdq_scale_grid *g)
{
    const unsigned bits = qdq_elem_bits(t[0]->elem);
    const int64_t top = (1 << bits) - 1,
                  middle = t[0]->elem == QDQ_INT4 || t[0]->elem == QDQ_INT8 ? 1 << (bits - 1) : 0;
    const qdq_elem elem = bits == 4 ? QDQ_UINT4 : QDQ_UINT8;
    qdq_span from, zero = {NULL, 0};
    void *to[3];
    qdq_tensor *out[3];
    int64_t i = 0;

    QDQ_TRY(qdq_tensor_data(t[0], &a->scratch, &from, a->err));
    if (t[2] != NULL)
        QDQ_TRY(qdq_tensor_data(t[2], &a->scratch, &zero, a->err));
    for (size_t k = 0; k < 3; k++)
        QDQ_NEED((out[k] = qdq_tensor_new(a->m, k == 1 ? t[1]->elem : elem, t[k == 0 ? 0 : 1]->rank,
                                          t[k == 0 ? 0 : 1]->dim, &to[k])) != NULL,
                 a->err);
    for (size_t o = 0; o < g->c.outer; o++)
        for (size_t k = 0; k < g->c.channels; k++)
            for (size_t j = 0; j < g->c.inner; j++, i++) {
                int64_t code = qdq_elem_int(t[0]->elem, from.data, i) + middle;
                bool flip = scale[qdq_scale_at(g, o, k, j)] < 0;

                qdq_elem_put_int(elem, to[0], i, flip ? top - code : code);
            }
    for (i = 0; i < t[1]->count; i++) {
        int64_t code = middle + (t[2] != NULL ? qdq_elem_int(t[2]->elem, zero.data, i) : 0);

        qdq_elem_put_float(t[1]->elem, to[1], i, fabs((double)scale[i]));
        qdq_elem_put_int(elem, to[2], i, scale[i] < 0 ? top - code : code);
    }
    memcpy(t, out, sizeof out);
    return QDQ_OK;
}

static qdq_status make_positive(apart *a, qdq_tensor *t[3], int64_t axis, int64_t block)
{
    bool any = false;
    qdq_scale_grid g;
    float *scale;

    if (axis < 0 || axis >= t[0]->rank || block < 1 || !qdq_elem_is_float(t[1]->elem) ||
        t[0]->count == 0)
        return QDQ_OK; /* for others to refuse */
    g = qdq_scale_grid_of(t[0], (int)axis, block);
    if ((size_t)t[1]->count != qdq_scale_count(&g) ||
        (t[2] != NULL && (t[2]->count != t[1]->count || t[2]->elem != t[0]->elem)))
        return QDQ_OK;
    QDQ_TRY(qdq_tensor_floats(t[1], &a->scratch, &scale, a->err));
    for (int64_t i = 0; i < t[1]->count; i++)
        any |= scale[i] < 0;
    return any ? count_from_above(a, t, scale, &g) : QDQ_OK;
}

/* --- DequantizeLinear ------------------------------------------------------------------------- */

const char *qdq_strip_name_of_codes(qdq_graph *g, const char *name, qdq_arena *scratch)
{
    static const char *const suffixes[] = {"_quantized", "_Q4", "_Q8"};
    size_t size = strlen(name), end = size;

    while (end > 0 && strchr("0123456789", name[end - 1]) != NULL)
        end--;
    if (end > 0 && end < size && name[end - 1] == '_')
        size = end - 1;
    for (size_t i = 0; i < QDQ_COUNT(suffixes); i++) {
        size_t n = strlen(suffixes[i]);

        if (size <= n || strncmp(name + size - n, suffixes[i], n) != 0)
            continue;
        name = qdq_arena_printf(scratch, "%.*s_quantized", (int)(size - n), name);
        break;
    }
    return name != NULL ? qdq_graph_unique_name(g, name) : NULL;
}

static qdq_value *add_weight_init(apart *a, qdq_graph *g, const char *base, qdq_tensor *t)
{
    const char *name = t != NULL ? qdq_strip_name_of_codes(g, base, &a->scratch) : NULL;

    return name != NULL ? qdq_graph_add_init(g, name, t) : NULL;
}

/* A DQ node before n; `in` are codes, scales, and zero points or NULL. */
static qdq_status add_dq(apart *a, qdq_node *n, qdq_value *const in[3], int64_t axis, int64_t block,
                         qdq_node **out)
{
    const char *name =
        in[0] != NULL && in[1] != NULL ? qdq_graph_unique_name(n->graph, "dequantized") : NULL;

    *out = name != NULL ? qdq_graph_add_node(n->graph, n, "", "DequantizeLinear", "", 3, 1, &name)
                        : NULL;
    QDQ_NEED(*out != NULL, a->err);
    for (uint32_t i = 0; i < 3; i++)
        qdq_node_set_in(*out, i, in[i]);
    qdq_node_trim_in(*out);
    return qdq_allocated(qdq_node_set_int(*out, "axis", axis) &&
                             qdq_node_set_int(*out, "block_size", block),
                         a->err);
}

/* Scales that are no numbers for DQ: it goes again, and *why says so. */
static qdq_status check_dq(apart *a, qdq_node **dq, const char **why)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&a->scratch);
    qdq_params p;

    QDQ_TRY(qdq_params_read(*dq, qdq_node_const(*dq, 0), &a->scratch, &p, why, a->err));
    qdq_arena_reset(&a->scratch, mark);
    if (*why == NULL)
        return QDQ_OK;
    for (uint32_t i = 0; i < (*dq)->n_in; i++)
        qdq_node_drop_in(*dq, i);
    qdq_node_remove(*dq);
    *dq = NULL;
    return QDQ_OK;
}

static bool is_same(const packed *x, const packed *y, const qdq_graph *g)
{
    return x->codes == y->codes && x->scales == y->scales && x->zeros == y->zeros && x->k == y->k &&
           x->block == y->block && x->level == y->level && x->columns == y->columns &&
           x->dq->graph == g;
}

static qdq_map_value *place_of(apart *a, const packed *key)
{
    return qdq_map_put_int(&a->by_codes, (uint64_t)(uintptr_t)key->codes + key->columns, NULL);
}

static bool remember_packed(apart *a, packed *p)
{
    qdq_map_value *place = place_of(a, p), *level;

    level = qdq_map_put_int(a->levels, (uint64_t)(uintptr_t)p->dq, NULL);
    if (place == NULL || level == NULL || !QDQ_PUSH(&a->scratch, &a->known, *p))
        return false;
    place->num = a->known.n;
    level->num = (uint64_t)p->level + 1;
    return true;
}

/* key->dq becomes the DQ that stands for the same weight in this graph already, or NULL. */
static bool recall_packed(apart *a, packed *key, const qdq_graph *g)
{
    qdq_map_value *place = place_of(a, key);

    if (place != NULL && place->num > 0 && is_same(&a->known.at[place->num - 1], key, g))
        key->dq = a->known.at[place->num - 1].dq;
    return place != NULL;
}

/* What DQ reads: codes, scales, zero points or NULL. */
static qdq_status new_dq(apart *a, qdq_node *n, packed *key, qdq_tensor *t[3], int64_t axis,
                         const char **why)
{
    qdq_value *in[3] = {NULL};
    qdq_value *const names[3] = {key->codes, key->scales,
                                 key->zeros != NULL ? key->zeros : key->scales};

    QDQ_TRY(make_positive(a, t, axis, key->block));
    for (size_t i = 0; i < 3; i++)
        if (t[i] != NULL && (in[i] = add_weight_init(a, n->graph, names[i]->name, t[i])) == NULL)
            return qdq_nomem(a->err);
    QDQ_TRY(add_dq(a, n, in, axis, key->block, &key->dq));
    QDQ_TRY(check_dq(a, &key->dq, why));
    return qdq_allocated(*why != NULL || remember_packed(a, key), a->err);
}

/* The weight of n as [K, N] or, `columns`, [N, K]. *why: it is none. */
static qdq_status weight_of(apart *a, qdq_node *n, const product *p, packed *key, const char **why)
{
    qdq_tensor *t[3];

    QDQ_NEED(recall_packed(a, key, n->graph), a->err);
    if (key->dq != NULL)
        return QDQ_OK;
    QDQ_TRY(unpack_codes(a, p, key->columns, &t[0]));
    QDQ_TRY(unpack_scales(a, p, key->columns, &t[1]));
    QDQ_TRY(unpack_zeros(a, p, key->columns, &t[2]));
    return new_dq(a, n, key, t, key->columns ? 1 : 0, why);
}

/* The table of n. */
static qdq_status table_of(apart *a, qdq_node *n, packed *key, const char **why)
{
    const qdq_tensor *from[3] = {qdq_node_const(n, 0), qdq_node_const(n, 2), qdq_node_const(n, 3)};
    qdq_tensor *t[3] = {NULL};

    QDQ_NEED(recall_packed(a, key, n->graph), a->err);
    if (key->dq != NULL)
        return QDQ_OK;
    for (size_t i = 0; i < 3; i++)
        if (from[i] != NULL && (t[i] = qdq_tensor_view(a->m, from[i], from[i]->elem, from[i]->rank,
                                                       from[i]->dim)) == NULL)
            return qdq_nomem(a->err);
    return new_dq(a, n, key, t, key->k, why);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static int64_t level_of(const qdq_node *n)
{
    int64_t level = qdq_node_int(n, "accuracy_level", 0);

    return level >= 0 && level <= 4 ? level : 0;
}

static void drop_inputs(qdq_node *n, uint32_t first)
{
    for (uint32_t i = first; i < n->n_in; i++)
        qdq_node_set_in(n, i, NULL);
    qdq_node_trim_in(n);
}

static bool become_operator(qdq_node *n, const char *type)
{
    const char *const *attr = QDQ_WORDS("K", "N", "bits", "block_size", "accuracy_level",
                                        "weight_prepacked", "gather_axis", "quantize_axis");

    for (; *attr != NULL; attr++)
        qdq_node_remove_attr(n, *attr);
    return qdq_node_set_type(n, "", type);
}

/* n as MatMul. Its bias, if any, is for later: what it becomes depends on ranks, which inference
 * finds in graphs without these operators. */
static qdq_status split_product(apart *a, qdq_node *n, const char **why)
{
    biased b = {.n = n, .bias = qdq_node_in(n, 5)};

    *why = read_product(n, &b.weight);
    if (*why != NULL)
        return QDQ_OK;
    b.from =
        (packed){.codes = n->in[1].value, .scales = n->in[2].value, .zeros = qdq_node_in(n, 3)};
    b.from.k = b.weight.k;
    b.from.block = b.weight.block;
    b.from.level = level_of(n);
    QDQ_TRY(weight_of(a, n, &b.weight, &b.from, why));
    if (*why != NULL)
        return QDQ_OK;
    qdq_node_set_in(n, 1, b.from.dq->out[0]);
    drop_inputs(n, 2);
    bool ok =
        become_operator(n, "MatMul") && (b.bias == NULL || QDQ_PUSH(&a->scratch, &a->biased, b));
    return qdq_allocated(ok, a->err);
}

/* n as Gemm, with the weight as [N, K]. */
static qdq_status become_gemm(apart *a, const biased *b)
{
    packed columns = b->from;
    const char *why = NULL;

    columns.columns = true;
    columns.dq = NULL;
    QDQ_TRY(weight_of(a, b->n, &b->weight, &columns, &why));
    if (why != NULL)
        return qdq_fail(a->err, QDQ_E_BUG, "%s, but not as rows", why);
    qdq_node_set_in(b->n, 1, columns.dq->out[0]);
    return qdq_allocated(become_operator(b->n, "Gemm") && qdq_node_append_in(b->n, b->bias) &&
                             qdq_node_set_int(b->n, "transB", 1),
                         a->err);
}

/* n as the Add behind a MatMul. */
static qdq_status become_add(apart *a, const biased *b)
{
    qdq_graph *g = b->n->graph;
    const char *out = qdq_graph_unique_name(g, b->n->out[0]->name), *name = b->n->name;

    if (name[0] != '\0')
        name = qdq_graph_unique_node_name(g, name);
    qdq_node *matmul = out != NULL && name != NULL
                           ? qdq_graph_add_node(g, b->n, "", "MatMul", name, 2, 1, &out)
                           : NULL;
    QDQ_NEED(matmul != NULL, a->err);
    qdq_value_set_type(matmul->out[0], b->n->out[0]->type);
    for (uint32_t i = 0; i < 2; i++)
        qdq_node_set_in(matmul, i, b->n->in[i].value);
    qdq_node_set_in(b->n, 0, matmul->out[0]);
    qdq_node_set_in(b->n, 1, b->bias);
    return qdq_allocated(become_operator(b->n, "Add"), a->err);
}

static qdq_status add_biases(apart *a)
{
    if (a->biased.n > 0)
        QDQ_TRY(qdq_model_infer(a->m, NULL, a->err));
    for (size_t i = 0; i < a->biased.n; i++) {
        const biased *b = &a->biased.at[i];
        const qdq_type *x = b->n->in[0].value->type;
        bool is_matrix = x != NULL && x->kind == QDQ_TYPE_TENSOR && x->rank == 2;

        QDQ_TRY(is_matrix ? become_gemm(a, b) : become_add(a, b));
    }
    return QDQ_OK;
}

/* n as Gather. */
static qdq_status split_table(apart *a, qdq_node *n, const char **why)
{
    const qdq_tensor *codes = qdq_node_const(n, 0);
    int64_t axis = qdq_node_int(n, "gather_axis", 0), along = qdq_node_int(n, "quantize_axis", 1);
    packed key = {
        .codes = qdq_node_in(n, 0), .scales = qdq_node_in(n, 2), .zeros = qdq_node_in(n, 3)};

    if (codes == NULL || qdq_node_const(n, 2) == NULL ||
        (key.zeros != NULL && qdq_node_const(n, 3) == NULL))
        *why = "its table is not constant";
    else if (codes->elem != QDQ_INT4 && codes->elem != QDQ_UINT4)
        *why = "its codes are not of type int4 or uint4";
    else if (qdq_node_in(n, 1) == NULL || qdq_node_out(n, 0) == NULL)
        *why = "it has no indices or no output";
    if (*why != NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_node_check_domains(n, a->err));
    key.columns = true;
    key.k = along < 0 ? along + codes->rank : along;
    key.block = qdq_node_int(n, "block_size", 128);
    QDQ_TRY(table_of(a, n, &key, why));
    if (*why != NULL)
        return QDQ_OK;
    qdq_node_set_in(n, 0, key.dq->out[0]);
    drop_inputs(n, 2);
    return qdq_allocated(
        become_operator(n, "Gather") && (axis == 0 || qdq_node_set_int(n, "axis", axis)), a->err);
}

/* --- all of them ------------------------------------------------------------------------------ */

static qdq_status split_all(apart *a)
{
    QDQ_FOR_GRAPHS (g, a->m) {
        if (qdq_graph_in_function(g)) /* there are no initializers */
            continue;
        QDQ_FOR_NODES (n, g) {
            const char *why = NULL;

            if (qdq_node_is_contrib(n, "MatMulNBits"))
                QDQ_TRY(split_product(a, n, &why));
            else if (qdq_node_is_contrib(n, "GatherBlockQuantized"))
                QDQ_TRY(split_table(a, n, &why));
            if (why != NULL)
                qdq_job_log(a->left->job, QDQ_LOG_WARNING, "%s '%s': not taken apart: %s", n->type,
                            qdq_node_label(n, &a->scratch), why);
        }
    }
    return QDQ_OK;
}

static void drop_packed(const apart *a)
{
    for (size_t i = 0; i < a->known.n; i++) {
        qdq_value *const v[3] = {a->known.at[i].codes, a->known.at[i].scales, a->known.at[i].zeros};

        for (size_t k = 0; k < QDQ_COUNT(v); k++)
            if (v[k] != NULL)
                qdq_value_remove_if_unused(v[k]);
    }
}

qdq_status qdq_strip_nbits(qdq_model *m, qdq_map *levels, qdq_leftover *left, qdq_error *err)
{
    apart a = {.m = m, .levels = levels, .left = left, .err = err};
    qdq_status st = split_all(&a);

    if (st == QDQ_OK)
        st = add_biases(&a);
    if (st == QDQ_OK)
        drop_packed(&a);
    qdq_map_free(&a.by_codes);
    qdq_arena_free(&a.scratch);
    return st;
}
