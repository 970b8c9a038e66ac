/* cancel.c - the flag that a signal handler or another thread sets. */
#include "qdq/status.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A lock would not be async-signal-safe. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "atomic int is always lock-free");

struct qdq_cancel {
    atomic_int set;
};

qdq_cancel *qdq_cancel_new(void)
{
    qdq_cancel *c = malloc(sizeof *c);

    if (c != NULL)
        atomic_init(&c->set, 0);
    return c;
}

void qdq_cancel_set(qdq_cancel *c)
{
    if (c != NULL)
        atomic_store(&c->set, 1);
}

bool qdq_cancel_is_set(const qdq_cancel *c)
{
    return c != NULL && atomic_load_explicit(&c->set, memory_order_relaxed) != 0;
}

void qdq_cancel_free(qdq_cancel *c)
{
    free(c);
}
