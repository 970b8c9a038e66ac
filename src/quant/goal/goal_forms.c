/* goal_forms.c - formats between the target's and float, for layers that a goal sent back: their
 * data is quantized at run time, or their weights have more bits or smaller blocks. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "quant/goal/goal_state.h"
#include "quant/goal/goal_times.h"
#include "target/target.h"

/* Of the float model's time: a layer that saves less has no place in the order. */
static const double least_expected_bound = 0.002;

/* --- which formats there are ------------------------------------------------------------------ */

static qdq_status add_form(qdq_goal_run *g, const qdq_target_form *f, qdq_error *err)
{
    const char *name = qdq_arena_strdup(&g->block->arena, f->name);

    QDQ_NEED(name != NULL, err);
    g->forms.form[g->forms.n] = f->format;
    g->forms.name[g->forms.n++] = name;
    return QDQ_OK;
}

qdq_status qdq_goal_list_forms(qdq_goal_run *g, qdq_error *err)
{
    const size_t n = (size_t)g->clean->graph->next_node_id + 1;
    qdq_target_forms all;

    /* operators of the target's own engine: another one has no kernel for them, or other ones */
    if (g->goal.one_format || strcmp(qdq_engine_get_info(g->engine)->name, g->target->engine) != 0)
        return QDQ_OK;
    qdq_target_list_forms(g->target, &all);
    for (size_t i = 0; i < all.n && g->forms.n < QDQ_MOST_FORMS; i++)
        if (all.at[i].for_goals)
            QDQ_TRY(add_form(g, &all.at[i], err));
    if (g->forms.n == 0)
        return QDQ_OK;
    g->forms.by_node = qdq_arena_array(&g->arena, n, sizeof *g->forms.by_node);
    g->forms.base = qdq_arena_array(&g->arena, n, sizeof *g->forms.base);
    return qdq_allocated(g->forms.by_node != NULL && g->forms.base != NULL, err);
}

/* --- layers that can have one ----------------------------------------------------------------- */

typedef struct moving {
    qdq_goal_run *g;
    /* of each layer, before any of these moves */
    unsigned char *form;
    unsigned char to;
    /* only layers that a profile says are faster then */
    bool is_faster;
    /* of each item */
    size_t *layer;
    qdq_goal_item *items;
    size_t n;
} moving;

/* Float, or in a format that was tried before; not where all plans have another format. */
static bool may_move(const moving *m, size_t layer)
{
    const qdq_goal_run *g = m->g;
    const unsigned char now = m->form[layer];

    return g->nodes[layer] != NULL && g->forms.base[g->nodes[layer]->id] == NULL &&
           (now == QDQ_FORM_FLOAT || (now >= QDQ_FORM_OTHER && now < m->to));
}

/* All of them, less those that have been left out of the items. */
static void set_all(const moving *m, unsigned char *form)
{
    for (size_t i = 0; i < m->g->n_layers; i++)
        form[i] = m->form[i];
    for (size_t i = 0; i < m->n; i++)
        form[m->layer[i]] = m->to;
}

static bool is_quantized(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->quantized.n; i++)
        if (strcmp(p->quantized.at[i].node, node) == 0)
            return true;
    return false;
}

/* Only what the plan quantizes so. */
static void keep_movable(moving *m, const qdq_plan *p)
{
    const size_t to = m->to - QDQ_FORM_OTHER;
    const qdq_goal_run *g = m->g;
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++) {
        const size_t k = m->layer[i];
        const double *saved = g->forms.saved[to],
                     *before = m->form[k] >= QDQ_FORM_OTHER
                                   ? g->forms.saved[m->form[k] - QDQ_FORM_OTHER]
                                   : NULL;
        const double expected_bound = saved != NULL ? saved[k] - (before != NULL ? before[k] : 0)
                                                    : g->layers[k].saved_fraction;

        if (!is_quantized(p, g->layers[k].node) ||
            (m->is_faster && saved != NULL && expected_bound <= 0))
            continue;
        m->layer[n] = k;
        m->items[n++] =
            (qdq_goal_item){.sensitivity = g->items[k].sensitivity,
                            .expected_bound = fmax(expected_bound, least_expected_bound)};
    }
    m->n = n;
}

static qdq_status list_movable(moving *m, qdq_error *err)
{
    qdq_goal_run *g = m->g;
    unsigned char *form = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *form);
    qdq_plan *p = NULL;

    m->layer = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *m->layer);
    m->items = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *m->items);
    QDQ_NEED(form != NULL && m->layer != NULL && m->items != NULL, err);
    for (size_t i = 0; i < g->n_layers; i++)
        if (may_move(m, i))
            m->layer[m->n++] = i;
    if (m->n == 0)
        return QDQ_OK;
    set_all(m, form);
    QDQ_TRY(qdq_goal_make_plan(g, form, &p, err));
    qdq_status st = qdq_goal_time_form(g, (size_t)(m->to - QDQ_FORM_OTHER), form, p, err);
    if (st == QDQ_OK)
        keep_movable(m, p);
    qdq_plan_free(p);
    return st;
}

/* --- trials ----------------------------------------------------------------------------------- */

/* What is gone stays as it is. */
static qdq_status try_moved(void *ctx, const bool *gone, size_t n_gone, qdq_goal_trial *out,
                            qdq_error *err)
{
    const moving *m = ctx;
    qdq_goal_run *g = m->g;

    (void)n_gone;
    for (size_t i = 0; i < g->n_layers; i++)
        g->forms.tried[i] = m->form[i];
    for (size_t i = 0; i < m->n; i++)
        if (!gone[i])
            g->forms.tried[m->layer[i]] = m->to;
    return qdq_goal_try_forms(g, g->forms.tried, out, err);
}

/* How many more trials there may be. */
static unsigned trials_left(const qdq_goal_run *g)
{
    const qdq_plan_times *given = g->goal.times != NULL ? &g->goal.times->times : NULL;
    unsigned most = QDQ_GOAL_FORM_TRIALS, used = g->forms.trials;

    if (given != NULL && given->processor != NULL) {
        most = given->other_trials;
    } else if (g->goal.max_evaluations > 0) {
        most = g->goal.max_evaluations;
        used = (unsigned)g->tried.n;
    } else if (qdq_goal_is_over(g)) {
        return 0;
    }
    return used < most ? most - used : 0;
}

static qdq_status try_form(qdq_goal_run *g, unsigned char *form, size_t k, bool *reached,
                           qdq_error *err)
{
    moving m = {.g = g, .form = form, .to = (unsigned char)(QDQ_FORM_OTHER + k)};
    qdq_goal_search_result found;

    /* weights in blocks are to be small; and what reaches the goal at all is better than nothing */
    m.is_faster = *reached && qdq_format_dynamic(&g->forms.form[k]);
    if (trials_left(g) == 0)
        return QDQ_OK;
    QDQ_TRY(list_movable(&m, err));
    QDQ_TRY(
        qdq_goal_search_back(m.items, m.n, trials_left(g), try_moved, &m, &g->arena, &found, err));
    g->forms.trials += found.trials;
    g->block->head.is_timed_out |= found.cut;
    *reached |= found.reached;
    for (size_t i = 0; i < m.n && found.reached; i++)
        if (!found.gone[i])
            form[m.layer[i]] = m.to;
    return QDQ_OK;
}

qdq_status qdq_goal_try_other_forms(qdq_goal_run *g, unsigned char *form, bool *reached,
                                    qdq_error *err)
{
    unsigned char *now = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *now);

    QDQ_NEED(now != NULL, err);
    for (size_t i = 0; i < g->n_layers; i++)
        now[i] = *reached ? form[i] : QDQ_FORM_FLOAT;
    for (size_t k = 0; k < g->forms.n; k++)
        QDQ_TRY(try_form(g, now, k, reached, err));
    for (size_t i = 0; i < g->n_layers && *reached; i++)
        form[i] = now[i];
    return QDQ_OK;
}
