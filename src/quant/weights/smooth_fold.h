/* smooth_fold.h - where the division of an activation by one number per channel can go without an
 * operator of its own, and the edit that puts it there. The result is the same function: what the
 * activation is divided by, the weights of its products are multiplied by. */
#ifndef QDQ_SMOOTH_FOLD_H
#define QDQ_SMOOTH_FOLD_H

#include "ir/ir.h"
#include "quant/plan/plan.h"

/* A constant with one number, row or column for each channel, along dim `axis`. */
typedef struct qdq_smooth_part {
    qdq_node *node;
    uint32_t input;
    int axis;
} qdq_smooth_part;

enum { QDQ_SMOOTH_PARTS = 3, QDQ_SMOOTH_STEPS = 16 };

typedef struct qdq_smooth_fold {
    /* divided, they divide the activation and nothing else */
    qdq_smooth_part part[QDQ_SMOOTH_PARTS];
    size_t n;
    /* the activation, and what it is made of on the way from them: all are divided */
    const qdq_value *divided[QDQ_SMOOTH_STEPS];
    size_t n_divided;
    /* why there are none: of this node, which may be NULL */
    const char *reason;
    const qdq_node *node;
} qdq_smooth_fold;

/* Finds the constants behind x, an activation with `count` channels in its last dim, all of whose
 * consumers must be products of it and a constant matrix of their own. False: `reason` says why. */
bool qdq_smooth_find_fold(const qdq_value *x, int64_t count, qdq_smooth_fold *out);

/* A name that is free in the graph of v, for what v is when it is smoothed. NULL: out of memory. */
const char *qdq_smooth_name(const qdq_value *v, qdq_arena *scratch);

/* Applies the entries of p->smoothings to the clean model, in their order. What is divided has
 * other names then ("NAME_smoothed"): it is not the value that the input model has by that name.
 * QDQ_E_FORMAT: an entry does not fit. */
qdq_status qdq_smooth_apply(qdq_model *m, const qdq_plan *p, qdq_error *err);

#endif /* QDQ_SMOOTH_FOLD_H */
