/* half_choose.c - which nodes stay float32 when the others get 16 bits: those that the user names,
 * those that add up many numbers where that is asked for, and those whose inputs or results came
 * near the end of the range when samples were run. What an operator cannot do at all needs no
 * mention: half_decide.c knows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/regexp.h"
#include "ir/shape.h"
#include "quant/calib/calib.h"
#include "quant/half_precision/half_state.h"
#include "quant/half_precision/widen.h"

/* --- models in 16 bits ------------------------------------------------------------------------ */

/* Is n a node that computes float32, and nothing in 16 bits? What reads one value of any type, as
 * Shape does, is none. */
static bool computes_float(const qdq_node *n)
{
    size_t n_in = 0, n_out = 0;

    if (n->op == QDQ_OP_CAST || qdq_node_is_qdq(n))
        return false;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        const qdq_value *v = i < n->n_in ? n->in[i].value : n->out[i - n->n_in];
        qdq_elem e = v != NULL ? qdq_half_elem(v) : QDQ_UNDEFINED;

        if (qdq_elem_is_half(e))
            return false;
        n_in += e == QDQ_FLOAT && i < n->n_in;
        n_out += e == QDQ_FLOAT && i >= n->n_in;
    }
    return n_out > 0 || n_in > 1;
}

static qdq_status note_float(const qdq_model *m, qdq_arena *arena, qdq_half_labels *out,
                             qdq_error *err)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g) {
            if (!computes_float(n))
                continue;
            const char *label = qdq_arena_strdup(arena, qdq_node_label(n, arena));
            QDQ_NEED(label != NULL && QDQ_PUSH(arena, out, label), err);
        }
    return QDQ_OK;
}

qdq_status qdq_half_find_float(const qdq_model *m, qdq_arena *arena, qdq_half_labels *out,
                               qdq_error *err)
{
    qdq_model *copy;

    QDQ_TRY(qdq_model_clone_typed(m, NULL, &copy, err));
    qdq_status st = note_float(copy, arena, out, err);
    qdq_model_free(copy);
    return st;
}

qdq_status qdq_half_begin(const qdq_model *m, const qdq_target *t, qdq_plan *plan, qdq_error *err)
{
    qdq_half_labels labels = {0};

    if ((t->half.type != QDQ_FLOAT16 && t->half.type != QDQ_BFLOAT16) || !qdq_model_has_half(m))
        return QDQ_OK;
    plan->half.widened = true;
    QDQ_TRY(qdq_half_find_float(m, &plan->arena, &labels, err));
    for (size_t i = 0; i < labels.n; i++)
        QDQ_NEED(QDQ_PUSH(&plan->arena, &plan->half.was_float, labels.at[i]), err);
    return QDQ_OK;
}

typedef struct chooser {
    const qdq_model *m;
    const qdq_target_half *half;
    qdq_plan *plan;
    const qdq_job *job;
    /* for what is refused anyway */
    qdq_half_state rules;
    qdq_arena scratch;
    /* labels */
    qdq_map was_float;
    /* tensor name -> index into observed->tensors */
    qdq_map widest;
    qdq_plan *observed;
    qdq_error *err;
} chooser;

/* Half of the range: samples do not show the worst. */
static double limit_of(qdq_elem type)
{
    return type == QDQ_FLOAT16 ? 65504.0 / 2 : INFINITY;
}

static qdq_status keep_node(chooser *c, const qdq_node *n, const char *reason)
{
    const qdq_plan_float entry = {qdq_node_label(n, &c->scratch), n->type, reason};

    return qdq_allocated(qdq_plan_add_half_keep(c->plan, entry), c->err);
}

/* --- by list ---------------------------------------------------------------------------------- */

typedef struct pattern {
    const char *text;
    qdq_regexp re;
    bool matched;
} pattern;

static qdq_status match_pattern(chooser *c, pattern *p, const qdq_node *n, bool *yes)
{
    *yes = strcmp(p->text, n->type) == 0;
    if (!*yes)
        QDQ_TRY(qdq_regexp_match(&p->re, qdq_node_label(n, &c->scratch), yes, c->err));
    p->matched |= *yes;
    return QDQ_OK;
}

static qdq_status compile_patterns(chooser *c, pattern *list, size_t *n)
{
    for (*n = 0; c->half->keep != NULL && c->half->keep[*n] != NULL; ++*n) {
        qdq_status st = qdq_regexp_open(c->half->keep[*n], false, &list[*n].re, c->err);

        list[*n].text = c->half->keep[*n];
        if (st != QDQ_OK)
            return st == QDQ_E_USAGE ? qdq_within(c->err, st, "keep in float32") : st;
    }
    return QDQ_OK;
}

/* --- by what they do -------------------------------------------------------------------------- */

static bool adds_up(qdq_op op)
{
    return QDQ_OP_IS_IN(op, QDQ_OP_REDUCESUM, QDQ_OP_REDUCEMEAN, QDQ_OP_REDUCEL1, QDQ_OP_REDUCEL2,
                        QDQ_OP_REDUCESUMSQUARE, QDQ_OP_REDUCELOGSUM, QDQ_OP_REDUCELOGSUMEXP,
                        QDQ_OP_GLOBALAVERAGEPOOL, QDQ_OP_GLOBALLPPOOL, QDQ_OP_LAYERNORMALIZATION,
                        QDQ_OP_INSTANCENORMALIZATION, QDQ_OP_GROUPNORMALIZATION,
                        QDQ_OP_RMSNORMALIZATION, QDQ_OP_LPNORMALIZATION,
                        QDQ_OP_MEANVARIANCENORMALIZATION, QDQ_OP_SOFTMAX, QDQ_OP_LOGSOFTMAX,
                        QDQ_OP_CUMSUM, QDQ_OP_POW);
}

/* --- by range --------------------------------------------------------------------------------- */

static bool is_observable(const qdq_value *v)
{
    return !v->dead && qdq_is_float_tensor(v) && qdq_value_const(v) == NULL &&
           (v->producer != NULL || (v->is_input && v->init == NULL));
}

/* The largest magnitude of every float activation of the main graph, as scales of a plan that is
 * made for that alone: int8 without sign of its own has 127 steps on either side. */
static qdq_status observe_ranges(chooser *c, const qdq_quantizing *q)
{
    qdq_quantize_opts opts = *q->opts;
    qdq_target symmetric = *q->target;
    qdq_quantizing own = *q;
    const qdq_graph *g = c->m->graph;

    for (size_t i = 0; i < g->values.n; i++) {
        qdq_plan_tensor entry = {
            .tensor = g->values.at[i]->name, .rule = "", .origin = "", .all = true};

        entry.qparam.type = QDQ_INT8;
        if (!is_observable(g->values.at[i]))
            continue;
        QDQ_NEED(QDQ_PUSH(&c->observed->arena, &c->observed->tensors, entry), c->err);
        QDQ_NEED(qdq_map_set_num(&c->widest, entry.tensor, c->observed->tensors.n - 1), c->err);
    }
    symmetric.format.activation = (qdq_qscheme){QDQ_INT8, true, false, QDQ_FLOAT, false};
    opts.method = QDQ_METHOD_MAX;
    opts.cache = NULL;
    own.target = &symmetric;
    own.opts = &opts;
    own.plan = c->observed;
    own.basis.folds = 0;
    return qdq_calibrate(&own, NULL, c->err);
}

static double magnitude(const chooser *c, const qdq_value *v)
{
    const qdq_map_value *at =
        v != NULL && v->graph == c->m->graph ? qdq_map_get(&c->widest, v->name) : NULL;

    return at != NULL ? 127 * (double)c->observed->tensors.at[at->num].qparam.scale : 0;
}

/* The largest number that n reads or gives. */
static double widest_of(const chooser *c, const qdq_node *n)
{
    double widest = 0;

    for (uint32_t i = 0; i < n->n_in; i++)
        widest = fmax(widest, magnitude(c, n->in[i].value));
    for (uint32_t i = 0; i < n->n_out; i++)
        widest = fmax(widest, magnitude(c, n->out[i]));
    return widest;
}

/* --- all -------------------------------------------------------------------------------------- */

static qdq_status choose_node(chooser *c, const qdq_node *n, pattern *list, size_t n_list)
{
    double widest = widest_of(c, n);
    char reason[80];

    if (qdq_node_is_qdq(n))
        return QDQ_OK; /* what the model has follows what is around it */
    if (qdq_half_refusal(&c->rules, n) != NULL)
        return QDQ_OK;
    for (size_t i = 0; i < n_list; i++) {
        bool yes;

        QDQ_TRY(match_pattern(c, &list[i], n, &yes));
        if (yes)
            return keep_node(c, n, "asked for");
    }
    if (c->was_float.n_live > 0 &&
        qdq_map_get(&c->was_float, qdq_node_label(n, &c->scratch)) != NULL)
        return keep_node(c, n, "float32 in the model");
    if (c->half->keep_sums && adds_up(n->op))
        return keep_node(c, n, "adds up many numbers");
    if (widest <= limit_of(c->half->type))
        return QDQ_OK;
    snprintf(reason, sizeof reason, "magnitudes up to %.3g, %s ends at 65504", widest,
             qdq_elem_name(c->half->type));
    return keep_node(c, n, reason);
}

static qdq_status choose_nodes(chooser *c, pattern *list, size_t n_list)
{
    QDQ_FOR_GRAPHS (g, c->m) {
        if (qdq_graph_in_function(g))
            continue;
        QDQ_FOR_NODES (n, g)
            QDQ_TRY(choose_node(c, n, list, n_list));
    }
    for (size_t i = 0; i < n_list; i++)
        if (!list[i].matched)
            qdq_job_log(c->job, QDQ_LOG_WARNING,
                        "keep in float32: '%s' is neither an operator nor a label that is left "
                        "after cleaning",
                        list[i].text);
    return QDQ_OK;
}

static qdq_status choose_kept(chooser *c)
{
    size_t n_list = 0, n_pattern = 0;

    while (c->half->keep != NULL && c->half->keep[n_list] != NULL)
        n_list++;
    pattern *list = qdq_arena_array(&c->scratch, n_list + 1, sizeof *list);
    for (size_t i = 0; i < c->plan->half.was_float.n; i++)
        QDQ_NEED(qdq_map_put(&c->was_float, c->plan->half.was_float.at[i], NULL) != NULL, c->err);
    QDQ_NEED(list != NULL && qdq_functions_open(&c->rules.functions, c->m, &c->scratch), c->err);
    qdq_status st = compile_patterns(c, list, &n_pattern);
    if (st == QDQ_OK)
        st = choose_nodes(c, list, n_list);
    for (size_t i = 0; i < n_pattern; i++)
        qdq_regexp_close(&list[i].re);
    qdq_functions_close(&c->rules.functions);
    return st;
}

qdq_status qdq_half_choose(const qdq_quantizing *q, qdq_error *err)
{
    const qdq_target_half *rest = &q->target->half;
    qdq_plan *plan = q->plan;
    chooser c = {.m = q->m, .half = rest, .plan = plan, .job = q->opts->job, .err = err};
    qdq_status st = QDQ_OK;

    plan->half.type = rest->type;
    plan->half.direct_io = rest->direct_io;
    if (!qdq_plan_has_half(plan))
        return QDQ_OK;
    c.rules = (qdq_half_state){.half = &plan->half, .err = err};
    c.observed = qdq_plan_new();
    QDQ_NEED(c.observed != NULL, err);
    if (q->data != NULL && isfinite(limit_of(rest->type)))
        st = observe_ranges(&c, q);
    if (st == QDQ_OK)
        st = choose_kept(&c);
    qdq_plan_free(c.observed);
    qdq_map_free(&c.widest);
    qdq_map_free(&c.was_float);
    qdq_arena_free(&c.scratch);
    return st;
}

qdq_status qdq_half_recall(const qdq_model *m, qdq_elem type, qdq_plan *plan, qdq_error *err)
{
    const qdq_target_half rest = {.type = type};
    qdq_model *copy;
    chooser c = {.half = &rest, .plan = plan, .err = err};

    plan->half.type = type;
    c.rules = (qdq_half_state){.half = &plan->half, .err = err};
    /* what is refused anyway is known by types */
    QDQ_TRY(qdq_model_clone_typed(m, NULL, &copy, err));
    c.m = copy;
    c.observed = qdq_plan_new();
    qdq_status st = c.observed != NULL ? choose_kept(&c) : qdq_nomem(err);
    qdq_plan_free(c.observed);
    qdq_map_free(&c.was_float);
    qdq_arena_free(&c.scratch);
    qdq_model_free(copy);
    return st;
}
