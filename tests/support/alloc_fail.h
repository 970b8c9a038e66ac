/* alloc_fail.h - let the n-th allocation of our code fail, or the n-th call by which it uses files.
 * Only for programs named *_alloc in tests/fault and tests/long: they are linked with --wrap, which
 * the others are not, and do not link with this. */
#ifndef QDQ_ALLOC_FAIL_H
#define QDQ_ALLOC_FAIL_H

#include "support/test.h"

/* The n-th malloc, calloc or realloc from now on fails, once; 0: none does. Counts of all threads
 * together. */
void test_fail_alloc_at(unsigned long n);

/* Allocations since the last test_fail_alloc_at(). */
unsigned long test_alloc_count(void);

/* While they are let be, allocations and calls on files neither fail nor count: for what a test
 * looks at within an attempt. */
void test_let_allocs_be(bool yes);

/* Runs `attempt` as it is, and then again and again with one allocation failing. Each time it must
 * return QDQ_E_NOMEM with a message, or QDQ_OK if it can do without (a cache); it frees what it
 * made. The leak checker watches. Returns how many allocations the attempt makes.
 *
 * Of few allocations each fails once. Of many, those fail on whose stack is a call that was on the
 * stack of none before, in this attempt: so every call in our code that leads to an allocation
 * fails. */
typedef qdq_status (*test_attempt)(void *ctx, qdq_error *err);
unsigned long test_every_alloc_fails(test_attempt attempt, void *ctx);

/* The same for so many of them, spread evenly, for attempts that take long. */
unsigned long test_some_allocs_fail(test_attempt attempt, void *ctx, unsigned long samples);

/* The same, without the calls that failed in an earlier attempt of this program. */
unsigned long test_new_allocs_fail(test_attempt attempt, void *ctx);

/* The same for calls that open, read, write, sync, rename or map files: QDQ_E_IO. */
unsigned long test_new_file_calls_fail(test_attempt attempt, void *ctx);

#endif /* QDQ_ALLOC_FAIL_H */
