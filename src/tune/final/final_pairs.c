/* final_pairs.c - fresh pairs of the final measurement: enough of them, with the dims of the search
 * and the other way, and what they say of times. */
#include "tune/final/tune_final_validation.h"

#include <math.h>

#include "base/buf.h"
#include "base/fail.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_progress.h"
#include "tune/trial/tune_trials.h"

enum { FINAL_PAIRS = 24, MORE_PAIRS = 96, MOST_PAIRS = 240, LEAST_PAIRS = 6, GUARD_NTH = 2000 };

/* As many of these pairs as there is still time for. */
static unsigned pairs_in_time(const qdq_tune_state *t, unsigned pairs)
{
    const double left = qdq_tune_left_s(t) - t->run.after_s,
                 pair = qdq_worker_client_pair_s(t->tools.worker_client);

    return isinf(left) || pair <= 0 ? pairs : (unsigned)fmin(pairs, fmax(left / pair, 0));
}

static qdq_status measure_pairs(qdq_tune_state *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                                unsigned nth, unsigned pairs, qdq_test_result *r, bool *ok,
                                qdq_error *err)
{
    qdq_test_opts o = t->run.test;
    bool failed;

    *r = (qdq_test_result){0};
    *ok = false;
    o.strict = true;
    o.max_pairs = pairs_in_time(t, pairs);
    if (o.max_pairs < LEAST_PAIRS) {
        t->run.cut = true;
        return QDQ_OK;
    }
    qdq_status st = qdq_tune_compare(t, a, b, nth, &o, r, &failed, err);
    if (st == QDQ_E_GOAL && qdq_tune_left_s(t) <= 0) { /* it was ended in the middle */
        t->run.cut = true;
        return QDQ_OK;
    }
    *ok = st == QDQ_OK && !failed;
    return st;
}

/* Pairs of these two for half the patience that a candidate gets; 0: unknown. */
static double affordable(const qdq_tune_state *t, const qdq_test_result *r)
{
    return t->run.test.patience_ns / 2 / (r->incumbent_ns + r->candidate_ns);
}

/* Does a moment say little here, and is there time for more than one? */
static bool waits_for_noise(const qdq_tune_state *t)
{
    return t->run.noisy && t->run.test.least_ns > 0;
}

/* Is more to be learnt? What was found should not be lost to a wide interval; and where pairs are
 * cheap, it need not be wide. What is slower for sure is not shipped, however much. */
static bool is_vague(const qdq_tune_state *t, const qdq_test_result *r)
{
    const double width = 0.04;

    if (r->gain > 0 && r->ci_low <= 0)
        return true;
    if (r->ci_high < 0 && !waits_for_noise(t))
        return false;
    return (waits_for_noise(t) || r->ci_high - r->ci_low > width * (1 - r->gain)) &&
           affordable(t, r) > MORE_PAIRS;
}

qdq_status qdq_final_measure(qdq_tune_state *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                             qdq_test_result *r, bool *ok, qdq_error *err)
{
    QDQ_TRY(measure_pairs(t, a, b, GUARD_NTH, FINAL_PAIRS, r, ok, err));
    if (!*ok || !is_vague(t, r))
        return QDQ_OK;
    const double pairs =
        waits_for_noise(t) ? fmin(fmax(affordable(t, r), MORE_PAIRS), MOST_PAIRS) : MORE_PAIRS;
    const qdq_test_result first = *r;
    const bool was_cut = t->run.cut;
    QDQ_TRY(measure_pairs(t, a, b, GUARD_NTH + 1, (unsigned)pairs, r, ok, err));
    if (!*ok && t->run.cut && !was_cut) { /* the first ones still count */
        *r = first;
        *ok = true;
    }
    return QDQ_OK;
}

void qdq_final_set_times(qdq_tune_state *t, const qdq_test_result *of_shipped,
                         const qdq_test_result *of_rules)
{
    qdq_tune_result *out = t->out;
    const qdq_test_result *of_any = of_shipped != NULL ? of_shipped : of_rules;
    /* Where nothing could be timed beside it, the search's control knows how long it takes. */
    const double ns = of_any != NULL ? of_any->incumbent_ns : t->parts.problem.base_ns;

    out->baseline_ms = out->final_ms = ns * 1e-6;
    out->speedup = out->ci_low = out->ci_high = 1;
    out->rules_ms = of_rules != NULL ? out->baseline_ms * (1 - of_rules->gain) : NAN;
    out->predicted_ms = NAN;
    out->mde = of_any != NULL ? of_any->mde : NAN;
    if (of_shipped == NULL)
        return;
    out->final_ms = out->baseline_ms * (1 - of_shipped->gain);
    out->speedup = 1 / (1 - of_shipped->gain);
    out->ci_low = 1 / (1 - of_shipped->ci_low);
    out->ci_high = 1 / (1 - of_shipped->ci_high);
}

/* Of a model and shapes, in 32 digits: what was measured with others is not taken from the
 * store. */
static qdq_status name_other(const char *model, const qdq_tune_shapes *s, char name[33],
                             qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    qdq_buf_printf(&b, "%s with other dims", model);
    for (size_t i = 0; i < s->n; i++) {
        qdq_buf_printf(&b, " %s", s->at[i].name);
        for (int d = 0; d < s->at[i].rank; d++)
            qdq_buf_printf(&b, "x%lld", (long long)s->at[i].dim[d]);
    }
    return qdq_allocated(qdq_digits_take(&b, name), err);
}

static qdq_status build_other(qdq_tune_state *t, const qdq_final_validation *g, const char *model,
                              const char *path, qdq_tune_candidate **out, qdq_error *err)
{
    char name[33];

    QDQ_NEED(path != NULL, err);
    QDQ_TRY(name_other(model, g->other, name, err));
    QDQ_TRY(qdq_tune_candidate_named(t, name, out, err));
    (*out)->shapes = g->other;
    return qdq_tune_build(t, *out, path, err);
}

qdq_status qdq_final_keeps_up(qdq_tune_state *t, const qdq_final_validation *g, const char *name,
                              const char *path, bool *out, qdq_error *err)
{
    qdq_tune_other_dims *o = &t->out->other_dims;
    qdq_tune_candidate *input, *mine;
    qdq_test_result r;
    bool ok;

    if (g->other == NULL)
        return QDQ_OK;
    *o = (qdq_tune_other_dims){.dims = o->dims, .why = ""};
    *out = false;
    if (qdq_tune_left_s(t) <= 0) {
        t->run.cut = true;
        return QDQ_OK;
    }
    QDQ_TRY(build_other(t, g, g->input->name, qdq_tune_path(t, "baseline.onnx"), &input, err));
    *out = input->failed;
    if (input->failed) {
        o->why = qdq_arena_printf(&t->arena, "the input: %s", input->why);
        return qdq_allocated(o->why != NULL, err);
    }
    QDQ_TRY(build_other(t, g, name, path, &mine, err));
    QDQ_TRY(qdq_final_measure(t, input, mine, &r, &ok, err));
    qdq_tune_drop(t, mine);
    if (!ok) {
        if (mine->failed)
            qdq_tune_log_miss(t, "with shapes %s: %.250s", qdq_tune_dims_name(o->dims), mine->why);
        return QDQ_OK;
    }
    o->measured = true;
    o->baseline_ms = r.incumbent_ns * 1e-6;
    o->final_ms = o->baseline_ms * (1 - r.gain);
    o->speedup = 1 / (1 - r.gain);
    o->ci_low = 1 / (1 - r.ci_low);
    o->ci_high = 1 / (1 - r.ci_high);
    *out = r.ci_high >= 0;
    t->outcome.slower = !*out;
    if (!*out)
        qdq_tune_log_miss(
            t, "with shapes %s: %.2f times as fast as the input (95 %% interval %.2f to %.2f)",
            qdq_tune_dims_name(o->dims), o->speedup, o->ci_low, o->ci_high);
    return QDQ_OK;
}
