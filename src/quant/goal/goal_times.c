/* goal_times.c - see the header. Both models are profiled once, shortly: the time of an executed layer belongs to its
 * nodes, by the time that each is estimated to take. */
#include "quant/goal/goal_times.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/processor.h"
#include "base/sha256.h"
#include "ir/ir.h"
#include "quant/goal/node_cost.h"
#include "quant/plan/plan_times.h"
#include "target/target.h"

enum { RUNS = 7, ROUNDS = 9 };

/* --- measured ------------------------------------------------------------------------------------------------------- */

/* Of a microsecond: enough digits, and few in the plan. */
static double hundredths(double us)
{
    return round(us * 100) / 100;
}

static bool can_profile(const qdq_goal_run *g)
{
    const qdq_engine_info *info = qdq_engine_get_info(g->engine);
    const unsigned needed = QDQ_CAN_PROFILE | QDQ_CAN_GROUP;

    return (info->capabilities & needed) == needed && strcmp(g->target->engine, info->name) == 0;
}

static qdq_status profile(const qdq_goal_run *g, const qdq_model *m, qdq_group **out, size_t *n,
                          qdq_error *err)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    const qdq_named_array *in;
    qdq_session *s = NULL;
    size_t n_in;

    o.threads = g->opts.threads;
    o.shapes = g->opts.shapes;
    o.n_shapes = g->opts.n_shapes;
    o.groups = true;
    QDQ_TRY(qdq_data_get(g->data, 0, &in, &n_in, err));
    QDQ_TRY(qdq_session_open(g->engine, m, &o, &s, err));
    qdq_status st = qdq_session_groups(s, in, n_in, RUNS, out, n, err);
    qdq_session_close(s);
    return st;
}

/* Adds the time of each group to its nodes, by node id; returns the time of all. */
static double add_up(const qdq_group *group, size_t n, const qdq_map *by_label, bool eight, double *us)
{
    double all = 0;

    for (size_t i = 0; i < n; i++) {
        const qdq_group *g = &group[i];
        double whole = 0;

        if (isnan(g->median_us))
            continue;
        all += g->median_us;
        for (size_t k = 0; k < g->n_nodes; k++) {
            const qdq_map_value *v = qdq_map_get(by_label, g->node[k]);
            whole += v != NULL ? qdq_node_time(v->ptr, eight) : 0;
        }
        for (size_t k = 0; k < g->n_nodes && whole > 0; k++) {
            const qdq_map_value *v = qdq_map_get(by_label, g->node[k]);
            const qdq_node *node = v != NULL ? v->ptr : NULL;

            if (node != NULL)
                us[node->id] += g->median_us * qdq_node_time(node, eight) / whole;
        }
    }
    return all;
}

static qdq_status measure_model(qdq_goal_run *g, const qdq_model *m, const qdq_map *by_label, bool eight,
                                double **us, double *all, qdq_error *err)
{
    qdq_group *group = NULL;
    size_t n = 0;

    *us = qdq_arena_array(&g->arena, (size_t)g->clean->graph->next_node_id + 1, sizeof **us);
    if (*us == NULL)
        return qdq_nomem(err);
    QDQ_TRY(profile(g, m, &group, &n, err));
    *all = add_up(group, n, by_label, eight, *us);
    qdq_free(group);
    return QDQ_OK;
}

/* Whole runs without a profile, which costs more the more layers there are. */
static qdq_status time_models(qdq_goal_run *g, const qdq_model *quantized, qdq_error *err)
{
    const qdq_model *const m[2] = {g->clean, quantized};
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    qdq_bench_opts b = QDQ_BENCH_OPTS_INIT;
    qdq_session *s[2] = {NULL, NULL};
    qdq_bench_model found[2];
    qdq_status st = QDQ_OK;

    o.threads = g->opts.threads;
    o.shapes = g->opts.shapes;
    o.n_shapes = g->opts.n_shapes;
    b.rounds = ROUNDS;
    b.warmup = 1;
    b.min_leg_ms = 1;
    b.job = &g->quiet;
    QDQ_TRY(qdq_data_get(g->data, 0, &b.inputs, &b.n_inputs, err));
    for (int i = 0; i < 2 && st == QDQ_OK; i++)
        st = qdq_session_open(g->engine, m[i], &o, &s[i], err);
    if (st == QDQ_OK)
        st = qdq_bench(s, 2, &b, found, err);
    for (int i = 0; i < 2; i++)
        qdq_session_close(s[i]);
    if (st == QDQ_OK) {
        g->times.float_us =
            hundredths(found[0].p10_ms * 1000); /* the quickest: a busy machine only adds to them */
        g->times.eight_us = hundredths(found[1].p10_ms * 1000);
    }
    return st;
}

static qdq_status measure(qdq_goal_run *g, const qdq_model *quantized, const qdq_map *by_label,
                          qdq_error *err)
{
    qdq_plan_times *t = &g->times;
    double *as_float, *as_eight, all_float, all_eight;

    QDQ_TRY(measure_model(g, g->clean, by_label, false, &as_float, &all_float, err));
    QDQ_TRY(measure_model(g, quantized, by_label, true, &as_eight, &all_eight, err));
    QDQ_TRY(time_models(g, quantized, err));
    for (size_t i = 0; i < g->n_layers && all_float > 0 && all_eight > 0; i++) {
        const qdq_map_value *v = qdq_map_get(by_label, g->layers[i].node);
        const qdq_node *n = v != NULL ? v->ptr : NULL;
        qdq_layer_time entry = {g->layers[i].node, 0, 0}; /* of a body */

        if (n != NULL) {
            entry.float_us = hundredths(as_float[n->id] * t->float_us / all_float);
            entry.eight_us = hundredths(as_eight[n->id] * t->eight_us / all_eight);
        }

        if (!QDQ_PUSH(&g->arena, &t->layers, entry))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* --- taken ---------------------------------------------------------------------------------------------------------- */

static qdq_status use(qdq_goal_run *g, const qdq_plan_times *t, qdq_error *err)
{
    qdq_map by_node = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < t->layers.n && st == QDQ_OK; i++) {
        qdq_map_value *v = qdq_map_put(&by_node, t->layers.at[i].node, NULL);

        if (v == NULL)
            st = qdq_nomem(err);
        else
            v->num = i + 1;
    }
    for (size_t i = 0; i < g->n_layers && st == QDQ_OK; i++) {
        const qdq_map_value *v = qdq_map_get(&by_node, g->layers[i].node);

        if (v == NULL)
            st = qdq_fail(err, QDQ_E_FORMAT,
                          "%s: key 'times': no time of the layer '%s', expected one of each",
                          g->goal.times_name != NULL ? g->goal.times_name : "times", g->layers[i].node);
        else
            g->layers[i].saved_share =
                (t->layers.at[v->num - 1].float_us - t->layers.at[v->num - 1].eight_us) / t->float_us;
    }
    qdq_map_free(&by_node);
    g->eight_share = t->eight_us / t->float_us;
    g->room->head.is_profiled = true;
    return st;
}

qdq_status qdq_goal_take_times(qdq_goal_run *g, const qdq_model *quantized, const qdq_map *by_label,
                               qdq_error *err)
{
    const qdq_plan_times *given = g->goal.times != NULL ? &g->goal.times->times : NULL;

    if (given != NULL && given->processor != NULL)
        return given->layers.n > 0 ? use(g, given, err) : QDQ_OK;
    if (!can_profile(g))
        return QDQ_OK;
    qdq_status st = measure(g, quantized, by_label, err);
    if (st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED) { /* it runs otherwise: estimates from shapes do */
        *err = (qdq_error)QDQ_ERROR_INIT;
        g->times = (qdq_plan_times){0};
        return QDQ_OK;
    }
    QDQ_TRY(st);
    return g->times.layers.n > 0 ? use(g, &g->times, err) : QDQ_OK;
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
        return qdq_fail(
            err, QDQ_E_FORMAT,
            "%s: key 'times': measured for target '%s' (SHA-256 %.12s...), expected '%s' (%.12s...)", name,
            t->target, t->target_sha256, g->target->name, hash);
    return QDQ_OK;
}

qdq_status qdq_goal_record_times(const qdq_goal_run *g, unsigned trials, qdq_plan *p, qdq_error *err)
{
    const bool is_given = g->goal.times != NULL && g->goal.times->times.processor != NULL;
    qdq_plan_times t = is_given ? g->goal.times->times : g->times;
    char hash[65];

    if (!is_given) {
        t.processor = g->processor;
        t.target = g->target->name;
        qdq_sha256_text(qdq_target_text(g->target), hash);
        t.target_sha256 = hash;
        t.trials = trials;
    }
    return qdq_plan_set_times(p, &t) ? QDQ_OK : qdq_nomem(err);
}
