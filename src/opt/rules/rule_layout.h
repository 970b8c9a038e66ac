/* rule_layout.h - what rules about shapes share: axes, permutations, types as targets of Reshape.
 * Ranks and lists beyond the limit are answered with false: no rule handles them. */
#ifndef QDQ_RULE_LAYOUT_H
#define QDQ_RULE_LAYOUT_H

#include "opt/rules/rule.h"

enum { QDQ_RULE_RANK = 16 };

typedef struct qdq_rule_ints {
    int n;
    int64_t at[QDQ_RULE_RANK];
} qdq_rule_ints;

/* Integers that a node has as an attribute, or from opset `since` on as input i, constant or
 * proven. False: they are not known; left out: true with *there false. */
bool qdq_rule_ints_of(const qdq_match *m, const qdq_node *n, const char *attribute, uint32_t i,
                      int64_t since, qdq_rule_ints *out, bool *there);

/* The same as axes of a tensor of `rank` (-1: unknown, then negative ones are not answered),
 * sorted, each once. */
bool qdq_rule_axes(const qdq_match *m, const qdq_node *n, int64_t since, int rank,
                   qdq_rule_ints *out, bool *there);

/* Writes them where the opset wants them: the attribute, or a constant as input i, which may be the
 * next one to append. */
qdq_status qdq_rule_put_ints(qdq_match *m, qdq_node *n, const char *attribute, uint32_t i,
                             int64_t since, const qdq_rule_ints *ints, qdq_error *err);

/* The permutation of a Transpose; without one it is the reverse, which takes a proven rank. */
bool qdq_rule_perm(const qdq_match *m, const qdq_node *transpose, qdq_rule_ints *out);

/* Reshape, Flatten, Squeeze, Unsqueeze: the same elements in the same order. */
bool qdq_rule_is_reshape(qdq_op op);

/* What reads the root reads x as it is: most rules that drop a node end with this. */
qdq_status qdq_rule_become_x(qdq_match *m, qdq_error *err);
/* The same for the value that `check` has found (a qdq_value *). */
qdq_status qdq_rule_become_found(qdq_match *m, qdq_error *err);
/* The root reads x, instead of what was made of it, as its first input. */
qdq_status qdq_rule_read_x(qdq_match *m, qdq_error *err);

#endif /* QDQ_RULE_LAYOUT_H */
