/* shape.c - type and shape inference: walks the graphs, asks the shape function of every operator,
 * and weighs what it says against what the file declares. Knows no operator; writes nothing
 * (shape_commit.c does). */
#include "ir/shape_infer.h"

#include <string.h>

#include "base/buf.h"
#include "ir/graph_check.h"

static const struct {
    qdq_infer_fn *infer;
    qdq_values_fn *values;
} functions[] = {
    {qdq_infer_call_function, qdq_values_none},
#define OP(ENUM, name, flags, infer, values) {qdq_infer_##infer, qdq_values_##values},
#include "ir/ops.def"
#undef OP
};
_Static_assert(QDQ_COUNT(functions) == QDQ_OP_COUNT, "one line per operator");

enum {
    OLDEST_OPSET = 7, /* before, operators broadcast in another way */
    MAX_WARNINGS = 20,
    WORK_FACTOR = 16, /* how often a body may be visited on average */
    POLL_NODES = 4096
};

#define VALUES_ROOM ((uint64_t)4 << 20)

/* --- contradictions --------------------------------------------------------------------------- */

static void type_text(const qdq_type *t, char *text, size_t size)
{
    qdq_buf b = QDQ_BUF_INIT(size);

    qdq_buf_puts(&b, qdq_elem_name(t->elem) != NULL ? qdq_elem_name(t->elem) : "?");
    qdq_buf_puts(&b, t->kind != QDQ_TYPE_TENSOR ? " (no tensor)" : t->rank < 0 ? "" : "[");
    for (int i = 0; t->kind == QDQ_TYPE_TENSOR && i < t->rank; i++) {
        if (t->dim[i].value >= 0)
            qdq_buf_printf(&b, "%s%lld", i > 0 ? "," : "", (long long)t->dim[i].value);
        else
            qdq_buf_printf(&b, "%s%s", i > 0 ? "," : "",
                           t->dim[i].param != NULL ? t->dim[i].param : "?");
    }
    if (t->kind == QDQ_TYPE_TENSOR && t->rank >= 0)
        qdq_buf_putc(&b, ']');
    text[0] = '\0';
    if (!b.failed && b.size < size)
        memcpy(text, b.data, b.size + 1);
    qdq_buf_free(&b);
}

/* `err` holds what is wrong. Strict: that is the answer. Else it is logged, and it is forgotten. */
static qdq_status contradiction(qdq_infer_env *env, qdq_error *err)
{
    if (env->opts->strict)
        return QDQ_E_FORMAT;
    if (env->warnings < MAX_WARNINGS && !env->prove)
        qdq_job_log(env->opts->job, QDQ_LOG_WARNING, "%s", err->text);
    env->warnings++;
    err->code = QDQ_OK;
    err->text[0] = '\0';
    return QDQ_OK;
}

static qdq_status declared_wrong(qdq_infer_env *env, const qdq_value *v, const qdq_type *inferred,
                                 const qdq_type *declared, qdq_error *err)
{
    char is[160], said[160];

    type_text(inferred, is, sizeof is);
    type_text(declared, said, sizeof said);
    (void)qdq_fail(err, QDQ_E_FORMAT, "value '%s' is declared %s, inferred %s", v->name, said, is);
    return contradiction(env, err);
}

/* --- what the file declares ------------------------------------------------------------------- */

/* Inside functions symbols mean something else at every call; an empty symbol means nothing. */
static qdq_dim declared_dim(const qdq_infer_env *env, qdq_dim d)
{
    if (d.value >= 0)
        return qdq_dim_known(d.value);
    if (d.param == NULL || d.param[0] == '\0' || env->call != NULL)
        return qdq_dim_unknown();
    return qdq_adapt_dim(env->adapt, d);
}

/* An input that has a default is of the type that both the file and the default say, or of none. */
static bool default_fits(const qdq_value *v)
{
    const qdq_tensor *data = v->init;
    const qdq_type *t = v->type;

    if (t == NULL || data == NULL || t->kind != QDQ_TYPE_TENSOR)
        return data == NULL;
    if (t->elem != data->elem || (t->rank >= 0 && t->rank != data->rank))
        return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i].value >= 0 && t->dim[i].value != data->dim[i])
            return false;
    return true;
}

qdq_status qdq_infer_declared(qdq_infer_env *env, const qdq_value *v, const qdq_type **out,
                              qdq_error *err)
{
    bool is_main_input = v->is_input && v->graph == env->model->graph;
    const qdq_type *t = v->type;
    bool same = true, no_shape;
    qdq_type *own;
    qdq_dim *dim;

    if (is_main_input && qdq_adapt_input(env->adapt, v) != NULL)
        t = qdq_adapt_input(env->adapt, v);
    if (env->prove && (!is_main_input || !default_fits(v)))
        t = NULL;
    *out = t;
    if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->rank < 0)
        return QDQ_OK;
    no_shape = t->rank > QDQ_INFER_RANK || (env->opts->forget_declared && !is_main_input);
    for (int i = 0; !no_shape && i < t->rank; i++) {
        qdq_dim d = declared_dim(env, t->dim[i]);

        same = same && d.value == t->dim[i].value && d.param == t->dim[i].param;
    }
    if (same && !no_shape)
        return QDQ_OK;
    own = qdq_arena_alloc(&env->arena, sizeof *own);
    dim = qdq_arena_array(&env->arena, no_shape ? 1 : (size_t)t->rank, sizeof *dim);
    QDQ_NEED(own != NULL && dim != NULL, err);
    own->elem = t->elem;
    own->rank = no_shape ? -1 : t->rank;
    own->dim = dim;
    for (int i = 0; i < own->rank; i++)
        dim[i] = declared_dim(env, t->dim[i]);
    *out = own;
    return QDQ_OK;
}

/* Dims that inference knows win; what it leaves open is taken from the declaration. */
static qdq_status settle_dims(qdq_infer_env *env, const qdq_value *v, const qdq_type *inferred,
                              const qdq_type *declared, const qdq_type **out, qdq_error *err)
{
    qdq_shape s;
    qdq_type *own;
    bool wrong = false;

    s.rank = inferred->rank;
    for (int i = 0; i < s.rank; i++)
        if (!qdq_dim_merge(inferred->dim[i], declared->dim[i], &s.dim[i])) {
            s.dim[i] = inferred->dim[i];
            wrong = true;
        }
    if (wrong)
        QDQ_TRY(declared_wrong(env, v, inferred, declared, err));
    own = qdq_arena_alloc(&env->arena, sizeof *own + (size_t)s.rank * sizeof *s.dim);
    QDQ_NEED(own != NULL, err);
    own->elem = inferred->elem != QDQ_UNDEFINED ? inferred->elem : declared->elem;
    own->rank = s.rank;
    own->dim = (qdq_dim *)(void *)(own + 1);
    if (s.rank > 0)
        memcpy(own + 1, s.dim, (size_t)s.rank * sizeof *s.dim);
    *out = qdq_type_equal(own, inferred) ? inferred : own;
    return QDQ_OK;
}

/* The type of a value from what its producer gives and what the file says. */
static qdq_status settle(qdq_infer_env *env, const qdq_value *v, const qdq_type *inferred,
                         const qdq_type **out, qdq_error *err)
{
    const qdq_type *declared;
    qdq_type *own;

    QDQ_TRY(qdq_infer_declared(env, v, &declared, err));
    *out = inferred != NULL ? inferred : declared;
    if (inferred == NULL || declared == NULL || qdq_type_equal(inferred, declared))
        return QDQ_OK;
    if (inferred->kind != declared->kind ||
        (inferred->elem != QDQ_UNDEFINED && declared->elem != QDQ_UNDEFINED &&
         inferred->elem != declared->elem))
        return declared_wrong(env, v, inferred, declared, err);
    if (inferred->kind != QDQ_TYPE_TENSOR)
        return QDQ_OK;
    if (inferred->rank >= 0 && declared->rank >= 0) {
        if (inferred->rank != declared->rank)
            return declared_wrong(env, v, inferred, declared, err);
        return settle_dims(env, v, inferred, declared, out, err);
    }
    own = qdq_arena_alloc(&env->arena, sizeof *own);
    QDQ_NEED(own != NULL, err);
    *own = inferred->rank >= 0 ? *inferred : *declared;
    own->elem = inferred->elem != QDQ_UNDEFINED ? inferred->elem : declared->elem;
    *out = own;
    return QDQ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void forget_outputs(qdq_infer_env *env, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            memset(&env->graphs[n->graph->index].fact[n->out[i]->id], 0, sizeof(qdq_fact));
}

static qdq_status run_function(qdq_infer *c)
{
    qdq_op op = c->node->op;
    qdq_status st;

    if (op != QDQ_OP_UNKNOWN && c->opset < OLDEST_OPSET)
        return QDQ_OK;
    st = functions[op].infer(c);
    if (st == QDQ_OK && c->bad == NULL && functions[op].values != qdq_values_none)
        for (uint32_t i = 0; i < (op == QDQ_OP_SPLIT ? c->node->n_out : 1); i++)
            qdq_infer_values(c, i, functions[op].values);
    if (c->env->nomem || st == QDQ_E_NOMEM)
        return qdq_nomem(c->err);
    if (c->bad != NULL)
        return qdq_fail(c->err, QDQ_E_FORMAT, "attribute '%s' has the wrong type", c->bad);
    return st;
}

/* What an earlier visit found in the bodies of a node holds only if this one goes there again. */
static void leave_subgraphs(qdq_infer_env *env, const qdq_node *n)
{
    if ((qdq_op_get_info(n->op)->flags & QDQ_OP_CONTROL) == 0)
        return;
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (n->attr[i]->type == QDQ_ATTR_GRAPH && n->attr[i]->ref == NULL)
            qdq_infer_give_up(env, n->attr[i]->v.g);
}

static qdq_status infer_node(qdq_infer_env *env, const qdq_node *n, qdq_error *err)
{
    qdq_infer c = {.env = env, .node = n, .opset = env->opset, .err = err};
    qdq_status st;

    leave_subgraphs(env, n);
    st = run_function(&c);
    if (st == QDQ_E_FORMAT) {
        (void)qdq_within(err, st, "node '%s' (%s)", qdq_node_label(n, &env->arena), n->type);
        forget_outputs(env, n);
        st = contradiction(env, err);
    }
    if (st != QDQ_OK)
        return st;
    for (uint32_t i = 0; i < n->n_out; i++) {
        qdq_fact *f;

        if (n->out[i] == NULL)
            continue;
        f = &env->graphs[n->graph->index].fact[n->out[i]->id];
        QDQ_TRY(settle(env, n->out[i], f->type, &f->type, err));
    }
    return QDQ_OK;
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* Ready for a walk: nothing is known but the inputs. */
static qdq_status enter_graph(qdq_infer_env *env, qdq_graph *g, const qdq_fact *in, size_t n_in,
                              qdq_error *err)
{
    qdq_infer_graph_state *s = &env->graphs[g->index];

    s->given_up = false;
    if (s->fact == NULL) {
        QDQ_TRY(qdq_graph_sorted(g, &env->arena, &s->order, &s->n_order, err));
        s->fact = qdq_arena_array(&env->arena, g->values.n + 1, sizeof *s->fact);
        QDQ_NEED(s->fact != NULL, err);
    } else {
        memset(s->fact, 0, g->values.n * sizeof *s->fact);
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_value *v = g->inputs.at[i];
        qdq_fact *f = &s->fact[v->id];

        if (i < n_in)
            *f = in[i];
        if (v->init == NULL || qdq_value_const(v) == NULL) /* a constant is what its data is */
            QDQ_TRY(settle(env, v, f->type, &f->type, err));
    }
    return QDQ_OK;
}

static qdq_status walk_graph(qdq_infer_env *env, qdq_graph *g, qdq_error *err)
{
    const qdq_infer_graph_state *s = &env->graphs[g->index];

    for (size_t i = 0; i < s->n_order; i++) {
        if (i % POLL_NODES == 0)
            QDQ_TRY(qdq_job_poll(env->opts->job, err));
        QDQ_TRY(infer_node(env, s->order[i], err));
    }
    return QDQ_OK;
}

void qdq_infer_give_up(qdq_infer_env *env, const qdq_graph *g)
{
    env->graphs[g->index].given_up = true;
}

qdq_status qdq_infer_body(qdq_infer_env *env, qdq_graph *g, const qdq_fact *in, size_t n_in,
                          qdq_fact *out, bool *done, qdq_error *err)
{
    qdq_infer_graph_state *s = &env->graphs[g->index];
    uint64_t work = (uint64_t)g->n_node + g->values.n + 1;
    qdq_status st;

    *done = false;
    if (s->active) /* a function that calls itself */
        return QDQ_OK;
    if (env->depth >= QDQ_MAX_NESTING || env->work < work) {
        qdq_infer_give_up(env, g);
        return QDQ_OK;
    }
    env->work -= work;
    env->depth++;
    s->active = true;
    st = enter_graph(env, g, in, n_in, err);
    if (st == QDQ_OK)
        st = walk_graph(env, g, err);
    s->active = false;
    env->depth--;
    if (st != QDQ_OK) {
        qdq_infer_give_up(env, g);
        return st;
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        const qdq_fact *f = qdq_infer_fact(env, g->outputs.at[i]);

        memset(&out[i], 0, sizeof out[i]);
        if (f != NULL)
            out[i].type = f->type;
        out[i].values = qdq_infer_values_of(env, g->outputs.at[i]);
    }
    *done = true;
    return QDQ_OK;
}

/* --- a run ------------------------------------------------------------------------------------ */

qdq_status qdq_infer_open(qdq_infer_env *env, qdq_model *m, const qdq_shape_opts *opts,
                          qdq_error *err)
{
    memset(env, 0, sizeof *env);
    env->model = m;
    env->opts = opts;
    env->opset = qdq_model_opset_of(m, "");
    env->elements_left = VALUES_ROOM;
    env->work = 1000;
    QDQ_FOR_GRAPHS (g, m)
        env->work += WORK_FACTOR * ((uint64_t)g->n_node + g->values.n);
    env->graphs = qdq_arena_array(&env->arena, m->graphs.n, sizeof *env->graphs);
    return env->graphs != NULL && qdq_functions_open(&env->functions, m, &env->arena)
               ? QDQ_OK
               : qdq_nomem(err);
}

qdq_status qdq_infer_run(qdq_infer_env *env, qdq_error *err)
{
    QDQ_TRY(enter_graph(env, env->model->graph, NULL, 0, err));
    QDQ_TRY(walk_graph(env, env->model->graph, err));
    if (env->warnings > MAX_WARNINGS && !env->prove)
        qdq_job_log(env->opts->job, QDQ_LOG_WARNING, "%u more contradictions between shapes",
                    env->warnings - MAX_WARNINGS);
    return QDQ_OK;
}

void qdq_infer_close(qdq_infer_env *env)
{
    qdq_functions_close(&env->functions);
    qdq_map_free(&env->sums);
    qdq_arena_free(&env->arena);
}

qdq_status qdq_model_infer(qdq_model *m, const qdq_shape_opts *opts, qdq_error *err)
{
    static const qdq_shape_opts lax = {false, false, NULL};
    qdq_error local = {QDQ_OK, ""}; /* messages are needed even when the caller wants none */
    qdq_infer_env env;
    qdq_status st = qdq_infer_open(&env, m, opts != NULL ? opts : &lax, &local);

    if (st == QDQ_OK)
        st = qdq_infer_run(&env, &local);
    if (st == QDQ_OK)
        st = qdq_infer_commit(&env, &local);
    qdq_infer_close(&env);
    if (st != QDQ_OK && err != NULL)
        *err = local;
    return st;
}

qdq_status qdq_model_clone_typed(const qdq_model *m, const qdq_job *job, qdq_model **out,
                                 qdq_error *err)
{
    const qdq_shape_opts opts = {.job = job};

    *out = NULL;
    QDQ_TRY(qdq_model_clone(m, out, err));
    qdq_status st = qdq_model_infer(*out, &opts, err);
    return QDQ_HAND_OVER(*out, st, out, qdq_model_free);
}

qdq_status qdq_model_infer_shapes(qdq_model *m, qdq_error *err)
{
    return qdq_model_infer(m, NULL, err);
}
