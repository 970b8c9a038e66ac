/* tune_picture.c - the drawing of what a run wrote: formats and rules from its plan, times from the profiles of the search, the
 * price of each decision from the costs of minimum cuts or from trials. Measures nothing. */
#include "tune/tune_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "quant/report/plan_picture.h"

/* --- times ------------------------------------------------------------------------------------------------------------ */

/* The profile of what ships; NULL: there is none. */
static qdq_status shipped_times(qdq_tuning *t, const qdq_tune_times **out, qdq_error *err)
{
    qdq_tune_candidate *c = t->base;

    if (t->out->verdict == QDQ_TUNED)
        QDQ_TRY(qdq_tune_candidate_of(t, &t->found.best, &c, err));
    else if (t->out->verdict == QDQ_TUNED_RULES)
        QDQ_TRY(qdq_tune_candidate_of(t, &t->space->rules, &c, err));
    *out = c != NULL && c->times != NULL && c->times->is_known ? c->times : NULL;
    return QDQ_OK;
}

/* What a node's kernel takes in 8 bits by the costs of the search; NAN: nobody knows. */
static double predicted_us(const qdq_tuning *t, const qdq_node *n)
{
    const uint32_t first = t->space->first_group[n->id];
    double ns = 0;

    if (!t->has_costs || first == QDQ_NO_GROUP)
        return NAN;
    for (size_t g = first; g < t->space->n_groups && t->space->group[g].node == n; g++)
        ns += t->costs.energy.on[g];
    return isfinite(ns) ? ns / 1000 : NAN;
}

/* us of a whole run for each us of the profile. */
static double factor_of(const qdq_tune_times *times, double whole_ms)
{
    return isfinite(whole_ms) && times->sum > 0 ? whole_ms * 1000 / times->sum : 1;
}

static void set_times(const qdq_tuning *t, qdq_plan_picture *x, const qdq_tune_times *given,
                      const qdq_tune_times *chosen)
{
    const double of_given = factor_of(given, t->out->baseline_ms);
    const double of_chosen = chosen != NULL ? factor_of(chosen, t->out->final_ms) : 1;

    for (size_t i = 0; i < x->picture.n_nodes; i++) {
        qdq_picture_node *n = &x->picture.node[i];
        const uint32_t id = x->node[i]->id;
        const double predicted = chosen == NULL && n->chosen != n->given ? predicted_us(t, x->node[i]) : NAN;

        n->given_us = given->own[id] * of_given;
        n->chosen_us = chosen != NULL     ? chosen->own[id] * of_chosen
                       : isnan(predicted) ? n->given_us
                                          : predicted;
    }
    for (size_t i = 0; chosen != NULL && i < x->picture.n_edges; i++)
        if (x->picture.edge[i].coded && chosen->conversions[x->value[i]->id] > 0)
            x->picture.edge[i].convert_us = chosen->converted[x->value[i]->id] * of_chosen;
    x->picture.times = chosen != NULL ? "Times come from profiles of the search, scaled to whole runs."
                       : t->has_costs
                           ? "Times of the given model come from a profile, those of quantized nodes from "
                             "the costs that the search ended with."
                           : "Times come from a profile of the given model; what was written has none.";
}

/* --- prices ----------------------------------------------------------------------------------------------------------- */

/* Whether the search overruled the target's rules there. */
static const char *overruled(const qdq_tuning *t, size_t group)
{
    const bool rule = qdq_assign_get(&t->space->rules, group);
    const bool chosen = t->out->verdict == QDQ_TUNED ? qdq_assign_get(&t->found.best, group)
                                                     : t->out->verdict == QDQ_TUNED_RULES && rule;

    return rule == chosen ? "" : rule ? "; the rules would quantize it" : "; the rules would leave it float";
}

static void set_price(const qdq_tuning *t, const qdq_node *n, size_t first, qdq_picture_node *out)
{
    double saved = 0, variance = 0;

    for (size_t g = first; g < t->space->n_groups && t->space->group[g].node == n; g++) {
        saved += t->costs.energy.off[g] - t->costs.energy.on[g];
        variance += t->costs.doubt[g] * t->costs.doubt[g];
    }
    if (!isfinite(saved))
        return;
    out->saved_us = saved / 1000;
    out->doubt_us = isfinite(variance) ? sqrt(variance) / 1000 : NAN;
}

/* "in a trial of its pattern: 1.2 % (0.8 to 1.5 %)" of the last step of each unit that was measured; NULL: none. */
static const char *trial_text(qdq_tuning *t, size_t unit, qdq_error *err)
{
    const qdq_tune_step *last = NULL;
    const char *text;

    for (size_t i = 0; i < t->steps.n; i++)
        if (t->steps.at[i].unit == unit && t->steps.at[i].failed == NULL &&
            (last == NULL || t->steps.at[i].kept || !last->kept))
            last = &t->steps.at[i];
    if (last == NULL)
        return "";
    text = qdq_arena_printf(&t->arena, "a trial of its pattern gained %.2f %% (%.2f to %.2f), %s",
                            last->result.gain * 100, last->result.ci_low * 100, last->result.ci_high * 100,
                            last->kept ? "kept" : "not kept");
    if (text == NULL)
        (void)qdq_nomem(err);
    return text;
}

/* By node id: what trials say of the pattern that the node is in. */
static qdq_status find_trials(qdq_tuning *t, const char **of, qdq_error *err)
{
    for (size_t u = 0; t->patterns != NULL && u < t->patterns->n && u < t->problem.n_units; u++) {
        const qdq_pattern *p = &t->patterns->pattern[u];
        const char *text = trial_text(t, u, err);
        if (text == NULL)
            return QDQ_E_NOMEM;
        for (size_t i = 0; i < p->n_instances && text[0] != '\0'; i++)
            for (size_t k = 0; k < p->n_nodes; k++)
                of[p->instance[i].node[k]->id] = text;
    }
    return QDQ_OK;
}

static unsigned count_profiles(const qdq_tuning *t)
{
    unsigned n = 0;

    for (size_t i = 0; i < t->candidates.n; i++)
        n += t->candidates.at[i]->times != NULL && t->candidates.at[i]->times->is_known;
    return n;
}

static qdq_status set_prices(qdq_tuning *t, qdq_plan_picture *x, qdq_error *err)
{
    const char **trial = qdq_arena_array(&t->arena, (size_t)t->clean->graph->next_node_id + 1, sizeof *trial);
    const unsigned profiles = count_profiles(t);
    char text[400];

    if (trial == NULL)
        return qdq_nomem(err);
    QDQ_TRY(find_trials(t, trial, err));
    for (size_t i = 0; i < x->picture.n_nodes; i++) {
        qdq_picture_node *n = &x->picture.node[i];
        const uint32_t first = t->space->first_group[x->node[i]->id];

        if (first == QDQ_NO_GROUP)
            continue;
        if (t->has_costs)
            set_price(t, x->node[i], first, n);
        if (trial[x->node[i]->id] != NULL)
            snprintf(text, sizeof text, "%s", trial[x->node[i]->id]);
        else if (t->has_costs)
            snprintf(text, sizeof text, "profiles of %u whole models, minimum cut", profiles);
        else
            snprintf(text, sizeof text, "whole placements were tried");
        n->measured = qdq_arena_printf(&t->arena, "%s%s", text, overruled(t, first));
        if (n->measured == NULL)
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* --- blocks ----------------------------------------------------------------------------------------------------------- */

static const char *block_of(qdq_tuning *t, const qdq_node *n)
{
    if (t->regions != NULL && t->regions->of[n->id] != NULL) {
        const qdq_region *r = t->regions->of[n->id];
        return qdq_arena_printf(&t->arena, "region %u%s%s", (unsigned)r->id, r->path != NULL ? " of " : "",
                                r->path != NULL ? r->path : "");
    }
    if (t->fusions == NULL || t->fusions->of[n->id] == QDQ_NO_FUSION)
        return "";
    const qdq_fusion *f = &t->fusions->at[t->fusions->of[n->id]];
    return f->layer[0] != '\0' ? qdq_arena_printf(&t->arena, "layer %s", f->layer)
                               : qdq_arena_printf(&t->arena, "group %u", (unsigned)t->fusions->of[n->id]);
}

static qdq_status set_blocks(qdq_tuning *t, qdq_plan_picture *x, qdq_error *err)
{
    for (size_t i = 0; i < x->picture.n_nodes; i++) {
        const char *block = block_of(t, x->node[i]);
        if (block == NULL)
            return qdq_nomem(err);
        x->picture.node[i].block = block[0] != '\0' ? block : NULL;
    }
    return t->fusions == NULL || qdq_plan_picture_fuse(x) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_tune_draw(qdq_tuning *t, const qdq_plan *p, qdq_plan_picture *out, qdq_error *err)
{
    const qdq_tune_times *given = t->base->times, *chosen = NULL;

    QDQ_TRY(qdq_plan_picture_make(t->clean, p, &t->arena, out, err));
    QDQ_TRY(shipped_times(t, &chosen, err));
    if (given != NULL && given->is_known)
        set_times(t, out, given, chosen);
    else
        qdq_plan_picture_estimate(out);
    QDQ_TRY(set_prices(t, out, err));
    return set_blocks(t, out, err);
}
