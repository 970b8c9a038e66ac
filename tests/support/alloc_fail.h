/* alloc_fail.h - let the n-th allocation of our code fail. Only for programs in tests/fault and
 * tests/long: they are linked with --wrap, which the others are not, and do not link with this. */
#ifndef QDQ_ALLOC_FAIL_H
#define QDQ_ALLOC_FAIL_H

#include "support/test.h"

/* The n-th malloc, calloc or realloc from now on fails, once; 0: none does. Counts of all threads
 * together. */
void test_fail_alloc_at(unsigned long n);

/* Allocations since the last test_fail_alloc_at(). */
unsigned long test_alloc_count(void);

/* While they are let be, allocations neither fail nor count: for what a test looks at within an
 * attempt. */
void test_let_allocs_be(bool yes);

/* Runs `attempt` with the 1st, 2nd, 3rd ... allocation failing until none is left to fail. Each
 * time it must return QDQ_E_NOMEM with a message, or QDQ_OK if it can do without (a cache); it
 * frees what it made. The leak checker watches. Returns how many allocations the attempt makes. */
typedef qdq_status (*test_attempt)(void *ctx, qdq_error *err);
unsigned long test_every_alloc_fails(test_attempt attempt, void *ctx);

/* The same for so many of them, spread evenly, for attempts that take long. */
unsigned long test_some_allocs_fail(test_attempt attempt, void *ctx, unsigned long samples);

#endif /* QDQ_ALLOC_FAIL_H */
