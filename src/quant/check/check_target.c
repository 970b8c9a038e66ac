/* check_target.c - a quantized model against a target, in four steps:
 *
 *   params    every Q and DQ by itself: scales, zero points, types, pairs
 *   place     placement reads the model as if to complete it: what it keeps is fused, what it would
 *             add is missing
 *   engine    which kernels ran, if there is an engine: that proves it
 *   fusion    each node next to Q/DQ: is it fused, and if not, why
 *
 * Bodies of If, Loop and Scan are checked the same way, without the engine. Operators on codes are
 * taken for what they are between Q/DQ. Nothing here decides by itself what an engine can run:
 * placement does, from the target's description. Where the target quantizes weights alone, no
 * kernel has to fuse anything. */
#include "base/fail.h"
#include "base/opts.h"
#include "base/pack.h"
#include "base/words.h"
#include "ir/edit.h"
#include "ir/shape.h"
#include "quant/check/check_state.h"
#include "quant/import/strip.h"
#include "quant/place/place.h"
#include "quant/target_fit.h"

static const struct {
    const char *name;
    bool is_error;
    const char *help;
} kinds[] = {
#define KIND(ENUM, name, is_error, help) {name, is_error, help},
#include "quant/check/check_kinds.def"
#undef KIND
};

const char *qdq_check_kind(size_t i, const char **help)
{
    if (help != NULL)
        *help = i < QDQ_COUNT(kinds) ? kinds[i].help : NULL;
    return i < QDQ_COUNT(kinds) ? kinds[i].name : NULL;
}

qdq_status qdq_check_add(qdq_checking *c, qdq_check_kind_id kind, const qdq_node *n,
                         uint64_t converted, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *why = qdq_arena_vprintf(&c->arena, fmt, args);
    va_end(args);
    qdq_target_finding f = {
        .is_error = kinds[kind].is_error,
        .kind = kinds[kind].name,
        .op = n->type,
        .node = qdq_node_label(n, &c->arena),
        .why = why,
        .converted = converted,
        .measured = "",
    };
    return qdq_allocated(why != NULL && QDQ_PUSH(&c->arena, &c->found, f), c->err);
}

uint64_t qdq_check_elements(const qdq_value *v)
{
    uint64_t n = 1;

    if (v == NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR || v->type->rank < 0)
        return v != NULL && qdq_value_const(v) != NULL ? (uint64_t)qdq_value_const(v)->count : 0;
    for (int i = 0; i < v->type->rank; i++) {
        /* one sample */
        uint64_t d = v->type->dim[i].value < 0 ? 1 : (uint64_t)v->type->dim[i].value;

        if (d != 0 && n > UINT64_MAX / d)
            return 0;
        n *= d;
    }
    return n;
}

const qdq_value *qdq_check_result(const qdq_checking *c, const qdq_target_op *rule,
                                  const qdq_node *n)
{
    const qdq_value *v = n->out[0];
    const qdq_node *next;

    while ((next = qdq_value_only_user(v)) != NULL && next->graph == c->m->graph &&
           next->domain[0] == '\0' && qdq_node_in(next, 0) == v && next->n_out == 1 &&
           next->out[0] != NULL && qdq_word_is_in(next->type, rule->epilogue))
        v = next->out[0];
    return v;
}

/* --- place ------------------------------------------------------------------------------------ */

static qdq_status take_verdicts(qdq_checking *c, const qdq_plan *p, const qdq_map *nodes)
{
    for (size_t i = 0; i < p->quantized.n; i++) {
        const qdq_node *n = qdq_map_get_ptr(nodes, p->quantized.at[i].node);

        if (n == NULL)
            continue;
        qdq_check_of(c, n)->fused = p->quantized.at[i].preserved;
        qdq_check_of(c, n)->planned = !p->quantized.at[i].preserved;
    }
    for (size_t i = 0; i < p->left_float.n; i++) {
        const qdq_node *n = qdq_map_get_ptr(nodes, p->left_float.at[i].node);
        const char *reason = qdq_arena_strdup(&c->arena, p->left_float.at[i].reason);

        QDQ_NEED(reason != NULL, c->err);
        if (n != NULL)
            qdq_check_of(c, n)->reason = reason;
    }
    return QDQ_OK;
}

static qdq_status take_placement(qdq_checking *c)
{
    const qdq_place_opts none = {.job = NULL};
    qdq_plan *p = qdq_plan_new();
    qdq_map nodes = QDQ_MAP_INIT;
    qdq_status st =
        qdq_allocated(p != NULL && qdq_graph_map_labels(c->m->graph, &c->arena, &nodes), c->err);

    if (st == QDQ_OK)
        st = qdq_place(c->m, c->t, &none, p, c->err);
    if (st == QDQ_OK)
        st = take_verdicts(c, p, &nodes);
    if (st == QDQ_OK)
        st = qdq_place_formats(c->m->graph, c->t, NULL, &c->arena, &c->format, c->err);
    qdq_map_free(&nodes);
    qdq_plan_free(p);
    return st;
}

/* --- result ----------------------------------------------------------------------------------- */

static void pack_findings(qdq_pack *p, void *to)
{
    qdq_target_check *c = to;
    qdq_target_finding *f =
        qdq_pack_array(p, (void *)(uintptr_t)c->findings, c->n, sizeof *c->findings);

    c->findings = f;
    for (size_t i = 0; i < c->n; i++) {
        f[i].kind = qdq_pack_string(p, f[i].kind);
        f[i].op = qdq_pack_string(p, f[i].op);
        f[i].node = qdq_pack_string(p, f[i].node);
        f[i].why = qdq_pack_string(p, f[i].why);
        f[i].measured = qdq_pack_string(p, f[i].measured);
    }
}

static qdq_target_check *pack_result(const qdq_checking *c)
{
    qdq_target_check out = {.findings = c->found.at,
                            .n = c->found.n,
                            .n_quantizers = c->n_quantizers,
                            .n_fused = c->n_fused,
                            .n_unfused = c->n_unfused,
                            .n_weights = c->n_weights,
                            .proven = c->proven};

    for (size_t i = 0; i < c->found.n; i++) {
        out.n_errors += c->found.at[i].is_error;
        out.converted += c->found.at[i].converted;
        out.microseconds += c->found.at[i].microseconds;
    }
    return qdq_pack_struct(&out, sizeof out, pack_findings);
}

/* Types, and what is known of Q and DQ by themselves. */
static qdq_status begin_check(qdq_checking *c)
{
    QDQ_TRY(qdq_model_infer(c->m, NULL, c->err));
    c->node = qdq_arena_array(&c->arena, (size_t)c->m->graph->next_node_id + 1, sizeof *c->node);
    return c->node != NULL ? qdq_check_params(c) : qdq_nomem(c->err);
}

/* Findings and counts of a body join those of the model around it, which has looked at its Q and DQ
 * already. */
static qdq_status join_findings(qdq_checking *c, const qdq_checking *body, size_t first)
{
    for (size_t i = first; i < body->found.n; i++) {
        qdq_target_finding f = body->found.at[i];

        f.op = qdq_arena_strdup(&c->arena, f.op);
        f.node = qdq_arena_strdup(&c->arena, f.node);
        f.why = qdq_arena_strdup(&c->arena, f.why);
        f.measured = qdq_arena_strdup(&c->arena, f.measured);
        QDQ_NEED(f.op != NULL && f.node != NULL && f.why != NULL && f.measured != NULL &&
                     QDQ_PUSH(&c->arena, &c->found, f),
                 c->err);
    }
    c->n_fused += body->n_fused;
    c->n_unfused += body->n_unfused;
    c->n_weights += body->n_weights;
    return QDQ_OK;
}

static qdq_status check_body(qdq_checking *c, const qdq_graph *g)
{
    qdq_check_opts opts = *c->opts;
    qdq_checking body = {.t = c->t, .opts = &opts, .err = c->err};
    size_t params = 0;

    opts.engine = NULL; /* engines show no kernel inside a body */
    qdq_status st = qdq_graph_to_model(g, &body.m, c->err);
    if (st == QDQ_OK)
        st = begin_check(&body);
    params = body.found.n;
    if (st == QDQ_OK)
        st = take_placement(&body);
    if (st == QDQ_OK)
        st = qdq_check_fusion(&body);
    if (st == QDQ_OK)
        st = join_findings(c, &body, params);
    qdq_arena_free(&body.arena);
    qdq_model_free(body.m);
    return st;
}

/* The bodies of If, Loop and Scan, at any depth, each as a model of its own. */
static qdq_status check_subgraphs(qdq_checking *c)
{
    QDQ_FOR_GRAPHS (g, c->m) {
        if (g->owner == NULL || qdq_graph_in_function(g))
            continue;
        QDQ_TRY(qdq_job_poll(c->opts->job, c->err));
        QDQ_TRY(check_body(c, g));
    }
    return QDQ_OK;
}

static bool writes_nbits(const qdq_target *t)
{
    bool any = t->format.weight_store == QDQ_WEIGHT_AS_NBITS;

    for (size_t i = 0; i < t->overrides.n; i++)
        any |= t->overrides.at[i].format.weight_store == QDQ_WEIGHT_AS_NBITS;
    return any;
}

static size_t count_quantizers(const qdq_model *m)
{
    size_t count = 0;

    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            count += qdq_check_is_quantizer(n);
    return count;
}

/* MatMulNBits and GatherBlockQuantized as the products and tables behind DequantizeLinear that they
 * are, for targets that write them. *n: how many of these are no node of the model. */
static qdq_status unfold_nbits(qdq_checking *c, qdq_leftover *left, size_t *n)
{
    const size_t before = count_quantizers(c->m);
    qdq_map levels = QDQ_MAP_INIT;
    qdq_status st = writes_nbits(c->t) ? qdq_strip_nbits(c->m, &levels, left, c->err) : QDQ_OK;

    *n = count_quantizers(c->m) - before;
    qdq_map_free(&levels);
    return st;
}

static qdq_status check_model(qdq_checking *c, qdq_target_check **out)
{
    size_t n_unfolded;

    if (c->t->ops.n == 0)
        return qdq_fail(c->err, QDQ_E_UNSUPPORTED,
                        "target '%s' has no rules (key 'operators'): expected a target that has",
                        c->t->name);
    qdq_leftover left = {c->opts->job, 0};
    /* engines fuse dynamic products in their own form alone */
    QDQ_TRY(qdq_strip_operators(c->m, false, &left, c->err));
    QDQ_TRY(unfold_nbits(c, &left, &n_unfolded));
    QDQ_TRY(begin_check(c));
    c->n_quantizers -= n_unfolded;
    QDQ_TRY(take_placement(c));
    if (c->opts->engine != NULL)
        QDQ_TRY(qdq_check_engine(c));
    QDQ_TRY(qdq_check_fusion(c));
    QDQ_TRY(check_subgraphs(c));
    *out = pack_result(c);
    return qdq_allocated(*out != NULL, c->err);
}

qdq_status qdq_model_check_target(const qdq_model *m, const qdq_target *t,
                                  const qdq_check_opts *opts, qdq_target_check **out,
                                  qdq_error *err)
{
    qdq_check_opts own = QDQ_CHECK_OPTS_INIT;
    qdq_checking c = {.t = t, .opts = &own, .err = err};
    qdq_target *fitted;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_check_opts", &own, sizeof own, opts, err));
    qdq_status st = qdq_target_fit_rules(t, own.cpu, &fitted, err);
    c.t = fitted != NULL ? fitted : t;
    if (st == QDQ_OK)
        st = qdq_model_clone(m, &c.m, err);
    if (st == QDQ_OK)
        st = check_model(&c, out);
    qdq_target_free(fitted);
    qdq_arena_free(&c.arena);
    qdq_model_free(c.m);
    return st;
}
