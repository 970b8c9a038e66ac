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
    /* its number among those that are on */
    uint32_t item;
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
    /* by bit of the space: the proposal that decides about it; NULL: none */
    proposal **of;
} merging;

/* --- proposals -------------------------------------------------------------------------------- */

static qdq_status list_proposals(merging *m, qdq_error *err)
{
    const qdq_tune_kinds *all = &m->g->kinds;
    const size_t n_bits = m->t->task.space->n_groups;
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += all->at[i].n;
    m->p = qdq_arena_array(&m->t->arena, n + 1, sizeof *m->p);
    m->of = qdq_arena_array(&m->t->arena, n_bits + 1, sizeof(proposal *));
    QDQ_NEED(m->p != NULL && m->of != NULL && qdq_assign_new(&m->chosen, n_bits, &m->t->arena),
             err);
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; all->at[i].proposed != 0 && k < all->at[i].n; k++)
            m->p[m->n++] = (proposal){.kind = &all->at[i], .instance = all->at[i].at[k]};
    return QDQ_OK;
}

/* The proposal that decides about an end of a tensor; NULL: it stays float. */
static proposal *end_of(const merging *m, uint32_t bit)
{
    return bit != QDQ_CUT_FLOAT ? m->of[bit] : NULL;
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
        const qdq_tune_scheme *scheme = &k->scheme[k->proposed];
        const qdq_choices *c = &m->t->parts.choices[k->unit];
        uint32_t last = QDQ_NO_GROUP;
        for (size_t j = 0; j < c->n; j++) {
            const uint32_t first = c->choice[j].group[k->at[0]],
                           bit = c->choice[j].group[m->p[i].instance];
            if (first == QDQ_NO_GROUP || bit == QDQ_NO_GROUP ||
                qdq_space_get_part(m->t->task.space, &scheme->what->bits, first) != QDQ_PART_FULL)
                continue;
            m->of[bit] = &m->p[i];
            m->energy.on[bit] = last == QDQ_NO_GROUP ? -scheme->saved.mean_us : 0;
            if (last != QDQ_NO_GROUP)
                QDQ_NEED(QDQ_PUSH(&m->t->arena, &ties, ((qdq_mincut_tie){last, bit})), err);
            last = bit;
        }
        m->p[i].is_half = last == QDQ_NO_GROUP;
        m->p[i].on = m->p[i].is_half && scheme->saved.qualifies;
        m->p[i].saves_us = m->p[i].is_half ? scheme->saved.mean_us : 0;
    }
    m->hyperedges.graph.tie = ties.at;
    m->hyperedges.graph.n_ties = ties.n;
    return QDQ_OK;
}

/* What a conversion at a tensor of this bit costs, where it has n of them; 0 without a
 * measurement. */
static double conversion_us(const merging *m, uint32_t bit, const unsigned *n)
{
    const proposal *p = end_of(m, bit);

    return p != NULL ? p->kind->scheme[p->kind->proposed].boundary_us / n[bit] : 0;
}

static qdq_status price_tensors(merging *m, qdq_error *err)
{
    const qdq_mincut_graph *g = &m->hyperedges.graph;
    /* by bit: how many tensors between decisions it is at */
    unsigned *n = qdq_arena_array(&m->t->arena, g->n_bits + 1, sizeof *n);

    QDQ_NEED(n != NULL, err);
    for (size_t i = 0; i < g->n_hyperedges; i++) {
        if (g->hyperedge[i].from != QDQ_CUT_FLOAT)
            n[g->hyperedge[i].from]++;
        for (size_t k = 0; k < g->hyperedge[i].n_to; k++)
            if (g->hyperedge[i].to[k] != QDQ_CUT_FLOAT)
                n[g->hyperedge[i].to[k]]++;
    }
    for (size_t i = 0; i < g->n_hyperedges; i++) {
        m->energy.dq[i] = conversion_us(m, g->hyperedge[i].from, n);
        for (size_t k = 0; k < g->hyperedge[i].n_to; k++)
            m->energy.q[i] = fmax(m->energy.q[i], conversion_us(m, g->hyperedge[i].to[k], n));
    }
    return QDQ_OK;
}

/* Which of the proposals are best together, by what was measured apart: a neighbour in 8 bits saves
 * conversions, so that one that loses a little by itself may be worth it, and one that wins a
 * little may not. */
static qdq_status choose_proposals(merging *m, qdq_error *err)
{
    QDQ_TRY(qdq_hyperedges_find(m->t->task.space, &m->t->arena, &m->hyperedges, err));
    QDQ_TRY(qdq_energy_new(&m->energy, &m->hyperedges.graph, &m->t->arena, err));
    QDQ_TRY(price_bits(m, err));
    QDQ_TRY(price_tensors(m, err));
    QDQ_TRY(qdq_energy_minimize(&m->energy, &m->chosen, err));
    for (size_t i = 0; i < m->t->task.space->n_groups; i++)
        if (m->of[i] != NULL && qdq_assign_get(&m->chosen, i))
            m->of[i]->on = true;
    return QDQ_OK;
}

/* What all save together, divided by what would be lost without each. */
static qdq_status share_out(merging *m, qdq_error *err)
{
    qdq_assign without;
    double sum = 0;

    QDQ_NEED(qdq_assign_new(&without, m->t->task.space->n_groups, &m->t->arena), err);
    const double best = qdq_energy_value(&m->energy, &m->chosen);
    const double all = qdq_energy_value(&m->energy, &without) - best;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->p[i].on || m->p[i].is_half)
            continue;
        qdq_assign_take(&without, &m->chosen);
        for (size_t bit = 0; bit < without.n; bit++)
            if (m->of[bit] == &m->p[i])
                qdq_assign_set(&without, bit, false);
        m->p[i].saves_us = fmax(qdq_energy_value(&m->energy, &without) - best, 0);
        sum += m->p[i].saves_us;
    }
    for (size_t i = 0; i < m->n; i++)
        if (!m->p[i].is_half)
            m->p[i].saves_us = sum > 0 ? m->p[i].saves_us * all / sum : 0;
    return QDQ_OK;
}

/* --- items ------------------------------------------------------------------------------------ */

static qdq_status fill_item(merging *m, const proposal *p, qdq_validate_item *item, qdq_error *err)
{
    const double model_us = m->t->parts.problem.base_ns * 1e-3,
                 se = p->kind->scheme[p->kind->proposed].saved.se_us;
    const uint32_t group = m->t->parts.keys->at[p->kind->unit].instance[p->instance].group;

    *item = (qdq_validate_item){
        .name = qdq_node_label(m->t->parts.fusions->at[group].node[0], &m->t->arena),
        .saves = p->saves_us / model_us,
        .se = isfinite(se) ? se / model_us : NAN,
        .place = group};
    QDQ_NEED(!qdq_node_label_failed(item->name) &&
                 qdq_assign_new(&item->bits, m->t->parts.problem.n_bits, &m->t->arena),
             err);
    qdq_tune_apply_scheme(m->t, p->kind, p->kind->proposed, p->instance, &item->bits);
    return QDQ_OK;
}

static qdq_status make_items(merging *m, qdq_error *err)
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
        m->p[i].item = (uint32_t)n++;
    }
    m->g->problem.item = item;
    m->g->problem.n_items = n;
    return QDQ_OK;
}

/* Between those that are at one tensor. */
static qdq_status make_links(merging *m, qdq_error *err)
{
    QDQ_VEC(qdq_validate_link) links = {0};

    for (size_t i = 0; i < m->hyperedges.graph.n_hyperedges; i++) {
        const qdq_hyperedge *hyperedge = &m->hyperedges.graph.hyperedge[i];
        const proposal *last = end_of(m, hyperedge->from);
        last = last != NULL && last->on ? last : NULL;
        for (size_t k = 0; k < hyperedge->n_to; k++) {
            const proposal *now = end_of(m, hyperedge->to[k]);
            if (now == NULL || !now->on)
                continue;
            if (last != NULL && last != now)
                QDQ_NEED(
                    QDQ_PUSH(&m->t->arena, &links, ((qdq_validate_link){{last->item, now->item}})),
                    err);
            last = now;
        }
    }
    m->g->problem.link = links.at;
    m->g->problem.n_links = links.n;
    return QDQ_OK;
}

static qdq_status merge_kinds(merging *m, qdq_error *err)
{
    QDQ_TRY(list_proposals(m, err));
    QDQ_TRY(choose_proposals(m, err));
    QDQ_TRY(share_out(m, err));
    QDQ_TRY(make_items(m, err));
    return make_links(m, err);
}

/* --- the strategy ----------------------------------------------------------------------------- */

static void log_group_classes(const qdq_tune_state *t, const qdq_tune_greedy *g)
{
    size_t qualified = 0;

    for (size_t i = 0; i < g->kinds.n; i++) {
        const qdq_tune_kind *k = &g->kinds.at[i];
        qualified += k->best != 0 && k->scheme[k->best].saved.qualifies;
    }
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
    g->kinds.by_layers = t->run.base->times != NULL && t->run.base->times->is_known;
    qdq_tune_import_cache(t, &g->kinds);
    QDQ_TRY(qdq_tune_isolate(t, &g->kinds, err));
    g->problem = (qdq_validate_problem){.search = &t->parts.problem,
                                        .incremental = !t->details->validate_whole,
                                        .decided = note_decision,
                                        .decided_ctx = t};
    QDQ_TRY(merge_kinds(&m, err));
    log_group_classes(t, g);
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
    out->accepted = (unsigned)r->accepted;
    out->rejected = (unsigned)(r->rejected + r->failed);
    out->undecided = (unsigned)r->undecided;
}

const qdq_strategy qdq_strategy_greedy = {.name = "greedy",
                                          .by_groups = true,
                                          .fits = greedy_fits,
                                          .run = run_greedy,
                                          .count = count_groups,
                                          .show = qdq_tune_show_kinds};
