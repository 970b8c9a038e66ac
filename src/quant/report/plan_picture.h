/* plan_picture.h - the nodes and edges of a plan's model, as report/picture.h draws them: formats,
 * rules and reasons. Times and prices are filled in by the caller. */
#ifndef QDQ_PLAN_PICTURE_H
#define QDQ_PLAN_PICTURE_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "report/picture.h"

typedef struct qdq_plan_picture {
    qdq_picture picture;
    /* by index in the picture; ids of nodes and values count in their own graph */
    const qdq_node **node;
    /* by id of a node of the main graph: its index; QDQ_PICTURE_OUTSIDE: it is not drawn */
    uint32_t *of;
    /* by index of an edge: its tensor, */
    const qdq_value **value;
    /* and the reader's input, or the number of the graph's output */
    uint32_t *input;
} qdq_plan_picture;

/* Bodies of If, Loop and Scan are drawn behind their node. `clean`: the model that the plan speaks
 * of, with inferred types. Its constants are not drawn. `t`: the target that the plan was made for;
 * NULL: unknown, and a node may have the rule of another one that reads the same tensor. Arrays and
 * texts are in the arena, in the model, in the plan or in the target. Without times: every number
 * is NAN. */
qdq_status qdq_plan_picture_make(const qdq_model *clean, const qdq_plan *p, const qdq_target *t,
                                 qdq_arena *arena, qdq_plan_picture *out, qdq_error *err);

/* Is node i of the main graph, so that its id counts there? */
static inline bool qdq_plan_picture_is_main(const qdq_plan_picture *x, size_t i)
{
    return x->picture.node[i].within == 0;
}

/* Names the rule of a target that decided about node i as `by` has it (a node of a picture of the
 * same model), with its figures. */
qdq_status qdq_plan_picture_quote(qdq_plan_picture *x, size_t i, const qdq_picture_node *by,
                                  const qdq_target *t, qdq_arena *arena, qdq_error *err);

/* Nodes without names of their own in the clean model have their labels as names in the chosen one
 * (annotate.h). */
void qdq_plan_picture_name(qdq_plan_picture *x);

/* Once blocks are set, which are layers of an engine for the chosen model: floats beside something
 * quantized in one layer are computed in its format, and what they read from there are codes.
 * False: out of memory. */
bool qdq_plan_picture_fuse(qdq_plan_picture *x);

/* Nodes in bodies divide the time of the If, Loop or Scan of the main graph that they are in, as
 * estimates have it: for profiles of that node. False: out of memory. */
bool qdq_plan_picture_divide(qdq_plan_picture *x, qdq_arena *arena);

/* Times from shapes, where no others are known: the input model takes 100. */
void qdq_plan_picture_estimate(qdq_plan_picture *x);

/* The picture as a file of node data for Model Explorer. */
qdq_status qdq_report_overlay(const qdq_picture *p, const char *path, bool allow_overwrite,
                              qdq_error *err);

#endif /* QDQ_PLAN_PICTURE_H */
