/* layer_nodes.h - from what engines call their layers to the nodes of the model behind them.
 *
 * An engine names a layer after a node, after the tensor that it gives, or after several of these
 * in one text, with endings of its own. Where names say nothing, the tensors do: what a layer
 * gives, computed from what others give. */
#ifndef QDQ_LAYER_NODES_H
#define QDQ_LAYER_NODES_H

#include "base/map.h"
#include "base/vec.h"
#include "ir/ir.h"

typedef QDQ_VEC(const qdq_node *) qdq_layer_node_list;

/* What a name means. Both NULL: unknown. */
typedef struct qdq_layer_owner {
    /* it is called as this one, or as what it gives */
    const qdq_node *node;
    /* the tensor of that name; NULL if the node is called so */
    const qdq_value *value;
} qdq_layer_owner;

/* The names of a graph. */
typedef struct qdq_layer_index {
    const qdq_graph *graph;
    /* qdq_node_label() -> node */
    qdq_map labels;
    /* of all names of nodes and tensors, in bytes */
    size_t longest;
    /* by node id: the last slice that the node was in */
    uint32_t *seen;
    uint32_t slices;
} qdq_layer_index;

/* Labels go to the arena; the graph must not change. Free it in any case. */
qdq_status qdq_layer_index_make(qdq_layer_index *x, const qdq_graph *g, qdq_arena *arena,
                                qdq_error *err);
void qdq_layer_index_free(qdq_layer_index *x);

/* --- one name --------------------------------------------------------------------------------- */

/* Exactly this name: a node's before a tensor's. `size` bytes, for names inside of texts. */
qdq_layer_owner qdq_layer_find(const qdq_layer_index *x, const char *name, size_t size);

/* The same once endings that engines add are cut off `name`, one after the other, until it is
 * known. */
qdq_layer_owner qdq_layer_find_ending(const qdq_layer_index *x, char *name);

/* --- several names in one text ---------------------------------------------------------------- */

typedef struct qdq_layer_names {
    QDQ_VEC(qdq_layer_owner) known;
    /* pieces that are no name here */
    size_t n_unknown;
} qdq_layer_names;

/* Takes a text apart at `separators` (ends with NULL). Names may hold separators themselves: the
 * longest one that is known wins. Adds to *out. */
qdq_status qdq_layer_split(const qdq_layer_index *x, const char *text,
                           const char *const *separators, qdq_arena *arena, qdq_layer_names *out,
                           qdq_error *err);

/* --- kernels ---------------------------------------------------------------------------------- */

/* Does a kernel of that operator move numbers from one form into another, without being the node of
 * the model that it is called after? `node` may be NULL. */
bool qdq_layer_is_conversion(const char *op, const qdq_node *node);

/* Is the node what the kernel computes before its epilogue? A Conv is, of "QLinearConv" and
 * "FusedConv". */
bool qdq_layer_is_core(const char *op, const qdq_node *node);

/* Does the node move numbers and compute none? Such a node is in the layers of all who read what it
 * moves. */
bool qdq_layer_is_movement(const qdq_node *n);

/* A fused kernel is called after what it ends with, or gives: the core is `node` or some steps in
 * front of it. Of two, the one that is not `named` (by node id), for that has a layer of its own.
 * NULL: there is none. */
const qdq_node *qdq_layer_core(const char *op, const qdq_node *node, const bool *named);

/* --- tensors ---------------------------------------------------------------------------------- */

/* Appends the nodes that compute `to` from tensors that are there: those marked in `given` (by
 * value id), inputs, constants. What is constant is left out, but for its Q and DQ; each node comes
 * once, those in front first. A value of `to` may be marked: it is computed all the same. */
qdq_status qdq_layer_slice(qdq_layer_index *x, const qdq_value *const *to, size_t n_to,
                           const bool *given, qdq_arena *arena, qdq_layer_node_list *out,
                           qdq_error *err);

#endif /* QDQ_LAYER_NODES_H */
