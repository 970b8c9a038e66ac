/* places.c - private folders, model files, and what a machine may lack. A test program may look at
 * the environment and print; the library may not. */
#include "support/test.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

/* --- folders ---------------------------------------------------------------------------------- */

static qdq_tempdir *private_dir;

static void remove_dir(void)
{
    qdq_tempdir_free(private_dir);
    private_dir = NULL;
}

const char *test_dir(void)
{
    qdq_error err = QDQ_ERROR_INIT;

    if (private_dir == NULL) {
        assert_ok(qdq_tempdir_new(getenv("TMPDIR"), &private_dir, &err));
        atexit(remove_dir);
    }
    return qdq_tempdir_path(private_dir);
}

const char *test_path(const char *fmt, ...)
{
    static char path[8][4096];
    static unsigned next;
    char *p = path[next++ % 8];
    va_list ap;

    int n = snprintf(p, sizeof path[0], "%s/", test_dir());
    va_start(ap, fmt);
    vsnprintf(p + n, sizeof path[0] - (size_t)n, fmt, ap);
    va_end(ap);
    return p;
}

const char *test_corpus(const char *fmt, ...)
{
    static char path[8][4096];
    static unsigned next;
    char *p = path[next++ % 8];
    va_list ap;

    int n = snprintf(p, sizeof path[0], "%s/tests/models/", QDQ_SOURCE_DIR);
    va_start(ap, fmt);
    vsnprintf(p + n, sizeof path[0] - (size_t)n, fmt, ap);
    va_end(ap);
    return p;
}

/* --- results ---------------------------------------------------------------------------------- */

void test_keep(void *block)
{
    static _Atomic(void *) kept[256];
    static atomic_size_t n;

    qdq_free(atomic_exchange(&kept[atomic_fetch_add(&n, 1) % QDQ_COUNT(kept)], block));
}

/* --- what a machine may lack ------------------------------------------------------------------ */

bool test_is_sanitized(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return false;
}

void test_missing(const char *what)
{
    const char *require = getenv("QDQ_TEST_REQUIRE");

    if (require != NULL && strcmp(require, "1") == 0)
        fail_msg("%s is missing, and QDQ_TEST_REQUIRE=1 says that it must be there", what);
    fprintf(stderr, "SKIPPED: %s is missing\n", what);
    skip();
}

double test_cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
