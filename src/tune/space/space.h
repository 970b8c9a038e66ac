/* space.h - what there is to decide: the slot groups of a target on a clean model, and the plan
 * that an assignment stands for.
 *
 * A slot group is the least that can be quantized on its own: activation and weight of one linear
 * operator; all data inputs of an operator whose kernel wants them together; on targets that place
 * by edges (partitions) each data input of an operator that is not linear. Copy operators have
 * none: they carry what their neighbours have. */
#ifndef QDQ_SPACE_H
#define QDQ_SPACE_H

#include "ir/ir.h"
#include "quant/calib/scales.h"
#include "tune/space/assign.h"

typedef struct qdq_decision {
    const qdq_node *node; /* whose inputs it is about */
    uint32_t inputs;      /* bit by bit; the weight of a linear operator is in it */
    bool linear;
    /* of the node in float: measured by the engine's profile if there is one, else from shapes */
    double cost_ns;
} qdq_decision;

#define QDQ_NO_GROUP UINT32_MAX

typedef struct qdq_space {
    qdq_arena arena;
    const qdq_model *clean;
    const qdq_target *given; /* as it was; what is inside of If, Loop and Scan follows it */
    /* its own: the rules' conditions on shapes ("stay_float") are left out, legality stays */
    qdq_target *target;
    qdq_decision *group;
    size_t n_groups;
    /* by node id; QDQ_NO_GROUP: none. The groups of a node follow each other */
    uint32_t *first_group;
    /* each float that is read (space_edges.h); those of graph outputs last */
    const struct qdq_space_edge *edge;
    size_t n_edges;
    size_t *first_edge; /* by node id; QDQ_NO_EDGE: none. The edges of a node follow each other */
    uint32_t *typed;    /* by value id: its number among tensors that have a type (space_types.h) */
    uint32_t n_typed;
    const qdq_plan *const *formats; /* of placements that were given (space_formats.h) */
    size_t n_formats;
    qdq_map *finite; /* what placement has found of constants */
    qdq_map labels;  /* -> nodes of the main graph */
    /* what the rules of the target as it was decide; nearest to their plan, not always equal */
    qdq_assign rules;
} qdq_space;

/* `opts` are those of quantize: what its users exclude has no groups. `clean` and `t` must outlive
 * the space; `clean` has inferred shapes. */
qdq_status qdq_space_new(const qdq_model *clean, const qdq_target *t, const qdq_quantize_opts *opts,
                         qdq_space **out, qdq_error *err);
void qdq_space_free(qdq_space *s); /* NULL is allowed */

/* The node of the main graph with this label; NULL: there is none. */
const qdq_node *qdq_space_node(const qdq_space *s, const char *label);

/* The group of an edge, or QDQ_NO_GROUP. */
uint32_t qdq_space_group_of(const qdq_space *s, const qdq_node *n, uint32_t input);

/* How many groups the node of this one has, each an input of its own: they divide its time. */
size_t qdq_space_groups_beside(const qdq_space *s, size_t group);

/* Where Q/DQ go if nothing is left out that could have them in any assignment; without scales. */
qdq_status qdq_space_place_all(const qdq_space *s, const qdq_quantize_opts *opts, qdq_plan *p,
                               qdq_error *err);

/* What a plan, from the rules or imported, quantizes. */
qdq_status qdq_space_from_plan(const qdq_space *s, const qdq_plan *p, qdq_assign *out,
                               qdq_arena *arena, qdq_error *err);

/* What plans of a space are made with. */
typedef struct qdq_space_scaling {
    const qdq_plan *head; /* whose head they take */
    /* calibrate tensors whose scales are not in `known`; data NULL: random ones */
    qdq_engine *engine;
    qdq_data *data;
    const qdq_quantize_opts *opts;
    qdq_scales *known; /* scales that are found are added */
    unsigned folds;    /* as in qdq_plan_basis */
} qdq_space_scaling;

/* The plan of an assignment, of n_groups bits or of those that space_partial.h or space_edges.h
 * counts, with the scales that qdq_space_calibrate() found; a tensor that has none (it shares a
 * range with others only in this assignment) is calibrated on the spot. *out goes to
 * qdq_plan_free(). */
qdq_status qdq_space_plan(const qdq_space *s, const qdq_assign *a, const qdq_space_scaling *from,
                          qdq_plan **out, qdq_error *err);

/* Scales for every group, in one calibration; in two where tensors share scales. */
qdq_status qdq_space_calibrate(const qdq_space *s, const qdq_space_scaling *from, qdq_error *err);

#endif /* QDQ_SPACE_H */
