/* space_cover.h - the inputs that a plan quantizes, and the entries that do so; for the files of
 * space/, and for comparing plans of one space. */
#ifndef QDQ_SPACE_COVER_H
#define QDQ_SPACE_COVER_H

#include "target/target.h"
#include "tune/space/space.h"

typedef struct qdq_cover {
    const qdq_target *target;
    qdq_arena arena;
    /* by node id: inputs named by an entry of the plan, bit by bit */
    uint32_t *edges;
    /* by node id: whether the plan lists the node itself */
    unsigned char *runs;
    /* by value id: number of quantized consumers */
    unsigned char *readers;
    /* the plan lists nodes; false: it was imported */
    bool says_who_runs;
    /* node id and input to 1 + index of the entry that names it; of two, the last one */
    qdq_map tensor, weight;
    /* tensor to the same, of an entry for all consumers */
    qdq_map all;
    /* number of edges and tensors that the model does not have */
    size_t unknown;
} qdq_cover;

/* Reads a plan for the clean model of `s`. Call qdq_cover_free() in every case. */
qdq_status qdq_cover_open(qdq_cover *c, const qdq_space *s, const qdq_plan *p, qdq_error *err);
void qdq_cover_free(qdq_cover *c);

/* 1 + index of the entry that quantizes `tensor` for input `input` of `n`; `n` NULL: for consumers
 * that are not listed. 0: float. */
size_t qdq_cover_tensor(const qdq_cover *c, const char *tensor, const qdq_node *n, uint32_t input);
/* The same for constants. */
size_t qdq_cover_weight(const qdq_cover *c, const qdq_node *n, uint32_t input);

typedef enum qdq_covered {
    QDQ_COVERED_NOT,
    QDQ_COVERED_BY_PLAN,
    /* an existing DQ of the model */
    QDQ_COVERED_BEFORE
} qdq_covered;

/* How an input is quantized; input < 32. */
qdq_covered qdq_cover_input(const qdq_cover *c, const qdq_node *n, uint32_t input);

/* Whether `e`, an entry of p, is the only one of its tensor. */
bool qdq_space_is_only_entry(const qdq_plan *p, const qdq_plan_tensor *e);

/* Whether n runs in 8 bits. An imported plan shows it by its edges alone. */
bool qdq_cover_runs(const qdq_cover *c, const qdq_node *n);

/* Whether the plan put n into 8 bits, and the model did not before. */
bool qdq_cover_is_fresh(const qdq_cover *c, const qdq_node *n);

#endif /* QDQ_SPACE_COVER_H */
