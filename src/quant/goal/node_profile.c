/* node_profile.c - measures the time of each node. Models are profiled once, shortly. Engines name
 * layers after nodes, so that a copy in which each node has a name is profiled. */
#include "quant/goal/node_profile.h"

#include <math.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "quant/compare/step_inputs.h"
#include "quant/goal/node_cost.h"

static qdq_status profile_on(qdq_engine *e, const qdq_model *m, const qdq_step_request *at,
                             int runs, qdq_layer **out, size_t *n, qdq_error *err)
{
    qdq_session_opts o = *at->opts;
    qdq_arena memory = QDQ_ARENA_INIT;
    const qdq_named_array *in;
    qdq_session *s = NULL;
    size_t n_in;

    o.layers = true;
    qdq_status st = qdq_step_inputs(at, &memory, &in, &n_in, err);
    if (st == QDQ_OK)
        st = qdq_session_open(e, m, &o, &s, err);
    if (st == QDQ_OK)
        st = qdq_session_layers(s, in, n_in, runs, out, n, err);
    qdq_session_close(s);
    qdq_arena_free(&memory);
    return st;
}

qdq_status qdq_profile_layers(qdq_engine *e, const qdq_model *m, const qdq_session_opts *opts,
                              qdq_data *data, size_t sample, int runs, qdq_layer **out, size_t *n,
                              qdq_error *err)
{
    const qdq_step_request at = {.engine = e,
                                 .m = m,
                                 .of = m,
                                 .opts = opts,
                                 .data = data,
                                 .sample = sample,
                                 .step = qdq_step_to_time(data)};
    qdq_model *named = NULL;

    QDQ_TRY(qdq_model_clone(m, &named, err));
    qdq_status st = qdq_graph_name_nodes(named->graph) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK)
        st = profile_on(e, named, &at, runs, out, n, err);
    qdq_model_free(named);
    return st;
}

double qdq_profile_nodes(const qdq_layer *layer, size_t n, const qdq_map *by_label, bool eight,
                         double *us)
{
    double all = 0;

    for (size_t i = 0; i < n; i++) {
        const qdq_layer *g = &layer[i];
        double whole = 0;

        if (isnan(g->median_us))
            continue;
        all += g->median_us;
        for (size_t k = 0; k < g->n_nodes; k++) {
            const qdq_map_value *v = qdq_map_get(by_label, g->node[k]);
            whole += v != NULL ? qdq_node_time(v->ptr, eight) : 0;
        }
        for (size_t k = 0; k < g->n_nodes && whole > 0; k++) {
            const qdq_node *node = qdq_map_get_ptr(by_label, g->node[k]);

            if (node != NULL)
                us[node->id] += g->median_us * qdq_node_time(node, eight) / whole;
        }
    }
    return all;
}
