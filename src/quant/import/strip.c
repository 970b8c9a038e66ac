/* strip.c - takes quantization out of all graphs of a model:
 *
 *   codes -> DQ                  the float numbers, stored
 *   x -> Q -> DQ                 x
 *   x -> DynamicQuantize -> DQ   x
 *
 * The scale may be computed, blocked, or per channel, and the codes of any type. What is not one of
 * these (codes that the caller gives or gets, a Q and a DQ of different scales) stays, and is
 * reported. */
#include "quant/import/strip.h"

#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/opts.h"
#include "ir/edit.h"
#include "ir/shape.h"
#include "onnx/wire.h"
#include "opt/opt.h"
#include "qdq/pass.h"
#include "target/existing_qdq.h"

/* Between two looks at the cancel flag. */
enum { POLL_ELEMENTS = 1 << 20 };

/* --- what is left ----------------------------------------------------------------------------- */

static void report_stays(qdq_leftover *left, const qdq_node *n, const char *why)
{
    qdq_arena scratch = QDQ_ARENA_INIT;

    left->n++;
    qdq_job_log(left->job, QDQ_LOG_WARNING, "%s '%s' stays: %s", n->type,
                qdq_node_label(n, &scratch), why);
    qdq_arena_free(&scratch);
}

/* --- operators on codes ----------------------------------------------------------------------- */

/* Codes that something else than a DQ reads. */
static bool gives_codes(const qdq_node *n)
{
    if (n->op != QDQ_OP_QUANTIZELINEAR || qdq_node_out(n, 0) == NULL)
        return false;
    QDQ_FOR_USES (u, n->out[0])
        if (u->node->op != QDQ_OP_DEQUANTIZELINEAR)
            return true;
    return false;
}

static bool has_operators(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (qdq_node_is_qoperator(n) || gives_codes(n))
                return true;
    return false;
}

static void report_refusals(const qdq_optimize_report *r, const qdq_job *job)
{
    for (size_t i = 0; i < r->n_passes; i++)
        for (size_t k = 0; k < r->passes[i].n_refusals; k++) {
            const qdq_refusal *f = &r->passes[i].refusals[k];

            qdq_job_log(job, QDQ_LOG_WARNING, "%s%s: not taken apart: %s (%zu node%s)",
                        f->n_examples > 0 ? f->examples[0] : "", f->n > 1 ? " and others" : "",
                        f->reason, f->n, f->n == 1 ? "" : "s");
        }
}

qdq_status qdq_strip_operators(qdq_model *m, bool dynamic, qdq_leftover *left, qdq_error *err)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r = NULL;
    qdq_job quiet = QDQ_JOB_INIT;

    quiet.cancel = qdq_job_cancel(left->job);
    if (!has_operators(m))
        return QDQ_OK;
    opts.passes = dynamic ? "qoperator-to-qdq" : "qoperator-to-qdq:static";
    opts.job = &quiet;
    QDQ_TRY(qdq_model_optimize(m, &opts, &r, err));
    report_refusals(r, left->job);
    qdq_optimize_report_free(r);
    return QDQ_OK;
}

/* --- constants -------------------------------------------------------------------------------- */

/* The type that dq produces where its scale has type `scale`. */
static qdq_elem result_elem(const qdq_node *dq, qdq_elem scale)
{
    int64_t type = qdq_node_int(dq, "output_dtype", 0);

    if (type == 0)
        return scale;
    return type > 0 && type < QDQ_ELEM_COUNT ? (qdq_elem)type : QDQ_UNDEFINED;
}

static qdq_status dequantize_codes(const qdq_tensor *t, const qdq_params *p, const void *codes,
                                   const qdq_array *out, const qdq_job *job, qdq_error *err)
{
    const qdq_scale_grid grid = qdq_scale_grid_of(t, p->axis, p->block);
    bool is_int = qdq_elem_is_int(t->elem);
    int64_t i = 0;

    for (size_t o = 0; o < grid.c.outer; o++)
        for (size_t k = 0; k < grid.c.channels; k++)
            for (size_t j = 0; j < grid.c.inner; j++, i++) {
                size_t s = p->count > 1 ? qdq_scale_at(&grid, o, k, j) : 0;
                if (i % POLL_ELEMENTS == 0)
                    QDQ_TRY(qdq_job_poll(job, err));
                double code =
                    is_int
                        ? (double)(qdq_elem_int(t->elem, codes, i) - qdq_params_zero(p, (int64_t)s))
                        : (double)qdq_elem_float(t->elem, codes, i);

                qdq_elem_put_float(out->elem, out->data, i, code * (double)p->scale[s]);
            }
    return QDQ_OK;
}

/* DQ of constant codes becomes a float constant. *why: it cannot be read. */
static qdq_status restore_constant(qdq_node *dq, const qdq_job *job, qdq_arena *scratch,
                                   qdq_value **out, const char **why, qdq_error *err)
{
    const qdq_tensor *codes = qdq_node_const(dq, 0);
    qdq_graph *g = dq->graph;
    qdq_params p;
    qdq_span bytes;
    void *data;

    QDQ_TRY(qdq_params_read(dq, codes, scratch, &p, why, err));
    if (*why == NULL && !qdq_elem_is_int(codes->elem) && !qdq_elem_is_float(codes->elem))
        *why = "its codes are no numbers";
    qdq_elem elem = *why == NULL ? result_elem(dq, p.scale_elem) : QDQ_UNDEFINED;
    if (*why == NULL && (!qdq_elem_is_float(elem) || qdq_elem_bits(elem) < 16))
        *why = "its result has no float type of 16 bits or more";
    if (*why != NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_tensor_data(codes, scratch, &bytes, err));
    qdq_tensor *t = qdq_tensor_new(g->model, elem, codes->rank, codes->dim, &data);
    QDQ_NEED(t != NULL, err);
    const qdq_array result = {.elem = elem, .data = data};
    QDQ_TRY(dequantize_codes(codes, &p, bytes.data, &result, job, err));
    const char *from = qdq_node_in(dq, 0)->name, *suffix = strstr(from, "_quantized");
    const char *base = suffix != NULL && suffix != from
                           ? qdq_arena_strndup(scratch, from, (size_t)(suffix - from))
                           : from;
    const char *name = base != NULL ? qdq_graph_unique_name(g, base) : NULL;
    *out = name != NULL ? qdq_graph_add_constant(g, dq, name, t) : NULL;
    return qdq_allocated(*out != NULL, err);
}

/* --- activations ------------------------------------------------------------------------------ */

/* A pair that also converts x to another float type: only a Cast could replace it. */
static bool converts(const qdq_node *dq, const qdq_value *x)
{
    return qdq_node_int(dq, "output_dtype", 0) != 0 &&
           qdq_value_data_elem(x) != result_elem(dq, QDQ_UNDEFINED);
}

/* The value that a pair of Q and DQ stands for, or NULL and why it stands for none. */
static qdq_status find_original(qdq_node *dq, qdq_arena *scratch, qdq_value **out, const char **why,
                                qdq_error *err)
{
    const qdq_value *codes = qdq_node_in(dq, 0);
    qdq_node *q = codes != NULL ? codes->producer : NULL;
    qdq_found a, b;

    *out = NULL;
    if (codes == NULL) {
        *why = "it has no input";
    } else if (q == NULL) {
        *why = codes->is_input ? "its codes are an input" : "its codes are not known";
    } else if (q->op == QDQ_OP_DYNAMICQUANTIZELINEAR) {
        if (qdq_node_in(dq, 1) == qdq_node_out(q, 1) && qdq_node_in(dq, 2) == qdq_node_out(q, 2))
            *out = qdq_node_in(q, 0);
        *why = "its scale is not that of the DynamicQuantizeLinear before it";
    } else if (q->op != QDQ_OP_QUANTIZELINEAR) {
        *why = "its codes do not come from a QuantizeLinear";
    } else {
        QDQ_TRY(qdq_found_read(q, scratch, &a, err));
        QDQ_TRY(qdq_found_read(dq, scratch, &b, err));
        if (qdq_found_same(&a, &b))
            *out = qdq_node_in(q, 0);
        *why = "its scale is another one than that of the QuantizeLinear before it";
    }
    if (*out != NULL)
        *why = NULL;
    if (*out != NULL && converts(dq, *out)) {
        *out = NULL;
        *why = "its result is not of the type that the QuantizeLinear before it reads";
    }
    return QDQ_OK;
}

/* --- what nothing reads any more -------------------------------------------------------------- */

static bool is_quantizer(const qdq_node *n)
{
    return n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR ||
           n->op == QDQ_OP_DYNAMICQUANTIZELINEAR;
}

/* n, and what only n read. */
static qdq_status remove_unread(qdq_node *first, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    QDQ_VEC(qdq_node *) work = {0};
    bool ok = QDQ_PUSH(&scratch, &work, first);

    while (ok && work.n > 0) {
        qdq_node *n = work.at[--work.n];

        if (n->dead || qdq_node_is_read(n) || (qdq_op_get_info(n->op)->flags & QDQ_OP_PURE) == 0)
            continue;
        for (uint32_t i = n->n_in; i-- > 0;) {
            qdq_value *v = n->in[i].value;

            qdq_node_set_in(n, i, NULL);
            if (v == NULL)
                continue;
            if (v->producer != NULL)
                ok = ok && QDQ_PUSH(&scratch, &work, v->producer);
            else
                qdq_value_remove_if_unused(v);
        }
        qdq_node_remove(n);
    }
    qdq_arena_free(&scratch);
    return qdq_allocated(ok, err);
}

/* Everything that reads the DQ reads `x`. The DQ goes later, unless it has to give a graph output
 * its name. */
static qdq_status pass_by(qdq_node *dq, qdq_value *x, qdq_error *err)
{
    qdq_value *old[3] = {qdq_node_in(dq, 0), qdq_node_in(dq, 1), qdq_node_in(dq, 2)};

    if (qdq_value_replace(dq->out[0], x))
        return QDQ_OK;
    if (!qdq_opt_alias(dq, x)) /* it becomes an Identity */
        return qdq_nomem(err);
    for (size_t i = 0; i < QDQ_COUNT(old); i++) {
        if (old[i] == NULL)
            continue;
        if (old[i]->producer != NULL)
            QDQ_TRY(remove_unread(old[i]->producer, err));
        else
            qdq_value_remove_if_unused(old[i]);
    }
    return QDQ_OK;
}

static qdq_status drop_unread(qdq_graph *g, qdq_error *err)
{
    QDQ_FOR_NODES (n, g)
        if (is_quantizer(n) && !qdq_node_is_read(n))
            QDQ_TRY(remove_unread(n, err));
    return QDQ_OK;
}

/* --- one DQ ----------------------------------------------------------------------------------- */

static qdq_status take_out(qdq_node *dq, qdq_leftover *left, qdq_error *err)
{
    const bool is_constant = qdq_node_const(dq, 0) != NULL;
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *why = NULL;
    qdq_value *x = NULL;
    qdq_status st;

    if (qdq_node_out(dq, 0) == NULL || !qdq_node_is_read(dq))
        return QDQ_OK;
    st = is_constant ? restore_constant(dq, left->job, &scratch, &x, &why, err)
                     : find_original(dq, &scratch, &x, &why, err);
    if (st == QDQ_OK && why != NULL)
        report_stays(left, dq, why);
    else if (st == QDQ_OK)
        st = pass_by(dq, x, err);
    qdq_arena_free(&scratch);
    return st;
}

/* --- stale types ------------------------------------------------------------------------------ */

/* Field numbers of onnx.proto. */
enum { GRAPH_VALUE_INFO = 13, VALUE_INFO_NAME = 1 };

/* It gives a type to a name that nothing had when the model was read, and that a constant has
 * now. */
static bool is_stale(const qdq_graph *g, const qdq_wire_item *item)
{
    qdq_wire_item field;
    const qdq_value *v = NULL;

    if (item->number != GRAPH_VALUE_INFO)
        return false;
    for (size_t at = 0; qdq_wire_next(item->payload, &at, &field);)
        if (field.number == VALUE_INFO_NAME && field.payload.data != NULL) {
            const qdq_map_value *place =
                qdq_map_get_n(&g->by_name, (const char *)field.payload.data, field.payload.size);
            v = place != NULL ? place->ptr : NULL;
        }
    return v != NULL && !v->has_info && !v->is_input && v->n_output == 0;
}

/* Else the model that is written would be another one when it is read again. */
static qdq_status drop_stale(qdq_graph *g, qdq_error *err)
{
    qdq_buf kept = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_status st = QDQ_OK;
    qdq_wire_item item;

    for (size_t at = 0; qdq_wire_next(g->unknown_fields, &at, &item);)
        if (!is_stale(g, &item))
            qdq_buf_append(&kept, item.whole.data, item.whole.size);
    if (kept.failed) {
        st = qdq_nomem(err);
    } else if (kept.size != g->unknown_fields.size) {
        unsigned char *copy = qdq_arena_alloc(&g->model->arena, kept.size + 1);

        if (copy == NULL)
            st = qdq_nomem(err);
        else
            qdq_graph_set_rest(
                g,
                (qdq_span){kept.size > 0 ? memcpy(copy, kept.data, kept.size) : copy, kept.size});
    }
    qdq_buf_free(&kept);
    return st;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void report_rest(const qdq_model *m, qdq_leftover *left)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g) {
            if (qdq_node_is_qoperator(n))
                report_stays(left, n, "it computes on codes");
            else if (n->op == QDQ_OP_QUANTIZELINEAR && n->out[0] != NULL && n->out[0]->n_output > 0)
                report_stays(left, n, "its codes are an output");
            else if (n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DYNAMICQUANTIZELINEAR)
                report_stays(left, n, "something else than DequantizeLinear reads its codes");
        }
}

/* Only what a DQ says of its result makes types matter. */
static bool needs_types(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (n->op == QDQ_OP_DEQUANTIZELINEAR && qdq_node_int(n, "output_dtype", 0) != 0)
                return true;
    return false;
}

qdq_status qdq_strip_all(qdq_model *m, qdq_leftover *left, qdq_error *err)
{
    if (needs_types(m))
        QDQ_TRY(qdq_model_infer(m, NULL, err));
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (n->op == QDQ_OP_DEQUANTIZELINEAR) {
                QDQ_TRY(qdq_job_poll(left->job, err));
                QDQ_TRY(take_out(n, left, err));
            }
    for (size_t i = m->graphs.n; i-- > 0;) /* bodies first: what they read is outside */
        if (!m->graphs.at[i]->dead)
            QDQ_TRY(drop_unread(m->graphs.at[i], err));
    QDQ_FOR_GRAPHS (g, m)
        QDQ_TRY(drop_stale(g, err));
    report_rest(m, left);
    return QDQ_OK;
}
