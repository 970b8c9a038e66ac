/* worker_client_log.c - one log for each build. Files are opened for each entry: there may be more
 * models than descriptors. */
#include "tune/worker_client/worker_client_log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"

enum { ENTRY_MAX = 1024 * 1024, FILE_MAX = 4 * 1024 * 1024, NUMBER_MAX = 1000000 };

qdq_status qdq_worker_client_logs_open(qdq_worker_client_logs *logs, const char *dir,
                                       const qdq_job *job, qdq_error *err)
{
    *logs = (qdq_worker_client_logs){.dir = dir, .job = job};
    if (dir != NULL && mkdir(dir, 0777) != 0 && errno != EEXIST)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot make a folder for logs", dir);
    return QDQ_OK;
}

static void stop_logging(qdq_worker_client_logs *logs, const char *path)
{
    qdq_error why;

    qdq_fail_errno(&why, QDQ_E_IO, errno, "%s: cannot write this log, there will be no more", path);
    qdq_job_log(logs->job, QDQ_LOG_WARNING, "%s", why.text);
    logs->failed = true;
}

/* Of "DIR/group_3_scheme_1.onnx" what stands between: names are made by us, but for those of a few
 * whole models. */
static const char *stem_of(const char *model, qdq_arena *arena)
{
    enum { STEM_MAX = 120 };
    const char *slash = strrchr(model, '/'), *name = slash != NULL ? slash + 1 : model,
               *dot = strrchr(name, '.');
    const size_t n = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    char *stem = qdq_arena_strndup(arena, name, n < STEM_MAX ? n : STEM_MAX);

    for (char *p = stem; p != NULL && *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && strchr("._-+", *p) == NULL)
            *p = '_';
    return stem;
}

const char *qdq_worker_client_log_new(qdq_worker_client_logs *logs, const char *model,
                                      qdq_arena *arena)
{
    const char *stem = logs->dir != NULL && !logs->failed ? stem_of(model, arena) : NULL;

    for (unsigned k = 1; stem != NULL && !logs->failed && k < NUMBER_MAX; k++) {
        char number[20] = "";
        if (k > 1)
            snprintf(number, sizeof number, "-%u", k);
        const char *path = qdq_arena_printf(arena, "%s/%s%s.log", logs->dir, stem, number);

        if (path == NULL)
            return NULL;
        const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            close(fd);
            return path;
        }
        if (errno != EEXIST)
            stop_logging(logs, path);
    }
    return NULL;
}

static void append_entry(qdq_worker_client_logs *logs, const char *path, const qdq_buf *text)
{
    struct stat st;

    if (logs->failed || text->failed)
        return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 ||
        (st.st_size < FILE_MAX && write(fd, text->data, text->size) < 0))
        stop_logging(logs, path);
    if (fd >= 0)
        close(fd);
}

void qdq_worker_client_log_request(qdq_worker_client_logs *logs, const char *path, const char *what)
{
    qdq_buf text = QDQ_BUF_INIT(ENTRY_MAX);

    if (path == NULL)
        return;
    qdq_buf_printf(&text, "request: %s\n", what);
    append_entry(logs, path, &text);
    qdq_buf_free(&text);
}

void qdq_worker_client_log_ended(qdq_worker_client_logs *logs, const char *path, const char *output,
                                 size_t size, const qdq_remote_outcome *outcome, double seconds)
{
    qdq_buf text = QDQ_BUF_INIT(ENTRY_MAX);

    if (path == NULL)
        return;
    qdq_buf_append(&text, output, size);
    if (size > 0 && output[size - 1] != '\n')
        qdq_buf_putc(&text, '\n');
    qdq_buf_printf(&text, "ended: %s%s%s after %.3f s\n", qdq_remote_end_name(outcome->end),
                   outcome->text[0] != '\0' ? ": " : "", outcome->text, seconds);
    append_entry(logs, path, &text);
    qdq_buf_free(&text);
}
