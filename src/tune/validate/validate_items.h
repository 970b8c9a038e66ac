/* validate_items.h - the items of a validation before any trial. */
#ifndef QDQ_VALIDATE_ITEMS_H
#define QDQ_VALIDATE_ITEMS_H

#include "tune/validate/validate.h"

/* Checks the problem, and finds for each item the representative of its component, which links
 * connect. *order: items by component, the largest saving first, then by topological index. Arrays
 * are in the arena. */
qdq_status qdq_validate_order(const qdq_validate_problem *p, qdq_arena *arena, uint32_t **order,
                              uint32_t **component, qdq_error *err);

/* Lists the items with this verdict of an earlier run in that order; returns their number. */
size_t qdq_validate_list(const qdq_validate_problem *p, const uint32_t *order,
                         qdq_validate_verdict verdict, uint32_t *to);

/* Where a set of two or more is cut: between components, as near to the middle as can be. */
size_t qdq_validate_middle(const uint32_t *component, const uint32_t *item, size_t n);

/* The words for a trial of a set, with or without it. */
const char *qdq_validate_move(const qdq_validate_problem *p, const uint32_t *component,
                              const uint32_t *item, size_t n, bool without);

#endif /* QDQ_VALIDATE_ITEMS_H */
