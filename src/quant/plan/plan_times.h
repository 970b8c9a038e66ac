/* plan_times.h - the key `times` of a plan, both ways (docs/plan.md). */
#ifndef QDQ_PLAN_TIMES_H
#define QDQ_PLAN_TIMES_H

#include "base/json_read.h"
#include "quant/plan/plan.h"

/* Takes the value over; NULL: there was no memory to make it, and b fails. */
void qdq_plan_put_json(qdq_buf *b, json_t *j);

/* Copies all of it into the plan. False: out of memory. */
bool qdq_plan_set_times(qdq_plan *p, const qdq_plan_times *t);

/* Appends the key and a comma. */
void qdq_plan_put_times(qdq_buf *b, const qdq_plan_times *t);

/* Reads the key, if it is there. */
void qdq_plan_read_times(qdq_plan *plan, const qdq_json_place *top);

#endif /* QDQ_PLAN_TIMES_H */
