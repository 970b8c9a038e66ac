/* node_profile.h - how long each node of a model takes, from an engine's profile of its layers. */
#ifndef QDQ_NODE_PROFILE_H
#define QDQ_NODE_PROFILE_H

#include "base/map.h"
#include "qdq/data.h"
#include "qdq/engine.h"

/* Runs of a profile whose times are medians. */
enum { QDQ_PROFILE_RUNS = 7 };

/* Layers of `m` with their times, on one sample (of a sequence the step in its middle). `opts`:
 * what sessions of the caller have; groups are asked for besides. The engine has QDQ_CAN_PROFILE
 * and QDQ_CAN_LIST_LAYERS. *out is freed with qdq_free(). */
qdq_status qdq_profile_layers(qdq_engine *e, const qdq_model *m, const qdq_session_opts *opts,
                              qdq_data *data, size_t sample, int runs, qdq_layer **out, size_t *n,
                              qdq_error *err);

/* Adds the time of each layer to us[id] of its nodes, in microseconds, by the time that each node
 * is estimated to take in float or in 8 bits (node_cost.h). `by_label`: label -> node. Returns the
 * time of all layers. */
double qdq_profile_nodes(const qdq_layer *layer, size_t n, const qdq_map *by_label, bool eight,
                         double *us);

#endif /* QDQ_NODE_PROFILE_H */
