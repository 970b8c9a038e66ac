/* node_profile.c - see the header. Models are profiled once, shortly. Engines call layers after
 * nodes, so that a copy in which each node has a name is profiled. */
#include "quant/goal/node_profile.h"

#include <math.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "quant/goal/node_cost.h"

enum { RUNS = 7 };

qdq_status qdq_profile_layers(qdq_engine *e, const qdq_model *m, const qdq_session_opts *opts,
                              qdq_data *data, size_t sample, qdq_layer **out, size_t *n,
                              qdq_error *err)
{
    qdq_session_opts o = *opts;
    const qdq_named_array *in;
    qdq_session *s = NULL;
    qdq_model *named = NULL;
    size_t n_in;

    o.layers = true;
    QDQ_TRY(qdq_data_get(data, sample, &in, &n_in, err));
    QDQ_TRY(qdq_model_clone(m, &named, err));
    qdq_status st = qdq_graph_name_nodes(named->graph) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_session_open(e, named, &o, &s, err);
    if (st == QDQ_OK)
        st = qdq_session_layers(s, in, n_in, RUNS, out, n, err);
    qdq_session_close(s);
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
