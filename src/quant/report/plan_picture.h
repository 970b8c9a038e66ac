/* plan_picture.h - the nodes and edges of a plan's model, as report/picture.h draws them: formats, rules and reasons. Times and
 * prices are filled in by the caller. */
#ifndef QDQ_PLAN_PICTURE_H
#define QDQ_PLAN_PICTURE_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "report/picture.h"

typedef struct qdq_plan_picture {
    qdq_picture picture;
    const qdq_node **node;   /* by index in the picture */
    uint32_t *of;            /* by id of a node: its index; QDQ_PICTURE_OUTSIDE: it is not drawn */
    const qdq_value **value; /* by index of an edge: its tensor, */
    uint32_t *input;         /* and the reader's input, or the number of the graph's output */
} qdq_plan_picture;

/* `clean`: the model that the plan speaks of, with inferred types. Its constants are not drawn. Arrays and texts are in the
 * arena, in the model or in the plan. Without times: every number is NAN. */
qdq_status qdq_plan_picture_make(const qdq_model *clean, const qdq_plan *p, qdq_arena *arena,
                                 qdq_plan_picture *out, qdq_error *err);

/* Nodes without names of their own in the clean model have their labels as names in the chosen one (annotate.h). */
void qdq_plan_picture_name(qdq_plan_picture *x);

/* Once blocks are set, which are layers of an engine for the chosen model: floats beside something quantized in one layer are
 * computed in its format, and what they read from there are codes. False: out of memory. */
bool qdq_plan_picture_fuse(qdq_plan_picture *x);

/* Times from shapes, where no others are known: the given model takes 100. */
void qdq_plan_picture_estimate(qdq_plan_picture *x);

/* The picture as a file of node data for Model Explorer. */
qdq_status qdq_report_overlay(const qdq_picture *p, const char *path, bool allow_overwrite, qdq_error *err);

#endif /* QDQ_PLAN_PICTURE_H */
