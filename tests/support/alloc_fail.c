/* alloc_fail.c - the allocator between our code and the real one (ld --wrap). */
#include "support/alloc_fail.h"

#include <errno.h>
#include <stdatomic.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static atomic_ulong count;
static atomic_ulong fail_at;
static atomic_bool let_be;

void test_fail_alloc_at(unsigned long n)
{
    atomic_store(&fail_at, n);
    atomic_store(&count, 0);
}

unsigned long test_alloc_count(void)
{
    return atomic_load(&count);
}

void test_let_allocs_be(bool yes)
{
    atomic_store(&let_be, yes);
}

static bool fails_now(void)
{
    if (atomic_load(&let_be))
        return false;
    if (atomic_fetch_add(&count, 1) + 1 != atomic_load(&fail_at))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails_now() ? NULL : __real_realloc(p, size);
}

/* The plain build tries every allocation. That of the sanitizers gives each object one of its own,
 * of which there are ten times as many, and runs slowly: there it is all of the first, and ever
 * fewer of the others. */
static unsigned long behind(unsigned long n)
{
#ifdef QDQ_ARENA_MALLOC
    enum { ALL_UP_TO = 200, SHARE = 100 };

    return n < ALL_UP_TO ? n + 1 : n + n / SHARE;
#else
    return n + 1;
#endif
}

/* Runs it with the n-th allocation failing (0: none), and looks at what it says. Returns how many
 * it made. */
static unsigned long run(test_attempt attempt, void *ctx, unsigned long n)
{
    qdq_error err = QDQ_ERROR_INIT;

    test_fail_alloc_at(n);
    qdq_status st = attempt(ctx, &err);
    unsigned long made = test_alloc_count();
    test_fail_alloc_at(0);
    if ((n == 0 || made < n) && st != QDQ_OK) /* it was through before the n-th */
        fail_msg("without a failing allocation: %s: %s", qdq_status_name(st), err.text);
    if (st != QDQ_OK && st != QDQ_E_NOMEM)
        fail_msg("allocation %lu failing: want nomem, got %s (%s)", n, qdq_status_name(st),
                 err.text);
    if (st == QDQ_E_NOMEM && err.text[0] == '\0')
        fail_msg("allocation %lu failing: no message", n);
    return made;
}

unsigned long test_every_alloc_fails(test_attempt attempt, void *ctx)
{
    for (unsigned long n = 1;; n = behind(n)) {
        unsigned long made = run(attempt, ctx, n);

        if (made < n)
            return made;
    }
}

unsigned long test_some_allocs_fail(test_attempt attempt, void *ctx, unsigned long samples)
{
    const unsigned long all = run(attempt, ctx, 0);

    for (unsigned long i = 0; i < samples; i++)
        run(attempt, ctx, 1 + (unsigned long)((double)all * (double)i / (double)samples));
    return all;
}
