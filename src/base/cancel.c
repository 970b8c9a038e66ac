/* cancel.c - the flag that a signal handler or another thread sets. */
#include "base/cancel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"

/* A lock would not be async-signal-safe. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "atomic int is always lock-free");

struct qdq_cancel {
    atomic_int set;
    const qdq_cancel *parent;
    double until;
};

qdq_cancel *qdq_cancel_below(const qdq_cancel *parent)
{
    qdq_cancel *c = malloc(sizeof *c);

    if (c == NULL)
        return NULL;
    atomic_init(&c->set, 0);
    c->parent = parent;
    c->until = INFINITY;
    return c;
}

qdq_cancel *qdq_cancel_new(void)
{
    return qdq_cancel_below(NULL);
}

void qdq_cancel_at(qdq_cancel *c, double until)
{
    c->until = until;
}

void qdq_cancel_set(qdq_cancel *c)
{
    if (c != NULL)
        atomic_store(&c->set, 1);
}

bool qdq_cancel_is_set(const qdq_cancel *c)
{
    for (; c != NULL; c = c->parent)
        if (atomic_load_explicit(&c->set, memory_order_relaxed) != 0 ||
            (isfinite(c->until) && qdq_clock_seconds() >= c->until))
            return true;
    return false;
}

void qdq_cancel_free(qdq_cancel *c)
{
    free(c);
}
