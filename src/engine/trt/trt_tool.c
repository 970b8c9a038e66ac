/* trt_tool.c - runs trtexec, once more without options that it rejects. Everything that can go
 * wrong with a program goes wrong here: it is not there, it hangs, it prints without end, it ends
 * well and has done nothing. */
#include "engine/trt/trt_tool.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fail.h"
#include "base/opts.h"
#include "engine/trt/trt_transcript.h"

enum { MAX_OUTPUT = 1 << 20, MAX_LOG = 64 << 20, MAX_TRANSCRIPT = 64 << 10, MAX_TRIES = 8 };
static const double help_deadline_s = 60;

/* --- what it is ------------------------------------------------------------------------------- */

static qdq_status cannot_start(qdq_error *err)
{
    return qdq_within(
        err, QDQ_E_ENGINE,
        "trtexec is part of TensorRT: expected it in PATH, or its file by --trtexec, found no "
        "program to run");
}

/* Its help is on stdout, the banner with its version as well. */
static qdq_status ask_for_help(qdq_trt_tool *t, qdq_error *err)
{
    const char *const argv[] = {t->program, "--help", NULL};
    const qdq_child_opts opts = {.argv = argv,
                                 .deadline_s = help_deadline_s,
                                 .max_output = MAX_OUTPUT,
                                 .cancel = qdq_job_cancel(t->job)};
    qdq_trt_log log = QDQ_TRT_LOG_INIT;
    qdq_child_result r;

    qdq_status st = qdq_child_run(&opts, &r, err);
    if (st == QDQ_E_IO)
        return cannot_start(err);
    QDQ_TRY(st);
    qdq_trt_log_read(&log, r.out, r.out_size);
    qdq_trt_log_read(&log, r.err, r.err_size);
    t->major = log.major;
    t->minor = log.minor;
    t->patch = log.patch;
    t->options = qdq_trt_help_options(r.out, r.out_size, &t->arena, &t->n_options);
    if (t->options == NULL)
        st = qdq_nomem(err);
    else if (r.timed_out)
        st = qdq_fail(err, QDQ_E_ENGINE, "%s --help: did not end within %g s", t->program,
                      help_deadline_s);
    else if (r.exit_code != 0 || !qdq_trt_tool_has(t, "--onnx"))
        st = qdq_fail(
            err, QDQ_E_ENGINE,
            "%s --help: exit code %d and %zu options, expected trtexec's help with --onnx in it",
            t->program, r.exit_code, t->n_options);
    qdq_child_result_free(&r);
    return st;
}

/* What the version says about the user's options, before anything is built. */
static qdq_status check_user(const qdq_trt_tool *t, qdq_error *err)
{
    for (size_t i = 0; i < t->user.args.n; i++)
        if (qdq_trt_is_precision_flag(t->user.args.at[i]) && t->major >= 11)
            return qdq_fail(
                err, QDQ_E_USAGE,
                "%s: TensorRT %d.%d has no such option, types come from the model alone; expected "
                "a model by quantize or autotune %s",
                t->user.args.at[i], t->major, t->minor, qdq_trt_instead_of(t->user.args.at[i]));
    if (t->user.cpu_only && t->user.remote == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--cpuOnly: expected --remoteAutoTuningConfig with it");
    if (t->user.remote != NULL && !qdq_trt_tool_is(t, 10, 15))
        return qdq_fail(err, QDQ_E_USAGE,
                        "--remoteAutoTuningConfig: found TensorRT %d.%d, expected 10.15 or newer; "
                        "without it, this machine would be measured instead of the remote one",
                        t->major, t->minor);
    if (t->user.remote != NULL &&
        !(qdq_trt_tool_has(t, "--remoteAutoTuningConfig") && qdq_trt_tool_has(t, "--safe")))
        return qdq_fail(err, QDQ_E_USAGE,
                        "--remoteAutoTuningConfig: the help of %s lists it or --safe, which it "
                        "needs, not: a standard build has no remote auto-tuning",
                        t->program);
    return QDQ_OK;
}

qdq_status qdq_trt_tool_open(qdq_trt_tool *t, const char *program, const char *user_args,
                             qdq_error *err)
{
    t->program = qdq_arena_strdup(&t->arena, program);
    t->major = t->minor = t->patch = -1;
    QDQ_NEED(t->program != NULL, err);
    if (user_args != NULL) {
        qdq_status st = qdq_trt_user_parse(user_args, &t->arena, &t->user, err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "--trtexec-args");
    }
    QDQ_TRY(ask_for_help(t, err));
    return check_user(t, err);
}

void qdq_trt_tool_close(qdq_trt_tool *t)
{
    qdq_arena_free(&t->arena);
}

static bool is_in(const qdq_trt_argv *list, const char *option)
{
    for (size_t i = 0; i < list->n; i++)
        if (qdq_trt_same_key(list->at[i], option))
            return true;
    return false;
}

bool qdq_trt_tool_has(const qdq_trt_tool *t, const char *option)
{
    bool listed = false;

    for (size_t i = 0; i < t->n_options && !listed; i++)
        listed = qdq_trt_same_key(t->options[i], option);
    return listed && !is_in(&t->refused, option);
}

bool qdq_trt_tool_is(const qdq_trt_tool *t, int major, int minor)
{
    return t->major < 0 || t->major > major || (t->major == major && t->minor >= minor);
}

/* --- one run ---------------------------------------------------------------------------------- */

static bool add_all(qdq_trt_argv *to, const qdq_trt_argv *from, const qdq_trt_tool *t, bool useful,
                    qdq_arena *arena)
{
    for (size_t i = 0; i < from->n; i++) {
        if (useful &&
            (!qdq_trt_tool_has(t, from->at[i]) || qdq_trt_user_has(&t->user, from->at[i])))
            continue;
        if (!QDQ_PUSH(arena, to, from->at[i]))
            return false;
    }
    return true;
}

static const char **make_argv(const qdq_trt_tool *t, const qdq_trt_call *call, qdq_arena *arena)
{
    qdq_trt_argv argv = {0};
    bool good = QDQ_PUSH(arena, &argv, t->program) &&
                add_all(&argv, &call->needed, t, false, arena) &&
                add_all(&argv, &call->useful, t, true, arena);

    for (size_t i = 0; good && t->plugins != NULL && t->plugins[i] != NULL; i++) {
        const char *arg = qdq_arena_printf(arena, "--staticPlugins=%s", t->plugins[i]);
        good = arg != NULL && QDQ_PUSH(arena, &argv, arg);
    }
    good = good && add_all(&argv, &t->user.args, t, false, arena) && QDQ_PUSH(arena, &argv, NULL);
    return good ? argv.at : NULL;
}

/* The command stands first in the log, as it would have to be typed, but for quotes. */
static int open_log(const char *path, const char *const *argv)
{
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    FILE *f = fd >= 0 ? fdopen(dup(fd), "a") : NULL;

    if (f != NULL) {
        for (size_t i = 0; argv[i] != NULL; i++)
            fprintf(f, "%s%s", i > 0 ? " " : "$ ", argv[i]);
        fputc('\n', f);
        fclose(f);
    }
    return fd;
}

static qdq_status start(const qdq_trt_tool *t, const qdq_trt_call *call, const char *const *argv,
                        qdq_child_result *r, qdq_error *err)
{
    int fd = open_log(call->log, argv);
    const qdq_child_opts opts = {.argv = argv,
                                 .deadline_s = call->deadline_s,
                                 .max_output = MAX_OUTPUT,
                                 .keep_last = true,
                                 .log = fd > STDERR_FILENO ? fd : 0,
                                 .max_log = MAX_LOG,
                                 .cancel = qdq_job_cancel(t->job)};
    qdq_status st = qdq_child_run(&opts, r, err);

    if (fd >= 0)
        close(fd);
    return st == QDQ_E_IO ? cannot_start(err) : st;
}

/* --- how it ended ----------------------------------------------------------------------------- */

/* *again: every option that it refused was one of those that may be left out. */
static qdq_status note_refused(qdq_trt_tool *t, const qdq_trt_call *call, const qdq_trt_log *log,
                               bool *again, qdq_error *err)
{
    *again = false;
    for (size_t i = 0; i < log->n_unknown; i++) {
        const char *option = log->unknown[i];

        if (qdq_trt_user_has(&t->user, option))
            return qdq_fail(err, QDQ_E_USAGE, "--trtexec-args: TensorRT %d.%d has no option %s",
                            t->major, t->minor, option);
        if (!is_in(&call->useful, option) || is_in(&t->refused, option))
            return qdq_fail(err, QDQ_E_ENGINE,
                            "TensorRT %d.%d refuses %s, without which nothing can be done",
                            t->major, t->minor, option);
        const char *copy = qdq_arena_strdup(&t->arena, option);
        QDQ_NEED(copy != NULL && QDQ_PUSH(&t->arena, &t->refused, copy), err);
        qdq_job_log(t->job, QDQ_LOG_INFO, "%s has no %s: it is left out from now on", t->program,
                    option);
        *again = true;
    }
    return QDQ_OK;
}

/* Was the option that asks for this file left out? */
static bool is_left_out(const qdq_trt_tool *t, const qdq_trt_call *call, const char *file)
{
    for (size_t i = 0; i < call->useful.n; i++) {
        const char *option = call->useful.at[i], *value = option + qdq_trt_key_size(option);
        if (*value == '=' && strcmp(value + 1, file) == 0)
            return !qdq_trt_tool_has(t, option);
    }
    return false;
}

static qdq_status missing_file(const qdq_trt_tool *t, const qdq_trt_call *call, qdq_error *err)
{
    struct stat st;

    for (size_t i = 0; call->files != NULL && call->files[i] != NULL; i++)
        if (!is_left_out(t, call, call->files[i]) &&
            (stat(call->files[i], &st) != 0 || st.st_size == 0)) {
            const char *slash = strrchr(call->files[i], '/');
            return qdq_fail(err, QDQ_E_ENGINE, "trtexec ended well, but left no %s",
                            slash != NULL ? slash + 1 : call->files[i]);
        }
    return QDQ_OK;
}

static qdq_status explain(const qdq_trt_tool *t, const qdq_trt_call *call,
                          const qdq_child_result *r, const qdq_trt_log *log, qdq_error *err)
{
    const char *colon = log->reason[0] != '\0' ? ": " : "";

    if (r->timed_out)
        return qdq_fail(err, QDQ_E_ENGINE, "trtexec did not end within %g s%s%s", call->deadline_s,
                        colon, log->reason);
    if (r->signal != 0) {
        const char *name = sigabbrev_np(r->signal);
        return qdq_fail(err, QDQ_E_ENGINE, "trtexec died of SIG%s%s%s", name != NULL ? name : "?",
                        colon, log->reason);
    }
    if (r->exit_code != 0)
        return qdq_fail(err, QDQ_E_ENGINE, "trtexec failed with exit code %d (%s)%s%s",
                        r->exit_code,
                        log->failure == QDQ_TRT_FINE ? "no reason in its output"
                                                     : qdq_trt_failure_name(log->failure),
                        colon, log->reason);
    if (log->failed)
        return qdq_fail(err, QDQ_E_ENGINE, "trtexec says FAILED (%s)%s%s",
                        qdq_trt_failure_name(log->failure), colon, log->reason);
    return missing_file(t, call, err);
}

static void warn(qdq_trt_tool *t, const qdq_trt_log *log)
{
    static const char *const words[] = {
        "may be bound by what the host submits, not by the device: --useCudaGraph helps small "
        "models",
        "are unstable, as trtexec reports; expected locked clocks and no other process on the GPU",
        "may be bound by transfers to and from the device",
        "are without a CUDA graph, whose capture failed; do not compare them with times that have "
        "one",
        "of layers overlap, so their sum is too large; --maxAuxStreams=0 prevents that",
        "of layers are incomplete",
        "are of a dynamic dimension taken for 1; expected a shape (--shape)"};

    for (size_t i = 0; i < QDQ_COUNT(words); i++)
        if (((log->trust & ~t->trust_told) >> i & 1) != 0)
            qdq_job_log(t->job, i == 0 ? QDQ_LOG_INFO : QDQ_LOG_WARNING, "trtexec: times %s",
                        words[i]);
    t->trust_told |= log->trust;
}

/* *again: it was not the last word. */
static qdq_status run_once(qdq_trt_tool *t, const qdq_trt_call *call, qdq_arena *scratch,
                           qdq_trt_log *out, bool *again, qdq_error *err)
{
    const char **argv = make_argv(t, call, scratch);
    qdq_child_result r;

    *again = false;
    *out = (qdq_trt_log)QDQ_TRT_LOG_INIT;
    QDQ_NEED(argv != NULL, err);
    for (size_t i = 0; call->files != NULL && call->files[i] != NULL; i++)
        unlink(call->files[i]); /* of the run before: it would be taken for this one's */
    QDQ_TRY(start(t, call, argv, &r, err));
    qdq_trt_transcript(t->job, argv, &r, call->transcript > 0 ? call->transcript : MAX_TRANSCRIPT);
    qdq_trt_log_read(out, r.out, r.out_size);
    qdq_trt_log_read(out, r.err, r.err_size);
    qdq_status st =
        r.exit_code > 0 && out->n_unknown > 0 ? note_refused(t, call, out, again, err) : QDQ_OK;
    if (st == QDQ_OK && !*again)
        st = explain(t, call, &r, out, err);
    qdq_child_result_free(&r);
    warn(t, out);
    return st;
}

qdq_status qdq_trt_tool_run(qdq_trt_tool *t, const qdq_trt_call *call, qdq_trt_log *out,
                            qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = QDQ_OK;
    bool again = true, was_full = false;

    for (int i = 0; i < MAX_TRIES && again && st == QDQ_OK; i++) {
        st = run_once(t, call, &scratch, out, &again, err);
        if (st == QDQ_OK && again && call->purpose != NULL && !qdq_trt_tool_has(t, call->purpose))
            break;
        if (st == QDQ_E_ENGINE && out->failure == QDQ_TRT_MEMORY && !was_full) {
            was_full = again = true; /* somebody else may have had it */
            st = QDQ_OK;
            qdq_job_log(t->job, QDQ_LOG_INFO, "trtexec: out of memory; retrying");
        }
    }
    qdq_arena_free(&scratch);
    if (st == QDQ_OK && again && (call->purpose == NULL || qdq_trt_tool_has(t, call->purpose)))
        return qdq_fail(err, QDQ_E_ENGINE, "trtexec refuses one option after another: %s",
                        out->reason);
    return st;
}
