/* fold_state.h - what constant folding knows while it works on one graph: the walk
 * (fold_constants.c), what of it makes the file larger (fold_growth.c), and scales
 * (fold_parameters.c). Private to them. */
#ifndef QDQ_FOLD_STATE_H
#define QDQ_FOLD_STATE_H

#include "opt/eval/eval.h"
#include "opt/fold_policy.h"

/* The result for one value, by id. */
typedef struct qdq_fold_result {
    /* data NULL: none */
    qdq_const c;
    /* the data, if large */
    void *heap;
} qdq_fold_result;

typedef struct qdq_folder {
    qdq_opt *o;
    qdq_graph *g;
    const qdq_facts *facts;
    int64_t opset;
    qdq_fold_policy policy;
    /* by value id */
    qdq_fold_result *result;
    /* by value id: reads by nodes that are not computed yet */
    uint32_t *left;
    size_t n_values;
    /* by value id: who reads it last, in a chain */
    uint32_t *last;
    /* by node id */
    bool *folded;
    /* by node id: chains that it was part of */
    unsigned char *visits;
    /* by value id: made, at whatever distance, by a node that was refused */
    bool *tainted;
    /* computed, in order */
    QDQ_VEC(qdq_node *) nodes;
    /* for the walk; for one node */
    qdq_arena memory, work;
    qdq_error *err;
} qdq_folder;

/* NULL: no result of this pass. A dropped result has no data any more, but its size. */
qdq_fold_result *qdq_fold_result_of(const qdq_folder *f, const qdq_value *v);
/* Copies the data of all outputs that are there, and adds to *bytes what it takes. False: out of
 * memory. */
bool qdq_fold_keep_results(qdq_folder *f, const qdq_node *n, const qdq_const *out, uint64_t *bytes);
void qdq_fold_drop_result(qdq_fold_result *r);
/* Of the data of a result or a constant; 0: neither. */
uint64_t qdq_fold_bytes_of(const qdq_folder *f, const qdq_value *v);
/* True for a constant that goes away with its last reader, and that a caller cannot replace. */
bool qdq_fold_may_free(const qdq_folder *f, const qdq_value *v);
/* True if input i of n is a scale or zero point of Q or DQ. */
bool qdq_fold_is_parameter(const qdq_node *n, uint32_t i);
/* True if every input of n is a constant or a result, so that qdq_fold_evaluate() may be called. */
bool qdq_fold_all_known(const qdq_folder *f, const qdq_node *n);
/* As qdq_eval_node(); `out` lies in f->work. */
qdq_status qdq_fold_evaluate(qdq_folder *f, const qdq_node *n, uint64_t max_bytes, qdq_const *out,
                             const char **why);
/* The inputs of n are read once less; drops the results that nothing reads any more. */
void qdq_fold_release_inputs(qdq_folder *f, const qdq_node *n);

/* Asks the manager for every node of f->nodes, and takes those out of the list whose result would
 * make the file larger; each of them is refused with that reason. After it, results that are still
 * read have their data. */
qdq_status qdq_fold_settle(qdq_folder *f);

/* Computes the scales and zero points of Q and DQ that are left, and appends their nodes to
 * f->nodes. */
qdq_status qdq_fold_parameters(qdq_folder *f);

#endif /* QDQ_FOLD_STATE_H */
