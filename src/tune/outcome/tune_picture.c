/* tune_picture.c - the drawing of what a run wrote: formats and rules from its plan, times from the
 * profiles of the search, the price of each decision from the costs of minimum cuts or from trials.
 * Measures nothing. */
#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "tune/candidate/tune_names.h"
#include "tune/outcome/outcome.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"
#include "tune/space/space_types.h"

/* --- times ------------------------------------------------------------------------------------ */

/* The profile of what ships; NULL: there is none. */
static qdq_status shipped_times(qdq_tune_state *t, const qdq_tune_times **out, qdq_error *err)
{
    qdq_tune_candidate *c = t->run.base;

    if (t->out->verdict == QDQ_TUNED)
        QDQ_TRY(qdq_tune_candidate_of(t, &t->run.found.best, &c, err));
    else if (t->out->verdict == QDQ_TUNED_RULES)
        QDQ_TRY(qdq_tune_candidate_of(t, &t->task.space->rules, &c, err));
    *out = c != NULL && c->times != NULL && c->times->is_known ? c->times : NULL;
    return QDQ_OK;
}

/* What a node's kernel takes in 8 bits by the costs of the search; NAN: unknown. */
static double predicted_us(const qdq_tune_state *t, const qdq_node *n)
{
    const uint32_t first = t->task.space->first_group[n->id];
    double ns = 0;

    if (!t->parts.has_costs || first == QDQ_NO_GROUP)
        return NAN;
    for (size_t g = first; g < t->task.space->n_groups && t->task.space->group[g].node == n; g++)
        ns += t->parts.costs.energy.on[g];
    return isfinite(ns) ? ns / 1000 : NAN;
}

/* us of a whole run for each us of the profile. */
static double factor_of(const qdq_tune_times *times, double whole_ms)
{
    return isfinite(whole_ms) && times->sum > 0 ? whole_ms * 1000 / times->sum : 1;
}

/* A float operator that reads codes may be another kernel of the engine, whose time only a profile
 * of what was written could tell. */
static void forget_times_on_codes(qdq_picture *p)
{
    for (size_t i = 0; i < p->n_edges; i++) {
        const qdq_picture_edge *e = &p->edge[i];

        if (e->coded && e->to != QDQ_PICTURE_OUTSIDE &&
            p->node[e->to].chosen == p->node[e->to].input)
            p->node[e->to].chosen_us = NAN;
    }
}

static void set_times(const qdq_tune_state *t, qdq_plan_picture *x, const qdq_tune_times *given,
                      const qdq_tune_times *chosen)
{
    const double of_given = factor_of(given, t->out->baseline_ms);
    const double of_chosen = chosen != NULL ? factor_of(chosen, t->out->final_ms) : 1;

    for (size_t i = 0; i < x->picture.n_nodes; i++) {
        qdq_picture_node *n = &x->picture.node[i];
        const uint32_t id = x->node[i]->id;
        if (!qdq_plan_picture_is_main(x, i))
            continue;

        n->given_us = given->own[id] * of_given;
        n->chosen_us = chosen != NULL          ? chosen->own[id] * of_chosen
                       : n->chosen == n->input ? n->given_us
                                               : predicted_us(t, x->node[i]);
    }
    if (chosen == NULL)
        forget_times_on_codes(&x->picture);
    for (size_t i = 0; chosen != NULL && i < x->picture.n_edges; i++)
        if (x->picture.edge[i].coded && x->value[i]->graph == t->task.clean->graph &&
            chosen->conversions[x->value[i]->id] > 0)
            x->picture.edge[i].convert_us = chosen->converted[x->value[i]->id] * of_chosen;
    x->picture.times =
        chosen != NULL ? "Times come from profiles of the search, scaled to whole runs."
        : t->parts.has_costs
            ? "Times of the input model come from a profile, those of quantized nodes from the "
              "costs that the search ended with."
            : "Times come from a profile of the input model; what was written has none.";
}

/* --- prices ----------------------------------------------------------------------------------- */

typedef struct pricing {
    qdq_tune_state *t;
    qdq_plan_picture *out;
    /* of the rules' plan: the same nodes and edges */
    qdq_plan_picture rules;
    /* by node id: what trials say of the pattern that the node is in; NULL: nothing */
    const char **trial;
    /* us of a whole run for each us of a profile */
    double factor;
    /* what decided where no trial did */
    const char *otherwise;
} pricing;

/* A kernel's mean time in the profiles where its bits are so; NAN: there is none. */
static double mean_own(const qdq_tune_state *t, const qdq_node *n, size_t group, bool on)
{
    double sum = 0;
    unsigned count = 0;

    for (size_t i = 0; i < t->run.candidates.n; i++) {
        const qdq_tune_candidate *c = t->run.candidates.at[i];
        if (c->times == NULL || !c->times->is_known || c->file != NULL || c->assign.n <= group ||
            qdq_assign_get(&c->assign, group) != on)
            continue;
        sum += c->times->own[n->id];
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static bool set_price(qdq_picture_price *p, qdq_price_source source, double saved_us,
                      double doubt_us)
{
    if (!isfinite(saved_us))
        return false;
    p->source = source;
    p->saved_us = saved_us;
    p->doubt_us = isfinite(doubt_us) && doubt_us > 0 ? doubt_us : NAN;
    return true;
}

/* All decisions about one kernel together. */
static bool price_by_costs(const qdq_tune_state *t, const qdq_node *n, size_t first,
                           qdq_picture_price *out)
{
    double saved = 0, variance = 0;

    for (size_t g = first;
         g < t->task.space->n_groups && t->task.space->group[g].node == n && t->parts.has_costs;
         g++) {
        saved += t->parts.costs.energy.off[g] - t->parts.costs.energy.on[g];
        variance += t->parts.costs.doubt[g] * t->parts.costs.doubt[g];
    }
    return t->parts.has_costs &&
           set_price(out, QDQ_PRICE_PREDICTED, saved / 1000, sqrt(variance) / 1000);
}

/* "a trial of WHAT gained 1.20 % (0.80 to 1.50), kept"; NULL: out of memory. */
static const char *trial_text(qdq_tune_state *t, const char *what, const qdq_test_result *r,
                              bool kept)
{
    return qdq_arena_printf(&t->arena, "a trial of %s gained %.2f %% (%.2f to %.2f), %s", what,
                            r->gain * 100, r->ci_low * 100, r->ci_high * 100,
                            kept ? "kept" : "not kept");
}

/* The last step of a unit (SIZE_MAX: of the placements that the search began with) that was
 * measured, of those that were kept if there are any; NULL: there is none. */
static const qdq_tune_step *last_step(const qdq_tune_state *t, size_t unit)
{
    const qdq_tune_step *last = NULL;

    for (size_t i = 0; i < t->run.steps.n; i++)
        if (t->run.steps.at[i].unit == unit && t->run.steps.at[i].failed == NULL &&
            (unit != SIZE_MAX || t->run.steps.at[i].phase == QDQ_PHASE_START) &&
            (last == NULL || t->run.steps.at[i].accepted || !last->accepted))
            last = &t->run.steps.at[i];
    return last;
}

static qdq_status find_trials(qdq_tune_state *t, const char **of, qdq_error *err)
{
    for (size_t u = 0;
         t->parts.patterns != NULL && u < t->parts.patterns->n && u < t->parts.problem.n_units;
         u++) {
        const qdq_pattern *p = &t->parts.patterns->pattern[u];
        const qdq_tune_step *step = last_step(t, u);
        const char *text =
            step != NULL ? trial_text(t, "its pattern", &step->result, step->accepted) : NULL;
        if (step != NULL && text == NULL)
            return qdq_nomem(err);
        for (size_t i = 0; i < p->n_instances && text != NULL; i++)
            for (size_t k = 0; k < p->n_nodes; k++)
                of[p->instance[i].node[k]->id] = text;
    }
    return QDQ_OK;
}

static unsigned count_profiles(const qdq_tune_state *t)
{
    unsigned n = 0;

    for (size_t i = 0; i < t->run.candidates.n; i++)
        n += t->run.candidates.at[i]->times != NULL && t->run.candidates.at[i]->times->is_known;
    return n;
}

/* "uint8: QLinearConv", or "float: too few channels", where the written model has it otherwise. */
static qdq_status set_rules(pricing *x, qdq_picture_price *out, qdq_elem type, bool coded,
                            const char *why, qdq_error *err)
{
    out->rules = qdq_arena_printf(&x->t->arena, "%s: %s", coded ? qdq_elem_name(type) : "float",
                                  why != NULL ? why
                                  : coded     ? "its neighbours are in 8 bits"
                                              : "no rule");
    return qdq_allocated(out->rules != NULL, err);
}

/* Of a weight that is quantized alone, by the trial that accepted it. */
static qdq_status price_weight(pricing *x, size_t group, qdq_picture_node *node, qdq_error *err)
{
    const qdq_tune_change *found =
        x->t->outcome.weights != NULL ? &x->t->outcome.weights[group] : NULL;
    char tried[80];

    if (found == NULL || !found->accepted || node->why == NULL ||
        strcmp(node->why, QDQ_SPACE_ONLY_WEIGHT) != 0)
        return QDQ_OK;
    snprintf(tried, sizeof tried,
             found->turned > 1 ? "%u weights alone, this one among them," : "this weight alone",
             found->turned);
    set_price(&node->price, QDQ_PRICE_PROFILED, found->saved_us * x->factor, NAN);
    node->price.measured = trial_text(x->t, tried, &found->result, true);
    return qdq_allocated(node->price.measured != NULL, err);
}

/* The same of operators in other formats. */
static qdq_status price_form(pricing *x, const qdq_node *n, qdq_picture_node *node, qdq_error *err)
{
    qdq_tune_state *t = x->t;
    const qdq_space *s = t->task.space;
    const size_t at = qdq_space_form_of(s, &t->run.found.best, n);
    const qdq_tune_change *found =
        at != QDQ_NO_FORM && t->outcome.forms != NULL ? &t->outcome.forms[at] : NULL;
    char tried[160];

    if (found == NULL || !found->accepted || t->out->verdict != QDQ_TUNED ||
        !t->outcome.ships_found)
        return QDQ_OK;
    if (!qdq_space_is_dynamic(s, at))
        snprintf(tried, sizeof tried,
                 found->turned > 1 ? "other weights of %u operators, %s of this one,"
                                   : "other weights of %u operator, %s,",
                 found->turned, s->forms.at[s->formed[at].form].name);
    else
        snprintf(tried, sizeof tried,
                 found->turned > 1 ? "data of %u operators at run time, this one among them,"
                                   : "data of this operator at run time,",
                 found->turned);
    set_price(&node->price, QDQ_PRICE_PROFILED, found->saved_us * x->factor, NAN);
    node->price.measured = trial_text(t, tried, &found->result, true);
    return qdq_allocated(node->price.measured != NULL, err);
}

static qdq_status price_node(pricing *x, size_t i, qdq_error *err)
{
    const qdq_node *n = x->out->node[i];
    qdq_picture_node *node = &x->out->picture.node[i];
    const qdq_picture_node *rules = &x->rules.picture.node[i];
    const uint32_t first =
        qdq_plan_picture_is_main(x->out, i) ? x->t->task.space->first_group[n->id] : QDQ_NO_GROUP;

    if (first != QDQ_NO_GROUP) {
        if (!price_by_costs(x->t, n, first, &node->price))
            set_price(&node->price, QDQ_PRICE_PROFILED,
                      (mean_own(x->t, n, first, false) - mean_own(x->t, n, first, true)) *
                          x->factor,
                      NAN);
        node->price.measured = x->trial[n->id] != NULL ? x->trial[n->id] : x->otherwise;
        QDQ_TRY(price_weight(x, first, node, err));
    }
    if (qdq_plan_picture_is_main(x->out, i))
        QDQ_TRY(price_form(x, n, node, err));
    if (rules->chosen != node->chosen)
        QDQ_TRY(set_rules(x, &node->price, rules->chosen, rules->chosen != rules->input, rules->why,
                          err));
    return qdq_plan_picture_quote(x->out, i, rules, x->t->task.target, &x->t->arena, err);
}

/* Between nodes of the main graph: the search decides about no others. */
static bool is_main_edge(const pricing *x, size_t i)
{
    const uint32_t to = x->out->picture.edge[i].to;

    return x->out->value[i]->graph == x->t->task.clean->graph &&
           (to == QDQ_PICTURE_OUTSIDE || qdq_plan_picture_is_main(x->out, to));
}

/* What the search of single edges found of this one; NULL: nothing. */
static const qdq_tune_change *found_edge(const pricing *x, size_t i)
{
    const qdq_picture_edge *e = &x->out->picture.edge[i];
    const qdq_space *s = x->t->task.space;
    size_t at = QDQ_NO_EDGE;

    if (x->t->outcome.edges == NULL || !is_main_edge(x, i))
        return NULL;
    if (e->to != QDQ_PICTURE_OUTSIDE)
        at = qdq_space_edge_of(s, x->out->node[e->to], x->out->input[i]);
    for (size_t k = s->n_edges;
         e->to == QDQ_PICTURE_OUTSIDE && k > 0 && s->edge[k - 1].node == NULL; k--)
        if (s->edge[k - 1].input == x->out->input[i])
            at = k - 1;
    return at != QDQ_NO_EDGE && isfinite(x->t->outcome.edges[at].saved_us)
               ? &x->t->outcome.edges[at]
               : NULL;
}

/* By a trial of it, or else by two profiles that differ in it. */
static qdq_status price_change(pricing *x, const qdq_tune_change *found, double saved_us,
                               const char *tried, const char *profiled, qdq_picture_price *out,
                               qdq_error *err)
{
    set_price(out, QDQ_PRICE_PROFILED, saved_us * x->factor, NAN);
    out->measured = found->tried
                        ? trial_text(x->t, tried, &found->result, found->accepted)
                        : qdq_arena_printf(&x->t->arena, "two profiles, with %s", profiled);
    return qdq_allocated(out->measured != NULL, err);
}

static qdq_status price_found(pricing *x, const qdq_tune_change *found, qdq_picture_price *out,
                              qdq_error *err)
{
    char tried[80], profiled[80];

    snprintf(tried, sizeof tried,
             found->turned > 1 ? "%u edges, this one among them," : "this edge", found->turned);
    snprintf(profiled, sizeof profiled,
             found->n_equal > 1 ? "this edge turned and %u like it" : "this edge turned",
             found->n_equal - 1);
    return price_change(x, found, found->saved_us, tried, profiled, out, err);
}

/* What the search of types found of the tensor of an edge that carries quantized values; NULL:
 * nothing. */
static const qdq_tune_change *found_type(const pricing *x, size_t i)
{
    const uint32_t typed = x->t->outcome.types != NULL && x->out->picture.edge[i].coded &&
                                   x->out->value[i]->graph == x->t->task.clean->graph
                               ? qdq_space_typed(x->t->task.space, x->out->value[i])
                               : QDQ_NOT_TYPED;
    const qdq_tune_change *found = typed != QDQ_NOT_TYPED ? &x->t->outcome.types[typed] : NULL;

    return found != NULL && (found->tried || isfinite(found->saved_us)) ? found : NULL;
}

/* Of the type that the tensor has in the best placement. */
static qdq_status price_type(pricing *x, size_t i, const qdq_tune_change *found,
                             qdq_picture_price *out, qdq_error *err)
{
    const uint32_t typed = qdq_space_typed(x->t->task.space, x->out->value[i]);
    const bool is_other = qdq_space_get_type(x->t->task.space, &x->t->run.found.best, typed) > 0;
    char tried[80];

    snprintf(tried, sizeof tried, "another type of %u tensor%s,", found->turned,
             found->turned > 1 ? "s, this one among them" : "");
    return price_change(x, found, is_other ? found->saved_us : -found->saved_us, tried,
                        "another type of all tensors", out, err);
}

/* Of a conversion that stands there, or would. */
static void price_conversion(const pricing *x, size_t i, qdq_picture_price *out)
{
    const qdq_tune_state *t = x->t;
    const uint32_t hyperedge = t->parts.has_costs && is_main_edge(x, i)
                                   ? t->parts.hyperedges.of[x->out->value[i]->id]
                                   : QDQ_NO_HYPEREDGE;

    if (hyperedge == QDQ_NO_HYPEREDGE)
        return;
    const qdq_conversion_state state =
        qdq_hyperedge_state(&t->parts.hyperedges.graph.hyperedge[hyperedge], &t->run.found.best);
    const bool codes = state == QDQ_HYPEREDGE_QUANTIZED || state == QDQ_HYPEREDGE_DQ;
    if (set_price(
            out, QDQ_PRICE_PREDICTED,
            (codes ? t->parts.costs.energy.dq[hyperedge] : -t->parts.costs.energy.q[hyperedge]) /
                1000,
            (codes ? t->parts.costs.dq_doubt[hyperedge] : t->parts.costs.q_doubt[hyperedge]) /
                1000))
        out->measured = x->otherwise;
}

static qdq_status price_edge(pricing *x, size_t i, qdq_error *err)
{
    qdq_picture_edge *e = &x->out->picture.edge[i];
    const qdq_picture_edge *rules = &x->rules.picture.edge[i];
    const qdq_tune_change *found = found_edge(x, i);
    const qdq_tune_change *type = found_type(x, i);
    const uint32_t input = x->out->input[i];

    if (is_main_edge(x, i))
        e->joint = e->to != QDQ_PICTURE_OUTSIDE && input < 32 && found == NULL &&
                   qdq_space_group_of(x->t->task.space, x->out->node[e->to], input) != QDQ_NO_GROUP;
    if (rules->coded != e->coded || (e->coded && rules->format != e->format))
        QDQ_TRY(set_rules(x, &e->price, rules->format, rules->coded,
                          rules->coded                   ? rules->why
                          : e->to != QDQ_PICTURE_OUTSIDE ? x->rules.picture.node[e->to].why
                                                         : NULL,
                          err));
    if (type != NULL && (found == NULL || !found->tried))
        return price_type(x, i, type, &e->price, err);
    if (found != NULL)
        return price_found(x, found, &e->price, err);
    if (!e->joint)
        price_conversion(x, i, &e->price);
    return QDQ_OK;
}

static qdq_status find_otherwise(pricing *x, qdq_error *err)
{
    const qdq_tune_step *whole = last_step(x->t, SIZE_MAX);
    char text[100];

    if (x->t->parts.has_costs)
        snprintf(text, sizeof text, "profiles of %u whole models, minimum cut",
                 count_profiles(x->t));
    else if (whole != NULL)
        snprintf(text, sizeof text, "the whole placement \"%.60s\"", whole->move);
    else
        return QDQ_OK;
    x->otherwise = x->t->parts.has_costs ? qdq_arena_printf(&x->t->arena, "%s", text)
                                         : trial_text(x->t, text, &whole->result, whole->accepted);
    return qdq_allocated(x->otherwise != NULL, err);
}

static qdq_status set_prices(qdq_tune_state *t, qdq_plan_picture *out, qdq_error *err)
{
    pricing x = {.t = t, .out = out, .factor = 1};

    x.trial =
        qdq_arena_array(&t->arena, (size_t)t->task.clean->graph->next_node_id + 1, sizeof *x.trial);
    QDQ_NEED(x.trial != NULL, err);
    QDQ_TRY(find_trials(t, x.trial, err));
    QDQ_TRY(qdq_plan_picture_make(t->task.clean, t->task.rules, t->task.target, &t->arena, &x.rules,
                                  err));
    QDQ_TRY(find_otherwise(&x, err));
    if (t->run.base->times != NULL && t->run.base->times->is_known)
        x.factor = factor_of(t->run.base->times, t->out->baseline_ms);
    for (size_t i = 0; i < out->picture.n_nodes; i++)
        QDQ_TRY(price_node(&x, i, err));
    for (size_t i = 0; i < out->picture.n_edges; i++)
        QDQ_TRY(price_edge(&x, i, err));
    return QDQ_OK;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static const char *block_of(qdq_tune_state *t, const qdq_node *n)
{
    if (t->parts.regions != NULL && t->parts.regions->of[n->id] != NULL) {
        const qdq_region *r = t->parts.regions->of[n->id];
        return qdq_arena_printf(&t->arena, "region %u%s%s", (unsigned)r->id,
                                r->path != NULL ? " of " : "", r->path != NULL ? r->path : "");
    }
    if (t->parts.fusions == NULL || t->parts.fusions->of[n->id] == QDQ_NO_FUSION)
        return "";
    const qdq_fusion *f = &t->parts.fusions->at[t->parts.fusions->of[n->id]];
    return f->layer[0] != '\0'
               ? qdq_arena_printf(&t->arena, "layer %s", f->layer)
               : qdq_arena_printf(&t->arena, "group %u", (unsigned)t->parts.fusions->of[n->id]);
}

static qdq_status set_blocks(qdq_tune_state *t, qdq_plan_picture *x, qdq_error *err)
{
    for (size_t i = 0; i < x->picture.n_nodes; i++) {
        const char *block = qdq_plan_picture_is_main(x, i) ? block_of(t, x->node[i]) : "";
        QDQ_NEED(block != NULL, err);
        x->picture.node[i].block = block[0] != '\0' ? block : NULL;
    }
    return qdq_allocated(t->parts.fusions == NULL || qdq_plan_picture_fuse(x), err);
}

qdq_status qdq_tune_draw(qdq_tune_state *t, const qdq_plan *p, qdq_plan_picture *out,
                         qdq_error *err)
{
    const qdq_tune_times *given = t->run.base->times, *chosen = NULL;

    QDQ_TRY(qdq_plan_picture_make(t->task.clean, p, t->task.target, &t->arena, out, err));
    QDQ_TRY(shipped_times(t, &chosen, err));
    if (given != NULL && given->is_known) {
        set_times(t, out, given, chosen);
        QDQ_NEED(qdq_plan_picture_divide(out, &t->arena), err);
    } else
        qdq_plan_picture_estimate(out);
    QDQ_TRY(set_prices(t, out, err));
    return set_blocks(t, out, err);
}
