/* space_cover.h - which inputs of which nodes a plan gives codes; shared by the files of space/. */
#ifndef QDQ_SPACE_COVER_H
#define QDQ_SPACE_COVER_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "target/target.h"

typedef struct qdq_cover {
    const qdq_model *clean;
    const qdq_target *target;
    qdq_arena arena;
    qdq_map all;       /* tensor -> all its readers read codes */
    qdq_map some;      /* tensor -> some reader does */
    qdq_map edges;     /* "INPUT NODE" */
    qdq_map quantized; /* label -> kept, of nodes that the plan says run in 8 bits */
} qdq_cover;

/* To be freed in every case. */
qdq_status qdq_cover_open(qdq_cover *c, const qdq_model *clean, const qdq_target *t, const qdq_plan *p,
                          qdq_error *err);
void qdq_cover_free(qdq_cover *c);

typedef enum qdq_covered {
    QDQ_COVERED_NOT,
    QDQ_COVERED_BY_PLAN,
    QDQ_COVERED_BEFORE /* the model has a DQ there */
} qdq_covered;

qdq_covered qdq_cover_input(qdq_cover *c, const qdq_node *n, uint32_t input);

/* Does n run in 8 bits, as far as its result tells? An imported plan says so by its edges alone. */
bool qdq_cover_runs(qdq_cover *c, const qdq_node *n);

/* The plan put n into 8 bits: it is no node that the model had in 8 bits before. */
bool qdq_cover_is_fresh(qdq_cover *c, const qdq_node *n);

#endif /* QDQ_SPACE_COVER_H */
