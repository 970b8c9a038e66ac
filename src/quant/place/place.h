/* place.h - placement by rules: which edges of a cleaned float model carry Q/DQ on a target, and
 * why not the others. Works on a model with inferred shapes; scales come later, from
 * calibration. */
#ifndef QDQ_PLACE_H
#define QDQ_PLACE_H

#include "base/map.h"
#include "ir/ir.h"
#include "quant/place/why.h"
#include "quant/plan/plan.h"
#include "target/target.h"

struct qdq_aparts;

/* Reasons of nodes that stay float: the tuner wants it so (`stay` below); the node's rule is worth
 * it only before an 8-bit kernel. */
#define QDQ_PLACE_UNCHOSEN "not chosen by the tuner"
#define QDQ_PLACE_UNREAD   "no 8-bit kernel reads its result"

/* Which nodes the user allows; each list ends with NULL, or is NULL. */
typedef struct qdq_place_opts {
    const char *const *exclude, *const *include;           /* as in qdq_quantize_opts */
    const char *const *op_types, *const *exclude_op_types; /* the same */
    const char *const *wrong;                              /* the same */
    /* tensors that calibration saw no value of: their nodes stay float */
    const char *const *no_range;
    /* labels of nodes whose bias int32 cannot hold: they stay float */
    const char *const *no_room;
    const struct qdq_aparts *apart; /* joins that are rejected (place_joins.h); NULL: none */
    /* by node id of the main graph: inputs, bit by bit, that stay float all the same, as the tuner
     * wants it; any of them means the node, unless the target places by edges and the node is not
     * linear. NULL: none */
    const uint32_t *stay;
    /* that is at hand; NULL: not known, and rules for some versions hold */
    const qdq_engine_info *engine;
    /* what is known of constants, from placement to placement of one model; may be NULL */
    qdq_map *finite;
    const qdq_job *job; /* told which of the lists fit no node; may be NULL */
    qdq_why *why;       /* listens to the rules; may be NULL */
} qdq_place_opts;

/* Fills tensors (scale 0), weights, biases, quantized and left_float of `plan`. A regular
 * expression that does not compile is QDQ_E_USAGE. */
qdq_status qdq_place(const qdq_model *m, const qdq_target *t, const qdq_place_opts *opts,
                     qdq_plan *plan, qdq_error *err);

/* (*out)[node id], in `scratch`: does the user keep the node of the main graph out? */
qdq_status qdq_place_kept_out(const qdq_model *m, const qdq_place_opts *opts, qdq_arena *scratch,
                              const bool **out, qdq_error *err);

/* A wish for other nodes ("include", "op_types") is no wish against this one: where the engine
 * fuses it into one of those, it goes along. `reason` is why the node is float, or NULL. */
bool qdq_place_goes_along(const char *reason);

/* (*out)[node id], in `scratch`: the number format of each node of g, the target's or that of an
 * override. */
qdq_status qdq_place_formats(const qdq_graph *g, const qdq_target *t, qdq_arena *scratch,
                             const qdq_format *const **out, qdq_error *err);

/* The name of the rule that leaves an operator float for this reason, as a plan has it; NULL: none
 * does, it follows its neighbours or has no kernel. */
const char *qdq_place_rule_against(const qdq_target *t, const char *op, const char *reason);

#endif /* QDQ_PLACE_H */
