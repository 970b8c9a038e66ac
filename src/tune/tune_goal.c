/* tune_goal.c - a goal in accuracy: what is shipped may be no more points below the given model than the user allows. It
 * costs a run over all samples that judge, so only what would be shipped is asked. */
#include "tune/tune_state.h"

#include <math.h>

#include "base/fail.h"
#include "qdq/compare.h"

static qdq_status compare(qdq_tuning *t, const qdq_model *m, qdq_compare_result **out, qdq_error *err)
{
    const qdq_goal_opts *goal = t->opts->goal;
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;

    o.threads = t->quantize.threads;
    o.shapes = t->quantize.shapes;
    o.n_shapes = t->quantize.n_shapes;
    o.first = goal->first;
    o.count = goal->count;
    o.job = t->job;
    return qdq_compare(t->engine, t->m, m, goal->eval != NULL ? goal->eval : t->data, &o, out, err);
}

static qdq_status judge(qdq_tuning *t, const qdq_model *m, bool *keeps, qdq_error *err)
{
    const double most = t->opts->goal->max_drop;
    qdq_compare_result *r = NULL;

    QDQ_TRY(compare(t, m, &r, err));
    const double before = r->accuracy_a, after = r->accuracy_b;
    qdq_free(r);
    if (isnan(before))
        return qdq_fail(err, QDQ_E_USAGE,
                        "found no accuracy, expected labels for an output with two classes or more");
    *keeps = before - after <= most + 1e-9;
    if (!*keeps)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "what is fastest is not taken: accuracy %.4f, %.2f points below that of the given model, "
                    "expected "
                    "at most %g",
                    after, (before - after) * 100, most * 100);
    return QDQ_OK;
}

qdq_status qdq_tune_keeps_accuracy(qdq_tuning *t, const qdq_plan *p, bool *keeps, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "model.onnx");
    qdq_model *m = NULL;

    *keeps = true;
    if (t->opts->goal == NULL || t->opts->goal->max_drop < 0)
        return QDQ_OK;
    if (t->data == NULL && t->opts->goal->eval == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found a goal in accuracy without data, expected samples with labels");
    if (path == NULL)
        return qdq_nomem(err);
    QDQ_TRY(p != NULL ? qdq_candidate_model(t->files, p, &m, err) : qdq_model_load(path, NULL, &m, err));
    qdq_status st = judge(t, m, keeps, err);
    qdq_model_free(m);
    return st;
}
