/* place_filter.h - which nodes the user allows: the same for every way of placement. */
#ifndef QDQ_PLACE_FILTER_H
#define QDQ_PLACE_FILTER_H

#include "quant/place/place.h"

/* (*out)[node id]: why the user keeps the node out, NULL if it is allowed. `order` has the live
 * nodes of the graph that is placed; *out is in `scratch`. A regular expression that does not
 * compile is QDQ_E_USAGE; what fits no node is a warning. */
qdq_status qdq_place_filter(const qdq_model *m, qdq_node *const *order, size_t n_order,
                            const qdq_place_opts *opts, qdq_arena *scratch, const char *const **out,
                            qdq_error *err);

/* A wish for other nodes ("include", "op_types") is no wish against this one: where the engine
 * fuses it into one of those, it goes along. `reason` is what qdq_place_filter() gave for it, or
 * NULL. */
bool qdq_place_goes_along(const char *reason);

#endif /* QDQ_PLACE_FILTER_H */
