/* trt_transcript.c - logs a command and its output line by line. */
#include "engine/trt/trt_transcript.h"

#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/opts.h"
#include "engine/trt/trt_args.h"

enum { LINE_MAX_BYTES = 900 }; /* a message of a job has a little more */

/* A line that is too long for one message takes several. */
static void tell_line(const qdq_job *job, const char *line, size_t n)
{
    while (n > 0) {
        const size_t part = n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES;
        qdq_job_log(job, QDQ_LOG_DEBUG, "%.*s", (int)part, line);
        line += part;
        n -= part;
    }
}

static void tell_lines(const qdq_job *job, const char *text, size_t n)
{
    for (const char *p = text, *end = text + n; p < end;) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        const size_t size = (size_t)((line_end != NULL ? line_end : end) - p);
        tell_line(job, p, size);
        p += size + 1;
    }
}

/* A cut goes through no line, where there are lines. */
static void tell_bounded(const qdq_job *job, const char *text, size_t most)
{
    const size_t n = strlen(text);

    if (n <= most) {
        tell_lines(job, text, n);
        return;
    }
    size_t head = most / 4, tail = n - (most - most / 4);
    const char *cut = memrchr(text, '\n', head), *next = memchr(text + tail, '\n', n - tail);
    head = cut != NULL ? (size_t)(cut - text) : head;
    tail = next != NULL && next + 1 < text + n ? (size_t)(next + 1 - text) : tail;
    tell_lines(job, text, head);
    qdq_job_log(job, QDQ_LOG_DEBUG, "... %zu bytes left out ...", tail - head);
    tell_lines(job, text + tail, n - tail);
}

/* Masked as a whole: a password may be anywhere in it, the banner repeats the command. */
static void tell_masked(const qdq_job *job, const char *text, size_t most)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *masked = qdq_trt_mask(text, &scratch);

    if (masked != NULL)
        tell_bounded(job, masked, most);
    qdq_arena_free(&scratch);
}

static void tell_command(const qdq_job *job, const char *const *argv)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; argv[i] != NULL; i++)
        qdq_buf_printf(&b, "%s%s", i > 0 ? " " : "$ ", argv[i]);
    if (!b.failed)
        tell_masked(job, b.data, b.size);
    qdq_buf_free(&b);
}

void qdq_trt_transcript(const qdq_job *job, const char *const *argv, const qdq_child_result *r,
                        size_t most)
{
    if (qdq_job_copy(job).log == NULL)
        return;
    tell_command(job, argv);
    tell_masked(job, r->out, most);
    tell_masked(job, r->err, most);
}
