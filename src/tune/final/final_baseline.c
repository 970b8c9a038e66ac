/* final_baseline.c - models with Q/DQ that were given, in the final validation: fresh pairs as for
 * its own, and the last word. */
#include <stdio.h>

#include "base/fail.h"
#include "tune/baseline/baseline.h"
#include "tune/candidate/tune_files.h"
#include "tune/final/tune_final_validation.h"
#include "tune/state/tune_budget.h"

/* What was ruled out is timed, too, so that the report has it; not what did not live, or is another
 * model. */
static bool is_timed(const qdq_baseline *b)
{
    return b->result->outcome != QDQ_BASELINE_PLACEMENT &&
           b->result->outcome != QDQ_BASELINE_FAILED && b->candidate->file != NULL;
}

/* Of the final validation, or where there was no time for that, of the search; NULL: of neither. */
static const qdq_test_result *result_of(const qdq_baseline *b)
{
    return b->timed ? &b->of_it : b->searched ? &b->of_search : NULL;
}

static void set_baseline_times(qdq_baseline *b)
{
    const qdq_test_result *r = result_of(b);

    b->result->ms = r->incumbent_ns * (1 - r->gain) * 1e-6;
    b->result->speedup = 1 / (1 - r->gain);
    b->result->ci_low = 1 / (1 - r->ci_low);
    b->result->ci_high = 1 / (1 - r->ci_high);
}

static qdq_status measure_one(qdq_tune_state *t, const qdq_final_validation *g, qdq_baseline *b,
                              qdq_error *err)
{
    if (!is_timed(b))
        return QDQ_OK;
    if (qdq_tune_left_s(t) <= 0) {
        t->run.cut = true;
        return QDQ_OK;
    }
    t->run.in_front = true; /* it was evaluated */
    qdq_status st = qdq_final_measure(t, g->input, b->candidate, &b->of_it, &b->timed, err);
    t->run.in_front = false;
    QDQ_TRY(st);
    if (b->timed)
        set_baseline_times(b);
    else if (b->candidate->failed) {
        b->may_ship = b->searched = false;
        b->result->outcome = QDQ_BASELINE_FAILED;
        snprintf(b->why, sizeof b->why, "%.290s", b->candidate->why);
    }
    return QDQ_OK;
}

/* What the search measured counts where the final validation's time was over; the report says so.
 */
static void report_untimed(qdq_tune_state *t, qdq_baseline *b)
{
    if (b->timed || !b->searched || !is_timed(b))
        return;
    set_baseline_times(b);
    if (b->why[0] != '\0')
        return;
    snprintf(b->why, sizeof b->why,
             "time limit reached before it was measured again; times are those of the search");
    qdq_job_log(t->job, QDQ_LOG_WARNING, "%s: %s", b->result->name, b->why);
}

qdq_status qdq_baselines_measure(qdq_tune_state *t, const qdq_final_validation *g, qdq_error *err)
{
    for (size_t i = 0; i < t->parts.n_baselines; i++)
        QDQ_TRY(measure_one(t, g, &t->parts.baselines[i], err));
    return QDQ_OK;
}

/* --- the last word ---------------------------------------------------------------------------- */

/* The fastest that may ship and is surely faster than the input; NULL: there is none. */
static qdq_baseline *find_fastest(qdq_tune_state *t)
{
    qdq_baseline *best = NULL;

    for (size_t i = 0; i < t->parts.n_baselines; i++) {
        qdq_baseline *b = &t->parts.baselines[i];
        const qdq_test_result *r = result_of(b);
        if (b->may_ship && r != NULL && r->ci_low > 0 &&
            (best == NULL || r->gain > result_of(best)->gain))
            best = b;
    }
    return best;
}

/* In turns with what was chosen, which must be faster for sure to ship instead. Without time for
 * that, by what each saves. */
static qdq_status wins_against_shipped(qdq_tune_state *t, const qdq_final_validation *g,
                                       const qdq_baseline *b, bool *out, qdq_error *err)
{
    qdq_test_result r;
    bool ok;

    *out = true;
    if (g->shipped == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_final_measure(t, g->shipped, b->candidate, &r, &ok, err));
    *out = ok ? r.ci_high >= 0 : result_of(b)->gain > g->of_shipped.gain;
    return QDQ_OK;
}

static qdq_status ship_baseline(qdq_tune_state *t, const qdq_final_validation *g, qdq_baseline *b,
                                qdq_error *err)
{
    qdq_tune_result *out = t->out;

    out->verdict = QDQ_TUNED_BASELINE;
    out->why = NULL;
    t->outcome.reason[0] = '\0';
    out->placement_only = false; /* the scales are its own */
    out->written = b->evaluation.more;
    out->sqnr_db = b->evaluation.sqnr_db;
    t->outcome.computed = b->computed;
    t->outcome.shipped_metric = b->evaluation.metric.value;
    b->result->outcome = QDQ_BASELINE_SHIPPED;
    qdq_final_set_times(t, result_of(b), g->rules_ok ? &g->of_rules : NULL);
    return qdq_tune_write_model(t, b->model, b->file, b->plan, err);
}

/* One that is slower than the input with the other dims does not ship, as nothing does. */
static qdq_status try_to_ship(qdq_tune_state *t, const qdq_final_validation *g, qdq_baseline *b,
                              bool *shipped, qdq_error *err)
{
    const qdq_tune_other_dims before = t->out->other_dims;
    bool wins_it, keeps_up = true;

    *shipped = false;
    QDQ_TRY(wins_against_shipped(t, g, b, &wins_it, err));
    if (!wins_it)
        return QDQ_OK;
    QDQ_TRY(qdq_final_keeps_up(t, g, b->candidate->name, b->candidate->file, &keeps_up, err));
    *shipped = keeps_up;
    if (keeps_up)
        return ship_baseline(t, g, b, err);
    snprintf(b->why, sizeof b->why,
             t->out->other_dims.measured
                 ? "with shapes %s it is slower than the model that was given"
                 : "it could not be measured with shapes %s",
             qdq_tune_dims_name(before.dims));
    t->out->other_dims = before;
    return QDQ_OK;
}

qdq_status qdq_baselines_decide(qdq_tune_state *t, const qdq_final_validation *g, qdq_error *err)
{
    bool shipped = false;

    for (size_t i = 0; i < t->parts.n_baselines; i++)
        report_untimed(t, &t->parts.baselines[i]);
    for (qdq_baseline *b = find_fastest(t); b != NULL && !shipped; b = find_fastest(t)) {
        QDQ_TRY(try_to_ship(t, g, b, &shipped, err));
        b->may_ship = false;
        if (!shipped)
            b->result->outcome = QDQ_BASELINE_BEATEN;
    }
    for (size_t i = 0; i < t->parts.n_baselines; i++)
        if (t->parts.baselines[i].may_ship && result_of(&t->parts.baselines[i]) != NULL)
            t->parts.baselines[i].result->outcome = QDQ_BASELINE_BEATEN;
    return QDQ_OK;
}
