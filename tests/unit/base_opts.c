/* base_opts.c - option structs of callers that know fewer members, or more. */
#include "base/opts.h"

#include "base/fail.h"
#include "support/test.h"

typedef struct known_opts {
    size_t size;
    int a, b;
} known_opts;

#define KNOWN                                                                                      \
    {                                                                                              \
        .size = sizeof(known_opts), .a = -1, .b = -2                                               \
    }

static qdq_error err;

static qdq_status read_opts(known_opts *to, const void *from)
{
    *to = (known_opts)KNOWN;
    return qdq_opts_read("known_opts", to, sizeof *to, from, &err);
}

TEST(members_that_the_caller_lacks_keep_their_defaults)
{
    struct {
        size_t size;
        int a;
    } __attribute__((packed)) old = {.size = sizeof(size_t) + sizeof(int), .a = 7};
    known_opts o;

    assert_ok(read_opts(&o, NULL));
    assert_int_equal(o.a, -1);
    assert_ok(read_opts(&o, &old));
    assert_int_equal(o.a, 7);
    assert_int_equal(o.b, -2);
    assert_int_equal(o.size, sizeof o);
}

TEST(unknown_members_must_be_zero)
{
    struct {
        known_opts known;
        /* no padding behind it, which would be undefined */
        int64_t c;
    } new = {{.size = sizeof new, .a = 1, .b = 2}, 0};
    known_opts o;

    assert_ok(read_opts(&o, &new));
    assert_int_equal(o.b, 2);
    new.c = 1;
    assert_fails(QDQ_E_USAGE, "known_opts: the caller sets a member at byte 16",
                 read_opts(&o, &new));
}

TEST(a_size_that_is_none_is_refused)
{
    static const size_t sizes[] = {0, sizeof(size_t) - 1, sizeof(known_opts) + 4097, SIZE_MAX};
    known_opts o;

    for (size_t i = 0; i < QDQ_COUNT(sizes); i++) {
        const known_opts from = {.size = sizes[i]};

        assert_fails(QDQ_E_USAGE, "known_opts.size: found ", read_opts(&o, &from));
    }
}

TEST(a_job_without_a_cancel_flag_is_not_cancelled)
{
    qdq_cancel *flag = qdq_cancel_new();
    qdq_job job = QDQ_JOB_INIT;

    qdq_cancel_set(flag);
    job.cancel = flag;
    assert_fails(QDQ_E_INTERRUPTED, "interrupted", qdq_job_poll(&job, &err));
    job.size = offsetof(qdq_job, cancel);
    assert_ok(qdq_job_poll(&job, &err));
    assert_null(qdq_job_cancel(&job));
    assert_null(qdq_job_cancel(NULL));
    job.size = 0;
    assert_fails(QDQ_E_USAGE, "qdq_job.size: found 0", qdq_job_poll(&job, &err));
    assert_null(qdq_job_cancel(&job));
    qdq_cancel_free(flag);
}
