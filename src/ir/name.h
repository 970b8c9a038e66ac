/* name.h - what the model keeps behind every interned text. Private to the files of ir/ that edit,
 * and to the reader.
 *
 * The record in front of the text makes three questions cheap on graphs with a million nodes: is
 * this value name free anywhere (n_value), does another node have this name (n_node), which suffix
 * was tried last. */
#ifndef QDQ_NAME_H
#define QDQ_NAME_H

#include <stddef.h>

#include "ir/ir.h"

typedef struct qdq_name {
    /* live values of this name, all graphs */
    uint32_t n_value;
    /* live nodes of this name, all graphs */
    uint32_t n_node;
    /* last one that qdq_graph_unique_name gave out for this base */
    uint32_t suffix;
    /* of text */
    uint32_t size;
    char text[];
} qdq_name;

/* Only for pointers that came from qdq_intern. */
static inline qdq_name *qdq_name_of(const char *interned)
{
    return (qdq_name *)(void *)(interned - offsetof(qdq_name, text));
}

/* Counts an edit in the graph and in all graphs around it. */
static inline void qdq_graph_touch(qdq_graph *g)
{
    for (;;) {
        g->edits++;
        atomic_store_explicit(&g->input_cursor, 0, memory_order_relaxed);
        if (g->owner == NULL)
            return;
        g = g->owner->graph;
    }
}

#endif /* QDQ_NAME_H */
