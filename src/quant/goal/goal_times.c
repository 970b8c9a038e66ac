/* goal_times.c - the time that each layer saves in 8 bits. Both models are profiled once, shortly:
 * the time of an executed layer belongs to its nodes, by the time that each is estimated to take.
 */
#include "quant/goal/goal_times.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/processor.h"
#include "base/sha256.h"
#include "ir/ir.h"
#include "quant/compare/step_inputs.h"
#include "quant/data/data_source.h"
#include "quant/goal/node_cost.h"
#include "quant/goal/node_profile.h"
#include "quant/plan/plan_times.h"
#include "quant/target_fit.h"
#include "target/target.h"

/* Rounds of whole runs, and runs of a profile: QDQ_PROFILE_RUNS, or LEAST_RUNS. */
enum { MOST_ROUNDS = 9, LEAST_ROUNDS = 5, LEAST_RUNS = 3 };
/* of the runs of one model */
static const double usual_seconds = 1;

/* --- measured --------------------------------------------------------------------------------- */

/* Of a microsecond: enough digits, and few in the plan. */
static double hundredths(double us)
{
    return round(us * 100) / 100;
}

static bool can_profile(const qdq_goal_run *g)
{
    const qdq_engine_info *info = qdq_engine_get_info(g->engine);
    const unsigned needed = QDQ_CAN_PROFILE | QDQ_CAN_LIST_LAYERS;

    return (info->capabilities & needed) == needed && strcmp(g->target->engine, info->name) == 0;
}

/* Is the plan for a processor of another kind? Its times are not those of this machine. */
static bool is_for_another(const qdq_goal_run *g)
{
    const qdq_cpu here = qdq_cpu_detect();

    if (qdq_target_cpu(g->opts.cpu) == here)
        return false;
    qdq_job_log(g->opts.job, QDQ_LOG_WARNING,
                "times of layers are estimated from shapes: the plan is for processor %s, this one "
                "is %s",
                qdq_cpu_name(g->opts.cpu), qdq_cpu_name(here));
    return true;
}

static qdq_session_opts session_opts(const qdq_goal_run *g)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;

    o.threads = g->opts.threads;
    o.shapes = g->opts.shapes;
    o.n_shapes = g->opts.n_shapes;
    return o;
}

/* How many runs take the usual time: at least `least`, at most `most`. */
static unsigned runs_of(const qdq_goal_run *g, unsigned most, unsigned least)
{
    const double usual = g->clock.run_s > 0 ? usual_seconds / g->clock.run_s : most;

    return (unsigned)fmin(most, fmax(least, usual));
}

static qdq_status measure_model(qdq_goal_run *g, const qdq_model *m, const qdq_map *by_label,
                                bool eight, double **us, double *all, qdq_error *err)
{
    const qdq_session_opts o = session_opts(g);
    qdq_layer *group = NULL;
    size_t n = 0, sample;

    *us = qdq_arena_array(&g->arena, (size_t)g->clean->graph->next_node_id + 1, sizeof **us);
    if (*us == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_data_find_typical(g->data, 0, 0, &sample, err));
    QDQ_TRY(qdq_profile_layers(g->engine, m, &o, g->data, sample,
                               (int)runs_of(g, QDQ_PROFILE_RUNS, LEAST_RUNS), &group, &n, err));
    *all = qdq_profile_nodes(group, n, by_label, eight, *us);
    qdq_free(group);
    return QDQ_OK;
}

/* Whole runs of both models without a profile, which costs more the more layers there are. */
static qdq_status time_models(const qdq_goal_run *g, const qdq_model *quantized,
                              qdq_bench_model found[2], qdq_error *err)
{
    const qdq_model *const m[2] = {g->clean, quantized};
    qdq_bench_opts b = QDQ_BENCH_OPTS_INIT;
    qdq_session *s[2] = {NULL, NULL};
    qdq_session_opts o = session_opts(g);
    size_t sample;

    b.rounds = runs_of(g, MOST_ROUNDS, LEAST_ROUNDS);
    b.warmup = 1;
    b.job = &g->quiet;
    QDQ_TRY(qdq_data_find_typical(g->data, 0, 0, &sample, err));
    qdq_arena memory = QDQ_ARENA_INIT;
    const qdq_step_request at = {.engine = g->engine,
                                 .m = g->clean,
                                 .of = g->clean,
                                 .opts = &o,
                                 .data = g->data,
                                 .sample = sample,
                                 .step = qdq_step_to_time(g->data),
                                 .job = &g->quiet};
    qdq_status st = qdq_step_inputs(&at, &memory, &b.inputs, &b.n_inputs, err);
    for (int i = 0; i < 2 && st == QDQ_OK; i++)
        st = qdq_session_open(g->engine, m[i], &o, &s[i], err);
    if (st == QDQ_OK)
        st = qdq_bench(s, 2, &b, found, err);
    for (int i = 0; i < 2; i++)
        qdq_session_close(s[i]);
    qdq_arena_free(&memory);
    return st;
}

static qdq_status measure(qdq_goal_run *g, const qdq_model *quantized, const qdq_map *by_label,
                          qdq_error *err)
{
    qdq_plan_times *t = &g->clock.times;
    double *as_float, *as_eight, all_float, all_eight;
    qdq_bench_model found[2];

    QDQ_TRY(measure_model(g, g->clean, by_label, false, &as_float, &all_float, err));
    QDQ_TRY(measure_model(g, quantized, by_label, true, &as_eight, &all_eight, err));
    QDQ_TRY(time_models(g, quantized, found, err));
    /* the quickest: a busy machine only adds to them */
    t->float_us = hundredths(found[0].p10_ms * 1000);
    t->eight_us = hundredths(t->float_us / found[1].speedup);
    g->clock.profile_factor = all_float > 0 ? t->float_us / all_float : 0;
    for (size_t i = 0; i < g->n_layers && all_float > 0 && all_eight > 0; i++) {
        const qdq_map_value *v = qdq_map_get(by_label, g->layers[i].node);
        const qdq_node *n = v != NULL ? v->ptr : NULL;
        qdq_layer_time entry = {g->layers[i].node, 0, 0, {0}}; /* of a body */

        if (n != NULL) {
            entry.float_us = hundredths(as_float[n->id] * t->float_us / all_float);
            entry.eight_us = hundredths(as_eight[n->id] * t->eight_us / all_eight);
        }

        if (!QDQ_PUSH(&g->arena, &t->layers, entry))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* --- taken ------------------------------------------------------------------------------------ */

/* of[layer]: its time in t. */
static qdq_status find_times(const qdq_goal_run *g, const qdq_plan_times *t, qdq_map *by_node,
                             const qdq_layer_time **of, qdq_error *err)
{
    for (size_t i = 0; i < t->layers.n; i++) {
        qdq_map_value *v = qdq_map_put(by_node, t->layers.at[i].node, NULL);

        if (v == NULL)
            return qdq_nomem(err);
        v->num = i;
    }
    for (size_t i = 0; i < g->n_layers; i++) {
        const qdq_map_value *v = qdq_map_get(by_node, g->layers[i].node);

        if (v == NULL)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "%s: key 'times': no time of the layer '%s', expected one of each",
                            g->goal.times_name != NULL ? g->goal.times_name : "times",
                            g->layers[i].node);
        of[i] = &t->layers.at[v->num];
    }
    return QDQ_OK;
}

/* Q/DQ, what kernels gain from each other, and nodes of bodies belong to no layer: layers share
 * what these save by their own time, so that without any layer in 8 bits the time is float's. */
static void share_time(qdq_goal_run *g, const qdq_plan_times *t, const qdq_layer_time *const *of)
{
    double rest = t->float_us - t->eight_us, whole = 0;

    for (size_t i = 0; i < g->n_layers; i++) {
        rest -= of[i]->float_us - of[i]->eight_us;
        whole += of[i]->float_us + of[i]->eight_us;
    }
    for (size_t i = 0; i < g->n_layers; i++) {
        const double own = of[i]->float_us + of[i]->eight_us,
                     part = whole > 0 ? own / whole : 1 / (double)g->n_layers;

        g->layers[i].saved_fraction =
            (of[i]->float_us - of[i]->eight_us + rest * part) / t->float_us;
    }
    g->clock.eight_share = t->eight_us / t->float_us;
}

static qdq_status use(qdq_goal_run *g, const qdq_plan_times *t, qdq_error *err)
{
    const qdq_layer_time **of = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *of);
    qdq_map by_node = QDQ_MAP_INIT;

    if (of == NULL)
        return qdq_nomem(err);
    qdq_status st = find_times(g, t, &by_node, of, err);
    if (st == QDQ_OK)
        share_time(g, t, of);
    qdq_map_free(&by_node);
    g->block->head.is_profiled = true;
    return st;
}

qdq_status qdq_goal_take_times(qdq_goal_run *g, const qdq_model *quantized, const qdq_map *by_label,
                               qdq_error *err)
{
    const qdq_plan_times *given = g->goal.times != NULL ? &g->goal.times->times : NULL;

    if (given != NULL && given->processor != NULL)
        return given->layers.n > 0 ? use(g, given, err) : QDQ_OK;
    if (!can_profile(g) || is_for_another(g))
        return QDQ_OK;
    qdq_status st = measure(g, quantized, by_label, err);
    /* it runs otherwise: estimates from shapes do */
    if ((st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED) && !qdq_data_has_failed(g->data)) {
        *err = (qdq_error)QDQ_ERROR_INIT;
        g->clock.times = (qdq_plan_times){0};
        return QDQ_OK;
    }
    QDQ_TRY(st);
    return g->clock.times.layers.n > 0 ? use(g, &g->clock.times, err) : QDQ_OK;
}

/* --- of other formats ------------------------------------------------------------------------- */

static qdq_status measure_form(qdq_goal_run *g, size_t k, const unsigned char *form,
                               const qdq_plan *p, qdq_error *err)
{
    qdq_map by_label = QDQ_MAP_INIT;
    qdq_model *m = NULL;
    double *us = NULL, all;

    qdq_status st = qdq_goal_apply(g, p, &m, err);
    if (st == QDQ_OK)
        st = qdq_allocated(qdq_graph_map_labels(g->clean->graph, &g->arena, &by_label), err);
    if (st == QDQ_OK)
        st = measure_model(g, m, &by_label, true, &us, &all, err);
    for (size_t i = 0; i < g->n_layers && st == QDQ_OK; i++)
        if (form[i] == QDQ_FORM_OTHER + k)
            g->clock.times.layers.at[i].other_us[k] =
                hundredths(us[g->nodes[i]->id] * g->clock.profile_factor);
    qdq_map_free(&by_label);
    qdq_model_free(m);
    return st;
}

/* A time of 0 is none: the layer is taken to be no faster than float. */
static qdq_status use_form(qdq_goal_run *g, size_t k, const qdq_plan_times *t,
                           const unsigned char *form, qdq_error *err)
{
    const qdq_layer_time **of = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *of);
    double *saved = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *saved);
    qdq_map by_node = QDQ_MAP_INIT;

    QDQ_NEED(of != NULL && saved != NULL, err);
    qdq_status st = find_times(g, t, &by_node, of, err);
    for (size_t i = 0; i < g->n_layers && st == QDQ_OK; i++)
        if (form[i] == QDQ_FORM_OTHER + k && of[i]->other_us[k] > 0)
            saved[i] = (of[i]->float_us - of[i]->other_us[k]) / t->float_us;
    qdq_map_free(&by_node);
    g->forms.saved[k] = saved;
    return st;
}

qdq_status qdq_goal_time_form(qdq_goal_run *g, size_t k, const unsigned char *form,
                              const qdq_plan *p, qdq_error *err)
{
    const qdq_plan_times *given = g->goal.times != NULL ? &g->goal.times->times : NULL;

    if (!g->block->head.is_profiled)
        return QDQ_OK;
    if (given != NULL && given->processor != NULL)
        return use_form(g, k, given, form, err);
    qdq_status st = measure_form(g, k, form, p, err);
    /* the engine does not run all of it: trials show which layers it does run */
    if ((st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED) && !qdq_data_has_failed(g->data)) {
        *err = (qdq_error)QDQ_ERROR_INIT;
        return QDQ_OK;
    }
    QDQ_TRY(st);
    return use_form(g, k, &g->clock.times, form, err);
}

/* --- whole plans ------------------------------------------------------------------------------ */

static void use_time(qdq_goal_run *g, const qdq_plan_times *t, const qdq_trial_time *of)
{
    g->tried.at[of->trial - 1].time_fraction = g->block->steps.at[of->trial - 1].time_fraction =
        of->us / t->float_us;
}

qdq_status qdq_goal_time_plan(qdq_goal_run *g, size_t trial, const qdq_model *quantized,
                              qdq_error *err)
{
    const qdq_plan_times *given = g->goal.times != NULL ? &g->goal.times->times : NULL;
    qdq_trial_time t = {.trial = (unsigned)trial + 1};
    qdq_bench_model found[2];

    if (given != NULL && given->processor != NULL) {
        for (size_t i = 0; i < given->timed.n; i++)
            if (given->timed.at[i].trial == t.trial)
                use_time(g, given, &given->timed.at[i]);
        return QDQ_OK;
    }
    const double begun = qdq_clock_seconds();
    QDQ_TRY(time_models(g, quantized, found, err));
    g->block->head.seconds.profile += qdq_clock_seconds() - begun;
    t.us = hundredths(g->clock.times.float_us / found[1].speedup);
    use_time(g, &g->clock.times, &t);
    return QDQ_PUSH(&g->arena, &g->clock.times.timed, t) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_goal_check_times(const qdq_goal_run *g, qdq_error *err)
{
    const char *name = g->goal.times_name != NULL ? g->goal.times_name : "times";
    char hash[65];

    if (g->goal.times == NULL)
        return QDQ_OK;
    const qdq_plan_times *t = &g->goal.times->times;
    if (t->processor == NULL)
        return QDQ_OK; /* its goal held at once */
    qdq_sha256_text(qdq_target_text(g->target), hash);
    if (strcmp(hash, t->target_sha256) != 0)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%s: key 'times': measured for target '%s' (SHA-256 %.12s...), expected "
                        "'%s' (%.12s...)",
                        name, t->target, t->target_sha256, g->target->name, hash);
    return QDQ_OK;
}

qdq_status qdq_goal_record_times(const qdq_goal_run *g, unsigned trials, qdq_plan *p,
                                 qdq_error *err)
{
    const bool is_given = g->goal.times != NULL && g->goal.times->times.processor != NULL;
    qdq_plan_times t = is_given ? g->goal.times->times : g->clock.times;
    char hash[65];

    if (!is_given) {
        t.processor = g->clock.processor;
        t.target = g->target->name;
        qdq_sha256_text(qdq_target_text(g->target), hash);
        t.target_sha256 = hash;
        t.trials = trials;
        t.other_trials = g->forms.trials;
    }
    return qdq_plan_set_times(p, &t) ? QDQ_OK : qdq_nomem(err);
}
