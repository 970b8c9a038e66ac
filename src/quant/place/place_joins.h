/* place_joins.h - operators that join tensors into one with one scale. Calibration measures the
 * differences between the ranges of their operands. Joins beyond the target's limit are rejected,
 * and the model is placed again with this reason. */
#ifndef QDQ_PLACE_JOINS_H
#define QDQ_PLACE_JOINS_H

#include "quant/place/place.h"

/* A rejected join: its node, and the reason. */
typedef struct qdq_apart {
    /* label */
    const char *node;
    /* "joins ranges that differ by ..." */
    const char *why;
} qdq_apart;

typedef struct qdq_aparts {
    qdq_apart *at;
    size_t n;
} qdq_aparts;

struct qdq_placing;

/* After the option filter: leaves rejected joins in float, and every node that would read their
 * result quantized, also through operators that only move data. */
qdq_status qdq_place_keep_apart(struct qdq_placing *p, qdq_error *err);

/* Adds to `plan` the joins whose result is to be calibrated. Does nothing for a target without a
 * limit. */
qdq_status qdq_place_find_joins(struct qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* Appends the measured joins beyond the target's limit to `out`, in the arena of the plan. */
qdq_status qdq_find_apart(const qdq_target *t, qdq_plan *plan, qdq_aparts *out, qdq_error *err);

#endif /* QDQ_PLACE_JOINS_H */
