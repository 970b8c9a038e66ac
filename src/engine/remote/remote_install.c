/* remote_install.c - puts qdq-worker and a library of an engine on a host. All it needs there is a
 * shell: a script with the files in it is its standard input, so that no text of ours is quoted on
 * its way. */
#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nettle/base64.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/opts.h"
#include "base/program_path.h"
#include "base/sha256.h"
#include "base/spawn.h"
#include "engine/remote/remote_host.h"
#include "qdq/engine.h"

enum { LINE = 57 * 16, ANSWER_MAX = 4000 };

typedef struct installing {
    qdq_arena arena;
    qdq_remote_host host;
    const qdq_cancel *cancel;
    /* of the last script */
    char answer[ANSWER_MAX + 1];
    qdq_error *err;
} installing;

/* --- a script --------------------------------------------------------------------------------- */

static int memory_with(const char *data, size_t size)
{
    const int fd = qdq_fd_above_standard(memfd_create("script", MFD_CLOEXEC));
    uint64_t end = 0;

    (void)qdq_write_at(fd, data, size, &end);
    return fd;
}

static void read_memory(int fd, char *to)
{
    ssize_t n = pread(fd, to, ANSWER_MAX, 0);

    to[n > 0 ? n : 0] = '\0';
}

static const char *last_line(char *text)
{
    size_t size = strlen(text);

    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        text[--size] = '\0';
    const char *line = strrchr(text, '\n');
    qdq_keep_one_line(text);
    return line != NULL ? line + 1 : text;
}

static qdq_status wait_for(installing *x, pid_t pid, int *status)
{
    const double until = qdq_clock_seconds() + 10 * x->host.timeout_s;
    bool lost = false, cancelled = false;

    while (!qdq_has_ended(pid, &lost) && qdq_clock_seconds() < until &&
           !(cancelled = qdq_cancel_is_set(x->cancel)))
        poll(NULL, 0, 10);
    const bool late = !cancelled && !qdq_has_ended(pid, &lost);
    kill(-pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    if (cancelled)
        return qdq_fail(x->err, QDQ_E_INTERRUPTED, "interrupted");
    return late ? qdq_fail(x->err, QDQ_E_ENGINE, "host '%s': installs nothing within %g s",
                           x->host.text, 10 * x->host.timeout_s)
                : QDQ_OK;
}

static qdq_status cannot_install(installing *x, int status, const char *words)
{
    if (words[0] != '\0')
        return qdq_fail(x->err, QDQ_E_ENGINE, "host '%s': cannot install: %s", x->host.text, words);
    return qdq_fail(x->err, QDQ_E_ENGINE, "host '%s': cannot install: ended with code %d",
                    x->host.text, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

/* Runs a shell there with the script as its input. */
static qdq_status run_script(installing *x, const qdq_buf *script)
{
    const char *const *argv = qdq_remote_host_run(&x->host, &x->arena, "sh");
    char words[ANSWER_MAX + 1];
    pid_t pid = 0;
    int status = 0;

    if (argv == NULL)
        return qdq_fail(x->err, QDQ_E_USAGE,
                        "host '%s': runs qdq-worker alone; expected a command that runs programs",
                        x->host.text);
    QDQ_NEED(!script->failed, x->err);
    int in = memory_with(script->data, script->size), out = memory_with("", 0),
        errs = memory_with("", 0);
    int reason = in < 0 || out < 0 || errs < 0 || lseek(in, 0, SEEK_SET) != 0 ? errno : 0;
    if (reason == 0)
        reason =
            qdq_spawn(&(qdq_spawn_opts){.argv = argv, .in = in, .out = out, .err = errs}, &pid);
    qdq_status st = reason == 0
                        ? wait_for(x, pid, &status)
                        : qdq_fail_errno(x->err, QDQ_E_ENGINE, reason, "host '%s': cannot start %s",
                                         x->host.text, argv[0]);
    read_memory(out, x->answer);
    read_memory(errs, words);
    qdq_fd_close(&in);
    qdq_fd_close(&out);
    qdq_fd_close(&errs);
    if (st == QDQ_OK && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return cannot_install(x, status, last_line(words));
    return st;
}

/* What follows the word on a line of the answer; NULL: no such line. */
static const char *answer_of(installing *x, const char *word)
{
    const size_t size = strlen(word);

    for (char *line = x->answer; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');

        if (strncmp(line, word, size) == 0 && line[size] == ' ')
            return qdq_arena_strndup(&x->arena, line + size + 1, strcspn(line + size + 1, "\r\n"));
        line = end != NULL ? end + 1 : NULL;
    }
    return NULL;
}

/* --- files ------------------------------------------------------------------------------------ */

/* "aarch64", as uname has it; NULL: no program of a kind that is known. */
static const char *machine_of(const qdq_mapping *file)
{
    const unsigned char *b = qdq_mapping_data(file);

    if (qdq_mapping_size(file) < 20 || memcmp(b, ELFMAG, SELFMAG) != 0)
        return NULL;
    const unsigned machine = b[18] | (unsigned)b[19] << 8;
    return machine == EM_X86_64 ? "x86_64" : machine == EM_AARCH64 ? "aarch64" : NULL;
}

static void put_base64(qdq_buf *b, const unsigned char *data, size_t size)
{
    char line[BASE64_ENCODE_RAW_LENGTH(LINE) + 1];

    for (size_t at = 0; at < size; at += LINE) {
        const size_t n = size - at < LINE ? size - at : LINE;

        base64_encode_raw(line, n, data + at);
        line[BASE64_ENCODE_RAW_LENGTH(n)] = '\n';
        qdq_buf_append(b, line, BASE64_ENCODE_RAW_LENGTH(n) + 1);
    }
}

/* Asks for home, machine, and the hash of what is there under the name. */
static qdq_status look(installing *x, const char *name)
{
    qdq_buf script = QDQ_BUF_INIT(10000);

    qdq_buf_printf(&script,
                   "dir=\"${HOME:-/tmp}/.local\"\n"
                   "echo \"machine `uname -m`\"\n"
                   "echo \"path $dir/%s\"\n"
                   "if test -f \"$dir/%s\"; then echo \"hash `sha256sum <\"$dir/%s\"`\"; fi\n",
                   name, name, name);
    qdq_status st = run_script(x, &script);
    qdq_buf_free(&script);
    return st;
}

static qdq_status copy(installing *x, const qdq_mapping *file, const char *name, const char *hash)
{
    qdq_buf script = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(&script,
                   "set -e\n"
                   "dir=\"${HOME:-/tmp}/.local\"\n"
                   "mkdir -p \"$dir/bin\" \"$dir/lib/qdq\"\n"
                   "to=\"$dir/%s\"\n"
                   "base64 -d >\"$to.$$\" <<'END'\n",
                   name);
    put_base64(&script, qdq_mapping_data(file), qdq_mapping_size(file));
    qdq_buf_printf(&script,
                   "END\n"
                   "case `sha256sum <\"$to.$$\"` in\n"
                   "%s*) ;;\n"
                   "*) rm -f \"$to.$$\"; echo \"$to: did not arrive whole\" >&2; exit 1 ;;\n"
                   "esac\n"
                   "chmod 755 \"$to.$$\"\n"
                   "mv -f \"$to.$$\" \"$to\"\n",
                   hash);
    qdq_status st = run_script(x, &script);
    qdq_buf_free(&script);
    return st;
}

static qdq_status install_mapped(installing *x, const char *path, const qdq_mapping *file,
                                 const char *name, const char **where)
{
    const char *ours = machine_of(file);
    char hash[65];

    qdq_sha256_bytes(qdq_mapping_data(file), qdq_mapping_size(file), hash);
    if (ours == NULL)
        return qdq_fail(x->err, QDQ_E_USAGE, "%s: expected a program or a library for Linux", path);
    QDQ_TRY(look(x, name));
    const char *machine = answer_of(x, "machine"), *there = answer_of(x, "hash");
    *where = answer_of(x, "path");
    if (machine == NULL || *where == NULL)
        return qdq_fail(x->err, QDQ_E_ENGINE, "host '%s': found '%.100s', expected its machine",
                        x->host.text, last_line(x->answer));
    if (strcmp(machine, ours) != 0)
        return qdq_fail(x->err, QDQ_E_USAGE,
                        "%s: is for %s, and the host '%s' for %s: expected "
                        "a file for that (--worker, --ort-library)",
                        path, ours, x->host.text, machine);
    if (there != NULL && strncmp(there, hash, 64) == 0)
        return QDQ_OK;
    return copy(x, file, name, hash);
}

static qdq_status install_file(installing *x, const char *path, const char *name,
                               const char **where)
{
    qdq_mapping *file;

    QDQ_TRY(qdq_mapping_open(path, &file, x->err));
    qdq_status st = install_mapped(x, path, file, name, where);
    qdq_mapping_unref(file);
    return st;
}

static qdq_status install(installing *x, const qdq_engine_opts *opts, char **where)
{
    const char *worker =
                   opts->worker != NULL ? opts->worker : qdq_find_program(&x->arena, "qdq-worker"),
               *program = NULL, *library = NULL;

    QDQ_NEED(worker != NULL, x->err);
    QDQ_TRY(qdq_remote_host_read(opts->host, opts->host_timeout_s, &x->arena, &x->host, x->err));
    QDQ_TRY(install_file(x, worker, "bin/qdq-worker", &program));
    if (opts->ort_library != NULL)
        QDQ_TRY(install_file(x, opts->ort_library, "lib/qdq/libonnxruntime.so.1", &library));
    *where = malloc(strlen(program) + 1);
    QDQ_NEED(*where != NULL, x->err);
    memcpy(*where, program, strlen(program) + 1);
    return QDQ_OK;
}

qdq_status qdq_host_install(const qdq_engine_opts *opts, char **where, qdq_error *err)
{
    qdq_engine_opts own = QDQ_ENGINE_OPTS_INIT;
    installing *x;

    *where = NULL;
    QDQ_TRY(qdq_opts_read("qdq_engine_opts", &own, sizeof own, opts, err));
    if (own.host == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "no host; expected qdq_engine_opts.host");
    x = calloc(1, sizeof *x);
    QDQ_NEED(x != NULL, err);
    x->err = err;
    x->cancel = qdq_job_cancel(own.job);
    qdq_status st = install(x, &own, where);
    qdq_arena_free(&x->arena);
    free(x);
    return st;
}
