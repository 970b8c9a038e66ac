/* tune_weights.c - after the search: weights alone in 8 bits, where a linear operator stayed float
 * for its latency or for an accuracy goal. The best placement with all of these weights has a
 * profile, which prices each class of operators; those that pay are measured together. */
#include "base/buf.h"
#include "base/fail.h"
#include "target/target.h"
#include "tune/refine/refine.h"
#include "tune/refine/tune_prices.h"
#include "tune/space/space_partial.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"

/* --- classes ---------------------------------------------------------------------------------- */

static bool is_item(const qdq_refining *x, size_t group)
{
    const qdq_space *s = x->t->task.space;

    return qdq_space_has_partial(s, group) &&
           qdq_space_get_part(s, &x->base, group) == QDQ_PART_NONE;
}

static const qdq_value *weight_of(const qdq_space *s, size_t group)
{
    const qdq_node *n = s->group[group].node;

    return qdq_node_in(n, qdq_target_find(s->target, n->type)->weight);
}

/* Operators of one class have one type, and weights and results of one size. */
static bool describe(const qdq_refining *x, size_t group, qdq_buf *text)
{
    const qdq_space *s = x->t->task.space;
    const qdq_node *n = s->group[group].node;

    if (!is_item(x, group))
        return false;
    qdq_buf_puts(text, n->type);
    qdq_refine_describe_dims(text, weight_of(s, group));
    qdq_refine_describe_dims(text, qdq_node_out(n, 0));
    return true;
}

static void take_weight(const qdq_refining *x, size_t group, qdq_assign *c)
{
    qdq_space_set_part(x->t->task.space, c, group, QDQ_PART_WEIGHT);
}

static bool is_taken(const qdq_refining *x, size_t group, const qdq_assign *c)
{
    const qdq_space *s = x->t->task.space;

    return qdq_space_get_part(s, c, group) != qdq_space_get_part(s, &x->base, group);
}

/* us of the kernel, and its part of the weight's conversion, if each run has one. */
static double time_of(const qdq_refining *x, size_t group, const qdq_tune_times *times)
{
    const qdq_space *s = x->t->task.space;
    const qdq_value *weight = weight_of(s, group);
    const size_t uses = weight->n_use > 0 ? weight->n_use : 1;

    return times->own[s->group[group].node->id] + times->converted[weight->id] / (double)uses;
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status try_all(qdq_refining *x, qdq_error *err)
{
    qdq_tune_prices before;
    qdq_assign all;
    size_t n;
    bool enough, known, kept;

    QDQ_TRY(qdq_refine_has_builds(x, &enough, err));
    if (!enough)
        return QDQ_OK;
    QDQ_NEED(qdq_assign_copy(&all, &x->base, &x->arena), err);
    for (size_t i = 0; i < x->n; i++)
        if (x->kind[i] != QDQ_TUNE_NO_KIND)
            take_weight(x, i, &all);
    QDQ_TRY(qdq_refine_find_gains(x, &all, &before, &known, err));
    if (!known)
        return QDQ_OK;
    qdq_refine_best_kind(x, &n);
    if (n == 0)
        x->t->run.found.ruled_out++;
    return n > 0 && qdq_tune_has_builds(x->t, x->stage, 1)
               ? qdq_refine_try_kind(x, "weights alone", QDQ_TUNE_NO_KIND, &kept, err)
               : QDQ_OK;
}

qdq_status qdq_tune_try_weights(qdq_tune_state *t, qdq_error *err)
{
    qdq_refining x = {.t = t,
                      .arena = QDQ_ARENA_INIT,
                      .stage = QDQ_STAGE_TYPES,
                      .builds = 2, /* the trial of what pays */
                      .change = take_weight,
                      .differs = is_taken,
                      .time_of = time_of};

    if (!t->task.space->target->weights_alone || qdq_tune_is_settled(t) ||
        !qdq_tune_can_profile(t) || !qdq_tune_has_builds(t, QDQ_STAGE_TYPES, 2))
        return QDQ_OK;
    qdq_status st = qdq_refine_begin(&x, t->task.space->n_groups, err);
    if (st == QDQ_OK)
        st = qdq_refine_find_classes(&x, describe, err);
    if (st == QDQ_OK && x.gain.n > 0) {
        t->outcome.weights = x.out;
        st = try_all(&x, err);
    }
    return qdq_refine_end(&x, st, err);
}
