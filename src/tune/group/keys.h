/* keys.h - which fusion groups are the same computation: a content key, into which no name enters
 * and no weight's value. Equal groups are measured once. The k-th node of the canonical order plays
 * the same part in all of them, and so does its i-th canonical input. */
#ifndef QDQ_KEYS_H
#define QDQ_KEYS_H

#include "tune/group/fusions.h"

typedef struct qdq_key_instance {
    /* into qdq_fusions.at */
    uint32_t group;
    /* in canonical order, n_nodes of them */
    const qdq_node **node;
    /* of each node: canonical input -> input; operands of commutative operators may be swapped */
    uint32_t **input;
    /* Hash of the group with the nodes next to it, without names: who makes what it reads, and who
     * reads what it gives. The first and the last of equal blocks often differ in them. */
    uint64_t around[2];
} qdq_key_instance;

typedef struct qdq_fusion_key {
    /* SHA-256 in hexadecimal digits */
    char hash[65];
    uint32_t n_nodes, n_instances;
    /* in the order of the groups */
    qdq_key_instance *instance;
    /* of all instances together; NAN: not known */
    double us;
} qdq_fusion_key;

typedef struct qdq_fusion_keys {
    qdq_arena arena;
    /* in the order of their first instances */
    qdq_fusion_key *at;
    uint32_t n;
    /* by group: which key */
    uint32_t *of;
} qdq_fusion_keys;

/* Shapes are those of the values' types; a dim that is not known counts as such, and which of them
 * are the same one. What surrounds a group is not in its key. */
qdq_status qdq_fusion_keys_find(const qdq_fusions *f, qdq_fusion_keys **out, qdq_error *err);
void qdq_fusion_keys_free(qdq_fusion_keys *k); /* NULL is allowed */

#endif /* QDQ_KEYS_H */
