/* encodings_plan.c - a plan of encodings that AIMET wrote beside a float model.
 *
 *   activation   a tensor for all its readers
 *   parameter    a weight, with the scales of the file, along the dim that its reader takes them
 * for bias         int32 with the scale of data times weight, if both have encodings
 *
 * AIMET names tensors as the model does. What the model does not have is listed; what has no place
 * in a plan, too. */

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/opts.h"
#include "ir/ir.h"
#include "quant/import/encodings.h"
#include "quant/plan/fingerprint.h"
#include "quant/plan/plan.h"

enum { MAX_BYTES = 256 << 20, MAX_LISTED = 12 };

typedef struct planner {
    const qdq_model *m;
    const qdq_job *job;
    qdq_plan *p;
    /* names of tensors and weights of the plan */
    qdq_map quantized;
    /* names that the model does not have */
    qdq_buf unknown;
    size_t n_unknown, n_known;
    qdq_error *err;
} planner;

static bool remember_quantized(planner *pl, const char *tensor)
{
    return qdq_map_put(&pl->quantized, tensor, NULL) != NULL;
}

static const qdq_value *find_tensor(planner *pl, const qdq_encoding *e)
{
    const qdq_value *v = qdq_graph_find(pl->m->graph, e->tensor);

    if (v != NULL) {
        pl->n_known++;
        return v;
    }
    if (pl->n_unknown++ < MAX_LISTED)
        qdq_buf_printf(&pl->unknown, "%s'%.60s'", pl->unknown.size > 0 ? ", " : "", e->tensor);
    return NULL;
}

static void skip_encoding(const planner *pl, const qdq_encoding *e, const char *why)
{
    qdq_job_log(pl->job, QDQ_LOG_WARNING, "%s is not in the plan: %s", e->path, why);
}

static bool is_read_inside(const planner *pl, const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (u->node->graph != pl->m->graph)
            return true;
    return false;
}

/* Plans speak of float32; what is not known is found out when the plan is applied. */
static bool is_float(const qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);

    if (t != NULL)
        return t->elem == QDQ_FLOAT;
    return v->type == NULL || (v->type->kind == QDQ_TYPE_TENSOR && v->type->elem == QDQ_FLOAT);
}

/* --- activations ------------------------------------------------------------------------------ */

static qdq_status plan_activation(planner *pl, const qdq_encoding *e)
{
    const qdq_value *v = find_tensor(pl, e);

    if (v == NULL || e->is_float)
        return QDQ_OK;
    const char *why = e->n != 1                     ? "it has several scales, and is an activation"
                      : !is_float(v)                ? "its tensor is not float32"
                      : qdq_elem_bits(e->type) > 16 ? "its codes have 32 bits"
                      : v->n_use == 0 && v->n_output == 0 ? "nothing reads its tensor"
                      : v->n_output > 0 && v->producer == NULL
                          ? "its tensor is an input and an output at once"
                          : NULL;
    if (why != NULL) {
        skip_encoding(pl, e, why);
        return QDQ_OK;
    }
    qdq_plan_tensor t = {.tensor = e->tensor,
                         .all = true,
                         .qparam = {e->type, e->scale[0], e->zero[0]},
                         .rule = "imported",
                         .origin = "import"};
    return qdq_allocated(remember_quantized(pl, e->tensor) && qdq_plan_add_tensor(pl->p, t),
                         pl->err);
}

/* --- parameters ------------------------------------------------------------------------------- */

/* The dim of a weight along which its reader has output channels; -1: not known. */
static int channel_axis(const qdq_node *n, int rank)
{
    switch ((int)n->op) {
    case QDQ_OP_CONV:
        return 0;
    case QDQ_OP_CONVTRANSPOSE:
        return rank > 1 ? 1 : -1;
    case QDQ_OP_GEMM:
        return qdq_node_int(n, "transB", 0) != 0 ? 0 : 1;
    case QDQ_OP_MATMUL:
        return rank - 1;
    default:
        return -1;
    }
}

static const char *speaks_against(const planner *pl, const qdq_encoding *e, const qdq_value *v,
                                  int *axis)
{
    const qdq_tensor *t = qdq_value_const(v);

    *axis = -1;
    if (t == NULL || t->elem != QDQ_FLOAT)
        return "its tensor is not a constant of type float32";
    if (qdq_elem_bits(e->type) > 16)
        return "its codes have 32 bits, and it is not a bias whose data and weight have encodings";
    if (v->n_use == 0 || is_read_inside(pl, v) || v->n_output > 0)
        return "a plan cannot name what reads it";
    if (e->n == 1)
        return NULL;
    *axis = v->first->index == 1 ? channel_axis(v->first->node, t->rank) : -1;
    if (*axis < 0 || *axis >= t->rank)
        return "it has a scale for each channel, and its reader has none";
    return (uint64_t)t->dim[*axis] == e->n ? NULL : "it has not one scale for each channel";
}

static qdq_status plan_weight(planner *pl, const qdq_encoding *e, const qdq_value *v)
{
    int axis;
    const char *why = speaks_against(pl, e, v, &axis);
    qdq_plan *p = pl->p;

    if (why != NULL) {
        skip_encoding(pl, e, why);
        return QDQ_OK;
    }
    qdq_plan_weight w = {.tensor = e->tensor,
                         .axis = axis,
                         .type = e->type,
                         .scales = e->scale,
                         .zero_points = e->zero,
                         .n_scales = e->n,
                         .rule = "imported",
                         .origin = "import"};
    QDQ_FOR_USES (u, v)
        QDQ_NEED(qdq_plan_add_edge(p, &w.consumers, qdq_node_label(u->node, &p->arena), u->index),
                 pl->err);
    return qdq_allocated(remember_quantized(pl, e->tensor) && qdq_plan_add_weight(p, w), pl->err);
}

/* A bias has the scale of data times weight, whatever the file says: no kernel adds it in another
 * one. */
static bool is_bias(const planner *pl, const qdq_value *v)
{
    const qdq_node *n = v->n_use == 1 ? v->first->node : NULL;

    return n != NULL && n->graph == pl->m->graph && qdq_op_is_linear(n->op) &&
           v->first->index == 2 && qdq_node_in(n, 0) != NULL && qdq_node_in(n, 1) != NULL &&
           qdq_value_const(v) != NULL && qdq_value_const(v)->elem == QDQ_FLOAT &&
           qdq_map_get(&pl->quantized, n->in[0].value->name) != NULL &&
           qdq_map_get(&pl->quantized, n->in[1].value->name) != NULL;
}

static qdq_status plan_bias(planner *pl, const qdq_value *v)
{
    const qdq_node *n = v->first->node;
    const qdq_plan_bias b = {.tensor = v->name,
                             .consumer = {qdq_node_label(n, &pl->p->arena), 2},
                             .activation = n->in[0].value->name,
                             .weight = n->in[1].value->name,
                             .rule = "imported",
                             .origin = "import"};

    return qdq_allocated(qdq_plan_add_bias(pl->p, b), pl->err);
}

/* Weights first: biases ask for them. */
static qdq_status plan_params(planner *pl, const qdq_encodings *e)
{
    for (int biases = 0; biases < 2; biases++)
        for (size_t i = 0; i < e->params.n; i++) {
            const qdq_encoding *param = &e->params.at[i];
            bool wide = !param->is_float && qdq_elem_bits(param->type) == 32;

            if (wide != (biases == 1))
                continue;
            const qdq_value *v = find_tensor(pl, param);
            if (v == NULL || param->is_float)
                continue;
            QDQ_TRY(wide && is_bias(pl, v) ? plan_bias(pl, v) : plan_weight(pl, param, v));
        }
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int needed_opset(const qdq_plan *p)
{
    int need = p->weights.n > 0 ? 13 : 10;

    for (size_t i = 0; i < p->tensors.n; i++)
        if (qdq_elem_bits(p->tensors.at[i].qparam.type) != 8)
            need = 21;
    for (size_t i = 0; i < p->weights.n; i++)
        if (qdq_elem_bits(p->weights.at[i].type) != 8)
            need = 21;
    return need;
}

static qdq_status report_unknown(planner *pl, const char *name)
{
    if (pl->n_unknown == 0)
        return QDQ_OK;
    const char *more = pl->n_unknown > MAX_LISTED ? ", ..." : "";
    if (pl->n_known == 0)
        return qdq_fail(pl->err, QDQ_E_FORMAT, "%s: none of its %zu tensors is in the model: %s%s",
                        name, pl->n_unknown, pl->unknown.data, more);
    qdq_job_log(pl->job, QDQ_LOG_WARNING, "%s: %zu tensor%s not in the model: %s%s", name,
                pl->n_unknown, pl->n_unknown == 1 ? " is" : "s are", pl->unknown.data, more);
    return QDQ_OK;
}

static qdq_status plan_all(planner *pl, const qdq_encodings *e, const char *name)
{
    for (size_t i = 0; i < e->activations.n; i++)
        QDQ_TRY(plan_activation(pl, &e->activations.at[i]));
    QDQ_TRY(plan_params(pl, e));
    QDQ_NEED(!pl->unknown.failed, pl->err);
    QDQ_TRY(report_unknown(pl, name));
    int need = needed_opset(pl->p);
    pl->p->opset = qdq_model_opset(pl->m) < need ? need : 0;
    pl->p->target = pl->p->clean = "";
    pl->p->created_by = "qdq " QDQ_VERSION ", from encodings";
    QDQ_TRY(qdq_model_fingerprint(pl->m, pl->job, &pl->p->arena, &pl->p->model, pl->err));
    return qdq_allocated(qdq_plan_finish(pl->p), pl->err);
}

qdq_status qdq_plan_parse_encodings(const char *text, size_t size, const char *name,
                                    const qdq_model *m, const qdq_import_opts *opts, qdq_plan **out,
                                    qdq_error *err)
{
    qdq_import_opts own = QDQ_IMPORT_OPTS_INIT;
    planner pl = {.m = m, .unknown = QDQ_BUF_INIT(1 << 16), .err = err};
    qdq_encodings e;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_import_opts", &own, sizeof own, opts, err));
    pl.job = own.job;
    qdq_status st = qdq_encodings_read(text, size, name, &e, err);
    if (st == QDQ_OK) {
        pl.p = qdq_plan_new();
        st = pl.p == NULL ? qdq_nomem(err) : plan_all(&pl, &e, name);
    }
    qdq_map_free(&pl.quantized);
    qdq_buf_free(&pl.unknown);
    qdq_arena_free(&e.arena);
    if (st != QDQ_OK)
        qdq_plan_free(pl.p);
    else
        *out = pl.p;
    return st;
}

qdq_status qdq_plan_load_encodings(const char *path, const qdq_model *m,
                                   const qdq_import_opts *opts, qdq_plan **out, qdq_error *err)
{
    char *text = NULL;
    size_t size = 0;

    *out = NULL;
    QDQ_TRY(qdq_read_file(path, MAX_BYTES, &text, &size, err));
    qdq_status st = qdq_plan_parse_encodings(text, size, path, m, opts, out, err);
    qdq_free(text);
    return st;
}
