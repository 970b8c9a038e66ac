/* place_joins.h - operators that join tensors into one with one scale. Calibration measures how far
 * apart the ranges of their operands are; joins that are too far apart are placed again, with that
 * as the reason. */
#ifndef QDQ_PLACE_JOINS_H
#define QDQ_PLACE_JOINS_H

#include "quant/place/place.h"

/* A join that is rejected: its node, and why. */
typedef struct qdq_apart {
    const char *node; /* label */
    const char *why;  /* "joins ranges that differ by ..." */
} qdq_apart;

typedef struct qdq_aparts {
    qdq_apart *at;
    size_t n;
} qdq_aparts;

struct qdq_placing;

/* After the user's filter: rejected joins stay float, and so does every node that would read what
 * they join as quantized values, through operators that only move data, too. */
qdq_status qdq_place_keep_apart(struct qdq_placing *p, qdq_error *err);

/* Adds the joins to `plan` whose result has an entry with a scale to be calibrated. Nothing to do
 * for a target without a limit. */
qdq_status qdq_place_find_joins(struct qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* Appends to `out`, in the arena of the plan, its joins that were measured and are beyond the
 * target's limit. */
qdq_status qdq_find_apart(const qdq_target *t, qdq_plan *plan, qdq_aparts *out, qdq_error *err);

#endif /* QDQ_PLACE_JOINS_H */
