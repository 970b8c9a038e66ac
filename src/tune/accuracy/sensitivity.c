/* sensitivity.c - what each decision does to the outputs when it is on, measured: the error that
 * its layer introduces in the model with everything quantized, on values of the given one, times
 * its influence. Formulas say how parts relate, what they are together is what was found at the
 * outputs. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_write.h"
#include "quant/compare/layer_sensitivity.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/candidate/tune_profile.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_progress.h"
#include "tune/state/tune_values.h"

enum { SAMPLES = 8 };

/* --- layers ----------------------------------------------------------------------------------- */

static qdq_status compare_layers(qdq_tune_state *t, qdq_tune_candidate *all,
                                 qdq_compare_layers_result **out, qdq_error *err)
{
    qdq_compare_opts o;
    qdq_data *data;
    qdq_model *m = NULL;
    qdq_plan *p;

    QDQ_TRY(qdq_tune_evaluation_data(t, &data, &o, err));
    const size_t have = qdq_data_count(data) - o.first;
    if (o.count == 0 || o.count > SAMPLES)
        o.count = have < SAMPLES ? have : SAMPLES;
    QDQ_TRY(qdq_tune_plan_of(t, &all->assign, &p, err));
    qdq_status st = qdq_candidate_model(t->tools.files, p, &m, err);
    qdq_plan_free(p);
    if (st == QDQ_OK)
        st = qdq_compare_layers(t->tools.engine, t->task.clean, m, data, &o, out, err);
    qdq_model_free(m);
    return st;
}

/* Decisions of one node divide what it does. */
static qdq_status divide_sensitivity(const qdq_tune_state *t,
                                     const qdq_compare_layers_result *found, double *sensitivity,
                                     qdq_error *err)
{
    const qdq_space *s = t->task.space;
    const size_t n = (size_t)s->clean->graph->next_node_id + 1;
    qdq_arena scratch = QDQ_ARENA_INIT;
    double *of_node = qdq_arena_array(&scratch, n, sizeof *of_node),
           *error = qdq_arena_array(&scratch, n, sizeof *error);
    bool *is_layer = qdq_arena_array(&scratch, n, sizeof *is_layer);
    qdq_status st = qdq_allocated(of_node != NULL && error != NULL && is_layer != NULL, err);

    for (size_t i = 0; i < s->n_groups && st == QDQ_OK; i++)
        is_layer[s->group[i].node->id] = true;
    if (st == QDQ_OK)
        st = qdq_sensitivity_of_layers(s->clean->graph, found, is_layer, of_node, error, err);
    for (size_t i = 0; i < s->n_groups && st == QDQ_OK; i++)
        sensitivity[i] = of_node[s->group[i].node->id] / (double)qdq_space_groups_beside(s, i);
    qdq_arena_free(&scratch);
    return st;
}

/* Without inner values all count as alike. */
static qdq_status measure_sensitivity(qdq_tune_state *t, qdq_tune_candidate *all,
                                      double *sensitivity, bool *cut, qdq_error *err)
{
    qdq_compare_layers_result *found = NULL;
    qdq_error why = QDQ_ERROR_INIT;

    qdq_tune_show(t, "sensitivities");
    qdq_tune_begin_timed(t);
    qdq_status st = qdq_tune_end_timed(t, compare_layers(t, all, &found, &why), cut);
    if (st == QDQ_OK && !*cut)
        st = divide_sensitivity(t, found, sensitivity, &why);
    qdq_free(found);
    if (st != QDQ_E_UNSUPPORTED || qdq_tune_caller_failed(t))
        return st == QDQ_OK ? QDQ_OK : qdq_fail(err, st, "%s", why.text);
    qdq_job_log(t->job, QDQ_LOG_WARNING, "%s: all decisions count alike for accuracy", why.text);
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        sensitivity[i] = 1;
    return QDQ_OK;
}

/* --- remembering ------------------------------------------------------------------------------ */

static bool read_sensitivity(const json_t *list, double *sensitivity, size_t n)
{
    bool ok = json_array_size(list) == n;

    for (size_t i = 0; i < n && ok; i++) {
        sensitivity[i] = json_number_value(json_array_get(list, i));
        ok = json_is_number(json_array_get(list, i)) && sensitivity[i] >= 0;
    }
    return ok;
}

static json_t *write_sensitivity(const double *sensitivity, size_t n)
{
    qdq_json_doc d = {0};
    qdq_json_out list = qdq_json_list(&d);

    for (size_t i = 0; i < n; i++)
        qdq_json_put_real(list, NULL, sensitivity[i]);
    return qdq_json_take(&d);
}

/* --- as much as was found at the outputs ------------------------------------------------------ */

/* What has an error without bounds (floats that overflow) counts as the worst of all others. */
static void scale_sensitivity(double *sensitivity, size_t n, double whole)
{
    double sum = 0, most = 0;

    for (size_t i = 0; i < n; i++)
        most = isfinite(sensitivity[i]) ? fmax(most, sensitivity[i]) : most;
    for (size_t i = 0; i < n; i++) {
        sensitivity[i] = isfinite(sensitivity[i]) ? sensitivity[i] : fmax(most, 1);
        sum += sensitivity[i];
    }
    for (size_t i = 0; i < n && sum > 0; i++)
        sensitivity[i] *= whole / sum;
}

static qdq_status recall_or_measure_sensitivity(qdq_tune_state *t, qdq_tune_candidate *all,
                                                double *sensitivity, bool *cut, qdq_error *err)
{
    const double worst = 1e6; /* noise over signal: no number of any meaning is beyond */
    const size_t n = t->task.space->n_groups;
    const char *key =
        qdq_arena_printf(&t->arena, "harm %s on %s", all->name, t->tools.samples_name);
    json_t *list;

    QDQ_NEED(key != NULL, err);
    QDQ_TRY(qdq_tune_recall(t, key, &list, err));
    const bool found = list != NULL && read_sensitivity(list, sensitivity, n);
    json_decref(list);
    *cut = false;
    if (found)
        return QDQ_OK;
    memset(sensitivity, 0, n * sizeof *sensitivity);
    QDQ_TRY(measure_sensitivity(t, all, sensitivity, cut, err));
    if (*cut)
        return QDQ_OK;
    scale_sensitivity(sensitivity, n, fmin(pow(10, -all->evaluation.goal_db / 10), worst));
    return qdq_tune_remember(t, key, write_sensitivity(sensitivity, n), err);
}

/* Does the engine live with everything on? A profile of that was taken in a process of its own;
 * what is evaluated runs in this one. */
static qdq_status is_safe(qdq_tune_state *t, qdq_tune_candidate *all, bool *safe, qdq_error *err)
{
    QDQ_TRY(qdq_tune_profile(t, all, err));
    *safe = all != t->run.base && all->times->is_known;
    return QDQ_OK;
}

qdq_status qdq_tune_everything(qdq_tune_state *t, qdq_tune_candidate **out, qdq_error *err)
{
    qdq_assign a;

    QDQ_NEED(qdq_assign_new(&a, t->task.space->n_groups, &t->arena), err);
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        qdq_assign_set(&a, i, true);
    return qdq_tune_candidate_of(t, &a, out, err);
}

qdq_status qdq_tune_find_sensitivities(qdq_tune_state *t, qdq_error *err)
{
    double *sensitivity =
        qdq_arena_array(&t->arena, t->task.space->n_groups + 1, sizeof *sensitivity);
    qdq_tune_candidate *all;
    bool known, safe, cut;

    QDQ_NEED(sensitivity != NULL, err);
    QDQ_TRY(qdq_tune_everything(t, &all, err));
    QDQ_TRY(is_safe(t, all, &safe, err));
    if (!safe)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_evaluate_candidate(t, all, &known, err));
    if (!known ||
        isnan(all->evaluation.goal_db)) /* zero everywhere: nothing can be measured there */
        return QDQ_OK;
    QDQ_TRY(recall_or_measure_sensitivity(t, all, sensitivity, &cut, err));
    if (!cut)
        t->parts.sensitivity = sensitivity;
    return QDQ_OK;
}
