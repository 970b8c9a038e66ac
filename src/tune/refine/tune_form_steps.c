/* tune_form_steps.c - formats of operators under a goal: for each operator the formats that lose
 * less the slower they are, as steps for goal_search.h. */
#include "tune/refine/tune_form_steps.h"

#include <math.h>

#include "base/fail.h"
#include "quant/weights/weights.h"
#include "tune/accuracy/accuracy.h"
#include "tune/space/space_forms.h"

/* --- the fastest ------------------------------------------------------------------------------ */

/* Of those that save as much, but for the last digits, the target's own. QDQ_NO_ITEM: none saves
 * time. */
static size_t find_fastest(const qdq_space *s, const double *saved, size_t first)
{
    const double as_much = 0.999;
    size_t best = QDQ_NO_ITEM;

    for (size_t i = first; i != QDQ_NO_ITEM; i = qdq_form_item_next(s, i))
        if (saved[i] > (best != QDQ_NO_ITEM ? saved[best] : 0) ||
            (best != QDQ_NO_ITEM && qdq_form_item_is_own(s, i) &&
             saved[i] >= as_much * saved[best]))
            best = i;
    return best;
}

qdq_status qdq_form_steps_begin(const qdq_refining *x, const double *saved, qdq_arena *arena,
                                qdq_form_steps *out, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;

    *out = (qdq_form_steps){.start = {0}};
    for (size_t i = 0; i < s->n_formed; i = qdq_form_item_end(s, i)) {
        const qdq_form_start start = {i, find_fastest(s, saved, i)};
        if (start.item != QDQ_NO_ITEM)
            QDQ_NEED(QDQ_PUSH(arena, &out->start, start), err);
    }
    return QDQ_OK;
}

/* --- what formats lose ------------------------------------------------------------------------ */

static double power_of(const float *w, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)w[i] * w[i];
    return sum;
}

/* Rounding noise over signal: each value is off by up to half a step of its block. */
static qdq_status noise_of_scales(const qdq_tensor *t, const qdq_format *f, int axis, double *out,
                                  qdq_arena *scratch, qdq_error *err)
{
    qdq_scale_grid grid;
    const float *w;
    double sum = 0;

    QDQ_TRY(qdq_weight_grid(t, axis, f->weight_block, &grid, err));
    QDQ_TRY(qdq_weight_floats(t, scratch, &w, err));
    const size_t n = qdq_scale_count(&grid), count = (size_t)t->count;
    float *low = qdq_arena_array(scratch, n + 1, sizeof *low),
          *high = qdq_arena_array(scratch, n + 1, sizeof *high),
          *scale = qdq_arena_array(scratch, n + 1, sizeof *scale);
    int32_t *zero = qdq_arena_array(scratch, n + 1, sizeof *zero);
    QDQ_NEED(low != NULL && high != NULL && scale != NULL && zero != NULL, err);
    QDQ_TRY(qdq_weight_ranges(w, &grid, NULL, low, high, err));
    QDQ_TRY(qdq_weight_scales(&f->weight, low, high, NULL, n, scale, zero, err));
    for (size_t i = 0; i < n; i++)
        sum += low[i] < high[i] ? (double)scale[i] * scale[i] / 12 : 0;
    const double power = power_of(w, count);
    *out = power > 0 ? sum * (double)count / (double)n / power : 0;
    return QDQ_OK;
}

static qdq_status noise_of(const qdq_space *s, size_t item, const qdq_format *f, double *out,
                           qdq_error *err)
{
    const qdq_space_form *first = &s->formed[qdq_form_item_first(s, item)];
    const qdq_target_op *op = qdq_target_find(s->target, first->node->type);
    qdq_arena scratch = QDQ_ARENA_INIT;

    if (qdq_format_dynamic(f)) {
        *out = 1;
        return QDQ_OK;
    }
    const qdq_status st = noise_of_scales(qdq_node_const(first->node, op->weight), f, first->axis,
                                          out, &scratch, err);
    qdq_arena_free(&scratch);
    return st;
}

/* A way to have an operator. */
typedef struct option {
    /* QDQ_NO_ITEM: as in the base */
    size_t item;
    double saved, noise;
} option;

/* Of what the base has: float and calibrated scales lose nothing beside data at run time. */
static qdq_status noise_of_base(const qdq_refining *x, size_t first, double *out, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;
    const size_t now = qdq_form_item_of(s, &x->base, first);

    *out = 0;
    return now != QDQ_NO_ITEM ? noise_of(s, now, qdq_form_item_format(s, now), out, err) : QDQ_OK;
}

/* Outputs' noise for the noise of one operator's weights; 1: all operators count alike. */
static qdq_status influence_of(const qdq_refining *x, size_t first, double *out, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;
    const uint32_t group = s->first_group[s->formed[first].node->id];
    double own = 0;

    *out = 1;
    if (x->t->parts.sensitivity == NULL || group == QDQ_NO_GROUP || qdq_space_is_dynamic(s, first))
        return QDQ_OK;
    QDQ_TRY(noise_of(s, first, &s->target->format, &own, err));
    *out = own > 0 ? x->t->parts.sensitivity[group] / own : 1;
    return QDQ_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The best exchange of time for noise: the slower option that spares most for each us. */
static const option *next_option(const option *all, size_t n, const option *now)
{
    const option *best = NULL;
    double most = 0;

    for (size_t i = 0; i < n; i++) {
        const double spared = now->noise - all[i].noise, cost = now->saved - all[i].saved;
        if (spared > 0 && cost > 0 && spared / cost > most) {
            most = spared / cost;
            best = &all[i];
        }
    }
    return best;
}

static qdq_status add_steps(const qdq_refining *x, const double *saved, size_t of, qdq_arena *arena,
                            qdq_form_steps *steps, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;
    const qdq_form_start start = steps->start.at[of];
    option all[QDQ_TARGET_MOST_FORMS + 2] = {{.item = QDQ_NO_ITEM}};
    const option *now = &all[0];
    size_t n = 1;
    double influence;

    QDQ_TRY(influence_of(x, start.first, &influence, err));
    QDQ_TRY(noise_of_base(x, start.first, &all[0].noise, err));
    for (size_t i = start.first; i != QDQ_NO_ITEM; i = qdq_form_item_next(s, i)) {
        if (isnan(saved[i]))
            continue;
        all[n] = (option){.item = i, .saved = saved[i]};
        QDQ_TRY(noise_of(s, i, qdq_form_item_format(s, i), &all[n].noise, err));
        now = i == start.item ? &all[n] : now;
        n++;
    }
    for (const option *to = now; (to = next_option(all, n, now)) != NULL; now = to) {
        const qdq_form_step step = {of, to->item};
        const qdq_goal_item cost = {.sensitivity = influence * (now->noise - to->noise),
                                    .expected_bound = now->saved - to->saved};
        QDQ_NEED(QDQ_PUSH(arena, &steps->step, step) && QDQ_PUSH(arena, &steps->cost, cost), err);
    }
    return QDQ_OK;
}

/* Those that gain by no format may have one that loses less. */
static qdq_status start_others(const qdq_refining *x, const double *saved, qdq_arena *arena,
                               qdq_form_steps *steps, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;

    for (size_t i = 0; i < s->n_formed; i = qdq_form_item_end(s, i)) {
        const qdq_form_start start = {i, QDQ_NO_ITEM};
        if (find_fastest(s, saved, i) == QDQ_NO_ITEM)
            QDQ_NEED(QDQ_PUSH(arena, &steps->start, start), err);
    }
    return QDQ_OK;
}

qdq_status qdq_form_steps_find(const qdq_refining *x, const double *saved, qdq_arena *arena,
                               qdq_form_steps *steps, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;

    if (steps->start.n > 0 && !qdq_space_is_dynamic(s, steps->start.at[0].first)) {
        if (x->t->parts.sensitivity == NULL)
            QDQ_TRY(qdq_tune_find_sensitivities(x->t, err));
        QDQ_TRY(start_others(x, saved, arena, steps, err));
    }
    for (size_t i = 0; i < steps->start.n; i++)
        QDQ_TRY(add_steps(x, saved, i, arena, steps, err));
    return QDQ_OK;
}

qdq_status qdq_form_steps_assign(const qdq_refining *x, const qdq_form_steps *steps,
                                 const double *saved, const bool *taken, qdq_assign *out,
                                 double *us, qdq_error *err)
{
    size_t at = 0;

    *us = 0;
    QDQ_NEED(qdq_assign_copy(out, &x->base, &x->t->arena), err);
    for (size_t i = 0; i < steps->start.n; i++) {
        size_t item = steps->start.at[i].item;
        for (; at < steps->step.n && steps->step.at[at].of == i; at++)
            item = taken != NULL && taken[at] ? steps->step.at[at].to : item;
        if (item == QDQ_NO_ITEM)
            continue;
        qdq_form_item_set(x->t->task.space, out, item);
        *us += saved[item];
    }
    return QDQ_OK;
}
