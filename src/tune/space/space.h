/* space.h - the decisions of a target on a clean model, and the plan of an assignment.
 *
 * A decision is the smallest part that can be quantized separately: activation and weight of one
 * linear operator; all data inputs of an operator whose kernel needs them together; on targets that
 * place by edges (partitions), each data input of an operator that is not linear. Copy operators
 * have no decisions: they follow their neighbours. */
#ifndef QDQ_SPACE_H
#define QDQ_SPACE_H

#include "ir/ir.h"
#include "quant/calib/scales.h"
#include "target/target.h"
#include "tune/space/assign.h"

typedef struct qdq_decision {
    /* node whose inputs it decides */
    const qdq_node *node;
    /* inputs, bit by bit, including the weight of a linear operator */
    uint32_t inputs;
    bool linear;
    /* time of the node in float, from the engine's profile, or else from shapes */
    double cost_ns;
} qdq_decision;

#define QDQ_NO_GROUP UINT32_MAX

/* An operator, and a format that it can have: an index in qdq_space.forms. */
typedef struct qdq_space_form {
    const qdq_node *node;
    size_t form;
    /* of its weight's scales then */
    int axis;
} qdq_space_form;

typedef struct qdq_space {
    qdq_arena arena;
    const qdq_model *clean;
    /* the caller's target, which subgraphs of If, Loop and Scan use */
    const qdq_target *requested;
    /* a copy without the rules' conditions on shapes ("stay_float"); legality remains */
    qdq_target *target;
    qdq_decision *group;
    size_t n_groups;
    /* by node id; QDQ_NO_GROUP: none. The groups of a node are consecutive */
    uint32_t *first_group;
    /* each float that is read (space_edges.h); graph outputs last */
    const struct qdq_space_edge *edge;
    size_t n_edges;
    /* by node id; QDQ_NO_EDGE: none. The edges of a node are consecutive */
    size_t *first_edge;
    /* by value id: its number among tensors that have a type (space_types.h) */
    uint32_t *typed;
    uint32_t n_typed;
    /* formats of the target beside its own, and which operator can have which (space_forms.h) */
    qdq_target_forms forms;
    const qdq_space_form *formed;
    size_t n_formed;
    /* by node id: index of its first one in `formed`. Those of a node are consecutive */
    size_t *first_formed;
    /* of placements that the caller added (space_formats.h) */
    const qdq_plan *const *formats;
    size_t n_formats;
    /* placement's facts about constants */
    qdq_map *finite;
    /* label to node of the main graph */
    qdq_map labels;
    /* the assignment nearest to the plan of the caller's target; not always equal to it */
    qdq_assign rules;
} qdq_space;

/* Makes the space. `opts` are those of quantize; excluded nodes have no decisions. `clean`, with
 * inferred shapes, and `t` must outlive the space. */
qdq_status qdq_space_new(const qdq_model *clean, const qdq_target *t, const qdq_quantize_opts *opts,
                         qdq_space **out, qdq_error *err);
/* NULL is allowed. */
void qdq_space_free(qdq_space *s);

/* The node of the main graph with this label, or NULL. */
const qdq_node *qdq_space_node(const qdq_space *s, const char *label);

/* The group of an edge, or QDQ_NO_GROUP. */
uint32_t qdq_space_group_of(const qdq_space *s, const qdq_node *n, uint32_t input);

/* Number of groups of this group's node. Each is an input of its own; they share the node's
 * time. */
size_t qdq_space_groups_beside(const qdq_space *s, size_t group);

/* Makes the plan with Q/DQ wherever any assignment has them; without scales. */
qdq_status qdq_space_place_all(const qdq_space *s, const qdq_quantize_opts *opts, qdq_plan *p,
                               qdq_error *err);

/* Sets *out to what a plan quantizes. The plan is from the rules or imported. */
qdq_status qdq_space_from_plan(const qdq_space *s, const qdq_plan *p, qdq_assign *out,
                               qdq_arena *arena, qdq_error *err);

/* What the plans of a space need in addition to an assignment. */
typedef struct qdq_space_scaling {
    /* plan whose head they copy */
    const qdq_plan *head;
    /* calibrates tensors whose scales are not in `known`; data NULL: random samples */
    qdq_engine *engine;
    qdq_data *data;
    const qdq_quantize_opts *opts;
    /* new scales are added */
    qdq_scales *known;
    /* as in qdq_plan_basis */
    unsigned folds;
} qdq_space_scaling;

/* The plan of an assignment, of n_groups bits or of those that space_partial.h or space_edges.h
 * counts, with the scales of qdq_space_calibrate(). A tensor without a scale (it shares a range
 * only in this assignment) is calibrated now. *out is freed with qdq_plan_free(). */
qdq_status qdq_space_plan(const qdq_space *s, const qdq_assign *a, const qdq_space_scaling *from,
                          qdq_plan **out, qdq_error *err);

/* Finds scales for every group, in one calibration; in two if tensors share scales. */
qdq_status qdq_space_calibrate(const qdq_space *s, const qdq_space_scaling *from, qdq_error *err);

#endif /* QDQ_SPACE_H */
