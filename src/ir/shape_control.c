/* shape_control.c - shapes through bodies: If, Loop, Scan, and calls of the model's functions. */
#include "ir/shape_infer.h"

/* The body in attribute `name`, or NULL with the reason in c->err. */
static qdq_graph *body_of(qdq_infer *c, const char *name)
{
    const qdq_attr *a = qdq_infer_attr(c, name, QDQ_ATTR_GRAPH);

    if (a == NULL && c->bad == NULL)
        (void)qdq_fail(c->err, QDQ_E_FORMAT, "attribute '%s' is missing", name);
    return a == NULL ? NULL : a->v.g;
}

static qdq_fact *new_facts(qdq_infer *c, size_t n)
{
    return qdq_arena_array(&c->env->arena, n + 1, sizeof(qdq_fact));
}

static void set_fact(qdq_infer *c, uint32_t i, const qdq_fact *f)
{
    (void)qdq_infer_set(c, i, f->type);
    if (f->type != NULL)
        qdq_infer_keep(c, i, f->values);
}

/* A scalar; but engines hand a body that declares its counter as [1] one of that shape. */
static const qdq_type *counter_type(qdq_infer *c, const qdq_value *formal, qdq_elem elem)
{
    qdq_type *t = qdq_arena_alloc(&c->env->arena, sizeof *t);

    if (t == NULL)
        return NULL;
    t->elem = elem;
    if (c->env->prove && formal->type != NULL && formal->type->rank > 0)
        t->rank = -1;
    return t;
}

/* The same element type, no shape. */
static qdq_status forget_shape(qdq_infer *c, const qdq_type **type)
{
    qdq_type *t;

    if (*type == NULL || (*type)->kind != QDQ_TYPE_TENSOR || (*type)->rank < 0)
        return QDQ_OK;
    t = qdq_arena_alloc(&c->env->arena, sizeof *t);
    QDQ_NEED(t != NULL, c->err);
    t->elem = (*type)->elem;
    t->rank = -1;
    *type = t->elem == QDQ_UNDEFINED ? NULL : t;
    return QDQ_OK;
}

/* --- If --------------------------------------------------------------------------------------- */

/* Whether the condition is known: 1, 0, or -1. */
static int known_condition(const qdq_infer *c)
{
    const qdq_values *v = qdq_infer_known(c, 0);

    if (v == NULL || v->n != 1 || v->elem != QDQ_BOOL || v->at[0].know != QDQ_KNOW_NUMBER)
        return -1;
    return v->at[0].v.i != 0;
}

/* Outputs have what both branches agree on; if the condition is known, one branch decides. */
qdq_status qdq_infer_branch(qdq_infer *c)
{
    static const char *const name[] = {"else_branch", "then_branch"};
    int only = known_condition(c);
    qdq_fact *out[2] = {NULL, NULL};

    for (int k = 0; k < 2; k++) {
        qdq_graph *g = body_of(c, name[k]);
        bool done;

        if (g == NULL)
            return QDQ_E_FORMAT;
        if (g->outputs.n != c->node->n_out)
            return qdq_fail(c->err, QDQ_E_FORMAT, "%s has %zu outputs, want %u", name[k],
                            g->outputs.n, (unsigned)c->node->n_out);
        if (only >= 0 && only != k)
            continue;
        out[k] = new_facts(c, c->node->n_out);
        QDQ_NEED(out[k] != NULL, c->err);
        QDQ_TRY(qdq_infer_body(c->env, g, NULL, 0, out[k], &done, c->err));
        if (!done)
            return QDQ_OK;
    }
    for (uint32_t i = 0; i < c->node->n_out; i++) {
        qdq_fact merged = {NULL, NULL, false};

        if (only >= 0)
            merged = out[only][i];
        else
            QDQ_TRY(qdq_type_common(c->env, out[0][i].type, out[1][i].type, &merged.type, c->err));
        set_fact(c, i, &merged);
    }
    return QDQ_OK;
}

/* --- Loop and Scan ---------------------------------------------------------------------------- */

/* What goes round keeps its element type: ONNX wants that, and shapes alone may differ between
 * iterations. */
static qdq_status same_elem(qdq_infer *c, size_t state, const qdq_type *in, const qdq_type *out)
{
    if (in == NULL || out == NULL || in->kind != QDQ_TYPE_TENSOR || out->kind != QDQ_TYPE_TENSOR ||
        in->elem == QDQ_UNDEFINED || out->elem == QDQ_UNDEFINED || in->elem == out->elem)
        return QDQ_OK;
    return qdq_fail(c->err, QDQ_E_FORMAT, "state %zu is %s, but the body gives %s", state,
                    qdq_elem_name(in->elem), qdq_elem_name(out->elem));
}

/* States go round: what comes out of the body must fit what went in. The first round assumes the
 * shapes of the first iteration; where they do not hold, the next assumes what first and later
 * iterations have in common, and the last one no shape at all. `out` begins with `skip` outputs
 * that are no states. */
static qdq_status run_rounds(qdq_infer *c, qdq_graph *g, qdq_fact *in, size_t n_in,
                             size_t first_state, size_t n_state, qdq_fact *out, size_t skip,
                             bool *done)
{
    for (int round = 0; round < 3; round++) {
        bool stable = true;

        QDQ_TRY(qdq_infer_body(c->env, g, in, n_in, out, done, c->err));
        if (!*done)
            return QDQ_OK;
        for (size_t i = 0; i < n_state; i++) {
            const qdq_type *assumed = in[first_state + i].type, *common;

            QDQ_TRY(same_elem(c, i, assumed, out[skip + i].type));
            QDQ_TRY(qdq_type_common(c->env, assumed, out[skip + i].type, &common, c->err));
            stable = stable && qdq_type_equal(common, assumed);
            in[first_state + i].type = common;
        }
        if (stable)
            return QDQ_OK;
        for (size_t i = 0; i < n_state && round == 1; i++)
            QDQ_TRY(forget_shape(c, &in[first_state + i].type));
    }
    *done = false;
    qdq_infer_give_up(c->env, g);
    return QDQ_OK;
}

/* A dim put in front (axis 0) or at `axis` of what one iteration gives. */
static qdq_status stack_out(qdq_infer *c, uint32_t i, const qdq_type *type, int64_t axis,
                            qdq_dim length)
{
    qdq_shape s;
    int at;

    if (type == NULL || type->kind != QDQ_TYPE_TENSOR)
        return QDQ_OK;
    if (type->rank < 0 || type->rank >= QDQ_INFER_RANK)
        return qdq_infer_out(c, i, type->elem, NULL);
    s.rank = type->rank + 1;
    QDQ_TRY(qdq_infer_axis(c, axis, s.rank, &at));
    for (int k = 0; k < s.rank; k++)
        s.dim[k] = k == at ? length : type->dim[k < at ? k : k - 1];
    return qdq_infer_out(c, i, type->elem, &s);
}

qdq_status qdq_infer_loop(qdq_infer *c)
{
    qdq_graph *g = body_of(c, "body");
    size_t n_state = c->node->n_in > 2 ? c->node->n_in - 2 : 0;
    qdq_fact *in, *out;
    bool done;

    if (g == NULL)
        return QDQ_E_FORMAT;
    if (g->inputs.n != n_state + 2 || g->outputs.n < n_state + 1 ||
        c->node->n_out != g->outputs.n - 1)
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "%zu states, but the body has %zu inputs and %zu outputs for %u", n_state,
                        g->inputs.n, g->outputs.n, (unsigned)c->node->n_out);
    in = new_facts(c, n_state + 2);
    out = new_facts(c, g->outputs.n);
    QDQ_NEED(in != NULL && out != NULL, c->err);
    in[0].type = counter_type(c, g->inputs.at[0], QDQ_INT64);
    in[1].type = counter_type(c, g->inputs.at[1], QDQ_BOOL);
    QDQ_NEED(in[0].type != NULL && in[1].type != NULL, c->err);
    for (size_t i = 0; i < n_state; i++)
        in[i + 2].type = qdq_infer_in(c, (uint32_t)i + 2);
    QDQ_TRY(run_rounds(c, g, in, n_state + 2, 2, n_state, out, 1, &done));
    if (!done)
        return QDQ_OK;
    for (uint32_t i = 0; i < c->node->n_out; i++)
        if (i < n_state)
            QDQ_TRY(qdq_infer_set(c, i, in[i + 2].type));
        else
            QDQ_TRY(stack_out(c, i, out[i + 1].type, 0, qdq_dim_unknown()));
    return QDQ_OK;
}

/* Element i of a list attribute that has one number per scan input or output. */
static int64_t scan_axis(qdq_infer *c, const char *name, size_t i)
{
    const int64_t *axes;
    size_t n;

    return qdq_infer_ints(c, name, &axes, &n) && i < n ? axes[i] : 0;
}

/* One slice of scan input i: its shape without the scanned axis, whose length all of them share. */
static qdq_status scan_slice(qdq_infer *c, uint32_t i, int64_t axis, qdq_dim *length,
                             const qdq_type **type)
{
    qdq_type *t = qdq_arena_alloc(&c->env->arena, sizeof *t);
    qdq_dim *dim = qdq_arena_array(&c->env->arena, QDQ_INFER_RANK, sizeof *dim);
    qdq_shape s;
    int at;

    QDQ_NEED(t != NULL && dim != NULL, c->err);
    *type = t;
    t->elem = qdq_infer_elem(c, i);
    t->rank = -1;
    t->dim = dim;
    if (!qdq_infer_shape_of(c, i, &s)) {
        if (t->elem == QDQ_UNDEFINED)
            *type = NULL;
        return QDQ_OK;
    }
    QDQ_TRY(qdq_infer_axis(c, axis, s.rank, &at));
    if (!qdq_dim_merge(*length, s.dim[at], length))
        return qdq_infer_mismatch(c, "a scanned axis has length", s.dim[at], *length);
    t->rank = s.rank - 1;
    for (int k = 0; k < t->rank; k++)
        dim[k] = s.dim[k < at ? k : k + 1];
    return QDQ_OK;
}

/* Before opset 9 Scan had a batch axis and other inputs: left unknown. */
qdq_status qdq_infer_scan(qdq_infer *c)
{
    int64_t n_scan = qdq_infer_int(c, "num_scan_inputs", 0);
    qdq_graph *g = body_of(c, "body");
    qdq_dim length = qdq_dim_unknown();
    size_t n_state;
    qdq_fact *in, *out;
    bool done;

    if (g == NULL)
        return QDQ_E_FORMAT;
    if (c->opset < 9)
        return QDQ_OK;
    if (n_scan < 1 || n_scan > c->node->n_in || g->inputs.n != c->node->n_in ||
        g->outputs.n != c->node->n_out || g->outputs.n < c->node->n_in - (size_t)n_scan)
        return qdq_fail(
            c->err, QDQ_E_FORMAT, "%u inputs and %u outputs, but the body has %zu and %zu",
            (unsigned)c->node->n_in, (unsigned)c->node->n_out, g->inputs.n, g->outputs.n);
    n_state = c->node->n_in - (size_t)n_scan;
    in = new_facts(c, c->node->n_in);
    out = new_facts(c, g->outputs.n);
    QDQ_NEED(in != NULL && out != NULL, c->err);
    for (uint32_t i = 0; i < c->node->n_in; i++)
        if (i < n_state)
            in[i].type = qdq_infer_in(c, i);
        else
            QDQ_TRY(scan_slice(c, i, scan_axis(c, "scan_input_axes", i - n_state), &length,
                               &in[i].type));
    QDQ_TRY(run_rounds(c, g, in, c->node->n_in, 0, n_state, out, 0, &done));
    if (!done)
        return QDQ_OK;
    for (uint32_t i = 0; i < c->node->n_out; i++)
        if (i < n_state)
            QDQ_TRY(qdq_infer_set(c, i, in[i].type));
        else
            QDQ_TRY(stack_out(c, i, out[i].type, scan_axis(c, "scan_output_axes", i - n_state),
                              length));
    return QDQ_OK;
}

/* --- functions -------------------------------------------------------------------------------- */

qdq_status qdq_infer_call_function(qdq_infer *c)
{
    qdq_infer_env *env = c->env;
    uint32_t callee = qdq_functions_callee(&env->functions, c->node);
    const qdq_function *f = callee != QDQ_NO_FUNCTION ? env->model->functions.at[callee] : NULL;
    qdq_infer_call call = {f, c->node, env->call};
    int64_t opset = env->opset;
    qdq_fact *in, *out;
    qdq_status st;
    bool done;

    if (f == NULL || f->body == NULL)
        return QDQ_OK;
    in = new_facts(c, c->node->n_in);
    out = new_facts(c, f->body->outputs.n);
    QDQ_NEED(in != NULL && out != NULL, c->err);
    for (uint32_t i = 0; i < c->node->n_in; i++) {
        in[i].type = qdq_infer_in(c, i);
        in[i].values = qdq_infer_known(c, i);
    }
    env->call = &call;
    env->opset = qdq_graph_opset(f->body);
    st = qdq_infer_body(env, f->body, in, c->node->n_in, out, &done, c->err);
    env->call = call.outer;
    env->opset = opset;
    if (st != QDQ_OK)
        return qdq_within(c->err, st, "function '%s'", f->name);
    for (uint32_t i = 0; done && i < c->node->n_out && i < f->body->outputs.n; i++)
        set_fact(c, i, &out[i]);
    return QDQ_OK;
}
