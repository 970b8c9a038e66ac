/* space_cover.h - which inputs of which nodes a plan gives codes, and by which of its entries; for
 * the files of space/, and for who compares plans of one space. */
#ifndef QDQ_SPACE_COVER_H
#define QDQ_SPACE_COVER_H

#include "target/target.h"
#include "tune/space/space.h"

typedef struct qdq_cover {
    const qdq_target *target;
    qdq_arena arena;
    uint32_t *edges;        /* by node id: inputs that an entry of the plan names, bit by bit */
    unsigned char *runs;    /* by node id: what the plan says of the node itself */
    unsigned char *readers; /* by value id: how many of them read codes */
    bool says_who_runs;     /* an imported plan does not */
    /* node id and input -> 1 + index of the entry that names it; of two, the one on top */
    qdq_map tensor, weight;
    qdq_map all;    /* tensor -> the same, of an entry for all readers */
    size_t unknown; /* edges and tensors that the model does not have */
} qdq_cover;

/* Of a plan for the clean model of `s`. qdq_cover_free() in every case. */
qdq_status qdq_cover_open(qdq_cover *c, const qdq_space *s, const qdq_plan *p, qdq_error *err);
void qdq_cover_free(qdq_cover *c);

/* 1 + index of the entry whose values input `input` of `n` reads, which is `tensor`; `n` NULL: that
 * readers get which are not listed. 0: floats. */
size_t qdq_cover_tensor(const qdq_cover *c, const char *tensor, const qdq_node *n, uint32_t input);
/* The same among constants. */
size_t qdq_cover_weight(const qdq_cover *c, const qdq_node *n, uint32_t input);

typedef enum qdq_covered {
    QDQ_COVERED_NOT,
    QDQ_COVERED_BY_PLAN,
    QDQ_COVERED_BEFORE /* the model has a DQ there */
} qdq_covered;

/* input < 32 */
qdq_covered qdq_cover_input(const qdq_cover *c, const qdq_node *n, uint32_t input);

/* Has the tensor of `e`, an entry of p, no other one? */
bool qdq_space_is_only_entry(const qdq_plan *p, const qdq_plan_tensor *e);

/* Is the word in a list that ends with NULL? A NULL list is empty. */
bool qdq_is_listed(const char *const *list, const char *word);

/* Does n run in 8 bits, as far as its result tells? An imported plan says so by its edges alone. */
bool qdq_cover_runs(const qdq_cover *c, const qdq_node *n);

/* The plan put n into 8 bits: it is no node that the model had in 8 bits before. */
bool qdq_cover_is_fresh(const qdq_cover *c, const qdq_node *n);

#endif /* QDQ_SPACE_COVER_H */
