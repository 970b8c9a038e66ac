/* base_fail.c - errors, log lines, and the cancel flag. */
#include "support/test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>

#include "base/cancel.h"
#include "base/clock.h"

static qdq_status failing(qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT, "dimension %d is negative (%d)", 2, -7);
}

static qdq_status forwarding(qdq_error *err)
{
    QDQ_TRY(failing(err));
    return QDQ_OK;
}

TEST(places_are_put_in_front)
{
    qdq_error err = QDQ_ERROR_INIT;

    qdq_status st = forwarding(&err);
    assert_int_equal(st, QDQ_E_FORMAT);
    assert_int_equal(qdq_within(&err, st, "tensor '%s'", "w"), QDQ_E_FORMAT);
    qdq_within(&err, st, "resnet.onnx");
    assert_string_equal(err.text, "resnet.onnx: tensor 'w': dimension 2 is negative (-7)");
    assert_int_equal(err.code, QDQ_E_FORMAT);
}

TEST(an_error_nobody_wants_is_only_a_code)
{
    assert_int_equal(forwarding(NULL), QDQ_E_FORMAT);
    assert_int_equal(qdq_nomem(NULL), QDQ_E_NOMEM);
    assert_int_equal(qdq_within(NULL, QDQ_E_IO, "x"), QDQ_E_IO);
    assert_int_equal(qdq_fail_errno(NULL, QDQ_E_IO, ENOENT, "x"), QDQ_E_IO);
}

TEST(hostile_text_stays_one_line)
{
    qdq_error err = QDQ_ERROR_INIT;

    qdq_fail(&err, QDQ_E_FORMAT, "node '%s'", "a\nb\x1b[31m\x7f");
    assert_string_equal(err.text, "node 'a?b?[31m?'");
    qdq_within(&err, QDQ_E_FORMAT, "file '%s'", "c\td");
    assert_string_equal(err.text, "file 'c?d': node 'a?b?[31m?'");
}

TEST(long_texts_are_cut_not_overrun)
{
    static char wide[3000];
    qdq_error err = QDQ_ERROR_INIT;

    memset(wide, 'x', sizeof wide - 1);
    qdq_fail(&err, QDQ_E_FORMAT, "%s", wide);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    qdq_within(&err, QDQ_E_FORMAT, "place");
    assert_int_equal(strncmp(err.text, "place: xxx", 10), 0);
    assert_true(strlen(err.text) < sizeof err.text);
    qdq_within(&err, QDQ_E_FORMAT, "%s", wide); /* a longer place is kept alone */
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    /* the reason survives the longest of names */
    qdq_fail_errno(&err, QDQ_E_IO, ENOENT, "%s", wide);
    assert_non_null(strstr(err.text, "x: No such file"));
}

TEST(every_code_has_a_name)
{
    static const char *const names[] = {"ok",          "usage",  "nomem", "io",          "format",
                                        "unsupported", "engine", "goal",  "interrupted", "bug"};

    for (size_t i = 0; i < QDQ_COUNT(names); i++)
        assert_string_equal(qdq_status_name((qdq_status)i), names[i]);
    assert_string_equal(qdq_status_name((qdq_status)99), "unknown");
    assert_non_null(strchr(qdq_version(), '.'));
}

typedef struct recorded_lines {
    char line[1200];
    qdq_log_level level;
    uint64_t done, total;
} recorded_lines;

static void hear_line(void *ctx, qdq_log_level level, const char *text)
{
    recorded_lines *h = ctx;

    h->level = level;
    snprintf(h->line, sizeof h->line, "%s", text);
}

static void record_progress(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    recorded_lines *h = ctx;

    snprintf(h->line, sizeof h->line, "%s", stage);
    h->done = done;
    h->total = total;
}

TEST(a_job_hears_lines_and_progress)
{
    recorded_lines h = {0};
    qdq_job job = QDQ_JOB_INIT;

    qdq_job_log(NULL, QDQ_LOG_INFO, "nobody"); /* neither has a listener */
    qdq_job_log(&job, QDQ_LOG_INFO, "nobody");
    qdq_job_progress(NULL, "x", 1, 2);
    qdq_job_progress(&job, "x", 1, 2);
    job.ctx = &h;
    job.log = hear_line;
    job.progress = record_progress;
    qdq_job_log(&job, QDQ_LOG_WARNING, "%d\nlines", 2);
    assert_string_equal(h.line, "2?lines");
    assert_int_equal(h.level, QDQ_LOG_WARNING);
    qdq_job_progress(&job, "calibrate", 3, 8);
    assert_string_equal(h.line, "calibrate");
    assert_int_equal(h.done, 3);
    assert_int_equal(h.total, 8);
}

TEST(a_flag_is_set_with_the_one_above_and_at_its_time)
{
    qdq_cancel *above = qdq_cancel_new(), *below = qdq_cancel_below(above);

    assert_false(qdq_cancel_is_set(below));
    qdq_cancel_at(below, qdq_clock_seconds() - 1);
    assert_true(qdq_cancel_is_set(below));
    assert_false(qdq_cancel_is_set(above));
    qdq_cancel_at(below, qdq_clock_seconds() + 1000);
    assert_false(qdq_cancel_is_set(below));
    qdq_cancel_at(below, (double)INFINITY);
    assert_false(qdq_cancel_is_set(below));
    qdq_cancel_set(above);
    assert_true(qdq_cancel_is_set(below));
    qdq_cancel_free(below);
    qdq_cancel_free(above);
}

static qdq_cancel *flag_of_handler;

static void on_signal(int number)
{
    (void)number;
    qdq_cancel_set(flag_of_handler);
}

TEST(a_signal_handler_cancels_a_job)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_cancel *c = qdq_cancel_new();

    assert_non_null(c);
    assert_ok(qdq_job_poll(NULL, &err));
    assert_ok(qdq_job_poll(&job, &err));
    job.cancel = c;
    assert_ok(qdq_job_poll(&job, &err));
    flag_of_handler = c;
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    assert_fails(QDQ_E_INTERRUPTED, "interrupted", qdq_job_poll(&job, &err));
    assert_true(qdq_cancel_is_set(c));
    signal(SIGUSR1, SIG_DFL);
    qdq_cancel_free(c);
}

TEST(no_flag_is_never_set)
{
    assert_false(qdq_cancel_is_set(NULL));
    qdq_cancel_set(NULL);
    qdq_cancel_free(NULL);
    qdq_free(NULL);
}
