/* sim_groups.h - what the layers of the `sim` engine compute. */
#ifndef QDQ_SIM_GROUPS_H
#define QDQ_SIM_GROUPS_H

#include "engine/sim/sim_cost.h"
#include "qdq/engine.h"

/* As qdq_session_layers(). */
qdq_status qdq_sim_groups(const qdq_sim *sim, const qdq_sim_estimate *e, bool timed,
                          qdq_arena *scratch, qdq_layer **out, size_t *n, qdq_error *err);

#endif /* QDQ_SIM_GROUPS_H */
