/* import.c - the quantization that is in a model, as a plan: the inverse of insert.c.
 *
 *   x -> Q -> DQ -> readers            a tensor, if the scale is one constant
 *   codes -> DQ -> readers             a weight
 *   float constant -> Q -> DQ -> ...   a weight that is stored as floats, if it has several scales,
 *                                      or if a linear operator reads it where its weight is
 *   MatMulNBits, GatherBlockQuantized  a weight
 *   DynamicQuantizeLinear -> product   the weight of the product
 *   DynamicQuantizeLSTM                two weights
 *   int32 constant -> DQ -> reader     a bias, if its scale is that of activation times weight
 *
 * Of anything else (scales that are computed, codes as graph inputs) the plan says nothing, and the
 * caller gets a message. All of it is taken out on the way, so that the result is the model that
 * the plan is for. */
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "quant/import/import_state.h"
#include "quant/control_flow/control_flow.h"
#include "quant/half_precision/half_precision.h"
#include "quant/half_precision/widen.h"

/* --- activations ------------------------------------------------------------------------------ */

/* What plans can say: scales above 0 that are stored as float. */
static bool read_params(qdq_importer *im, const qdq_node *n, const qdq_tensor *codes, qdq_params *p)
{
    const char *why = NULL;

    if (qdq_params_read(n, codes, &im->scratch, p, &why, NULL) != QDQ_OK)
        im->no_memory = true;
    return !im->no_memory && why == NULL && p->positive && p->scale_elem == QDQ_FLOAT;
}

static bool is_dq_of(qdq_importer *im, const qdq_use *u, const qdq_params *q)
{
    qdq_params p;

    return u->node->op == QDQ_OP_DEQUANTIZELINEAR && u->index == 0 && u->node->graph == im->g &&
           u->node->n_out == 1 && u->node->out[0] != NULL && read_params(im, u->node, NULL, &p) &&
           qdq_params_equal(q, &p);
}

/* Does q quantize a constant that a linear operator reads, through one DQ, where its weight is? */
static bool is_weight(const qdq_node *q)
{
    const qdq_value *x = qdq_node_in(q, 0), *codes = qdq_node_out(q, 0);
    const qdq_node *dq = codes != NULL ? qdq_value_only_user(codes) : NULL;

    if (x == NULL || qdq_value_const(x) == NULL || dq == NULL || qdq_node_out(dq, 0) == NULL ||
        dq->op != QDQ_OP_DEQUANTIZELINEAR)
        return false;
    QDQ_FOR_USES (u, dq->out[0])
        if (u->index == 1 && qdq_op_is_linear(u->node->op))
            return true;
    return false;
}

static bool remember_index(qdq_map *map, const qdq_value *v, size_t index)
{
    qdq_map_value *place = qdq_map_put_int(map, (uint64_t)(uintptr_t)v, NULL);

    if (place != NULL)
        place->num = index + 1;
    return place != NULL;
}

static size_t recall_index(const qdq_map *map, const qdq_value *v)
{
    qdq_map_value *place = v != NULL ? qdq_map_get_int(map, (uint64_t)(uintptr_t)v) : NULL;

    return place != NULL ? (size_t)place->num : 0;
}

/* A tensor that is not there any more when all Q/DQ are gone. */
static bool is_dequantized(const qdq_value *v)
{
    return v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR;
}

/* A body that reads codes quantizes what it captures once more: then q stands for the value in
 * front of both. NULL: q is no such Q. */
static qdq_value *captured(const qdq_importer *im, const qdq_node *q)
{
    const qdq_value *v = q->in[0].value;
    size_t outer = v->graph != q->graph ? recall_index(&im->activation_of, v) : 0;

    return outer != 0 ? im->tensors.at[outer - 1].x : NULL;
}

/* Q with one constant scale, read only by DQ nodes with the same. */
static bool is_tensor(qdq_importer *im, const qdq_node *q, qdq_qparam *out)
{
    const qdq_value *codes = qdq_node_out(q, 0);
    qdq_params p;

    if (q->op != QDQ_OP_QUANTIZELINEAR || qdq_node_in(q, 0) == NULL || codes == NULL ||
        codes->n_output > 0 || codes->n_use == 0 ||
        (is_dequantized(q->in[0].value) && recall_index(&im->activation_of, q->in[0].value) == 0) ||
        !read_params(im, q, NULL, &p) || p.count != 1 || p.block != 0 || is_weight(q))
        return false;
    *out = (qdq_qparam){p.codes, p.scale[0], qdq_params_zero(&p, 0)};
    QDQ_FOR_USES (u, codes)
        if (!is_dq_of(im, u, &p))
            return false;
    return qdq_elem_is_code(p.codes);
}

/* An entry of a plan is for nodes of one graph. */
static bool is_read_inside(const qdq_importer *im, const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (u->node->graph != im->g)
            return true;
    return false;
}

/* x has other readers: can a list of edges say what reads the dequantized value? */
static bool is_listable(const qdq_importer *im, const qdq_node *q)
{
    QDQ_FOR_USES (u, q->out[0])
        if (u->node->out[0]->n_output > 0 || is_read_inside(im, u->node->out[0]))
            return false;
    return true;
}

static bool add_uses(qdq_importer *im, const qdq_value *v, qdq_found_edges *edges)
{
    QDQ_FOR_USES (u, v) {
        qdq_found_edge e = {u->node, u->index};
        if (!QDQ_PUSH(&im->scratch, edges, e))
            return false;
    }
    return true;
}

/* A Q behind the DQ of an entry for all readers stands on top of it: an entry of its own for the
 * same tensor. Behind that of other entries, a plan cannot say it: false. */
static bool on_top_of(const qdq_importer *im, qdq_found_tensor *t)
{
    size_t below = recall_index(&im->activation_of, t->x);

    if (below == 0) /* it is no DQ's, or that of a graph around, which is dealt with */
        return true;
    t->x = im->tensors.at[below - 1].x;
    t->all = false;
    return im->tensors.at[below - 1].all;
}

static qdq_status find_tensors(qdq_importer *im)
{
    QDQ_FOR_NODES (q, im->g) {
        qdq_found_tensor t = {0};

        if (!is_tensor(im, q, &t.qparam))
            continue;
        t.x = qdq_node_in(q, 0);
        t.all = t.x->n_use == 1 && t.x->n_output == 0 && t.x->graph == q->graph;
        if (t.x->graph != q->graph && captured(im, q) != NULL)
            t.x = captured(im, q);
        if (!on_top_of(im, &t) || (!t.all && !is_listable(im, q)))
            continue;
        QDQ_FOR_USES (u, q->out[0])
            QDQ_NEED(add_uses(im, u->node->out[0], &t.edges) &&
                         remember_index(&im->activation_of, u->node->out[0], im->tensors.n),
                     im->err);
        QDQ_NEED(QDQ_PUSH(&im->scratch, &im->tensors, t), im->err);
    }
    return QDQ_OK;
}

/* --- constants -------------------------------------------------------------------------------- */

/* The float initializer that codes stand for. */
static qdq_status decode_weight(qdq_importer *im, const qdq_node *dq, const qdq_tensor *codes,
                                const qdq_scale_grid *g, qdq_found_weight *w)
{
    qdq_span bytes;
    void *data;

    QDQ_TRY(qdq_tensor_data(codes, &im->scratch, &bytes, im->err));
    qdq_tensor *t = qdq_tensor_new(im->m, QDQ_FLOAT, codes->rank, codes->dim, &data);
    QDQ_NEED(t != NULL, im->err);
    const qdq_weight_params p = {w->type, w->scales, w->zeros, qdq_job_cancel(im->opts->job)};
    QDQ_TRY(qdq_weight_decode(bytes.data, g, &p, data, im->err));
    qdq_import_find_scheme(im, data, g, w);
    w->w = qdq_import_restore(im, dq, t, w->scales, w->n_scales);
    return qdq_allocated(w->w != NULL, im->err);
}

static int32_t zero_of(const qdq_found_weight *w, size_t i)
{
    return w->zeros != NULL ? w->zeros[i] : 0;
}

/* A table that a product reads, too, is packed twice in the file, and once in a plan; so is what
 * several products of a graph read. */
static qdq_found_weight *same_packed(qdq_importer *im, const qdq_found_weight *w)
{
    size_t at = qdq_store_is_inside(w->store) ? recall_index(&im->packed, w->w) : 0;
    qdq_found_weight *known = at != 0 ? &im->weights.at[at - 1] : NULL;

    if (known == NULL || known->axis != w->axis || known->block != w->block ||
        known->store != w->store || known->edges.at[0].node->graph != im->g ||
        known->type != w->type || known->n_scales != w->n_scales)
        return NULL;
    for (size_t i = 0; i < w->n_scales; i++)
        if (known->scales[i] != w->scales[i] || zero_of(known, i) != zero_of(w, i))
            return NULL;
    return known;
}

static qdq_status keep_weight(qdq_importer *im, const qdq_node *dq, qdq_found_weight *w)
{
    qdq_found_weight *known = same_packed(im, w);
    bool ok = true;

    if (known == NULL) {
        ok = (!qdq_store_is_inside(w->store) || remember_index(&im->packed, w->w, im->weights.n)) &&
             QDQ_PUSH(&im->scratch, &im->weights, *w);
        known = ok ? &im->weights.at[im->weights.n - 1] : NULL;
    } else if (known->accuracy_level == 0) { /* that of a table */
        known->accuracy_level = w->accuracy_level;
    }
    ok = ok && add_uses(im, dq->out[0], &known->edges) &&
         remember_index(&im->weight_of, dq->out[0], (size_t)(known - im->weights.at));
    return qdq_allocated(ok, im->err);
}

/* `constant`: codes, or the floats in front of a Q. */
static qdq_status import_weight(qdq_importer *im, qdq_node *dq, const qdq_tensor *constant)
{
    const qdq_value *in = dq->in[0].value;
    bool as_float = qdq_value_const(in) == NULL;
    qdq_found_weight w = {.store = as_float ? QDQ_WEIGHT_AS_FLOAT : QDQ_WEIGHT_AS_CODES};
    const qdq_map_value *level = qdq_map_get_int(&im->nbits_of, (uint64_t)(uintptr_t)dq);
    qdq_scale_grid grid;
    const float *floats;
    qdq_params p;

    QDQ_TRY(qdq_job_poll(im->opts->job, im->err));
    if (!read_params(im, dq, constant, &p))
        return QDQ_OK;
    if (level != NULL) {
        w.store = QDQ_WEIGHT_AS_NBITS;
        w.accuracy_level = (int)level->num - 1;
    }
    w.type = p.codes;
    w.axis = p.axis;
    w.block = p.block;
    w.scales = p.scale;
    w.zeros = p.zero;
    w.n_scales = (size_t)p.count;
    if (w.store == QDQ_WEIGHT_AS_CODES && qdq_import_reads_dynamic(im, dq, constant, &w))
        w.store = QDQ_WEIGHT_AS_DYNAMIC;
    QDQ_TRY(qdq_weight_grid(constant, w.axis, w.block, &grid, im->err));
    if (as_float) {
        QDQ_TRY(qdq_weight_floats_until(constant, qdq_job_cancel(im->opts->job), &im->scratch,
                                        &floats, im->err));
        qdq_import_find_scheme(im, floats, &grid, &w);
        w.w = in->producer->in[0].value;
    } else {
        QDQ_TRY(decode_weight(im, dq, constant, &grid, &w));
    }
    return keep_weight(im, dq, &w);
}

/* The bias's scales are those of activation times weight. */
static bool is_bias_scale(const qdq_importer *im, const qdq_params *p, const qdq_tensor *codes,
                          size_t x, size_t w)
{
    const qdq_found_weight *weight = &im->weights.at[w - 1];

    if (weight->n_scales != (size_t)p->count || (p->count > 1 && p->count != codes->count))
        return false;
    for (int64_t i = 0; i < p->count; i++) {
        double product = (double)im->tensors.at[x - 1].qparam.scale * (double)weight->scales[i];

        if (!qdq_bias_scale_is(p->scale[i], product))
            return false;
    }
    return true;
}

/* Codes of a bias were made for the product, and its scale may be a 16-bit number next to that. */
static double bias_scale(const qdq_importer *im, const qdq_params *p, int64_t i, size_t x, size_t w)
{
    return im->storage == QDQ_FLOAT
               ? (double)p->scale[i]
               : (double)(im->tensors.at[x - 1].qparam.scale * im->weights.at[w - 1].scales[i]);
}

static qdq_status import_bias(qdq_importer *im, qdq_node *dq, const qdq_tensor *codes)
{
    const qdq_use *use = dq->out[0]->first;
    qdq_params p;
    qdq_span bytes;
    void *data;

    if (dq->out[0]->n_use != 1 || use->node->graph != im->g || !read_params(im, dq, codes, &p) ||
        qdq_params_zero(&p, 0) != 0)
        return QDQ_OK;
    const qdq_node *linear = qdq_bias_linear(use->node, use->index);
    size_t x = linear != NULL ? recall_index(&im->activation_of, qdq_node_in(linear, 0)) : 0;
    size_t w = linear != NULL ? recall_index(&im->weight_of, qdq_node_in(linear, 1)) : 0;
    if (x == 0 || w == 0 || !is_bias_scale(im, &p, codes, x, w))
        return QDQ_OK;
    QDQ_TRY(qdq_tensor_data(codes, &im->scratch, &bytes, im->err));
    qdq_tensor *t = qdq_tensor_new(im->m, QDQ_FLOAT, codes->rank, codes->dim, &data);
    QDQ_NEED(t != NULL, im->err);
    for (int64_t i = 0; i < codes->count; i++) {
        int32_t code;
        memcpy(&code, bytes.data + i * (int64_t)sizeof code, sizeof code);
        float value = (float)((double)code * bias_scale(im, &p, p.count > 1 ? i : 0, x, w));
        memcpy((char *)data + i * (int64_t)sizeof value, &value, sizeof value);
    }
    qdq_found_bias b = {qdq_import_restore(im, dq, t, p.scale, (size_t)p.count),
                        {use->node, use->index},
                        im->tensors.at[x - 1].x,
                        im->weights.at[w - 1].w};
    QDQ_NEED(b.b != NULL && QDQ_PUSH(&im->scratch, &im->biases, b) &&
                 qdq_map_put_int(&im->bias_of, (uint64_t)(uintptr_t)dq, NULL) != NULL,
             im->err);
    qdq_value_replace(dq->out[0], b.b);
    return QDQ_OK;
}

/* Can what dq gives back be read directly again? */
static bool is_read_here(const qdq_importer *im, const qdq_node *dq)
{
    return dq->op == QDQ_OP_DEQUANTIZELINEAR && qdq_node_out(dq, 0) != NULL &&
           dq->out[0]->n_output == 0 && dq->out[0]->n_use > 0 && !is_read_inside(im, dq->out[0]);
}

/* The floats in front of Q and DQ, with the same parameters, of a weight that is stored as floats;
 * or NULL. */
static const qdq_tensor *floats_of(qdq_importer *im, const qdq_node *dq)
{
    const qdq_node *q = qdq_node_in(dq, 0) != NULL ? dq->in[0].value->producer : NULL;
    const qdq_tensor *t;
    qdq_params a, b;

    if (q == NULL || q->op != QDQ_OP_QUANTIZELINEAR || q->graph != im->g ||
        qdq_node_in(q, 0) == NULL || recall_index(&im->activation_of, dq->out[0]) != 0 ||
        qdq_value_only_user(q->out[0]) != dq)
        return NULL;
    t = qdq_value_const(q->in[0].value);
    return t != NULL && t->elem == QDQ_FLOAT && read_params(im, q, t, &a) &&
                   read_params(im, dq, t, &b) && qdq_params_equal(&a, &b)
               ? t
               : NULL;
}

static qdq_status find_weights(qdq_importer *im)
{
    QDQ_FOR_NODES (dq, im->g) {
        const qdq_tensor *t = NULL;

        if (!is_read_here(im, dq))
            continue;
        if (qdq_node_in(dq, 0) != NULL)
            t = qdq_value_const(dq->in[0].value);
        if (t == NULL)
            t = floats_of(im, dq);
        if (t != NULL && (t->elem == QDQ_FLOAT || qdq_elem_is_code(t->elem)))
            QDQ_TRY(import_weight(im, dq, t));
    }
    return QDQ_OK;
}

static qdq_status find_biases(qdq_importer *im)
{
    QDQ_FOR_NODES (dq, im->g) {
        const qdq_tensor *codes = qdq_node_const(dq, 0);

        if (codes != NULL && codes->elem == QDQ_INT32 && is_read_here(im, dq))
            QDQ_TRY(import_bias(im, dq, codes));
    }
    return QDQ_OK;
}

/* --- taking it out ---------------------------------------------------------------------------- */

/* The value that each imported DQ stands for is read directly again. */
static qdq_status redirect_imported(qdq_importer *im)
{
    QDQ_FOR_NODES (dq, im->g) {
        qdq_value *v = dq->op == QDQ_OP_DEQUANTIZELINEAR ? qdq_node_out(dq, 0) : NULL;
        size_t x = recall_index(&im->activation_of, v), w = recall_index(&im->weight_of, v);

        if (x != 0)
            qdq_value_replace(v, im->tensors.at[x - 1].x);
        else if (w != 0)
            qdq_value_replace(v, im->weights.at[w - 1].w);
    }
    return QDQ_OK;
}

static qdq_status sort_graph(qdq_importer *im)
{
    return qdq_graph_sort(im->g, im->err);
}

/* Why the plan says nothing of a DQ: what plans can say is at the top. */
static qdq_status reason_of(qdq_importer *im, const qdq_node *dq, const char **why)
{
    const qdq_tensor *codes = qdq_node_const(dq, 0);
    qdq_params p;

    QDQ_TRY(qdq_params_read(dq, codes, &im->scratch, &p, why, im->err));
    if (*why != NULL)
        return QDQ_OK;
    *why = !p.positive                     ? "its scale is 0"
           : p.scale_elem != QDQ_FLOAT     ? "its scale is not float32"
           : codes == NULL && p.count != 1 ? "it has a scale for each channel of an activation"
           : codes == NULL                 ? "a plan cannot name what reads it, or Q and DQ differ"
           : p.codes == QDQ_INT32 ? "its scale is not that of an activation times that of a weight"
                                  : "a plan cannot name what reads it, or codes of this type";
    return QDQ_OK;
}

/* Do weights in the plan say of all that reads v that it quantizes its data while it runs? */
static bool is_said_by_weights(const qdq_importer *im, const qdq_value *v)
{
    if (!qdq_import_is_dynamic(v) || v->n_output > 0)
        return false;
    QDQ_FOR_USES (u, v) {
        size_t w = u->index == 0 ? recall_index(&im->weight_of, qdq_node_in(u->node, 1)) : 0;

        if (w == 0 || im->weights.at[w - 1].store != QDQ_WEIGHT_AS_DYNAMIC)
            return false;
    }
    return true;
}

static qdq_status report_unsaid(qdq_importer *im)
{
    QDQ_FOR_GRAPHS (g, im->m)
        QDQ_FOR_NODES (dq, g) {
            const qdq_value *v = dq->op == QDQ_OP_DEQUANTIZELINEAR ? qdq_node_out(dq, 0) : NULL;
            const char *why = "it stands inside a function";

            if (v == NULL || recall_index(&im->activation_of, v) != 0 ||
                recall_index(&im->weight_of, v) != 0 ||
                qdq_map_get_int(&im->bias_of, (uint64_t)(uintptr_t)dq) != NULL ||
                (v->n_use == 0 && v->n_output == 0) || is_said_by_weights(im, v))
                continue;
            if (!qdq_graph_in_function(g))
                QDQ_TRY(reason_of(im, dq, &why));
            qdq_job_log(im->opts->job, QDQ_LOG_WARNING,
                        "DequantizeLinear '%s' is not in the plan: %s",
                        qdq_node_label(dq, &im->scratch), why);
        }
    return QDQ_OK;
}

/* The main graph, then bodies; what stands in functions differs from call to call. */
static qdq_status in_each_graph(qdq_importer *im, qdq_status (*step)(qdq_importer *))
{
    QDQ_FOR_GRAPHS (g, im->m) {
        if (qdq_graph_in_function(g))
            continue;
        im->g = g;
        QDQ_TRY(step(im));
    }
    return im->no_memory ? qdq_nomem(im->err) : QDQ_OK;
}

/* `p` NULL: not requested. */
static qdq_status import_all(qdq_importer *im, qdq_plan *p)
{
    im->left.job = im->opts->job;
    QDQ_TRY(qdq_strip_nbits(im->m, &im->nbits_of, &im->left, im->err));
    QDQ_TRY(qdq_strip_lstm(im->m, &im->lstm_of, &im->left, im->err));
    QDQ_TRY(qdq_strip_operators(im->m, true, &im->left, im->err));
    QDQ_TRY(qdq_strip_bounds(im->m, im->opts->bounds, im->opts->job, im->err));
    QDQ_TRY(in_each_graph(im, find_tensors));
    QDQ_TRY(in_each_graph(im, find_weights));
    QDQ_TRY(in_each_graph(im, find_biases));
    if (p != NULL)
        QDQ_TRY(report_unsaid(im));
    QDQ_TRY(in_each_graph(im, redirect_imported));
    QDQ_TRY(qdq_strip_all(im->m, &im->left, im->err));
    QDQ_TRY(in_each_graph(im, sort_graph));
    return p != NULL ? qdq_import_write(im, p) : QDQ_OK;
}

static bool is_packed(const qdq_node *n)
{
    return qdq_node_is_contrib(n, "MatMulNBits") || qdq_node_is_contrib(n, "GatherBlockQuantized");
}

/* The 16-bit type of scales, or QDQ_FLOAT. */
static qdq_elem storage_of(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g) {
            uint32_t i = qdq_node_is_qdq(n) ? 1 : is_packed(n) ? 2 : UINT32_MAX;
            const qdq_tensor *t = qdq_node_const(n, i);

            if (t != NULL && qdq_elem_is_half(t->elem))
                return t->elem;
        }
    return QDQ_FLOAT;
}

/* The nodes of the copy that were float32 in m, before any is renamed. */
static qdq_status remember_float(qdq_importer *im, const qdq_model *m, qdq_error *err)
{
    qdq_half_labels labels = {0};
    qdq_map names = QDQ_MAP_INIT;
    bool ok = true;

    QDQ_TRY(qdq_half_find_float(m, &im->scratch, &labels, err));
    for (size_t i = 0; i < labels.n; i++)
        ok = ok && qdq_map_put(&names, labels.at[i], NULL) != NULL;
    QDQ_FOR_GRAPHS (g, im->m)
        QDQ_FOR_NODES (n, g)
            if (ok && qdq_map_get(&names, qdq_node_label(n, &im->scratch)) != NULL)
                ok = qdq_map_put_int(&im->was_float, (uint64_t)(uintptr_t)n, NULL) != NULL;
    qdq_map_free(&names);
    return qdq_allocated(ok, err);
}

/* Where scales have 16 bits, float32 stands on one side of Q/DQ and 16 bits may on the other: in
 * the float model that is left without them, all is float32. */
static qdq_status open_copy(qdq_importer *im, const qdq_model *m, bool want_plan, qdq_error *err)
{
    im->storage = storage_of(m);
    if (im->storage == QDQ_FLOAT)
        return qdq_model_clone(m, &im->m, err);
    QDQ_TRY(qdq_model_widen(m, &im->m, err));
    return want_plan ? remember_float(im, m, err) : QDQ_OK;
}

static qdq_status import_model(const qdq_model *m, const qdq_import_opts *opts, qdq_plan *p,
                               qdq_model **stripped, size_t *n_left, qdq_error *err)
{
    qdq_import_opts own = QDQ_IMPORT_OPTS_INIT;
    qdq_importer im = {.err = err, .opts = &own};

    QDQ_TRY(qdq_opts_read("qdq_import_opts", &own, sizeof own, opts, err));
    qdq_status st = open_copy(&im, m, p != NULL, err);
    if (st == QDQ_OK)
        st = qdq_control_flow_name_apart(im.m, err); /* plans name values */
    if (st == QDQ_OK)
        st = import_all(&im, p);
    qdq_map_free(&im.activation_of);
    qdq_map_free(&im.weight_of);
    qdq_map_free(&im.bias_of);
    qdq_map_free(&im.nbits_of);
    qdq_map_free(&im.lstm_of);
    qdq_map_free(&im.packed);
    qdq_map_free(&im.was_float);
    qdq_arena_free(&im.scratch);
    if (st != QDQ_OK || stripped == NULL)
        qdq_model_free(im.m);
    else
        *stripped = im.m;
    if (n_left != NULL)
        *n_left = st == QDQ_OK ? im.left.n : 0;
    return st;
}

qdq_status qdq_plan_import(const qdq_model *m, const qdq_import_opts *opts, qdq_plan **out,
                           qdq_model **stripped, qdq_error *err)
{
    qdq_plan *p = qdq_plan_new();

    *out = NULL;
    if (stripped != NULL)
        *stripped = NULL;
    qdq_status st = p == NULL ? qdq_nomem(err) : import_model(m, opts, p, stripped, NULL, err);
    return QDQ_HAND_OVER(p, st, out, qdq_plan_free);
}

qdq_status qdq_model_strip(const qdq_model *m, const qdq_import_opts *opts, qdq_model **out,
                           size_t *n_left, qdq_error *err)
{
    *out = NULL;
    return import_model(m, opts, NULL, out, n_left, err);
}
