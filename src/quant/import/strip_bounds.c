/* strip_bounds.c - the Relu and Clip that are hidden in the range of codes.
 *
 * ONNX Runtime's tool takes a Relu or Clip out when the Q behind it clips at the same place: zero
 * point at the lowest code. Without that Q the model is another one, so they come back when it
 * goes. Other tools leave them where they were, and there a range that begins at 0 says only what
 * the samples were. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "target/existing_qdq.h"
#include "quant/import/strip.h"

enum { FROM_0 = 1, TO_6 = 2 };

/* What the codes of q do to numbers that no kernel bounds. */
static unsigned bounds_of(const qdq_qparam *p)
{
    int32_t low, high;

    if (!qdq_elem_code_limits(p->type, &low, &high) || p->zero_point != low)
        return 0;
    double top = (double)p->scale * ((double)high - (double)low);
    return fabs(top - 6) <= 6e-4 ? FROM_0 | TO_6 : FROM_0;
}

/* Operators whose result may be below 0, and that Relu follows in networks. */
static bool is_unbounded(const qdq_node *n)
{
    return QDQ_OP_IS_IN(n->op, QDQ_OP_CONV, QDQ_OP_CONVTRANSPOSE, QDQ_OP_GEMM, QDQ_OP_MATMUL,
                        QDQ_OP_ADD, QDQ_OP_SUB, QDQ_OP_MUL, QDQ_OP_BATCHNORMALIZATION,
                        QDQ_OP_INSTANCENORMALIZATION, QDQ_OP_LAYERNORMALIZATION);
}

static qdq_value *add_scalar(qdq_graph *g, const char *base, float x)
{
    const char *name = qdq_graph_unique_name(g, base);
    qdq_tensor *t = qdq_tensor_of_floats(g->model, 0, NULL, &x);

    return name != NULL && t != NULL ? qdq_graph_add_init(g, name, t) : NULL;
}

static bool give_bounds(qdq_node *clip, bool as_inputs)
{
    if (!as_inputs)
        return qdq_node_set_float(clip, "min", 0) && qdq_node_set_float(clip, "max", 6);
    qdq_value *low = add_scalar(clip->graph, "clip_min", 0),
              *high = add_scalar(clip->graph, "clip_max", 6);
    return low != NULL && high != NULL && qdq_node_append_in(clip, low) &&
           qdq_node_append_in(clip, high);
}

/* q reads Relu(x), or Clip(x, 0, 6), instead of x. */
static qdq_status put_bound(qdq_node *q, unsigned bounds, qdq_error *err)
{
    qdq_value *x = q->in[0].value;
    qdq_graph *g = q->graph;
    const char *op = (bounds & TO_6) != 0 && !qdq_graph_in_function(g) ? "Clip" : "Relu";
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = QDQ_OK;
    const char *base = qdq_arena_printf(&scratch, "%s_%s", x->name, op);
    const char *name = base != NULL ? qdq_graph_unique_name(g, base) : NULL;
    const char *label = base != NULL ? qdq_graph_unique_node_name(g, base) : NULL;
    qdq_node *n =
        name != NULL && label != NULL ? qdq_graph_add_node(g, q, "", op, label, 1, 1, &name) : NULL;

    if (n == NULL || (op[0] == 'C' && !give_bounds(n, qdq_graph_opset(g) >= 11))) {
        st = qdq_nomem(err);
    } else {
        qdq_node_set_in(n, 0, x);
        qdq_value_set_type(n->out[0], x->type);
        qdq_node_set_in(q, 0, n->out[0]);
    }
    qdq_arena_free(&scratch);
    return st;
}

static qdq_status look_at(qdq_node *q, size_t n[2], qdq_error *err)
{
    const qdq_value *x = qdq_node_in(q, 0);
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_found found = {0};
    qdq_qparam p;

    if (q->op != QDQ_OP_QUANTIZELINEAR || x == NULL || x->producer == NULL ||
        !is_unbounded(x->producer))
        return QDQ_OK;
    qdq_status st = qdq_found_read(q, &scratch, &found, err);
    unsigned bounds = st == QDQ_OK && qdq_found_qparam(&found, &p) ? bounds_of(&p) : 0;
    if (bounds != 0) {
        st = put_bound(q, bounds, err);
        n[(bounds & TO_6) != 0]++;
    }
    qdq_arena_free(&scratch);
    return st;
}

qdq_status qdq_strip_bounds(qdq_model *m, qdq_bounds bounds, const qdq_job *job, qdq_error *err)
{
    bool from_ort = m->producer_name != NULL && strcmp(m->producer_name, "onnx.quantize") == 0;
    size_t n[2] = {0, 0};

    if (bounds == QDQ_BOUNDS_LEAVE || (bounds == QDQ_BOUNDS_AUTO && !from_ort))
        return QDQ_OK;
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (q, g)
            QDQ_TRY(look_at(q, n, err));
    if (n[0] + n[1] > 0)
        qdq_job_log(job, QDQ_LOG_INFO,
                    "put back %zu Relu and %zu Clip that were left to the range of codes", n[0],
                    n[1]);
    return QDQ_OK;
}
