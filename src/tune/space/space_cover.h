/* space_cover.h - which inputs of which nodes a plan gives codes; shared by the files of space/. */
#ifndef QDQ_SPACE_COVER_H
#define QDQ_SPACE_COVER_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "target/target.h"

typedef struct qdq_cover {
    const qdq_target *target;
    qdq_arena arena;
    uint32_t *edges;        /* by node id: inputs that an entry of the plan names, bit by bit */
    unsigned char *runs;    /* by node id: what the plan says of the node itself */
    unsigned char *readers; /* by value id: how many of them read codes */
    bool says_who_runs;     /* an imported plan does not */
} qdq_cover;

/* `labels`: label -> node, as qdq_graph_map_labels() fills it. To be freed in every case. */
qdq_status qdq_cover_open(qdq_cover *c, const qdq_model *clean, const qdq_map *labels,
                          const qdq_target *t, const qdq_plan *p, qdq_error *err);
void qdq_cover_free(qdq_cover *c);

typedef enum qdq_covered {
    QDQ_COVERED_NOT,
    QDQ_COVERED_BY_PLAN,
    QDQ_COVERED_BEFORE /* the model has a DQ there */
} qdq_covered;

/* input < 32 */
qdq_covered qdq_cover_input(const qdq_cover *c, const qdq_node *n, uint32_t input);

/* Does n run in 8 bits, as far as its result tells? An imported plan says so by its edges alone. */
bool qdq_cover_runs(const qdq_cover *c, const qdq_node *n);

/* The plan put n into 8 bits: it is no node that the model had in 8 bits before. */
bool qdq_cover_is_fresh(const qdq_cover *c, const qdq_node *n);

#endif /* QDQ_SPACE_COVER_H */
