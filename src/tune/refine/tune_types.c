/* tune_types.c - behind the search: other types of activations that the target lists
 * (`other_activations`), as space_types.h has them. The best placement with all tensors of such a
 * type has a profile, which prices each kind of tensor beside the one in the target's type; what is
 * faster by these is measured like any other candidate. Tensors that share a scale are one kind. */
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/refine/refine.h"
#include "tune/refine/tune_prices.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_types.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"

/* A loss of the whole model above it is none. */
static const double plain_loss = 0.03;
/* All tensors in one type are tried first where that brings most of what a mixture does: profiles
 * are noisy, and neighbours of one type convert nothing. */
static const double most_of_mixture = 0.9;

typedef struct typing {
    qdq_refining r;
    /* that is tried, as in space_types.h */
    size_t type;
    /* what its trials are called */
    const char *move;
    /* by number of a typed tensor: does its type count in the best placement? */
    bool *has_codes;
} typing;

static bool has_a_build(const qdq_tune_state *t)
{
    return qdq_tune_has_builds(t, QDQ_STAGE_TYPES, 1);
}

/* --- kinds ------------------------------------------------------------------------------------ */

static uint32_t hyperedge_of(const typing *x, const qdq_value *v)
{
    return x->r.t->parts.hyperedges.of[v->id];
}

static bool describe_edge(const qdq_refining *r, size_t edge, qdq_buf *text)
{
    const typing *x = (const typing *)(const void *)r; /* its first member */
    const qdq_space_edge *e = &x->r.t->task.space->edge[edge];

    if (!x->has_codes[qdq_space_typed(x->r.t->task.space, e->value)])
        return false;
    qdq_buf_printf(text, " %s.%u", e->node != NULL ? e->node->type : "", (unsigned)e->input);
    return true;
}

static void unite_kinds(typing *x, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < x->r.t->parts.hyperedges.graph.n_hyperedges && a != QDQ_TUNE_NO_KIND;
         i++)
        if (x->r.kind_of[i] == b)
            x->r.kind_of[i] = a;
}

/* What shares a scale has one type. */
static qdq_status unite_tied(typing *x, const qdq_plan *p, qdq_map *groups, qdq_error *err)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *e = &p->tensors.at[i];
        const qdq_value *v = qdq_space_type_decider(x->r.t->task.space, e);
        bool is_new;
        if (e->group == NULL || v == NULL || hyperedge_of(x, v) == QDQ_NO_HYPEREDGE)
            continue;
        qdq_map_value *first = qdq_map_put(groups, e->group, &is_new);
        QDQ_NEED(first != NULL, err);
        if (is_new)
            first->num = hyperedge_of(x, v);
        else
            unite_kinds(x, x->r.kind_of[first->num], x->r.kind_of[hyperedge_of(x, v)]);
    }
    return QDQ_OK;
}

static qdq_status find_kinds(typing *x, const qdq_plan *p, qdq_error *err)
{
    const qdq_space *s = x->r.t->task.space;
    qdq_map groups = QDQ_MAP_INIT;

    QDQ_TRY(qdq_refine_find_kinds(&x->r, err));
    qdq_status st = unite_tied(x, p, &groups, err);
    qdq_map_free(&groups);
    memset(x->r.kind, 0xff, x->r.n * sizeof *x->r.kind);
    for (size_t i = 0; i < s->n_edges; i++)
        x->r.kind[qdq_space_typed(s, s->edge[i].value)] =
            qdq_refine_kind_of(&x->r, s->edge[i].value);
    return st;
}

/* Which tensors have codes of the target's type in the best placement, and their kinds. */
static qdq_status read_plan(typing *x, qdq_error *err)
{
    qdq_plan *p;

    x->has_codes =
        qdq_arena_array(&x->r.arena, (size_t)x->r.t->task.space->n_typed + 1, sizeof *x->has_codes);
    QDQ_NEED(x->has_codes != NULL, err);
    QDQ_TRY(qdq_tune_plan_of(x->r.t, &x->r.base, &p, err));
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_value *v = qdq_space_type_decider(x->r.t->task.space, &p->tensors.at[i]);
        if (v != NULL)
            x->has_codes[qdq_space_typed(x->r.t->task.space, v)] = true;
    }
    qdq_status st = find_kinds(x, p, err);
    qdq_plan_free(p);
    return st;
}

/* --- placements ------------------------------------------------------------------------------- */

static void retype(const qdq_refining *r, size_t typed, qdq_assign *c)
{
    const typing *x = (const typing *)(const void *)r;

    qdq_space_set_type(r->t->task.space, c, (uint32_t)typed, x->type);
}

static bool is_retyped(const qdq_refining *r, size_t typed, const qdq_assign *c)
{
    const typing *x = (const typing *)(const void *)r;
    const qdq_space *s = r->t->task.space;

    return x->has_codes[typed] && qdq_space_get_type(s, c, (uint32_t)typed) !=
                                      qdq_space_get_type(s, &r->base, (uint32_t)typed);
}

/* *out: the best placement with the other type for all tensors. */
static qdq_status make_all(typing *x, qdq_assign *out, qdq_error *err)
{
    QDQ_NEED(qdq_assign_copy(out, &x->r.base, &x->r.arena), err);
    for (size_t i = 0; i < x->r.n; i++)
        if (x->has_codes[i] || x->r.kind[i] != QDQ_TUNE_NO_KIND)
            retype(&x->r, i, out);
    return QDQ_OK;
}

/* --- prices ----------------------------------------------------------------------------------- */

typedef struct sums {
    /* us that the type saves for all tensors, and for the kinds that pay */
    double all, mixed;
    size_t n_paying, n;
    bool known;
    /* us of the best placement */
    double model;
} sums;

static qdq_status find_gains(typing *x, const qdq_assign *all, sums *out, qdq_error *err)
{
    qdq_tune_prices before;
    bool known;

    *out = (sums){.known = false};
    QDQ_TRY(qdq_refine_find_gains(&x->r, all, &before, &known, err));
    if (!known)
        return QDQ_OK;
    *out = (sums){.known = true, .model = before.sum};
    for (size_t k = 0; k < x->r.gain.n; k++) {
        out->all += x->r.gain.at[k];
        out->mixed += x->r.pays.at[k] ? x->r.gain.at[k] : 0;
        out->n_paying += x->r.pays.at[k];
        out->n += before.time[k] > 0;
    }
    return QDQ_OK;
}

/* --- measuring -------------------------------------------------------------------------------- */

/* By two profiles. What misses a goal with several kinds may hold it with the one that saves
 * most. */
static qdq_status try_kinds(typing *x, const qdq_assign *all, qdq_error *err)
{
    sums s;
    qdq_assign mixture;
    bool kept = false, better = false;
    size_t n;

    QDQ_TRY(find_gains(x, all, &s, err));
    if (s.known && s.n_paying == 0 && s.all < -plain_loss * s.model) {
        x->r.t->run.found.ruled_out++;
        return QDQ_OK;
    }
    const bool whole = !s.known || s.n_paying == 0 || s.all >= most_of_mixture * s.mixed;
    const uint32_t best = qdq_refine_best_kind(&x->r, &n);
    if (!has_a_build(x->r.t))
        return QDQ_OK;
    QDQ_TRY(qdq_refine_change_kinds(&x->r, QDQ_TUNE_NO_KIND, &mixture, err));
    QDQ_TRY(qdq_refine_try(&x->r, x->move, whole ? all : &mixture, &kept, err));
    if (whole && s.known && s.n_paying > 0 && s.n_paying < s.n && has_a_build(x->r.t))
        QDQ_TRY(qdq_refine_try(&x->r, x->move, &mixture, &better, err));
    return kept || better || n < 2 || !has_a_build(x->r.t)
               ? QDQ_OK
               : qdq_refine_try_kind(&x->r, x->move, best, &kept, err);
}

static qdq_status try_type(typing *x, qdq_error *err)
{
    qdq_tune_candidate *best, *other;
    bool enough, kept;
    qdq_assign all;
    char name[QDQ_ACTIVATION_NAME];

    x->move = qdq_arena_printf(
        &x->r.t->arena, "%s activations",
        qdq_target_activation_name(x->r.t->task.space->target, x->type, name, sizeof name));
    QDQ_NEED(x->move != NULL, err);
    QDQ_TRY(read_plan(x, err));
    QDQ_TRY(make_all(x, &all, err));
    QDQ_TRY(qdq_tune_candidate_of(x->r.t, &x->r.base, &best, err));
    QDQ_TRY(qdq_tune_candidate_of(x->r.t, &all, &other, err));
    if (other == best || other->tried)
        return QDQ_OK;
    QDQ_TRY(qdq_refine_has_builds(&x->r, &enough, err));
    if (enough && qdq_tune_can_profile(x->r.t))
        return try_kinds(x, &all, err);
    return qdq_refine_try(&x->r, x->move, &all, &kept, err);
}

/* --- all of it -------------------------------------------------------------------------------- */

qdq_status qdq_tune_try_types(qdq_tune_state *t, bool elsewhere, qdq_error *err)
{
    const qdq_target *target = t->task.space->target;
    typing x = {.r = {.t = t,
                      .arena = QDQ_ARENA_INIT,
                      .stage = QDQ_STAGE_TYPES,
                      .builds = 1,
                      .describe = describe_edge,
                      .change = retype,
                      .differs = is_retyped,
                      .by_reader = true}};

    if (t->task.space->n_typed == 0 || !qdq_tune_may_refine(t))
        return QDQ_OK;
    qdq_status st = qdq_refine_begin(&x.r, t->task.space->n_typed, err);
    if (t->outcome.types != NULL)
        x.r.out = t->outcome.types;
    t->outcome.types = x.r.out;
    for (x.type = 1; x.type <= target->others.n && has_a_build(t) && st == QDQ_OK; x.type++)
        if (target->others.at[x.type - 1].elsewhere == elsewhere)
            st = try_type(&x, err);
    return qdq_refine_end(&x.r, st, err);
}

/* --- what became of it ------------------------------------------------------------------------ */

/* The row of a type and a trial; false: out of memory. */
static bool find_row(qdq_tune_state *t, const qdq_tune_change *change, size_t type, size_t *row)
{
    char own[QDQ_ACTIVATION_NAME], other[QDQ_ACTIVATION_NAME];
    const qdq_target *target = t->task.space->target;
    qdq_tune_typed one = {.type = qdq_target_activation_name(target, type, other, sizeof other),
                          .instead_of = qdq_target_activation_name(target, 0, own, sizeof own),
                          .trial = (unsigned)change->trial,
                          .gain = change->result.gain};

    for (*row = 0; *row < t->outcome.typed.n; (*row)++)
        if (t->outcome.typed.at[*row].trial == one.trial &&
            strcmp(t->outcome.typed.at[*row].type, one.type) == 0)
            return true;
    one.type = qdq_arena_strdup(&t->arena, one.type);
    one.instead_of = qdq_arena_strdup(&t->arena, one.instead_of);
    return one.type != NULL && one.instead_of != NULL &&
           QDQ_PUSH(&t->arena, &t->outcome.typed, one);
}

static qdq_status list_typed(qdq_tune_state *t, const qdq_plan *p, qdq_error *err)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *e = &p->tensors.at[i];
        const qdq_value *v = qdq_graph_find(t->task.clean->graph, e->tensor);
        const uint32_t typed = v != NULL ? qdq_space_typed(t->task.space, v) : QDQ_NOT_TYPED;
        const size_t type = qdq_space_get_type(t->task.space, &t->run.found.best, typed);
        const char *name = qdq_arena_strdup(&t->arena, e->tensor);
        QDQ_NEED(name != NULL, err);
        if (type == 0 || strcmp(e->origin, "tuned") != 0 || !t->outcome.types[typed].accepted)
            continue;
        size_t row;
        QDQ_NEED(find_row(t, &t->outcome.types[typed], type, &row), err);
        t->outcome.typed.at[row].tensors++;
        QDQ_NEED(QDQ_PUSH(&t->arena, &t->outcome.typed_name, name) &&
                     QDQ_PUSH(&t->arena, &t->outcome.typed_of, row),
                 err);
    }
    return QDQ_OK;
}

qdq_status qdq_tune_find_typed(qdq_tune_state *t, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "plan.json");
    qdq_plan *p = NULL;

    t->out->n_typed = t->outcome.typed.n = 0;
    t->outcome.typed_name.n = t->outcome.typed_of.n = 0;
    if (t->out->verdict != QDQ_TUNED || t->outcome.types == NULL)
        return QDQ_OK;
    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_plan_load(path, &p, err));
    qdq_status st = list_typed(t, p, err);
    qdq_plan_free(p);
    t->out->typed = t->outcome.typed.at;
    t->out->n_typed = t->outcome.typed.n;
    return st;
}
