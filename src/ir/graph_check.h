/* graph_check.h - the verifier, and the order in which nodes can run. */
#ifndef QDQ_GRAPH_CHECK_H
#define QDQ_GRAPH_CHECK_H

#include "ir/ir.h"

/* Use lists, producers, names, order, types, opsets: the first error as QDQ_E_FORMAT with its
 * place. The public qdq_model_check() lists all findings; this is what the pass manager and save()
 * call. */
qdq_status qdq_model_verify(const qdq_model *m, qdq_error *err);

/* What no engine can compute and some end the process for: attributes outside of what their
 * operators allow, calls of functions that are nested too deep or come to too many nodes. The first
 * as QDQ_E_FORMAT with its place. */
qdq_status qdq_model_check_domains(const qdq_model *m, qdq_error *err);

/* The same for the attributes and inputs of n alone. */
qdq_status qdq_node_check_domains(const qdq_node *n, qdq_error *err);

/* Live nodes of g, producers before readers, file order where that leaves a choice. A cycle is
 * QDQ_E_FORMAT and names a node on it. *out is in `scratch`. */
qdq_status qdq_graph_sorted(const qdq_graph *g, qdq_arena *scratch, qdq_node ***out, size_t *n,
                            qdq_error *err);

/* Puts the node list itself into that order; no edit if it already is. */
qdq_status qdq_graph_sort(qdq_graph *g, qdq_error *err);

#endif /* QDQ_GRAPH_CHECK_H */
