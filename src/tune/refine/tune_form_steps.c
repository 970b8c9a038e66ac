/* tune_form_steps.c - formats of operators under a goal: for each operator the formats that lose
 * less the slower they are, as steps for goal_search.h. */
#include "tune/refine/tune_form_steps.h"

#include "base/fail.h"
#include "quant/weights/weights.h"
#include "tune/accuracy/accuracy.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_partial.h"

/* --- the fastest ------------------------------------------------------------------------------ */

/* The items of one node are consecutive; returns the end of those that begin at `first`. */
static size_t end_of_node(const qdq_space *s, size_t first)
{
    size_t end = first;

    while (end < s->n_formed && s->formed[end].node == s->formed[first].node)
        end++;
    return end;
}

qdq_status qdq_form_steps_begin(const qdq_refining *x, const double *saved, qdq_arena *arena,
                                qdq_form_steps *out, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;

    *out = (qdq_form_steps){.fastest = {0}};
    for (size_t i = 0, end; i < s->n_formed; i = end) {
        size_t best = i;
        end = end_of_node(s, i);
        for (size_t k = i; k < end; k++)
            best = saved[k] > saved[best] ? k : best;
        if (saved[best] > 0)
            QDQ_NEED(QDQ_PUSH(arena, &out->fastest, best), err);
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
    const qdq_node *n = s->formed[item].node;
    const qdq_target_op *op = qdq_target_find(s->target, n->type);
    qdq_arena scratch = QDQ_ARENA_INIT;

    if (qdq_format_dynamic(f)) {
        *out = 1;
        return QDQ_OK;
    }
    const qdq_status st =
        noise_of_scales(qdq_node_const(n, op->weight), f, s->formed[item].axis, out, &scratch, err);
    qdq_arena_free(&scratch);
    return st;
}

/* A way to have an operator. */
typedef struct option {
    /* in s->formed; QDQ_NO_FORM: as in the base */
    size_t item;
    double saved, noise;
} option;

/* Of what the base has: float and calibrated scales lose nothing beside data at run time. */
static qdq_status noise_of_base(const qdq_refining *x, size_t item, double *out, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;
    const qdq_node *n = s->formed[item].node;
    const size_t now = qdq_space_form_of(s, &x->base, n);
    const uint32_t group = s->first_group[n->id];

    *out = 0;
    if (now != QDQ_NO_FORM)
        return noise_of(s, now, &s->forms.at[s->formed[now].form].format, out, err);
    return qdq_format_weight_only(&s->target->format) && group != QDQ_NO_GROUP &&
                   qdq_space_get_part(s, &x->base, group) != QDQ_PART_NONE
               ? noise_of(s, item, &s->target->format, out, err)
               : QDQ_OK;
}

/* Outputs' noise for the noise of one operator's weights; 1: all operators count alike. */
static qdq_status influence_of(const qdq_refining *x, size_t item, double *out, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;
    const uint32_t group = s->first_group[s->formed[item].node->id];
    double own = 0;

    *out = 1;
    if (x->t->parts.sensitivity == NULL || group == QDQ_NO_GROUP || qdq_space_is_dynamic(s, item))
        return QDQ_OK;
    QDQ_TRY(noise_of(s, item, &s->target->format, &own, err));
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
    const size_t fastest = steps->fastest.at[of],
                 first = s->first_formed[s->formed[fastest].node->id];
    option all[QDQ_TARGET_MOST_FORMS + 1] = {{.item = QDQ_NO_FORM}};
    const option *now = &all[0];
    size_t n = 1;
    double influence;

    QDQ_TRY(influence_of(x, fastest, &influence, err));
    QDQ_TRY(noise_of_base(x, first, &all[0].noise, err));
    for (size_t i = first; i < end_of_node(s, first); i++) {
        if (saved[i] <= 0)
            continue;
        all[n] = (option){.item = i, .saved = saved[i]};
        QDQ_TRY(noise_of(s, i, &s->forms.at[s->formed[i].form].format, &all[n].noise, err));
        now = i == fastest ? &all[n] : now;
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

qdq_status qdq_form_steps_find(const qdq_refining *x, const double *saved, qdq_arena *arena,
                               qdq_form_steps *steps, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;

    if (steps->fastest.n > 0 && !qdq_space_is_dynamic(s, steps->fastest.at[0]) &&
        x->t->parts.sensitivity == NULL)
        QDQ_TRY(qdq_tune_find_sensitivities(x->t, err));
    for (size_t i = 0; i < steps->fastest.n; i++)
        QDQ_TRY(add_steps(x, saved, i, arena, steps, err));
    return QDQ_OK;
}

qdq_status qdq_form_steps_assign(const qdq_refining *x, const qdq_form_steps *steps,
                                 const bool *taken, qdq_assign *out, qdq_error *err)
{
    size_t at = 0;

    QDQ_NEED(qdq_assign_copy(out, &x->base, &x->t->arena), err);
    for (size_t i = 0; i < steps->fastest.n; i++) {
        size_t item = steps->fastest.at[i];
        for (; at < steps->step.n && steps->step.at[at].of == i; at++)
            item = taken != NULL && taken[at] ? steps->step.at[at].to : item;
        if (item != QDQ_NO_FORM)
            qdq_space_set_form(x->t->task.space, out, item);
    }
    return QDQ_OK;
}
