/* tune_final_validation.c - the last act: what is on disk, the model that was given, and the rules'
 * plan, measured afresh, against each other. Whatever the search believed, the best of these three
 * is what the user gets. */
#include "tune/final/tune_final_validation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_progress.h"
#include "tune/trial/tune_verify.h"

/* The rules' own plan: not always one that an assignment of the space can say. */
static qdq_status build_rules(qdq_tune_state *t, qdq_tune_candidate **out, qdq_error *err)
{
    const char *path =
        qdq_arena_printf(&t->arena, "%s/final-rules.onnx", qdq_tempdir_path(t->tools.work));

    QDQ_TRY(qdq_tune_candidate_named(t, t->task.rules_name, out, err));
    QDQ_NEED(path != NULL, err);
    if ((*out)->handle >= 0 || (*out)->failed)
        return QDQ_OK;
    QDQ_TRY(qdq_candidate_write(t->tools.files, t->task.rules, "final-rules.onnx", err));
    return qdq_tune_build(t, *out, path, err);
}

/* What the search ended with, as it ships. *name: of the file of it; 32 letters are the most.
 * *is_rules: it is the rules' plan. */
static qdq_status write_found(qdq_tune_state *t, const char **name, bool *is_rules, qdq_error *err)
{
    qdq_plan *p;
    char digits[33];

    QDQ_TRY(qdq_tune_plan_of(t, &t->run.found.best, &p, err));
    qdq_status st = qdq_tune_name_plan(p, digits, err);
    if (st == QDQ_OK && t->task.correct)
        st = qdq_tune_write_best(t, p, err);
    qdq_plan_free(p);
    QDQ_TRY(st);
    *is_rules = strcmp(digits, t->task.rules_name) == 0;
    /* Where another run settled it, one session is enough: equal plans are built once. */
    *name = qdq_arena_printf(&t->arena, "%s%.*s", t->parts.settled != NULL ? "" : "written-",
                             t->parts.settled != NULL ? 32 : 24, digits);
    return qdq_allocated(*name != NULL, err);
}

static qdq_status measure_rules(qdq_tune_state *t, qdq_final_validation *g, qdq_error *err)
{
    if (qdq_tune_left_s(t) <= 0) {
        t->run.cut = true;
        return QDQ_OK;
    }
    QDQ_TRY(build_rules(t, &g->rules, err));
    return qdq_final_measure(t, g->input, g->rules, &g->of_rules, &g->rules_ok, err);
}

static qdq_status measure_written(qdq_tune_state *t, qdq_final_validation *g, qdq_error *err)
{
    const char *name;

    QDQ_TRY(write_found(t, &name, &g->same, err));
    QDQ_TRY(qdq_tune_build_written(t, name, "model.onnx", &g->written, err));
    return qdq_final_measure(t, g->input, g->written, &g->of_written, &g->written_ok, err);
}

/* Is what was written the faster one, in turns with the rules' model? */
static qdq_status wins_duel(qdq_tune_state *t, const qdq_final_validation *g, bool *out,
                            qdq_error *err)
{
    qdq_test_result r;
    bool ok;

    *out = true;
    if (g->same || !g->rules_ok)
        return QDQ_OK;
    const bool was_cut = t->run.cut;
    QDQ_TRY(qdq_final_measure(t, g->rules, g->written, &r, &ok, err));
    *out = ok ? r.gain >= 0 : t->run.cut && !was_cut; /* without time for it: it is proven */
    return QDQ_OK;
}

/* --- open and fixed dims ---------------------------------------------------------------------- */

/* A range of shapes among the options of trtexec is one for open dims: there is no other way
 * then. */
static qdq_status has_range(const qdq_tune_state *t, bool *out, qdq_error *err)
{
    const char *args = t->opts->engine_opts != NULL ? t->opts->engine_opts->trtexec_args : NULL;
    qdq_trtexec_shapes *shapes;

    *out = false;
    if (args == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_trtexec_shapes_read(args, &shapes, err));
    *out = shapes->n_opt > 0;
    qdq_free(shapes);
    return QDQ_OK;
}

/* Users may fix the dims that were open in the search, or open those that it had fixed. */
static qdq_status find_other(qdq_tune_state *t, qdq_final_validation *g, qdq_error *err)
{
    const bool fixed = t->task.quantize.n_shapes > 0, open = qdq_model_is_open(t->task.m);
    bool range;

    t->out->dims = open && !fixed ? QDQ_DIMS_OPEN : QDQ_DIMS_FIXED;
    QDQ_TRY(has_range(t, &range, err));
    if (!open || range)
        return QDQ_OK;
    qdq_tune_shapes *s = qdq_arena_alloc(&t->arena, sizeof *s);
    QDQ_NEED(s != NULL, err);
    *s = (qdq_tune_shapes){NULL, 0};
    t->out->other_dims.dims = fixed ? QDQ_DIMS_OPEN : QDQ_DIMS_FIXED;
    if (!fixed)
        QDQ_TRY(qdq_tune_sample_shapes(t, &s->at, &s->n, err));
    if (t->task.steps_grow)
        t->out->other_dims.why = "shapes grow from step to step";
    else
        g->other = s;
    return QDQ_OK;
}

/* The same of model.onnx, or where p is not NULL of the model of that plan. */
static qdq_status keeps_up(qdq_tune_state *t, const qdq_final_validation *g, const qdq_plan *p,
                           bool *out, qdq_error *err)
{
    char name[33];

    if (p == NULL)
        return qdq_final_keeps_up(t, g, g->written->name, qdq_tune_path(t, "model.onnx"), out, err);
    if (g->other == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_name_plan(p, name, err));
    QDQ_TRY(qdq_candidate_write(t->tools.files, p, "final-other-dims.onnx", err));
    return qdq_final_keeps_up(
        t, g, name,
        qdq_arena_printf(&t->arena, "%s/final-other-dims.onnx", qdq_tempdir_path(t->tools.work)),
        out, err);
}

/* Faster for sure than the input, not slower with the other dims, as accurate as the user wants,
 * and computed by the engine as it is written. */
static qdq_status may_ship(qdq_tune_state *t, const qdq_final_validation *g,
                           const qdq_test_result *r, bool ok, qdq_plan *p, bool *out,
                           qdq_error *err)
{
    *out = ok && r->ci_low > 0;
    t->run.after_s = 0;
    if (*out) /* first: what is computed wrongly has no accuracy that says anything */
        QDQ_TRY(qdq_tune_verify_shipped(t, p, out, err));
    if (*out)
        QDQ_TRY(qdq_tune_keeps_accuracy(t, p, out, err));
    return *out ? keeps_up(t, g, p, out, err) : QDQ_OK;
}

/* --- the result ------------------------------------------------------------------------------- */

/* Where neither what the search found nor the rules' plan can ship: the start that was made for the
 * goal. */
static qdq_status try_reached(qdq_tune_state *t, const qdq_final_validation *g, qdq_test_result *r,
                              qdq_tune_candidate **out, qdq_error *err)
{
    bool ok, wins_it = false;
    qdq_plan *p;

    *out = NULL;
    if (!t->parts.has_reached || qdq_tune_left_s(t) <= 0)
        return QDQ_OK;
    t->run.after_s = qdq_tune_after_pairs_s(t);
    QDQ_TRY(qdq_tune_candidate_of(t, &t->parts.reached, out, err));
    QDQ_TRY(qdq_tune_build(t, *out, NULL, err));
    QDQ_TRY(qdq_final_measure(t, g->input, *out, r, &ok, err));
    QDQ_TRY(qdq_tune_plan_of(t, &t->parts.reached, &p, err));
    qdq_status st = may_ship(t, g, r, ok, p, &wins_it, err);
    if (st == QDQ_OK && wins_it)
        st = qdq_tune_write_best(t, p, err);
    qdq_plan_free(p);
    if (!wins_it)
        *out = NULL;
    return st;
}

/* Placements that missed the goal were not timed: one of them may have been faster. */
static void log_misses(qdq_tune_state *t)
{
    const qdq_tune_candidate *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < t->run.candidates.n; i++) {
        if (!t->run.candidates.at[i]->misses)
            continue;
        first = first != NULL ? first : t->run.candidates.at[i];
        n++;
    }
    if (n > 0)
        snprintf(t->outcome.reason, sizeof t->outcome.reason, "%.250s (%zu placement%s)",
                 first->why, n, n == 1 ? "" : "s");
}

/* Where the engine computed placements wrongly: was that so of all? NULL: of none. */
static const char *why_wrong(const qdq_tune_state *t)
{
    bool right = false;

    if (t->out->n_wrong == 0)
        return NULL;
    for (size_t i = 0; i < t->run.candidates.n; i++) {
        const qdq_tune_candidate *c = t->run.candidates.at[i];

        right = right || (c != t->run.base && c->assign.word != NULL && c->shapes == NULL &&
                          c->tried && !c->wrong);
    }
    return right ? "nothing that the engine computes correctly was faster"
                 : "the engine computes every candidate wrongly";
}

static const char *why_float(const qdq_tune_state *t)
{
    unsigned died, tried;

    qdq_tune_count_deaths(t, &died, &tried);
    if (t->run.cut)
        return "the budget of time ended before anything faster was confirmed";
    if (tried > 0 && died == tried)
        return "the engine crashed, hung or ran out of memory in every candidate";
    if (t->outcome.reason[0] != '\0')
        return t->outcome.slower ? "what was faster is slower with the other shapes"
                                 : "nothing that keeps the goal was faster";
    if (qdq_assign_count(&t->run.found.best) > 0)
        return "what the search kept was not confirmed when it was measured afresh";
    const char *wrong = why_wrong(t);
    return wrong != NULL ? wrong : "nothing was faster";
}

/* Nothing of what was measured is faster and keeps the goal. */
static qdq_status keep_float(qdq_tune_state *t, qdq_final_validation *g, qdq_error *err)
{
    const qdq_test_result *of_rules = g->rules_ok ? &g->of_rules : NULL;
    qdq_tune_candidate *reached;
    qdq_test_result of_reached;

    QDQ_TRY(try_reached(t, g, &of_reached, &reached, err));
    if (reached != NULL) {
        t->out->verdict = QDQ_TUNED;
        t->outcome.reason[0] = '\0';
        t->out->sqnr_db = !isnan(t->outcome.shipped_db) ? t->outcome.shipped_db : reached->sqnr_db;
        qdq_final_set_times(t, &of_reached, of_rules);
        g->shipped = reached;
        g->of_shipped = of_reached;
        return QDQ_OK;
    }
    t->out->verdict = QDQ_TUNED_FLOAT;
    t->outcome.shipped_metric = t->tools.input_metric;
    t->out->written = qdq_tune_no_accuracy;
    t->out->other_dims = (qdq_tune_other_dims){.dims = t->out->other_dims.dims, .why = ""};
    if (t->outcome.reason[0] == '\0')
        log_misses(t);
    t->out->why = why_float(t);
    qdq_final_set_times(t, NULL, of_rules);
    QDQ_TRY(qdq_tune_write_best(t, NULL, err));
    return qdq_tune_verify_float(t, err);
}

/* The search's gains are those over the clean model, which may be faster than what was given. */
static qdq_status predict_time(qdq_tune_state *t, const qdq_final_validation *g, qdq_error *err)
{
    qdq_test_result of_clean = g->of_rules;
    bool ok = g->rules_ok;

    if (qdq_tune_left_s(t) <= 0)
        return QDQ_OK;
    if (g->rules != t->run.base) /* rules that quantize nothing */
        QDQ_TRY(qdq_final_measure(t, g->input, t->run.base, &of_clean, &ok, err));
    if (ok)
        t->out->predicted_ms = t->out->baseline_ms * (1 - of_clean.gain) *
                               t->run.found.predicted_ns / t->parts.problem.base_ns;
    return QDQ_OK;
}

static qdq_status decide_result(qdq_tune_state *t, qdq_final_validation *g, qdq_error *err)
{
    const qdq_test_result *of_rules = g->rules_ok ? &g->of_rules : NULL;
    bool written_wins = false, wins_both, rules_win = false;

    t->out->sqnr_db = NAN;
    if (g->rules != NULL && g->rules->failed)
        t->out->rules_why = g->rules->why;
    if (g->written != NULL)
        QDQ_TRY(may_ship(t, g, &g->of_written, g->written_ok, NULL, &written_wins, err));
    wins_both = written_wins;
    if (written_wins)
        QDQ_TRY(wins_duel(t, g, &wins_both, err));
    const qdq_tune_result of_written = *t->out;
    const qdq_verify_result computed = t->outcome.computed;
    const double written_db = t->outcome.shipped_db, written_metric = t->outcome.shipped_metric;
    if (!wins_both && !g->same) /* what would not be shipped is not evaluated */
        QDQ_TRY(may_ship(t, g, &g->of_rules, g->rules_ok, t->task.rules, &rules_win, err));
    if (!written_wins && !rules_win)
        return keep_float(t, g, err);
    if (!rules_win) { /* the rules' plan may have been asked, and lost */
        t->out->written = of_written.written;
        t->outcome.computed = computed;
        t->out->other_dims = of_written.other_dims;
        t->outcome.shipped_db = written_db;
        t->outcome.shipped_metric = written_metric;
    }
    t->outcome.reason[0] = '\0';
    t->out->verdict = rules_win || g->same ? QDQ_TUNED_RULES : QDQ_TUNED;
    t->outcome.ships_found = !rules_win;
    t->out->sqnr_db = !isnan(t->outcome.shipped_db) ? t->outcome.shipped_db
                      : rules_win                   ? g->rules->sqnr_db
                                                    : g->written->sqnr_db;
    g->shipped = rules_win ? g->rules : g->written;
    g->of_shipped = rules_win ? g->of_rules : g->of_written;
    qdq_final_set_times(t, &g->of_shipped, of_rules);
    if (!rules_win)
        QDQ_TRY(predict_time(t, g, err));
    return rules_win ? qdq_tune_write_best(t, t->task.rules, err) : QDQ_OK;
}

/* A test of model_raw.onnx against the input; NULL: it failed, or there is neither time nor a build
 * left for it. */
static qdq_status test_raw(qdq_tune_state *t, const qdq_final_validation *g, qdq_test_result *own,
                           const qdq_test_result **out, qdq_error *err)
{
    const bool was_cut = t->run.cut, has_build = t->run.raw->counted || t->opts->max_builds == 0 ||
                                                 t->run.builds < t->opts->max_builds;
    bool ok = false;

    *out = NULL;
    if (g->written != NULL && qdq_assign_equal(&t->run.raw->assign, &t->run.found.best))
        *out = g->written_ok ? &g->of_written : NULL;
    else if (g->rules != NULL && strcmp(t->run.raw->name, t->task.rules_name) == 0)
        *out = g->rules_ok ? &g->of_rules : NULL;
    else if (g->input != NULL && !t->run.raw->failed && has_build && qdq_tune_left_s(t) > 0)
        QDQ_TRY(qdq_final_measure(t, g->input, t->run.raw, own, &ok, err));
    if (ok)
        *out = own;
    t->run.cut = was_cut; /* nothing that ships depends on it */
    return QDQ_OK;
}

/* The last of the final measurement: model_raw.onnx, in the same scale as what ships. */
static qdq_status measure_raw(qdq_tune_state *t, const qdq_final_validation *g, qdq_error *err)
{
    qdq_tune_candidate *raw = t->run.raw;
    const qdq_test_result *r;
    qdq_test_result own;

    if (raw == NULL)
        return QDQ_OK;
    if (qdq_assign_count(&raw->assign) == 0) {
        t->out->raw_ms = t->out->baseline_ms;
        return QDQ_OK;
    }
    QDQ_TRY(test_raw(t, g, &own, &r, err));
    if (r != NULL)
        t->out->raw_ms = t->out->baseline_ms * (1 - r->gain);
    t->run.raw = NULL;
    qdq_tune_drop(t, raw);
    return QDQ_OK;
}

static qdq_status finish_validation(qdq_tune_state *t, qdq_final_validation *g, qdq_error *err)
{
    QDQ_TRY(qdq_baselines_decide(t, g, err));
    return measure_raw(t, g, err);
}

qdq_status qdq_tune_validate_final(qdq_tune_state *t, qdq_error *err)
{
    qdq_final_validation g = {0};

    qdq_tune_show(t, "guard");
    t->run.guarded = true;
    qdq_tune_drop_idle(t);
    t->run.after_s = qdq_tune_after_pairs_s(t);
    QDQ_TRY(qdq_tune_correct(t, err));
    QDQ_TRY(find_other(t, &g, err));
    if (t->run.unwritten)
        QDQ_TRY(qdq_tune_write_assignment(t, &t->run.found.best, err));
    t->run.cut = qdq_tune_left_s(t) <= 0;
    if (!t->run.cut) {
        QDQ_TRY(qdq_tune_build_input(t, &g.input, err));
        t->run.cut = qdq_tune_was_cut(t, g.input);
    }
    if (t->run.cut) {
        QDQ_TRY(keep_float(t, &g, err));
        return finish_validation(t, &g, err);
    }
    if (g.input->failed)
        return qdq_fail(err, QDQ_E_ENGINE, "the model itself: %s", g.input->why);
    if (qdq_assign_count(&t->run.found.best) > 0)
        QDQ_TRY(measure_written(t, &g, err));
    /* nothing that was given is to be lost for want of time */
    QDQ_TRY(qdq_baselines_measure(t, &g, err));
    if (g.same) {
        g.of_rules = g.of_written;
        g.rules_ok = g.written_ok;
    } else
        QDQ_TRY(measure_rules(t, &g, err));
    QDQ_TRY(decide_result(t, &g, err));
    return finish_validation(t, &g, err);
}
