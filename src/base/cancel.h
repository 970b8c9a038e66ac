/* cancel.h - flags that also set themselves: at a moment, or with another flag. */
#ifndef QDQ_CANCEL_H
#define QDQ_CANCEL_H

#include "qdq/status.h"

/* Set with `parent` (NULL is allowed), which it borrows, and by itself. NULL: out of memory.
 * qdq_cancel_free(). */
qdq_cancel *qdq_cancel_below(const qdq_cancel *parent);

/* It is set from `until` on (qdq_clock_seconds(); INFINITY: never), until another moment is given.
 * Not async-signal-safe, and for the thread that polls. */
void qdq_cancel_at(qdq_cancel *c, double until);

#endif /* QDQ_CANCEL_H */
