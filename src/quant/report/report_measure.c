/* report_measure.c - what a report has to measure: layers and times. An engine that cannot, or
 * refuses the model, gives a page that says so. */
#include <string.h>

#include "base/fail.h"
#include "quant/compare/step_inputs.h"
#include "quant/quantize_steps.h"
#include "quant/report/report_state.h"

enum { SAMPLES = 8, ROUNDS = 60 };

qdq_status qdq_report_note(qdq_reporting *r, qdq_status st, const qdq_error *found,
                           const char **why, qdq_error *err)
{
    if (st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED || st == QDQ_E_BUG)
        return qdq_fail(err, st, "%s", found->text);
    *why = qdq_arena_strdup(&r->arena, found->text);
    return qdq_allocated(*why != NULL, err);
}

static qdq_status index_plan(qdq_reporting *r, qdq_error *err)
{
    QDQ_NEED(qdq_graph_map_labels(r->clean->graph, &r->arena, &r->node), err);
    for (size_t i = r->plan->tensors.n; i-- > 0;) /* the first entry stays */
        QDQ_NEED(
            qdq_map_set_ptr(&r->tensor, r->plan->tensors.at[i].tensor, &r->plan->tensors.at[i]),
            err);
    return QDQ_OK;
}

static qdq_status measure_layers(qdq_reporting *r, qdq_error *err)
{
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;
    qdq_error found = QDQ_ERROR_INIT;

    if (r->engine == NULL || r->opts.data == NULL) {
        r->no_layers = "nothing was run";
        return QDQ_OK;
    }
    o.threads = r->opts.threads;
    o.shapes = r->opts.shapes;
    o.n_shapes = r->opts.n_shapes;
    o.first = r->opts.first;
    o.count = r->opts.count == 0 || r->opts.count > SAMPLES ? SAMPLES : r->opts.count;
    size_t have = qdq_data_count(r->opts.data);
    if (o.first < have && o.count > have - o.first)
        o.count = have - o.first;
    o.job = r->opts.job;
    qdq_status st =
        qdq_compare_layers(r->engine, r->clean, r->quantized, r->opts.data, &o, &r->layers, &found);
    if (st != QDQ_OK)
        return qdq_report_note(r, st, &found, &r->no_layers, err);
    for (size_t i = r->layers->n_layers; i-- > 0;) /* of two that make one value, the worse stays */
        QDQ_NEED(qdq_map_set_ptr(&r->layer, r->layers->layers[i].name_in_a, &r->layers->layers[i]),
                 err);
    return QDQ_OK;
}

static qdq_status time_both(qdq_reporting *r, qdq_session **s, qdq_error *err)
{
    const qdq_model *models[2] = {r->m, r->quantized};
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    size_t sample;

    so.threads = r->opts.threads;
    so.shapes = r->opts.shapes;
    so.n_shapes = r->opts.n_shapes;
    for (int i = 0; i < 2; i++)
        QDQ_TRY(qdq_session_open(r->engine, models[i], &so, &s[i], err));
    QDQ_TRY(qdq_data_find_typical(r->opts.data, r->opts.first, r->opts.count, &sample, err));
    const qdq_step_request at = {.engine = r->engine,
                                 .m = r->m,
                                 .of = r->m,
                                 .opts = &so,
                                 .data = r->opts.data,
                                 .sample = sample,
                                 .step = qdq_step_to_time(r->opts.data),
                                 .job = r->opts.job};
    QDQ_TRY(qdq_step_inputs(&at, &r->arena, &bo.inputs, &bo.n_inputs, err));
    bo.rounds = 0;
    bo.job = r->opts.job;
    return qdq_bench(s, 2, &bo, r->time, err);
}

static qdq_status measure_time(qdq_reporting *r, qdq_error *err)
{
    qdq_session *s[2] = {NULL, NULL};
    qdq_error found = QDQ_ERROR_INIT;

    if (r->opts.times != NULL) {
        memcpy(r->time, r->opts.times, sizeof r->time);
        r->has_time = true;
        return QDQ_OK;
    }
    if (r->opts.no_times != NULL) {
        r->no_time = r->opts.no_times;
        return QDQ_OK;
    }
    if (r->engine == NULL || r->opts.data == NULL ||
        !(qdq_engine_get_info(r->engine)->capabilities & QDQ_CAN_TIME)) {
        r->no_time = "nothing was run";
        return QDQ_OK;
    }
    qdq_status st = time_both(r, s, &found);
    for (int i = 0; i < 2; i++)
        qdq_session_close(s[i]);
    r->has_time = st == QDQ_OK;
    return st == QDQ_OK ? QDQ_OK : qdq_report_note(r, st, &found, &r->no_time, err);
}

qdq_status qdq_report_measure(qdq_reporting *r, bool layers, qdq_error *err)
{
    QDQ_TRY(qdq_quantize_clean(r->plan, r->m, r->opts.job, &r->clean, err));
    QDQ_TRY(index_plan(r, err));
    if (layers)
        QDQ_TRY(measure_layers(r, err));
    QDQ_TRY(measure_time(r, err));
    return qdq_report_draw(r, err);
}

const qdq_node *qdq_report_node(const qdq_reporting *r, const char *label)
{
    return qdq_map_get_ptr(&r->node, label);
}

const qdq_plan_tensor *qdq_report_tensor(const qdq_reporting *r, const char *name)
{
    return qdq_map_get_ptr(&r->tensor, name);
}

const qdq_compare_layer *qdq_report_layer(const qdq_reporting *r, const char *label)
{
    const qdq_node *n = qdq_report_node(r, label);
    const qdq_value *y = n != NULL ? qdq_node_out(n, 0) : NULL;

    return y != NULL ? qdq_map_get_ptr(&r->layer, y->name) : NULL;
}

const qdq_plan_tensor *qdq_report_input_of(const qdq_reporting *r, const qdq_node *n,
                                           const char *label)
{
    for (uint32_t i = 0; n != NULL && i < n->n_in; i++) {
        const qdq_plan_tensor *t =
            n->in[i].value != NULL ? qdq_report_tensor(r, n->in[i].value->name) : NULL;

        if (t != NULL && (t->all || qdq_edges_have(&t->consumers, label, i)))
            return t;
    }
    return NULL;
}
