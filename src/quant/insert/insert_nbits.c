/* insert_nbits.c - weights inside operators that ONNX Runtime has for them: MatMulNBits and
 * GatherBlockQuantized. Operators and layouts: ONNX Runtime, docs/ContribOperators.md.
 *
 * MatMulNBits computes A * dequantize(B)' with B [N, blocks of K, bytes of a block]: columns of the
 * weight one after the other, unsigned codes, 4-bit ones two in a byte, the first in the low bits.
 * What a last block has beyond K is the zero point. Without zero points that is the middle of the
 * codes: how signed ones are stored. GatherBlockQuantized keeps tables as ONNX does, in codes of 4
 * bits. */
#include "quant/insert/insert_state.h"

#include "base/fail.h"
#include "ir/pages.h"
#include "quant/weights/linear_form.h"

enum { LEAST_BLOCK = 16 };

/* The weight as columns. */
typedef struct columns {
    /* elements from one to the next */
    size_t k, n, step_k, step_n;
    size_t block, n_block;
    unsigned bits;
} columns;

static qdq_status check_reader(qdq_inserter *in, const qdq_plan_weight *w,
                               const qdq_weight_state *s, const qdq_edge *e)
{
    const qdq_node *n = qdq_insert_find_node(in, e->node);
    int axis = n->op == QDQ_OP_GATHER ? 1 : qdq_node_int(n, "transB", 0) != 0 ? 1 : 0;

    if (!qdq_nbits_takes(n, e->input, s->tensor, w->type))
        return qdq_fail(
            in->err, QDQ_E_FORMAT,
            "node '%s' is neither a product of matrices nor a table that 'nbits' is for", e->node);
    if (w->axis != axis || w->block < LEAST_BLOCK || (w->block & (w->block - 1)) != 0)
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "'nbits' for node '%s' needs blocks of 16, 32, 64, ... along axis %d",
                        e->node, axis);
    return QDQ_OK;
}

/* --- columns ---------------------------------------------------------------------------------- */

static columns columns_of(const qdq_plan_weight *w, const qdq_weight_state *s)
{
    size_t rows = (size_t)s->tensor->dim[0], width = (size_t)s->tensor->dim[1];
    columns c = {
        .bits = qdq_elem_bits(w->type), .block = (size_t)w->block, .n_block = s->grid.n_block};

    if (w->axis == 0) { /* [K, N] */
        c.k = rows;
        c.n = width;
        c.step_k = width;
        c.step_n = 1;
    } else {
        c.k = width;
        c.n = rows;
        c.step_k = 1;
        c.step_n = width;
    }
    return c;
}

/* Where the scale of block b of column n is. */
static size_t scale_at(const qdq_plan_weight *w, const columns *c, size_t n, size_t b)
{
    return w->axis == 0 ? b * c->n + n : n * c->n_block + b;
}

/* What is added to codes with sign. */
static int32_t middle_of(qdq_elem type)
{
    return type == QDQ_INT4 ? 8 : type == QDQ_INT8 ? 128 : 0;
}

/* Element i of codes that a plan gives. */
static int32_t given_code(const qdq_plan_weight *w, size_t i)
{
    const uint8_t *codes = w->codes;

    if (w->type == QDQ_INT8)
        return codes[i] < 128 ? codes[i] : codes[i] - 256;
    if (w->type == QDQ_UINT8)
        return codes[i];
    int32_t nibble = codes[i / 2] >> (i % 2 * 4) & 15;
    return w->type == QDQ_INT4 && nibble > 7 ? nibble - 16 : nibble;
}

static void put_code(uint8_t *out, unsigned bits, size_t i, int32_t code)
{
    if (bits == 8)
        out[i] = (uint8_t)code;
    else
        out[i / 2] = (uint8_t)(out[i / 2] | code << (i % 2 * 4));
}

static void pack_column(const qdq_plan_weight *w, const qdq_weight_state *s, const columns *c,
                        size_t n, uint8_t *out)
{
    for (size_t b = 0; b < c->n_block; b++) {
        size_t at = scale_at(w, c, n, b);
        qdq_qparam p = {w->type, s->scales[at], s->zeros[at]};

        for (size_t i = 0; i < c->block; i++) {
            size_t k = b * c->block + i, from = k * c->step_k + n * c->step_n;
            int32_t code = k >= c->k          ? p.zero_point
                           : w->codes != NULL ? given_code(w, from)
                                              : qdq_quantize_value(&p, s->floats[from]);
            put_code(out + b * c->block * c->bits / 8, c->bits, i, code + middle_of(w->type));
        }
    }
}

static qdq_tensor *pack_columns(qdq_inserter *in, const qdq_plan_weight *w,
                                const qdq_weight_state *s, const columns *c)
{
    const int64_t dim[] = {(int64_t)c->n, (int64_t)c->n_block, (int64_t)(c->block * c->bits / 8)};
    void *data;
    qdq_tensor *t = qdq_tensor_new_on_disk(in->m, QDQ_UINT8, 3, dim, &data);

    if (t == NULL)
        return NULL;
#pragma omp parallel for schedule(static) if (c->n * c->k > 65536)
    for (size_t n = 0; n < c->n; n++)
        pack_column(w, s, c, n, (uint8_t *)data + n * (size_t)(dim[1] * dim[2]));
    qdq_tensor_rest(t);
    return t;
}

static qdq_tensor *pack_scales(qdq_inserter *in, const qdq_plan_weight *w,
                               const qdq_weight_state *s, const columns *c)
{
    const int64_t dim[] = {(int64_t)c->n, (int64_t)c->n_block};
    void *data;
    qdq_tensor *t = qdq_tensor_new_on_disk(in->m, QDQ_FLOAT, 2, dim, &data);

    if (t == NULL)
        return NULL;
    for (size_t n = 0; n < c->n; n++)
        for (size_t b = 0; b < c->n_block; b++)
            ((float *)data)[n * c->n_block + b] = s->scales[scale_at(w, c, n, b)];
    qdq_tensor_rest(t);
    return t;
}

/* Each column's begin with a byte of their own. */
static qdq_tensor *pack_zero_points(qdq_inserter *in, const qdq_plan_weight *w,
                                    const qdq_weight_state *s, const columns *c)
{
    const int64_t dim[] = {(int64_t)c->n, (int64_t)((c->n_block * c->bits + 7) / 8)};
    void *data;
    qdq_tensor *t = qdq_tensor_new(in->m, QDQ_UINT8, 2, dim, &data);

    for (size_t n = 0; t != NULL && n < c->n; n++)
        for (size_t b = 0; b < c->n_block; b++)
            put_code((uint8_t *)data + n * (size_t)dim[1], c->bits, b,
                     s->zeros[scale_at(w, c, n, b)] + middle_of(w->type));
    return t;
}

/* The middle of the codes is what the operator takes where there are no zero points. */
static bool has_zero_points(const qdq_plan_weight *w, const qdq_weight_state *s)
{
    int32_t middle = 1 << (qdq_elem_bits(w->type) - 1);

    for (size_t i = 0; i < qdq_scale_count(&s->grid); i++)
        if (s->zeros[i] + middle_of(w->type) != middle)
            return true;
    return false;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* n as MatMulNBits: (A, codes, scales, zero points, group index, bias) */
static qdq_status become_product(qdq_inserter *in, qdq_node *n, const qdq_plan_weight *w,
                                 const columns *c, qdq_value *const packed[3])
{
    qdq_value *bias = qdq_node_in(n, 2);
    bool ok = true;

    while (ok && n->n_in < (bias != NULL ? 6U : 4U))
        ok = qdq_node_append_in(n, NULL);
    QDQ_NEED(ok, in->err);
    for (uint32_t i = 0; i < 3; i++)
        qdq_node_set_in(n, i + 1, packed[i]);
    if (bias != NULL)
        qdq_node_set_in(n, 5, bias);
    qdq_node_trim_in(n);
    for (const char *const *a = (const char *const[]){"alpha", "beta", "transA", "transB", NULL};
         *a != NULL; a++)
        qdq_node_remove_attr(n, *a);
    ok = qdq_node_set_type(n, "com.microsoft", "MatMulNBits") &&
         qdq_node_set_int(n, "K", (int64_t)c->k) && qdq_node_set_int(n, "N", (int64_t)c->n) &&
         qdq_node_set_int(n, "bits", c->bits) && qdq_node_set_int(n, "block_size", w->block) &&
         (w->accuracy_level == 0 || qdq_node_set_int(n, "accuracy_level", w->accuracy_level));
    return qdq_allocated(ok, in->err);
}

/* n as GatherBlockQuantized: (codes, indices, scales, zero points) */
static qdq_status become_table(qdq_inserter *in, qdq_node *n, const qdq_plan_weight *w,
                               qdq_value *const packed[3])
{
    bool ok =
        qdq_node_append_in(n, packed[1]) && (packed[2] == NULL || qdq_node_append_in(n, packed[2]));

    qdq_node_set_in(n, 0, packed[0]);
    qdq_node_remove_attr(n, "axis");
    ok = ok && qdq_node_set_type(n, "com.microsoft", "GatherBlockQuantized") &&
         qdq_node_set_int(n, "gather_axis", 0) && qdq_node_set_int(n, "quantize_axis", 1) &&
         qdq_node_set_int(n, "block_size", w->block);
    return qdq_allocated(ok, in->err);
}

static qdq_status insert_product(qdq_inserter *in, const qdq_plan_weight *w,
                                 const qdq_weight_state *s, qdq_value *packed[3], columns *c)
{
    *c = columns_of(w, s);
    packed[0] = qdq_insert_constant(in, in->g, w->tensor, "_quantized", pack_columns(in, w, s, c));
    packed[1] = qdq_insert_constant(in, in->g, w->tensor, "_scale", pack_scales(in, w, s, c));
    if (has_zero_points(w, s))
        packed[2] =
            qdq_insert_constant(in, in->g, w->tensor, "_zero_point", pack_zero_points(in, w, s, c));
    return qdq_allocated(packed[0] != NULL && packed[1] != NULL &&
                             (packed[2] != NULL || !has_zero_points(w, s)),
                         in->err);
}

static qdq_status insert_table(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s,
                               qdq_value *packed[3])
{
    const qdq_scale_form form = {1, w->block, 2, {s->tensor->dim[0], (int64_t)s->grid.n_block}};
    void *codes;
    qdq_tensor *t = qdq_tensor_new_on_disk(in->m, w->type, 2, s->tensor->dim, &codes);

    QDQ_NEED(t != NULL, in->err);
    QDQ_TRY(qdq_insert_weight_codes(in, w, s, codes));
    qdq_tensor_rest(t);
    packed[0] = qdq_insert_constant(in, in->g, w->tensor, "_quantized", t);
    packed[1] = qdq_insert_scales(in, w->tensor, &form, s->scales);
    packed[2] = qdq_insert_zero_points(in, w->tensor, &form, w->type, s->zeros);
    return qdq_allocated(packed[0] != NULL && packed[1] != NULL && packed[2] != NULL, in->err);
}

qdq_status qdq_insert_nbits(qdq_inserter *in, size_t index)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    qdq_weight_state *s = &in->weight[index];
    qdq_value *product[3] = {NULL}, *table[3] = {NULL};
    columns c;

    for (size_t i = 0; i < w->consumers.n; i++)
        QDQ_TRY(check_reader(in, w, s, &w->consumers.at[i]));
    QDQ_TRY(qdq_model_set_opset_version(in->m, "com.microsoft", 1, in->err));
    for (size_t i = 0; i < w->consumers.n; i++) {
        qdq_node *n = qdq_insert_find_node(in, w->consumers.at[i].node);

        if (n->op == QDQ_OP_GATHER) {
            if (table[0] == NULL)
                QDQ_TRY(insert_table(in, w, s, table));
            QDQ_TRY(become_table(in, n, w, table));
        } else {
            if (product[0] == NULL)
                QDQ_TRY(insert_product(in, w, s, product, &c));
            QDQ_TRY(become_product(in, n, w, &c, product));
        }
    }
    return QDQ_OK;
}
