/* verify_search.c - which node does an engine compute wrongly? Shows inner tensors as outputs, some
 * at a time, and compares them with the reference's: of what a wrong tensor depends on, a right one
 * rules out all that it depends on itself.
 *
 * A tensor that is shown may be computed otherwise, since engines fuse nothing across an output:
 * then the outputs become right, and the tensor is inside of the form. It is set aside, and counts
 * in the end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "ir/shape.h"
#include "quant/check/verify_state.h"
#include "quant/compare/step_inputs.h"

enum { MOST_PROBES = 24, MOST_SHOWN = 8 };

typedef enum knowledge {
    NOT_KNOWN,
    IS_RIGHT, /* or nothing that can be shown */
    IS_HIDDEN /* the difference goes away where it is shown */
} knowledge;

typedef struct searching {
    qdq_verifying *v;
    /* of v->m, with types */
    qdq_model *copy;
    /* n: float results in order of execution */
    qdq_value **value;
    size_t n;
    /* by value id */
    knowledge *known;
    /* dB: what has less is wrong */
    double limit;
    /* where the output is furthest off, as v->m reads it */
    const qdq_named_array *in;
    size_t n_in;
    /* at a time */
    size_t shown_most;
    /* Of a probe: */
    const qdq_value *shown[MOST_SHOWN + 1];
    /* of the reference; the last one: of the output */
    qdq_held held[MOST_SHOWN + 1];
    bool is_wrong[MOST_SHOWN + 1];
    size_t n_shown;
} searching;

/* --- a probe ---------------------------------------------------------------------------------- */

/* Index among what is shown, n_shown for the output; above: none of them. */
static size_t index_of(const searching *s, const char *name)
{
    if (strcmp(name, s->v->worst->name) == 0)
        return s->n_shown;
    for (size_t i = 0; i < s->n_shown; i++)
        if (strcmp(s->shown[i]->name, name) == 0)
            return i;
    return s->n_shown + 1;
}

static qdq_status copy_reference(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    searching *s = ctx;
    const size_t i = index_of(s, name);

    return i <= s->n_shown ? qdq_hold(&s->held[i], a, err) : QDQ_OK;
}

static qdq_status match_shown(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    searching *s = ctx;
    const size_t i = index_of(s, name);
    double db;

    if (i > s->n_shown || !s->held[i].is_held || !qdq_array_same_shape(&s->held[i].array, a))
        return QDQ_OK;
    /* A channel that is nearly silent has few steps of a code: of inner tensors it tells roundings,
     * and no defect. */
    QDQ_TRY(qdq_verify_pair_db(&s->held[i].array, a, s->v->batch, i < s->n_shown, &db, err));
    s->is_wrong[i] = db < s->limit;
    return QDQ_OK;
}

static qdq_status run_side(const searching *s, const qdq_verify_side *side, qdq_output_fn fn,
                           qdq_error *err)
{
    qdq_session *session = NULL;

    qdq_status st = qdq_verify_open(s->v, side, &session, err);
    if (st == QDQ_OK)
        st = qdq_session_run(session, s->in, s->n_in, fn, (void *)(uintptr_t)s, err);
    qdq_session_close(session);
    return st;
}

/* Runs both sides with s->shown. What cannot run so is not known: *ok. */
static qdq_status run_probe(searching *s, bool *ok, qdq_error *err)
{
    const char *names[MOST_SHOWN + 1] = {NULL};
    const qdq_verify_side reference = {s->v->reference, QDQ_LEVEL_NONE, names},
                          engine = {s->v->engine, QDQ_LEVEL_ALL, names};
    qdq_error own = QDQ_ERROR_INIT;

    for (size_t i = 0; i < s->n_shown; i++)
        names[i] = s->shown[i]->name;
    for (size_t i = 0; i <= s->n_shown; i++)
        s->held[i].is_held = s->is_wrong[i] = false;
    qdq_status st = run_side(s, &reference, copy_reference, &own);
    if (st == QDQ_OK)
        st = run_side(s, &engine, match_shown, &own);
    *ok = st == QDQ_OK;
    return st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED ? qdq_fail(err, st, "%s", own.text)
                                                        : QDQ_OK;
}

/* --- what depends on what --------------------------------------------------------------------- */

/* needed[value id]: what `of` is computed from, itself included, up to what is known to be
 * right. */
static qdq_status find_needed(const searching *s, const qdq_value *of, bool *needed, qdq_error *err)
{
    QDQ_VEC(const qdq_value *) open = {0};
    qdq_arena scratch = QDQ_ARENA_INIT;
    bool ok = QDQ_PUSH(&scratch, &open, of);

    memset(needed, 0, s->copy->graph->values.n * sizeof *needed);
    needed[of->id] = true;
    while (ok && open.n > 0) {
        const qdq_node *n = open.at[--open.n]->producer;

        for (uint32_t i = 0; ok && n != NULL && i < n->n_in; i++) {
            const qdq_value *in = qdq_node_in(n, i);

            if (in == NULL || in->graph != s->copy->graph || needed[in->id] ||
                s->known[in->id] == IS_RIGHT)
                continue;
            needed[in->id] = true;
            ok = QDQ_PUSH(&scratch, &open, in);
        }
    }
    qdq_arena_free(&scratch);
    return qdq_allocated(ok, err);
}

static qdq_status rule_out(searching *s, const qdq_value *v, bool *needed, qdq_error *err)
{
    QDQ_TRY(find_needed(s, v, needed, err));
    for (size_t i = 0; i < s->copy->graph->values.n; i++)
        if (needed[i])
            s->known[i] = IS_RIGHT;
    return QDQ_OK;
}

/* Some of what `wrong` needs and no one has looked at, spread evenly. */
static qdq_status choose_shown(searching *s, const qdq_value *wrong, bool *needed, qdq_error *err)
{
    size_t left = 0, seen = 0;

    QDQ_TRY(find_needed(s, wrong, needed, err));
    needed[wrong->id] = false;
    for (size_t i = 0; i < s->n; i++)
        left += needed[s->value[i]->id] && s->known[s->value[i]->id] == NOT_KNOWN;
    const size_t k = left < s->shown_most ? left : s->shown_most;
    s->n_shown = 0;
    for (size_t i = 0; i < s->n && s->n_shown < k; i++) {
        if (!needed[s->value[i]->id] || s->known[s->value[i]->id] != NOT_KNOWN)
            continue;
        if (++seen * (k + 1) > (s->n_shown + 1) * left)
            s->shown[s->n_shown++] = s->value[i];
    }
    if (k > 0 && s->n_shown == 0)
        return qdq_fail(err, QDQ_E_BUG, "none of %zu tensors chosen", left);
    return QDQ_OK;
}

/* --- the search ------------------------------------------------------------------------------- */

/* A probe says something: *wrong moves forward, what is right is ruled out. */
static qdq_status learn_from_probe(searching *s, const qdq_value **wrong, bool *needed,
                                   qdq_error *err)
{
    const qdq_value *first = NULL;

    for (size_t i = s->n_shown; i-- > 0;)
        if (s->is_wrong[i])
            first = s->shown[i];
    for (size_t i = 0; i < s->n_shown; i++)
        if (!s->is_wrong[i])
            QDQ_TRY(rule_out(s, s->shown[i], needed, err));
    *wrong = first != NULL ? first : *wrong;
    return QDQ_OK;
}

static qdq_status search_tensor(searching *s, const qdq_value **wrong, bool *needed, qdq_error *err)
{
    for (unsigned probes = 0; probes < MOST_PROBES; probes++) {
        bool ok;

        QDQ_TRY(qdq_job_poll(s->v->opts.job, err));
        QDQ_TRY(choose_shown(s, *wrong, needed, err));
        if (s->n_shown == 0)
            return QDQ_OK;
        qdq_job_progress(s->v->opts.job, "search", probes, MOST_PROBES);
        QDQ_TRY(run_probe(s, &ok, err));
        if (ok && s->is_wrong[s->n_shown])
            QDQ_TRY(learn_from_probe(s, wrong, needed, err));
        else if (s->n_shown > 1)
            s->shown_most = s->n_shown / 2;
        else
            s->known[s->shown[0]->id] = IS_HIDDEN;
    }
    return QDQ_OK;
}

/* The first tensor of the form: of those that hide the difference, or the wrong one itself. */
static const qdq_value *first_of(const searching *s, const qdq_value *wrong, const bool *needed)
{
    for (size_t i = 0; i < s->n; i++)
        if (needed[s->value[i]->id] && s->known[s->value[i]->id] == IS_HIDDEN)
            return s->value[i];
    return wrong;
}

/* Float results of nodes, but those of constants alone and of DequantizeLinear: engines want to
 * fuse that one. */
static bool can_be_shown(const qdq_value *v)
{
    return qdq_value_elem(v) == QDQ_FLOAT && v->n_output == 0 &&
           v->producer->op != QDQ_OP_DEQUANTIZELINEAR && v->producer->op != QDQ_OP_CONSTANT;
}

static qdq_status list_values(searching *s, qdq_error *err)
{
    const qdq_graph *g = s->copy->graph;

    s->value = qdq_arena_array(&s->v->arena, g->values.n + 1, sizeof(qdq_value *));
    s->known = qdq_arena_array(&s->v->arena, g->values.n + 1, sizeof *s->known);
    QDQ_NEED(s->value != NULL && s->known != NULL, err);
    QDQ_FOR_NODES (n, g)
        for (uint32_t i = 0; i < n->n_out; i++)
            if (can_be_shown(n->out[i]))
                s->value[s->n++] = n->out[i];
    return QDQ_OK;
}

static qdq_status find_node(searching *s, qdq_error *err)
{
    qdq_verify_result *r = s->v->out;
    const qdq_value *wrong = qdq_graph_find(s->copy->graph, s->v->worst->name);
    qdq_arena scratch = QDQ_ARENA_INIT;

    QDQ_TRY(list_values(s, err));
    bool *needed = qdq_arena_array(&s->v->arena, s->copy->graph->values.n + 1, sizeof *needed);
    QDQ_NEED(needed != NULL, err);
    if (wrong == NULL)
        return QDQ_OK;
    s->limit = fmin(fmax(s->v->worst->worst_db + QDQ_VERIFY_LOSS_DB, QDQ_VERIFY_SAME_DB), 30);
    QDQ_TRY(search_tensor(s, &wrong, needed, err));
    QDQ_TRY(find_needed(s, wrong, needed, err));
    const qdq_node *n = first_of(s, wrong, needed)->producer;
    if (n == NULL)
        return QDQ_OK;
    snprintf(s->v->op, sizeof s->v->op, "%s", n->type);
    snprintf(s->v->node, sizeof s->v->node, "%s", qdq_node_label(n, &scratch));
    qdq_verify_describe(n, r->open, s->v->form, sizeof s->v->form);
    r->saturates = qdq_verify_saturates(s->v->engine, n);
    qdq_arena_free(&scratch);
    return QDQ_OK;
}

static qdq_status find_inputs(searching *s, qdq_error *err)
{
    const qdq_verifying *v = s->v;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    const qdq_step_request at = {.engine = v->reference,
                                 .m = v->m,
                                 .of = v->opts.original != NULL ? v->opts.original : v->m,
                                 .opts = &so,
                                 .data = v->data,
                                 .sample = v->worst->worst_sample,
                                 .step = v->worst->worst_step,
                                 .job = v->opts.job};

    so.threads = v->opts.threads;
    so.shapes = v->opts.shapes;
    so.n_shapes = v->opts.n_shapes;
    return qdq_step_inputs(&at, &s->v->arena, &s->in, &s->n_in, err);
}

qdq_status qdq_verify_search(qdq_verifying *v, qdq_error *err)
{
    searching s = {.v = v, .shown_most = MOST_SHOWN};

    if (v->reference == NULL ||
        (qdq_engine_get_info(v->engine)->capabilities & QDQ_CAN_EXPOSE) == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_model_clone_typed(v->m, NULL, &s.copy, err));
    qdq_status st = find_inputs(&s, err);
    if (st == QDQ_OK)
        st = find_node(&s, err);
    for (size_t i = 0; i <= MOST_SHOWN; i++)
        qdq_held_free(&s.held[i]);
    qdq_model_free(s.copy);
    return st;
}
