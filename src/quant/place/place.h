/* place.h - placement by rules: the edges of a cleaned float model that carry Q/DQ on a target, and
 * the reasons for the others. The model needs inferred shapes; calibration computes scales
 * later. */
#ifndef QDQ_PLACE_H
#define QDQ_PLACE_H

#include "base/map.h"
#include "ir/ir.h"
#include "quant/place/why.h"
#include "quant/plan/plan.h"
#include "target/target.h"

struct qdq_aparts;

/* Reasons of nodes that stay float: the tuner did not choose them (`stay` below); their rule pays
 * only before an 8-bit kernel. */
#define QDQ_PLACE_UNCHOSEN "not chosen by the tuner"
#define QDQ_PLACE_UNREAD   "no 8-bit kernel reads its result"

/* Nodes that may be quantized. Each list ends with NULL; NULL: no restriction. */
typedef struct qdq_place_opts {
    /* as in qdq_quantize_opts */
    const char *const *exclude, *const *include;
    const char *const *op_types, *const *exclude_op_types;
    const char *const *wrong;
    /* tensors without a value in calibration: their nodes stay float */
    const char *const *no_range;
    /* labels of nodes whose bias overflows int32: they stay float */
    const char *const *no_room;
    /* rejected joins (place_joins.h); NULL: none */
    const struct qdq_aparts *apart;
    /* by node id of the main graph: inputs, bit by bit, that the tuner leaves in float. A set bit
     * leaves the whole node in float, unless the target places by edges and the node is not linear.
     * NULL: none */
    const uint32_t *stay;
    /* by node id of the main graph: its number format; NULL: the target's or an override. NULL:
     * none */
    const qdq_format *const *formats;
    /* the islands that this plan leaves in float stay so, and no others, whatever hangs together
     * now; NULL: rules decide */
    const qdq_plan *islands_of;
    /* the engine; NULL: unknown, and rules for single versions apply */
    const qdq_engine_info *engine;
    /* facts about constants, reused between placements of one model; may be NULL */
    qdq_map *finite;
    /* its log reports entries of the lists that match no node; may be NULL */
    const qdq_job *job;
    /* records the rules; may be NULL */
    qdq_why *why;
} qdq_place_opts;

/* Fills tensors (scale 0), weights, biases, quantized and left_float of `plan`. QDQ_E_USAGE: a
 * regular expression does not compile. */
qdq_status qdq_place(const qdq_model *m, const qdq_target *t, const qdq_place_opts *opts,
                     qdq_plan *plan, qdq_error *err);

/* Sets (*out)[node id], in `scratch`: whether the options exclude the node of the main graph. */
qdq_status qdq_place_kept_out(const qdq_model *m, const qdq_place_opts *opts, qdq_arena *scratch,
                              const bool **out, qdq_error *err);

/* Whether a node that is float for `reason` (or NULL) still follows the node into which the engine
 * fuses it: "include" and "op_types" select other nodes, and do not exclude this one. */
bool qdq_place_goes_along(const char *reason);

/* Sets (*out)[node id], in `scratch`: the number format of each node of g: from `chosen` (as
 * qdq_place_opts.formats), an override, or the target. */
qdq_status qdq_place_formats(const qdq_graph *g, const qdq_target *t,
                             const qdq_format *const *chosen, qdq_arena *scratch,
                             const qdq_format *const **out, qdq_error *err);

/* The name of the rule that leaves an operator in float for this reason, as plans have it. NULL: no
 * rule; the node follows its neighbours or has no kernel. */
const char *qdq_place_rule_against(const qdq_target *t, const char *op, const char *reason);

#endif /* QDQ_PLACE_H */
