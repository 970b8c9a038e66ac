/* tune_write.c - report.json, as the run ended. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/accuracy/accuracy.h"
#include "tune/baseline/baseline.h"
#include "tune/candidate/tune_files.h"
#include "tune/greedy/greedy.h"
#include "tune/worker_client/tune_fault.h"
#include "tune/outcome/outcome.h"
#include "tune/problem/tune_known.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_partial.h"
#include "tune/state/units.h"

void qdq_tune_put_regions(const qdq_tune_state *t, qdq_json_out j)
{
    qdq_json_put_size(j, "regions", t->out->regions);
    qdq_json_put_size(j, "patterns", t->out->patterns);
}

void qdq_tune_put_groups(const qdq_tune_state *t, qdq_json_out j)
{
    const qdq_tune_result *r = t->out;

    qdq_json_put_text(j, "strategy", r->strategy);
    qdq_json_put_size(j, "groups", r->groups);
    qdq_json_put_size(j, "keys", r->keys);
    qdq_json_put_real(j, "raw_ms", r->raw_ms);
    qdq_json_put_int(j, "kept", r->accepted);
    qdq_json_put_int(j, "rejected", r->rejected);
    qdq_json_put_int(j, "undecided", r->undecided);
    qdq_tune_put_greedy(t, j);
}

static void put_front(qdq_json_out o, const qdq_tune_result *r)
{
    qdq_json_out list = qdq_json_put_list(o, "pareto");

    for (size_t i = 0; i < r->n_pareto; i++) {
        const qdq_tune_point *p = &r->pareto[i];
        qdq_json_out j = qdq_json_put_object(list, NULL);
        qdq_json_put_text(j, "file", p->file);
        qdq_json_put_text(j, "plan", p->plan);
        qdq_json_put_real(j, "ms", p->ms);
        qdq_json_put_real(j, "ms_low", p->ms_low);
        qdq_json_put_real(j, "ms_high", p->ms_high);
        qdq_json_put_real(j, "predicted_ms", p->predicted_ms);
        qdq_json_put_real(j, "sqnr_db", p->sqnr_db);
        qdq_json_put_real(j, "accuracy", p->accuracy);
        qdq_json_put_int(j, "nodes", p->nodes);
        qdq_json_put_bool(j, "dominated", p->dominated);
    }
}

/* Of what was written, and of what was not for its sake. */
static void put_computed(qdq_json_out o, const qdq_tune_result *r)
{
    qdq_json_out j = qdq_json_put_object(o, "engine_check");

    qdq_json_put_text(j, "result", qdq_verify_verdict_name(r->computed->verdict));
    qdq_json_put_text(j, "reference", r->computed->reference);
    qdq_json_put_real(j, "agreement_db", r->computed->sqnr_db);
    qdq_json_put_size(j, "n_samples", r->computed->samples);
    qdq_json_put_some(j, "why", r->computed->why);
    qdq_json_put_some(j, "not_compared", r->computed->not_compared);
    qdq_json_put_int(j, "refused", r->n_wrong);
    qdq_json_put_text(j, "refused_why", r->n_wrong > 0 ? r->wrong : NULL);
}

static void put_shapes(qdq_json_out o, const qdq_input_shape *s, size_t n)
{
    qdq_json_out list = qdq_json_put_list(o, "set_shape");

    for (size_t i = 0; i < n; i++) {
        qdq_json_out j = qdq_json_put_object(list, NULL);
        qdq_json_put_text(j, "input", s[i].name);
        qdq_json_put_ints(j, "shape", s[i].dim, (size_t)s[i].rank);
    }
}

/* null: nothing was written that could be run in another way. */
static void put_other_dims(qdq_json_out o, const qdq_tune_other_dims *d)
{
    if (!d->measured && d->why[0] == '\0') {
        qdq_json_put_null(o, "other_shapes");
        return;
    }
    qdq_json_out j = qdq_json_put_object(o, "other_shapes");
    qdq_json_put_text(j, "shapes", qdq_tune_dims_name(d->dims));
    qdq_json_put_some(j, "not_measured", d->why);
    qdq_json_put_real(j, "baseline_ms", d->measured ? d->baseline_ms : NAN);
    qdq_json_put_real(j, "final_ms", d->measured ? d->final_ms : NAN);
    qdq_json_put_real(j, "speedup", d->measured ? d->speedup : NAN);
    qdq_json_put_real(j, "ci_low", d->measured ? d->ci_low : NAN);
    qdq_json_put_real(j, "ci_high", d->measured ? d->ci_high : NAN);
}

/* Of models with Q/DQ that were given. */
static void put_baselines(qdq_json_out o, const qdq_tune_result *r)
{
    qdq_json_out list = qdq_json_put_list(o, "qdq_baselines");

    for (size_t i = 0; i < r->n_baselines; i++) {
        const qdq_tune_baseline *b = &r->baselines[i];
        qdq_json_out j = qdq_json_put_object(list, NULL), u;
        qdq_json_put_text(j, "file", b->name);
        qdq_json_put_text(j, "result", qdq_baseline_outcome_name(b->outcome));
        qdq_json_put_some(j, "why", b->why);
        qdq_json_put_real(j, "ms", b->ms);
        qdq_json_put_real(j, "speedup", b->speedup);
        qdq_json_put_real(j, "ci_low", b->ci_low);
        qdq_json_put_real(j, "ci_high", b->ci_high);
        qdq_json_put_real(j, "sqnr_db", b->sqnr_db);
        qdq_json_put_real(j, "accuracy", b->accuracy);
        qdq_json_put_real(j, "agreement_db", b->agreement_db);
        u = qdq_json_put_object(j, "not_expressed");
        qdq_json_put_size(u, "edges", b->not_expressed.edges);
        qdq_json_put_size(u, "types", b->not_expressed.types);
        qdq_json_put_size(u, "scales", b->not_expressed.scales);
        qdq_json_put_size(u, "weights", b->not_expressed.weights);
        qdq_json_put_size(u, "gone", b->not_expressed.removed);
        qdq_json_put_size(u, "other", b->not_expressed.other);
    }
}

/* Rules that the written plan contradicts. */
static void put_overruled(qdq_json_out o, const qdq_tune_result *r)
{
    qdq_json_out list = qdq_json_put_list(o, "overruled");

    for (size_t i = 0; i < r->n_overruled; i++) {
        qdq_json_out j = qdq_json_put_object(list, NULL);
        qdq_json_put_text(j, "rule", r->overruled[i].rule);
        qdq_json_put_text(j, "op", r->overruled[i].op);
        qdq_json_put_text(j, "now", r->overruled[i].quantized ? "8 bits" : "float");
        qdq_json_put_size(j, "nodes", r->overruled[i].nodes);
    }
}

/* Tensors with another type than the target's. */
static void put_types(qdq_json_out o, const qdq_tune_state *t)
{
    qdq_json_out list = qdq_json_put_list(o, "types");

    for (size_t i = 0; i < t->out->n_typed; i++) {
        const qdq_tune_typed *typed = &t->out->typed[i];
        qdq_json_out j = qdq_json_put_object(list, NULL), names;
        qdq_json_put_text(j, "type", typed->type);
        qdq_json_put_text(j, "instead_of", typed->instead_of);
        names = qdq_json_put_list(j, "tensors");
        for (size_t k = 0; k < t->outcome.typed_name.n; k++)
            if (t->outcome.typed_of.at[k] == i)
                qdq_json_put_text(names, NULL, t->outcome.typed_name.at[k]);
        qdq_json_put_int(j, "trial", typed->trial);
        qdq_json_put_real(j, "gain", typed->gain);
    }
}

/* An operator and the trial that changed it; `found` NULL: there was none. */
static qdq_json_out put_operator(qdq_json_out list, const qdq_node *n, const qdq_tune_change *found,
                                 qdq_arena *scratch)
{
    const char *label = qdq_node_label(n, scratch);
    qdq_json_out j = qdq_json_put_object(list, NULL);

    qdq_json_put(j, "node", label != NULL ? json_string(label) : NULL);
    qdq_json_put_text(j, "op", n->type);
    if (found != NULL && found->accepted)
        qdq_json_put_size(j, "trial", found->trial);
    else
        qdq_json_put_null(j, "trial");
    qdq_json_put_real(j, "gain", found != NULL && found->accepted ? found->result.gain : NAN);
    return j;
}

static void put_weight(qdq_json_out list, const qdq_tune_state *t, size_t group, qdq_arena *scratch)
{
    const qdq_tune_change *found = t->outcome.weights != NULL ? &t->outcome.weights[group] : NULL;

    put_operator(list, t->task.space->group[group].node, found, scratch);
}

/* Not a plan of the rules or of the goal, nor a file of the user. */
static bool ships_found(const qdq_tune_state *t)
{
    return t->out->verdict == QDQ_TUNED && t->outcome.ships_found;
}

/* Operators whose weight alone is quantized. Those that greedy found have no trial of their own. */
static void put_weights(qdq_json_out o, const qdq_tune_state *t)
{
    qdq_json_out list = qdq_json_put_list(o, "weights_alone");
    const qdq_space *s = t->task.space;
    const size_t n = ships_found(t) && s != NULL ? s->n_groups : 0;
    qdq_arena scratch = QDQ_ARENA_INIT;

    for (size_t i = 0; i < n; i++)
        if (qdq_space_get_part(s, &t->run.found.best, i) == QDQ_PART_WEIGHT)
            put_weight(list, t, i, &scratch);
    qdq_arena_free(&scratch);
}

/* Operators in other formats: whose data is quantized at run time, or whose weights are others.
 * Those of a cache have no trial of their own. */
static void put_forms(qdq_json_out o, const qdq_tune_state *t, bool dynamic)
{
    qdq_json_out list = qdq_json_put_list(o, dynamic ? "at_run_time" : "other_weights");
    const qdq_space *s = t->task.space;
    const size_t n = ships_found(t) && s != NULL ? s->n_formed : 0;
    qdq_arena scratch = QDQ_ARENA_INIT;

    for (size_t i = 0; i < n; i++) {
        if (!qdq_space_has_form(s, &t->run.found.best, i) || qdq_space_is_dynamic(s, i) != dynamic)
            continue;
        const qdq_json_out j =
            put_operator(list, s->formed[i].node,
                         t->outcome.forms != NULL ? &t->outcome.forms[i] : NULL, &scratch);
        if (!dynamic)
            qdq_json_put_text(j, "format", s->forms.at[s->formed[i].form].name);
    }
    qdq_arena_free(&scratch);
}

/* Trials that gave no time, in order. */
static void put_failed(qdq_json_out o, const qdq_tune_state *t)
{
    qdq_json_out list = qdq_json_put_list(o, "failed");

    for (size_t i = 0; i < t->run.steps.n; i++) {
        const char *why = t->run.steps.at[i].failed;
        if (why == NULL)
            continue;
        qdq_json_out j = qdq_json_put_object(list, NULL);
        qdq_json_put_size(j, "trial", i + 1);
        qdq_json_put_text(j, "fault", qdq_tune_fault_name(why));
        qdq_json_put_text(j, "why", why);
    }
}

/* What came out, and how long it took. */
static void put_result(qdq_json_out j, const qdq_tune_state *t)
{
    const qdq_tune_result *r = t->out;

    qdq_json_put_text(j, "mode", r->mode);
    qdq_json_put_text(j, "engine", r->engine);
    qdq_json_put_real(j, "baseline_ms", r->baseline_ms);
    qdq_json_put_real(j, "rules_ms", r->rules_ms);
    qdq_json_put_some(j, "rules_why", r->rules_why);
    qdq_json_put_real(j, "final_ms", r->final_ms);
    qdq_json_put_real(j, "predicted_ms", r->predicted_ms);
    qdq_json_put_real(j, "speedup", r->speedup);
    qdq_json_put_real(j, "ci_low", r->ci_low);
    qdq_json_put_real(j, "ci_high", r->ci_high);
    qdq_json_put_text(j, "shapes", qdq_tune_dims_name(r->dims));
    put_other_dims(j, &r->other_dims);
    qdq_json_put_int(j, "builds", r->builds);
    qdq_json_put_int(j, "timings", r->timings);
    qdq_json_put_int(j, "ruled_out", r->ruled_out);
    qdq_json_put_real(j, "seconds", r->seconds);
    qdq_json_put_real(j, "calibration_seconds", r->calibration_s);
    qdq_json_put_text(j, "verdict", qdq_tune_verdict_name(r->verdict));
    qdq_json_put_text(j, "why", r->why);
    qdq_json_put_int(j, "tried", r->tried);
    qdq_json_put_int(j, "crashed", r->crashed);
    put_failed(j, t);
    qdq_json_put_some(j, "reason", r->reason);
    t->units->put(t, j);
}

static void put_metric(qdq_json_out o, const qdq_tune_state *t)
{
    const qdq_goal_opts *goal = t->opts->goal;

    if (goal == NULL || goal->metric == NULL)
        return;
    qdq_json_out j = qdq_json_put_object(o, "metric");
    qdq_json_put_text(j, "name", qdq_metric_name(goal->metric));
    qdq_json_put_real(j, "input", t->tools.input_metric);
    qdq_json_put_real(j, "written", t->outcome.shipped_metric);
    if (goal->has_min_metric)
        qdq_json_put_real(j, "min", goal->min_metric);
    if (goal->max_drop >= 0)
        qdq_json_put_real(j, "max_drop", goal->max_drop);
}

/* Steps are counted from 1. */
static void put_steps(qdq_json_out j, const qdq_tune_state *t)
{
    size_t timed;
    const size_t steps = qdq_tune_steps(t, &timed);

    if (steps == 0)
        return;
    qdq_json_put_size(j, "steps", steps);
    qdq_json_put_size(j, "timed_step", timed + 1);
}

qdq_status qdq_tune_report_text(const qdq_tune_state *t, char **text, qdq_error *err)
{
    const qdq_tune_result *r = t->out;
    qdq_json_doc d = {0};
    qdq_json_out j = qdq_json_object(&d);

    put_result(j, t);
    qdq_json_put_real(j, "min_detectable_gain", r->mde);
    qdq_json_put_real(j, "sqnr_db", r->sqnr_db);
    qdq_json_put_some(j, "worst", r->written.worst);
    qdq_json_put_size(j, "judged_on", r->written.samples);
    put_steps(j, t);
    qdq_json_put_real(j, "bound_db", r->written.bound_db);
    qdq_json_put_real(j, "top1", r->written.top1);
    qdq_json_put_real(j, "half_agreement", r->written.half_agreement);
    put_metric(j, t);
    qdq_json_put_bool(j, "placement_only", r->placement_only);
    qdq_json_put_bool(j, "resumed", r->resumed);
    qdq_json_put_bool(j, "budget_used_up", r->ended_early);
    put_computed(j, r);
    put_overruled(j, r);
    put_types(j, t);
    put_weights(j, t);
    put_forms(j, t, true);
    put_forms(j, t, false);
    if (t->details->n_set_shapes > 0)
        put_shapes(j, t->details->set_shapes, t->details->n_set_shapes);
    if (r->n_baselines > 0)
        put_baselines(j, r);
    if (t->details->pareto > 0)
        put_front(j, r);
    return qdq_json_finish(&d, text, err);
}

qdq_status qdq_tune_write_results(qdq_tune_state *t, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "report.json");
    char *text;

    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_tune_report_text(t, &text, err));
    qdq_status st = qdq_write_file(path, true, text, strlen(text), err);
    if (st == QDQ_OK && t->units->finish != NULL)
        st = t->units->finish(t, err);
    if (st == QDQ_OK)
        st = qdq_tune_write_page(t, err);
    if (st == QDQ_OK)
        st = qdq_tune_store_finish(t->tools.store, &t->tools.run, text, err);
    qdq_free(text);
    return st;
}
