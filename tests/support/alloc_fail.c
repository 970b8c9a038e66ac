/* alloc_fail.c - what stands between our code and the C library (ld --wrap): the allocator, and the
 * calls on files. */
#include "support/alloc_fail.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include "base/arena.h"
#include "base/map.h"

#include <jansson.h>

enum { FRAMES = 64, SEEN = 1 << 16 };

typedef enum fault { ALLOC, FILE_CALL } fault;

static fault watched;
static atomic_ulong count;
static atomic_ulong fail_at;
static atomic_bool let_be;

/* --- which of them fail ----------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool choosing;
/* return addresses on the way to a fault of that kind, by their hash; 0: free */
static struct calls {
    uintptr_t at[SEEN];
    unsigned n;
} seen[2];
static unsigned long *chosen;
static size_t n_chosen;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);

static bool see(struct calls *c, uintptr_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9E3779B97F4A7C15) >> 48) % SEEN;

    while (c->at[at] != 0 && c->at[at] != address)
        at = (at + 1) % SEEN;
    if (c->at[at] == address)
        return false;
    if (++c->n == SEEN)
        fail_msg("more than %d calls", SEEN);
    c->at[at] = address;
    return true;
}

typedef struct walk {
    int depth;
    bool is_new;
} walk;

static _Unwind_Reason_Code look_at(struct _Unwind_Context *frame, void *ctx)
{
    walk *w = ctx;

    if (see(&seen[watched], (uintptr_t)_Unwind_GetIP(frame)))
        w->is_new = true;
    return ++w->depth < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void choose(unsigned long n)
{
    walk w = {0};

    pthread_mutex_lock(&lock);
    _Unwind_Backtrace(look_at, &w);
    if (w.is_new) {
        if ((n_chosen & (n_chosen - 1)) == 0) /* grows by powers of two */
            chosen = __real_realloc(chosen, (n_chosen == 0 ? 1 : 2 * n_chosen) * sizeof *chosen);
        chosen[n_chosen++] = n;
    }
    pthread_mutex_unlock(&lock);
}

/* Where the last one failed. */
static uintptr_t place[FRAMES];
static int n_place;

static _Unwind_Reason_Code note(struct _Unwind_Context *frame, void *ctx)
{
    (void)ctx;
    place[n_place] = (uintptr_t)_Unwind_GetIP(frame) - 1;
    return ++n_place < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void print_place(void)
{
    extern const char __executable_start[];
    char text[FRAMES * 20] = "";

    for (int i = 0, used = 0; i < n_place; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %zx",
                         (size_t)(place[i] - (uintptr_t)__executable_start));
    print_error("addr2line -fpe /proc/%ld/exe%s\n", (long)getpid(), text);
}

static bool fails_now(fault f, int reason)
{
    if (f != watched || atomic_load(&let_be))
        return false;
    const unsigned long n = atomic_fetch_add(&count, 1) + 1;
    if (atomic_load(&choosing))
        choose(n);
    if (n != atomic_load(&fail_at))
        return false;
    n_place = 0;
    _Unwind_Backtrace(note, NULL);
    errno = reason;
    return true;
}

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

/* --- what fails ------------------------------------------------------------------------------- */

#define WRAP(type, name, params, args, fault, reason, failed)                                      \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params                                                                      \
    {                                                                                              \
        return fails_now(fault, reason) ? failed : __real_##name args;                             \
    }
#define ALLOCATION(name, params, args)  WRAP(void *, name, params, args, ALLOC, ENOMEM, NULL)
#define CALL(type, name, params, args)  WRAP(type, name, params, args, FILE_CALL, EIO, -1)
#define WRITE(type, name, params, args) WRAP(type, name, params, args, FILE_CALL, ENOSPC, -1)

ALLOCATION(malloc, (size_t size), (size))
ALLOCATION(calloc, (size_t n, size_t size), (n, size))
ALLOCATION(realloc, (void *p, size_t size), (p, size))

/* Of an arena and a map, few calls are an allocation, but which ones is chance: each may be. */
ALLOCATION(qdq_arena_alloc, (qdq_arena * a, size_t size), (a, size))
ALLOCATION(qdq_arena_array, (qdq_arena * a, size_t n, size_t size), (a, n, size))
ALLOCATION(qdq_arena_strdup, (qdq_arena * a, const char *s), (a, s))
ALLOCATION(qdq_arena_strndup, (qdq_arena * a, const char *s, size_t n), (a, s, n))
ALLOCATION(qdq_arena_vprintf, (qdq_arena * a, const char *f, va_list args), (a, f, args))
ALLOCATION(qdq_map_put, (qdq_map * m, const char *key, bool *is_new), (m, key, is_new))
ALLOCATION(qdq_map_put_n, (qdq_map * m, const char *key, size_t n, bool *is_new),
           (m, key, n, is_new))
ALLOCATION(qdq_map_put_int, (qdq_map * m, uint64_t key, bool *is_new), (m, key, is_new))

char *__wrap_qdq_arena_printf(qdq_arena *a, const char *fmt, ...);
char *__wrap_qdq_arena_printf(qdq_arena *a, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    char *text = fails_now(ALLOC, ENOMEM) ? NULL : __real_qdq_arena_vprintf(a, fmt, args);
    va_end(args);
    return text;
}

CALL(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
CALL(ssize_t, pread, (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
CALL(int, fstat, (int fd, struct stat *st), (fd, st))
CALL(int, fsync, (int fd), (fd))
CALL(int, renameat, (int from, const char *a, int to, const char *b), (from, a, to, b))
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRITE(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRITE(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
WRITE(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRITE(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(char *, mkdtemp, (char *path), (path), FILE_CALL, ENOSPC, NULL)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), FILE_CALL, EIO, NULL)
WRAP(void *, mmap, (void *at, size_t size, int prot, int flags, int fd, off_t offset),
     (at, size, prot, flags, fd, offset), FILE_CALL, ENODEV, MAP_FAILED)

/* Where a test lets jansson's allocations fail: not while it reads, since it passes over a lack of
 * memory there, and the string that it reads is cut off. */
json_t *__real_json_loadb(const char *text, size_t size, size_t flags, json_error_t *at);
json_t *__wrap_json_loadb(const char *text, size_t size, size_t flags, json_error_t *at);
json_t *__wrap_json_loadb(const char *text, size_t size, size_t flags, json_error_t *at)
{
    const bool before = atomic_exchange(&let_be, true);
    json_t *j = __real_json_loadb(text, size, flags, at);

    atomic_store(&let_be, before);
    return j;
}

/* Their mode is there where a file may be made; else it is not looked at. */
static mode_t mode_of(int flags, va_list args)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    const mode_t mode = mode_of(flags, args);
    va_end(args);
    return fails_now(FILE_CALL, EIO) ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    const mode_t mode = mode_of(flags, args);
    va_end(args);
    return fails_now(FILE_CALL, EIO) ? -1 : __real_openat(dir, path, flags, mode);
}

/* --- attempts --------------------------------------------------------------------------------- */

/* Runs it with the n-th failing (0: none), and looks at what it says. Returns how many there
 * were. */
static unsigned long run(test_attempt attempt, void *ctx, unsigned long n)
{
    static const char *const names[] = {"allocation", "call on a file"};
    const qdq_status wanted = watched == ALLOC ? QDQ_E_NOMEM : QDQ_E_IO;
    qdq_error err = QDQ_ERROR_INIT;

    test_fail_alloc_at(n);
    qdq_status st = attempt(ctx, &err);
    unsigned long made = test_alloc_count();
    test_fail_alloc_at(0);
    const bool reached = n > 0 && made >= n; /* else it was through before the n-th */
    if (st == QDQ_OK || (reached && st == wanted && err.text[0] != '\0'))
        return made;
    if (reached)
        print_place();
    fail_msg("%s %lu failing: want %s, got %s (%s)", names[watched], n,
             qdq_status_name(reached ? wanted : QDQ_OK), qdq_status_name(st), err.text);
    return made; /* not reached */
}

static unsigned long run_chosen(fault f, unsigned long each_up_to, test_attempt attempt, void *ctx)
{
    watched = f;
    n_chosen = 0;
    atomic_store(&choosing, true);
    const unsigned long all = run(attempt, ctx, 0);
    atomic_store(&choosing, false);
    const unsigned long runs = all <= each_up_to ? all : n_chosen;
    for (unsigned long i = 0; i < runs; i++)
        run(attempt, ctx, all <= each_up_to ? i + 1 : chosen[i]);
    watched = ALLOC;
    return all;
}

unsigned long test_every_alloc_fails(test_attempt attempt, void *ctx)
{
    enum { EACH_UP_TO = 300 };

    memset(&seen[ALLOC], 0, sizeof seen[ALLOC]);
    return run_chosen(ALLOC, EACH_UP_TO, attempt, ctx);
}

unsigned long test_some_allocs_fail(test_attempt attempt, void *ctx, unsigned long samples)
{
    const unsigned long all = run(attempt, ctx, 0);

    for (unsigned long i = 0; i < samples; i++)
        run(attempt, ctx, 1 + (unsigned long)((double)all * (double)i / (double)samples));
    return all;
}

unsigned long test_new_allocs_fail(test_attempt attempt, void *ctx)
{
    return run_chosen(ALLOC, 0, attempt, ctx);
}

unsigned long test_new_file_calls_fail(test_attempt attempt, void *ctx)
{
    return run_chosen(FILE_CALL, 0, attempt, ctx);
}
