/* tune_guard.c - the last act: what is on disk, the model that was given, and the rules' plan, measured afresh, against
 * each other. Whatever the search believed, the best of these three is what the user gets. */
#include "tune/tune_state.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

enum { GUARD_PAIRS = 24, GUARD_NTH = 2000 };

static qdq_test_opts fresh(const qdq_tuning *t)
{
    qdq_test_opts o = t->test;

    o.strict = true;
    o.max_pairs = GUARD_PAIRS;
    return o;
}

/* How much faster b is than a, with its interval. *ok: both lived. */
static qdq_status measure(qdq_tuning *t, qdq_tune_candidate *a, qdq_tune_candidate *b, qdq_test_result *r,
                          bool *ok, qdq_error *err)
{
    const qdq_test_opts o = fresh(t);
    bool failed;

    QDQ_TRY(qdq_tune_compare(t, a, b, GUARD_NTH, &o, r, &failed, err));
    *ok = !failed;
    return QDQ_OK;
}

static void set_speedup(qdq_tune_result *out, const qdq_test_result *r)
{
    out->baseline_ms = r->incumbent_ns * 1e-6;
    out->final_ms = r->candidate_ns * 1e-6;
    out->speedup = 1 / (1 - r->gain);
    out->ci_low = 1 / (1 - r->ci_low);
    out->ci_high = 1 / (1 - r->ci_high);
    out->mde = r->mde;
}

static qdq_status ship_input(qdq_tuning *t, const qdq_test_result *self, qdq_error *err)
{
    t->out->verdict = QDQ_TUNED_FLOAT;
    /* Where the rules' plan could not be timed beside it, the search's control knows how long it takes. */
    double ns = self->incumbent_ns > 0 ? self->incumbent_ns : t->problem.base_ns;
    t->out->final_ms = t->out->baseline_ms = ns * 1e-6;
    t->out->speedup = t->out->ci_low = t->out->ci_high = 1;
    t->out->sqnr_db = NAN;
    return qdq_tune_write_best(t, NULL, err);
}

static qdq_status ship_rules(qdq_tuning *t, qdq_tune_candidate *rules, const qdq_test_result *r,
                             qdq_error *err)
{
    t->out->verdict = QDQ_TUNED_RULES;
    set_speedup(t->out, r);
    t->out->sqnr_db = rules->sqnr_db;
    return qdq_tune_write_best(t, t->rules, err);
}

/* The rules' own plan: not always one that an assignment of the space can say. */
static qdq_status build_rules(qdq_tuning *t, qdq_tune_candidate **out, qdq_error *err)
{
    const char *path = qdq_arena_printf(&t->arena, "%s/guard-rules.onnx", qdq_tempdir_path(t->work));

    QDQ_TRY(qdq_tune_candidate_named(t, t->rules_name, out, err));
    if (path == NULL)
        return qdq_nomem(err);
    if ((*out)->handle >= 0 || (*out)->failed)
        return QDQ_OK;
    QDQ_TRY(qdq_candidate_write(t->files, t->rules, "guard-rules.onnx", err));
    return qdq_tune_build(t, *out, path, err);
}

/* Faster for sure than what was given, and as accurate as the user wants. */
static qdq_status wins(qdq_tuning *t, const qdq_test_result *r, bool ok, const qdq_plan *p, bool *out,
                       qdq_error *err)
{
    *out = ok && r->ci_low > 0;
    return *out ? qdq_tune_keeps_accuracy(t, p, out, err) : QDQ_OK;
}

static qdq_status build_written(qdq_tuning *t, const char *name, const char *file, qdq_tune_candidate **out,
                                qdq_error *err)
{
    const char *path = qdq_tune_path(t, file);

    if (path == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_tune_candidate_named(t, name, out, err));
    return qdq_tune_build(t, *out, path, err);
}

/* What the search ended with, as it ships. *name: of the file of it; 32 letters are the most. */
static qdq_status write_found(qdq_tuning *t, const char **name, qdq_error *err)
{
    qdq_plan *p;
    char digits[33];

    QDQ_TRY(qdq_tune_plan_of(t, &t->found.best, &p, err));
    qdq_status st = qdq_tune_name_plan(p, digits, err);
    if (st == QDQ_OK && t->correct)
        st = qdq_tune_write_best(t, p, err);
    qdq_plan_free(p);
    QDQ_TRY(st);
    *name = qdq_arena_printf(&t->arena, "written-%.24s", digits);
    return *name != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status build_input(qdq_tuning *t, qdq_tune_candidate **input, qdq_error *err)
{
    const char *name = t->converted ? qdq_arena_printf(&t->arena, "input-%.26s", t->nothing_name) : "input";

    if (name == NULL)
        return qdq_nomem(err);
    QDQ_TRY(build_written(t, name, "baseline.onnx", input, err));
    return (*input)->failed ? qdq_fail(err, QDQ_E_ENGINE, "the model itself: %s", (*input)->why) : QDQ_OK;
}

qdq_status qdq_tune_guard(qdq_tuning *t, qdq_error *err)
{
    qdq_tune_candidate *input, *rules, *written = NULL;
    qdq_test_result of_rules = {0}, of_final = {0};
    bool rules_ok, final_ok = false, final_wins, rules_win = false;

    qdq_tune_show(t, "guard");
    QDQ_TRY(qdq_tune_correct(t, err));
    QDQ_TRY(build_input(t, &input, err));
    QDQ_TRY(build_rules(t, &rules, err));
    QDQ_TRY(measure(t, input, rules, &of_rules, &rules_ok, err));
    if (qdq_assign_count(&t->found.best) > 0) {
        const char *name;
        QDQ_TRY(write_found(t, &name, err));
        QDQ_TRY(build_written(t, name, "model.onnx", &written, err));
        QDQ_TRY(measure(t, input, written, &of_final, &final_ok, err));
    }
    t->out->rules_ms = rules_ok ? of_rules.candidate_ns * 1e-6 : NAN;
    t->out->predicted_ms = t->found.predicted_ns * 1e-6;
    QDQ_TRY(wins(t, &of_final, final_ok, NULL, &final_wins, err));
    if (!final_wins || of_rules.gain > of_final.gain) /* what would not be shipped is not judged */
        QDQ_TRY(wins(t, &of_rules, rules_ok, t->rules, &rules_win, err));
    if (final_wins && !rules_win) {
        t->out->verdict = QDQ_TUNED;
        t->out->sqnr_db = written->sqnr_db;
        set_speedup(t->out, &of_final);
        return QDQ_OK;
    }
    if (rules_win)
        return ship_rules(t, rules, &of_rules, err);
    return ship_input(t, &of_rules, err);
}
