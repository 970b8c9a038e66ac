/* tune_progress.c - reports the progress of a run to its callbacks. */
#include "tune/state/tune_progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/opts.h"
#include "tune/state/tune_budget.h"
#include "tune/state/units.h"

const char *qdq_tune_verdict_name(qdq_tune_verdict v)
{
    static const char *const names[] = {"tuned", "rules", "float", "baseline"};

    return names[v];
}

const char *qdq_baseline_outcome_name(qdq_baseline_outcome f)
{
    static const char *const names[] = {"shipped", "beaten",    "misses the goal", "wrong",
                                        "failed",  "placement", "unknown"};

    return names[f];
}

const char *qdq_tune_dims_name(qdq_tune_dims d)
{
    return d == QDQ_DIMS_OPEN ? "open" : "fixed";
}

void qdq_tune_show(qdq_tune_state *t, const char *phase)
{
    double elapsed = qdq_clock_seconds() - t->run.started;
    qdq_tune_live now = {.phase = phase,
                         .unit = t->run.unit != NULL ? t->run.unit : "",
                         .unit_number = t->run.unit_number,
                         .n_units = t->parts.patterns != NULL ? t->parts.patterns->n : 0,
                         .trials = (unsigned)t->run.steps.n,
                         .builds = t->run.builds,
                         .pairs = t->run.pairs,
                         .baseline_ms = t->parts.problem.base_ns * 1e-6,
                         .incumbent_ms = t->parts.problem.base_ns * (1 - t->run.saved) * 1e-6,
                         .saved_fraction = t->run.saved,
                         .elapsed_s = elapsed,
                         .left_s = t->opts->time_s > 0 ? fmax(qdq_tune_left_s(t), 0) : NAN};

    t->run.phase = phase;
    if (t->opts->live != NULL)
        t->opts->live(qdq_job_copy(t->job).ctx, &now);
}

const char *qdq_tune_phase_name(const qdq_tune_state *t, qdq_search_phase phase)
{
    static const char *const name[] = {"start", "regions", "interactions", "exceptions", "done"};

    return phase == QDQ_PHASE_UNITS ? t->units->phase : name[phase];
}

void qdq_tune_report_step(const qdq_tune_state *t, const qdq_tune_step *s)
{
    const char *unit = s->unit != SIZE_MAX ? t->parts.problem.unit[s->unit].name : s->move;

    if (s->failed != NULL)
        qdq_job_log(t->job, QDQ_LOG_INFO, "trial %u, %s, %.60s: %s", (unsigned)t->run.steps.n,
                    qdq_tune_phase_name(t, s->phase), unit, s->failed);
    else
        qdq_job_log(t->job, QDQ_LOG_INFO,
                    "trial %u, %s, %.60s: gain %.2f %% (%.2f to %.2f, %u pairs), %s",
                    (unsigned)t->run.steps.n, qdq_tune_phase_name(t, s->phase), unit,
                    s->result.gain * 100, s->result.ci_low * 100, s->result.ci_high * 100,
                    s->result.pairs, s->accepted ? "kept" : "not kept");
}

void qdq_tune_log_miss(qdq_tune_state *t, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(t->outcome.reason, sizeof t->outcome.reason, fmt, args);
    va_end(args);
    qdq_job_log(t->job, QDQ_LOG_WARNING, "fastest candidate: rejected; %s", t->outcome.reason);
}
