/* greedy.c - the strategy greedy: what saves time in groups on their own is put together, and stays
 * as far as the whole model is faster for it. */
#include "tune/greedy/greedy.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/candidate/tune_files.h"
#include "tune/problem/tune_problem.h"
#include "tune/space/space_partial.h"
#include "tune/state/strategy.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"
#include "tune/trial/tune_trials.h"

/* An instance of a kind with the scheme that it may have. */
typedef struct proposal {
    qdq_tune_kind *kind;
    uint32_t instance;
    /* of the whole model's time, where the others are as proposed */
    double saves_us;
    /* nothing of it is on in full: it has no borders, and decides for itself */
    bool is_half;
    bool on;
} proposal;

typedef struct merging {
    qdq_tune_state *t;
    qdq_tune_greedy *g;
    qdq_hyperedge_map hyperedges;
    /* us */
    qdq_energy energy;
    /* bits of the space that are on in full */
    qdq_assign chosen;
    proposal *p;
    size_t n;
    /* by bit of the space: the proposal that decides about it; UINT32_MAX */
    uint32_t *of;
} merging;

#define NO_PROPOSAL UINT32_MAX

/* --- proposals -------------------------------------------------------------------------------- */

static qdq_status list_proposals(merging *m, qdq_error *err)
{
    const qdq_tune_kinds *all = &m->g->kinds;
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += all->at[i].n;
    m->p = qdq_arena_array(&m->t->arena, n + 1, sizeof *m->p);
    m->of = qdq_arena_array(&m->t->arena, m->t->task.space->n_groups + 1, sizeof *m->of);
    QDQ_NEED(m->p != NULL && m->of != NULL, err);
    memset(m->of, 0xff, (m->t->task.space->n_groups + 1) * sizeof *m->of);
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; all->at[i].proposed != 0 && k < all->at[i].n; k++)
            m->p[m->n++] = (proposal){.kind = &all->at[i], .instance = all->at[i].at[k]};
    return QDQ_OK;
}

/* How many tensors between decisions a bit is at. */
static void count_tensors(const merging *m, unsigned *n)
{
    for (size_t i = 0; i < m->hyperedges.graph.n_hyperedges; i++) {
        const qdq_hyperedge *hyperedge = &m->hyperedges.graph.hyperedge[i];
        if (hyperedge->from != QDQ_CUT_FLOAT)
            n[hyperedge->from]++;
        for (size_t k = 0; k < hyperedge->n_to; k++)
            if (hyperedge->to[k] != QDQ_CUT_FLOAT)
                n[hyperedge->to[k]]++;
    }
}

/* What a conversion at a tensor of this bit costs; 0 without a measurement. */
static double conversion_us(const merging *m, uint32_t bit, const unsigned *tensors)
{
    const uint32_t i = bit != QDQ_CUT_FLOAT ? m->of[bit] : NO_PROPOSAL;

    return i != NO_PROPOSAL && tensors[bit] > 0 ? m->p[i].kind->boundary_us / tensors[bit] : 0;
}

/* A proposal in full costs what it does not save, once for all of its bits, which are on together.
 * What a scheme leaves float stays so. */
static qdq_status price_bits(merging *m, qdq_error *err)
{
    QDQ_VEC(qdq_mincut_tie) ties = {0};

    for (size_t i = 0; i < m->t->task.space->n_groups; i++)
        m->energy.on[i] = INFINITY;
    for (size_t i = 0; i < m->n; i++) {
        const qdq_tune_kind *k = m->p[i].kind;
        const qdq_choices *c = &m->t->parts.choices[k->unit];
        uint32_t last = QDQ_NO_GROUP;
        for (size_t j = 0; j < c->n; j++) {
            const uint32_t first = c->choice[j].group[k->at[0]],
                           bit = c->choice[j].group[m->p[i].instance];
            if (first == QDQ_NO_GROUP || bit == QDQ_NO_GROUP ||
                qdq_space_get_part(m->t->task.space, &k->scheme[k->proposed].what->bits, first) !=
                    QDQ_PART_FULL)
                continue;
            m->of[bit] = (uint32_t)i;
            m->energy.on[bit] = last == QDQ_NO_GROUP ? -k->saved.mean_us : 0;
            if (last != QDQ_NO_GROUP &&
                !QDQ_PUSH(&m->t->arena, &ties, ((qdq_mincut_tie){last, bit})))
                return qdq_nomem(err);
            last = bit;
        }
        m->p[i].is_half = last == QDQ_NO_GROUP;
        m->p[i].on = m->p[i].is_half && k->saved.qualifies;
    }
    m->hyperedges.graph.tie = ties.at;
    m->hyperedges.graph.n_ties = ties.n;
    return QDQ_OK;
}

static qdq_status price_tensors(merging *m, qdq_error *err)
{
    unsigned *tensors =
        qdq_arena_array(&m->t->arena, m->t->task.space->n_groups + 1, sizeof *tensors);

    QDQ_NEED(tensors != NULL, err);
    count_tensors(m, tensors);
    for (size_t i = 0; i < m->hyperedges.graph.n_hyperedges; i++) {
        const qdq_hyperedge *hyperedge = &m->hyperedges.graph.hyperedge[i];
        for (size_t k = 0; k < hyperedge->n_to; k++)
            m->energy.q[i] = fmax(m->energy.q[i], conversion_us(m, hyperedge->to[k], tensors));
        m->energy.dq[i] = conversion_us(m, hyperedge->from, tensors);
    }
    return QDQ_OK;
}

/* Which of the proposals are best together, by what was measured apart: a neighbour in 8 bits saves
 * conversions, so that one that loses a little by itself may be worth it, and one that wins a
 * little may not. */
static qdq_status choose_proposals(merging *m, qdq_error *err)
{
    QDQ_NEED(qdq_assign_new(&m->chosen, m->t->task.space->n_groups, &m->t->arena), err);
    QDQ_TRY(qdq_energy_new(&m->energy, &m->hyperedges.graph, &m->t->arena, err));
    QDQ_TRY(price_bits(m, err));
    QDQ_TRY(price_tensors(m, err));
    QDQ_TRY(qdq_energy_minimize(&m->energy, &m->chosen, err));
    for (size_t i = 0; i < m->t->task.space->n_groups; i++)
        if (m->of[i] != NO_PROPOSAL && qdq_assign_get(&m->chosen, i))
            m->p[m->of[i]].on = true;
    return QDQ_OK;
}

static void set_bits(const merging *m, size_t number, qdq_assign *a, bool on)
{
    for (size_t i = 0; i < m->t->task.space->n_groups; i++)
        if (m->of[i] == number)
            qdq_assign_set(a, i, on);
}

/* What all save together, divided by what would be lost without each. */
static qdq_status share_out(merging *m, qdq_error *err)
{
    qdq_assign without;
    double sum = 0;

    QDQ_NEED(qdq_assign_new(&without, m->t->task.space->n_groups, &m->t->arena), err);
    const double best = qdq_energy_value(&m->energy, &m->chosen);
    const double all = qdq_energy_value(&m->energy, &without) - best;
    qdq_assign_take(&without, &m->chosen);
    for (size_t i = 0; i < m->n; i++) {
        proposal *p = &m->p[i];
        if (!p->on || p->is_half)
            continue;
        set_bits(m, i, &without, false);
        p->saves_us = fmax(qdq_energy_value(&m->energy, &without) - best, 0);
        sum += p->saves_us;
        set_bits(m, i, &without, true);
    }
    for (size_t i = 0; i < m->n; i++) {
        proposal *p = &m->p[i];
        p->saves_us = p->is_half ? p->kind->saved.mean_us : sum > 0 ? p->saves_us * all / sum : 0;
    }
    return QDQ_OK;
}

/* The proposal that puts an end of a tensor into 8 bits; NO_PROPOSAL: it stays float. */
static uint32_t end_of(const merging *m, uint32_t bit)
{
    const uint32_t i = bit != QDQ_CUT_FLOAT ? m->of[bit] : NO_PROPOSAL;

    return i != NO_PROPOSAL && m->p[i].on ? i : NO_PROPOSAL;
}

/* --- items ------------------------------------------------------------------------------------ */

static qdq_status fill_item(merging *m, const proposal *p, qdq_validate_item *item, qdq_error *err)
{
    const double model_us = m->t->parts.problem.base_ns * 1e-3;
    const uint32_t group = m->t->parts.keys->at[p->kind->unit].instance[p->instance].group;
    const qdq_fusion *f = &m->t->parts.fusions->at[group];

    *item = (qdq_validate_item){
        .name = qdq_node_label(f->node[0], &m->t->arena),
        .saves = p->saves_us / model_us,
        .se = isfinite(p->kind->saved.se_us) ? p->kind->saved.se_us / model_us : NAN,
        .place = group};
    QDQ_NEED(item->name != NULL &&
                 qdq_assign_new(&item->bits, qdq_space_scheme_bits(m->t->task.space), &m->t->arena),
             err);
    qdq_tune_apply_scheme(m->t, p->kind, p->kind->proposed, p->instance, &item->bits);
    return QDQ_OK;
}

/* item_of: by proposal that is on, its item. */
static qdq_status make_items(merging *m, uint32_t *item_of, qdq_error *err)
{
    qdq_validate_item *item = qdq_arena_array(&m->t->arena, m->n + 1, sizeof *item);
    size_t n = 0;

    m->g->kind = qdq_arena_array(&m->t->arena, m->n + 1, sizeof *m->g->kind);
    QDQ_NEED(item != NULL && m->g->kind != NULL, err);
    for (size_t i = 0; i < m->n; i++) {
        if (!m->p[i].on)
            continue;
        QDQ_TRY(fill_item(m, &m->p[i], &item[n], err));
        m->g->kind[n] = m->p[i].kind;
        item_of[i] = (uint32_t)n++;
    }
    m->g->problem.item = item;
    m->g->problem.n_items = n;
    return QDQ_OK;
}

static qdq_status make_links(merging *m, const uint32_t *item_of, qdq_error *err)
{
    QDQ_VEC(qdq_validate_link) links = {0};

    for (size_t i = 0; i < m->hyperedges.graph.n_hyperedges; i++) {
        const qdq_hyperedge *hyperedge = &m->hyperedges.graph.hyperedge[i];
        uint32_t last = end_of(m, hyperedge->from);
        for (size_t k = 0; k < hyperedge->n_to; k++) {
            const uint32_t now = end_of(m, hyperedge->to[k]);
            if (now == NO_PROPOSAL)
                continue;
            if (last != NO_PROPOSAL && last != now &&
                !QDQ_PUSH(&m->t->arena, &links, ((qdq_validate_link){item_of[last], item_of[now]})))
                return qdq_nomem(err);
            last = now;
        }
    }
    m->g->problem.link = links.at;
    m->g->problem.n_links = links.n;
    return QDQ_OK;
}

/* --- the search's problem --------------------------------------------------------------------- */

/* The same starts with room for halves; without "everything", which was no start but for its
 * layers. */
static qdq_status widen_starts(merging *m, qdq_search_problem *p, qdq_error *err)
{
    qdq_tune_state *t = m->t;
    qdq_assign *start = qdq_arena_array(&t->arena, p->n_starts + 1, sizeof *start);
    const char **name = qdq_arena_array(&t->arena, p->n_starts + 1, sizeof *name);
    size_t n = 0;

    QDQ_NEED(start != NULL && name != NULL, err);
    for (size_t i = 0; i < t->parts.problem.n_starts; i++) {
        if (strcmp(t->parts.problem.start_name[i], "everything") == 0 ||
            strcmp(t->parts.problem.start_name[i], "linear") == 0)
            continue;
        QDQ_NEED(qdq_assign_new(&start[n], qdq_space_scheme_bits(t->task.space), &t->arena), err);
        for (size_t bit = 0; bit < t->task.space->n_groups; bit++)
            qdq_assign_set(&start[n], bit, qdq_assign_get(&t->parts.problem.start[i], bit));
        name[n++] = t->parts.problem.start_name[i];
    }
    p->start = start;
    p->start_name = name;
    p->n_starts = n;
    return QDQ_OK;
}

static qdq_status make_problem(merging *m, qdq_error *err)
{
    qdq_search_problem *p = qdq_arena_alloc(&m->t->arena, sizeof *p);

    QDQ_NEED(p != NULL, err);
    *p = m->t->parts.problem;
    p->n_bits = qdq_space_scheme_bits(m->t->task.space);
    p->allowed = NULL; /* schemes keep to it */
    QDQ_TRY(widen_starts(m, p, err));
    m->g->problem.search = p;
    m->g->problem.incremental = !m->t->details->validate_whole;
    return QDQ_OK;
}

static qdq_status merge_kinds(merging *m, qdq_error *err)
{
    QDQ_TRY(list_proposals(m, err));
    QDQ_TRY(qdq_hyperedges_find(m->t->task.space, &m->t->arena, &m->hyperedges, err));
    QDQ_TRY(choose_proposals(m, err));
    QDQ_TRY(share_out(m, err));
    uint32_t *item_of = qdq_arena_array(&m->t->arena, m->n + 1, sizeof *item_of);
    QDQ_NEED(item_of != NULL, err);
    QDQ_TRY(make_items(m, item_of, err));
    QDQ_TRY(make_links(m, item_of, err));
    return make_problem(m, err);
}

/* --- the strategy ----------------------------------------------------------------------------- */

static void log_group_classes(const qdq_tune_state *t, const qdq_tune_greedy *g)
{
    size_t qualified = 0;

    for (size_t i = 0; i < g->kinds.n; i++)
        qualified += g->kinds.at[i].best != 0 && g->kinds.at[i].saved.qualifies;
    qdq_job_log(
        t->job, QDQ_LOG_INFO,
        "%zu classes of groups measured in isolation by %s, %zu not: %zu save time; %zu groups "
        "proposed",
        g->kinds.n - g->kinds.n_skipped, g->kinds.by_layers ? "layers" : "end-to-end latency",
        g->kinds.n_skipped, qualified, g->problem.n_items);
}

static qdq_status note_decision(void *ctx, const qdq_validate_result *so_far, qdq_error *err)
{
    qdq_tune_state *t = ctx;

    (void)so_far; /* t->run.greedy->result */
    return qdq_tune_write_cache(t, &t->run.base->assign, false, err);
}

static qdq_status run_phases(qdq_tune_state *t, qdq_tune_greedy *g, qdq_error *err)
{
    const qdq_search_ops ops = qdq_tune_search_ops(t);
    merging m = {.t = t, .g = g};

    QDQ_TRY(qdq_tune_find_kinds(t, &g->kinds, err));
    g->kinds.by_layers =
        t->run.base->times != NULL && t->run.base->times->is_known &&
        (qdq_worker_client_engine(t->tools.worker_client)->capabilities & QDQ_CAN_LIST_LAYERS) != 0;
    qdq_tune_import_cache(t, &g->kinds);
    QDQ_TRY(qdq_tune_isolate(t, &g->kinds, err));
    QDQ_TRY(merge_kinds(&m, err));
    log_group_classes(t, g);
    g->problem.decided = note_decision;
    g->problem.decided_ctx = t;
    QDQ_TRY(qdq_tune_take_decisions(t, g, err));
    QDQ_TRY(qdq_tune_write_cache(t, &t->run.base->assign, false, err));
    QDQ_TRY(qdq_validate_run(&g->problem, &t->run.search_opts, &ops, &t->arena, &g->result, err));
    t->run.found = g->result.search;
    t->run.found.ended_early = t->run.found.ended_early ||
                               qdq_tune_time_is_up(t); /* before there was anything to compare */
    QDQ_TRY(qdq_tune_try_others(t, err));
    t->run.unwritten = true; /* groups were merged beside the best start */
    return qdq_tune_write_raw(t, &g->result.raw, err);
}

static qdq_status run_greedy(qdq_tune_state *t, qdq_error *err)
{
    t->run.greedy = qdq_arena_alloc(&t->arena, sizeof *t->run.greedy);
    QDQ_NEED(t->run.greedy != NULL, err);
    *t->run.greedy = (qdq_tune_greedy){0};
    t->run.proposed = &t->run.greedy->result.raw;
    return run_phases(t, t->run.greedy, err);
}

static qdq_status greedy_fits(qdq_tune_state *t, bool *fits, qdq_error *err)
{
    (void)err;
    *fits = qdq_tune_wants_greedy(t->opts) && t->task.space->n_groups > 0;
    return QDQ_OK;
}

/* What became of the groups that were proposed. */
static void count_groups(qdq_tune_state *t)
{
    qdq_tune_result *out = t->out;

    if (t->run.greedy == NULL) /* there was no memory for it */
        return;
    const qdq_validate_result *r = &t->run.greedy->result;
    out->isolated_builds = t->run.greedy->kinds.builds;
    out->not_isolated = (unsigned)t->run.greedy->kinds.n_skipped;
    out->accepted = (unsigned)r->kept;
    out->rejected = (unsigned)(r->rejected + r->failed);
    out->undecided = (unsigned)r->undecided;
}

const qdq_strategy qdq_strategy_greedy = {.name = "greedy",
                                          .by_groups = true,
                                          .fits = greedy_fits,
                                          .run = run_greedy,
                                          .count = count_groups,
                                          .show = qdq_tune_show_kinds};
