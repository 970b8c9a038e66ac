/* tune_goal.c - a goal in accuracy: what is shipped may be no more points below the given model than the user allows, and
 * no output may have less SQNR. Candidates were asked on a few samples; a run over all that judge costs more, so only
 * what would be shipped is asked. */
#include "tune/tune_state.h"

#include <math.h>

#include "base/fail.h"
#include "qdq/compare.h"

/* count: 0: all that judge */
static qdq_status compare(qdq_tuning *t, const qdq_model *m, size_t count, qdq_compare_result **out,
                          qdq_error *err)
{
    const qdq_goal_opts *goal = t->opts->goal;
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;

    o.threads = t->quantize.threads;
    o.shapes = t->quantize.shapes;
    o.n_shapes = t->quantize.n_shapes;
    o.first = goal->first;
    o.count = count > 0 ? count : goal->count;
    o.job = t->job;
    return qdq_compare(t->engine, t->m, m, goal->eval != NULL ? goal->eval : t->data, &o, out, err);
}

/* An output that is zero everywhere has no SQNR, and misses it. */
static bool has_sqnr(const qdq_tuning *t, const qdq_compare_result *r)
{
    const double least = t->opts->goal->min_sqnr;

    for (size_t i = 0; least != 0 && i < r->n_outputs; i++)
        if (!(r->outputs[i].sqnr_db >= least)) {
            qdq_job_log(t->job, QDQ_LOG_WARNING,
                        "what is fastest is not taken: output '%s': SQNR %.2f dB on all samples that judge, "
                        "expected at least %g dB",
                        r->outputs[i].name, r->outputs[i].sqnr_db, least);
            return false;
        }
    return true;
}

static bool has_accuracy(const qdq_tuning *t, const qdq_compare_result *r)
{
    const double most = t->opts->goal->max_drop, before = r->accuracy_a, after = r->accuracy_b;
    const bool keeps = most < 0 || before - after <= most + 1e-9;

    if (!keeps)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "what is fastest is not taken: accuracy %.4f, %.2f points below that of the given model, "
                    "expected "
                    "at most %g",
                    after, (before - after) * 100, most * 100);
    return keeps;
}

static qdq_status judge(qdq_tuning *t, const qdq_model *m, bool *keeps, qdq_error *err)
{
    qdq_compare_result *r = NULL;

    QDQ_TRY(compare(t, m, 0, &r, err));
    *keeps = has_sqnr(t, r) && has_accuracy(t, r);
    qdq_free(r);
    return QDQ_OK;
}

/* Is there anything left to ask? Inputs of another type than the given model's have no samples that fit both. */
static bool has_goal(const qdq_tuning *t)
{
    const qdq_goal_opts *g = t->opts->goal;
    bool samples = t->data != NULL || (g != NULL && g->eval != NULL);

    return g != NULL && (g->max_drop >= 0 || (g->min_sqnr != 0 && samples && !t->nothing->rest.direct_io));
}

qdq_status qdq_tune_keeps_accuracy(qdq_tuning *t, const qdq_plan *p, bool *keeps, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "model.onnx");
    qdq_model *m = NULL;

    *keeps = true;
    if (!has_goal(t))
        return QDQ_OK;
    if (path == NULL)
        return qdq_nomem(err);
    QDQ_TRY(p != NULL ? qdq_candidate_model(t->files, p, &m, err) : qdq_model_load(path, NULL, &m, err));
    qdq_status st = judge(t, m, keeps, err);
    qdq_model_free(m);
    return st;
}

qdq_status qdq_tune_check_goal(qdq_tuning *t, qdq_error *err)
{
    qdq_compare_result *r = NULL;

    if (t->opts->goal == NULL || t->opts->goal->max_drop < 0)
        return QDQ_OK;
    if (t->data == NULL && t->opts->goal->eval == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found a goal in accuracy without data, expected samples with labels");
    QDQ_TRY(compare(t, t->m, 1, &r, err));
    const bool labelled = !isnan(r->accuracy_a);
    qdq_free(r);
    if (!labelled)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found no accuracy, expected labels for an output with two classes or more");
    return QDQ_OK;
}
