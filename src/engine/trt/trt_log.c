/* trt_log.c - reads the output of trtexec and its exported times. One line at a time; what a
 * line means depends only on its words, but for the summary of 7.x, whose headings stand on lines
 * of their own. */
#include "engine/trt/trt_log.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "base/vec.h"
#include "engine/tool_json.h"

/* --- lines ------------------------------------------------------------------------------------ */

typedef struct line {
    const char *p;
    size_t n;
    /* I, W, E, F, V; 0: it has none */
    char level;
} line;

/* "[01/02/2026-10:00:00] [I] [TRT] text": head off. Lines without one are taken as they are. */
static line strip_head(const char *p, size_t n)
{
    line l = {p, n, 0};

    while (l.n > 0 && (l.p[l.n - 1] == '\r' || l.p[l.n - 1] == ' '))
        l.n--;
    if (l.n > 3 && l.p[0] == '[' && isdigit((unsigned char)l.p[1])) {
        const char *close = memchr(l.p, ']', l.n);
        if (close != NULL && (size_t)(close + 1 - l.p) < l.n && close[1] == ' ') {
            l.n -= (size_t)(close + 2 - l.p);
            l.p = close + 2;
        }
    }
    if (l.n >= 3 && l.p[0] == '[' && strchr("VIWEF", l.p[1]) != NULL && l.p[1] != '\0' &&
        l.p[2] == ']') {
        l.level = l.p[1];
        l.p += 3;
        l.n -= 3;
        while (l.n > 0 && *l.p == ' ')
            l.p++, l.n--;
    }
    if (l.n >= 6 && memcmp(l.p, "[TRT] ", 6) == 0) {
        l.p += 6;
        l.n -= 6;
    }
    return l;
}

static const char *find_in_line(const line *l, const char *part)
{
    return memmem(l->p, l->n, part, strlen(part));
}

static bool begins(const line *l, const char *part)
{
    size_t n = strlen(part);

    return l->n >= n && memcmp(l->p, part, n) == 0;
}

/* The number behind `part`; NAN: there is none. */
static double number_behind(const line *l, const char *part)
{
    const char *at = find_in_line(l, part);
    double x;

    if (at == NULL)
        return NAN;
    at += strlen(part);
    while (at < l->p + l->n && *at == ' ')
        at++;
    return qdq_tool_number(at, (size_t)(l->p + l->n - at), &x) > 0 ? x : NAN;
}

/* --- version ---------------------------------------------------------------------------------- */

static size_t read_int(const char *p, size_t n, int *out)
{
    size_t k = 0;

    for (*out = 0; k < n && k < 8 && isdigit((unsigned char)p[k]); k++)
        *out = *out * 10 + (p[k] - '0');
    return k;
}

/* "TensorRT version: 10.16.1", also with words in between. */
static bool read_dotted(qdq_trt_log *log, const line *l)
{
    static const char mark[] = "version: ";
    int part[3] = {0, 0, 0};
    const char *p = find_in_line(l, mark);
    size_t k;

    if (p == NULL || find_in_line(l, "TensorRT") == NULL)
        return false;
    p += sizeof mark - 1;
    for (int i = 0; i < 3; i++) {
        if ((k = read_int(p, (size_t)(l->p + l->n - p), &part[i])) == 0)
            return false;
        p += k;
        if (p >= l->p + l->n || *p != '.')
            break;
        p++;
    }
    log->major = part[0];
    log->minor = part[1];
    log->patch = part[2];
    return true;
}

/* "[TensorRT v101601]": two digits each from 10 on, before that 8601 was 8.6.1. */
static void read_banner_version(qdq_trt_log *log, const line *l)
{
    static const char mark[] = "[TensorRT v";
    const char *p = find_in_line(l, mark);
    int x;

    if (p == NULL || log->major >= 0)
        return;
    p += sizeof mark - 1;
    if (read_int(p, (size_t)(l->p + l->n - p), &x) < 4)
        return;
    log->major = x >= 100000 ? x / 10000 : x / 1000;
    log->minor = x >= 100000 ? x / 100 % 100 : x / 100 % 10;
    log->patch = x % 100;
}

/* --- summary ---------------------------------------------------------------------------------- */

typedef enum heading { NO_HEADING, OF_LATENCY, OF_ENQUEUE, OF_COMPUTE } heading; /* of 7.x */

static void read_summary(qdq_trt_log *log, const line *l, heading *under)
{
    if (find_in_line(l, "=== Performance summary") !=
        NULL) { /* what came before were single runs */
        log->latency_ms = log->compute_ms = NAN;
        *under = NO_HEADING;
    } else if (begins(l, "Latency: ")) {
        log->latency_ms = number_behind(l, "median = ");
        log->has_summary = true;
    } else if (begins(l, "GPU Compute Time: ")) {
        log->compute_ms = number_behind(l, "median = ");
        log->has_summary = true;
    } else if (begins(l, "Host Latency")) {
        *under = OF_LATENCY;
    } else if (begins(l, "Enqueue Time")) {
        *under = OF_ENQUEUE;
    } else if (begins(l, "GPU Compute")) {
        *under = OF_COMPUTE;
    } else if (begins(l, "median: ") && *under != NO_HEADING) {
        if (*under == OF_LATENCY)
            log->latency_ms = number_behind(l, "median: ");
        if (*under == OF_COMPUTE)
            log->compute_ms = number_behind(l, "median: ");
        log->has_summary = true;
    }
}

/* --- warnings and errors ---------------------------------------------------------------------- */

static const struct {
    const char *part;
    unsigned trust;
} warnings[] = {
    {"hroughput may be bound by Enqueue Time", QDQ_TRT_ENQUEUE_BOUND},
    {"GPU compute time is unstable", QDQ_TRT_UNSTABLE},
    {"bound by host-to-device", QDQ_TRT_TRANSFER_BOUND},
    {"bound by device-to-host", QDQ_TRT_TRANSFER_BOUND},
    {"CUDA graph capture failed", QDQ_TRT_NO_GRAPH},
    {"latency may not be accurate", QDQ_TRT_AUX_STREAMS},
    {"Failed to collect layer timing info from previous CUDA graph launch", QDQ_TRT_PROFILE_LOST},
    {"Automatically overriding shape to", QDQ_TRT_SHAPE_ASSUMED},
};

/* The first class whose words are found; within a run, the class that stands first in this table
 * wins. */
static const struct {
    const char *part;
    qdq_trt_failure failure;
} failures[] = {
    {"(out of memory)", QDQ_TRT_MEMORY},
    {"OutOfMemory", QDQ_TRT_MEMORY},
    {"Accuracy validation FAILED", QDQ_TRT_ACCURACY},
    {"Unknown option: ", QDQ_TRT_ARGUMENTS},
    {"Unknown profilingVerbosity: ", QDQ_TRT_ARGUMENTS},
    {"conversion failure: failed to parse", QDQ_TRT_ARGUMENTS},
    {"without --profile are not allowed", QDQ_TRT_ARGUMENTS},
    {"Incompatible load and save engine options selected", QDQ_TRT_ARGUMENTS},
    {"Model missing or format not recognized", QDQ_TRT_ARGUMENTS},
    {"Remote auto tuning is not supported", QDQ_TRT_ARGUMENTS},
    {"Safe runtime does not support", QDQ_TRT_ARGUMENTS},
    {"Could not find any implementation for node", QDQ_TRT_BUILDER},
    {"Static model does not take explicit shapes", QDQ_TRT_NETWORK},
    {"Invalid tensor names found in --shapes flag", QDQ_TRT_NETWORK},
    {"Cannot find input tensor with name", QDQ_TRT_NETWORK},
    {"Required optimization profile is invalid", QDQ_TRT_NETWORK},
    {"Error in set dimensions to profile", QDQ_TRT_NETWORK},
    {"Network creation failed", QDQ_TRT_NETWORK},
    {"Failed to parse onnx file", QDQ_TRT_PARSE},
    {"Parsing model failed", QDQ_TRT_PARSE},
    {"Saving engine to file failed", QDQ_TRT_OTHER}, /* a full disk says nothing about the model */
    {"Engine deserialization failed", QDQ_TRT_RUNTIME},
    {"Unable to create execution context", QDQ_TRT_RUNTIME},
    {"Inference set up failed", QDQ_TRT_RUNTIME},
    {"Error occurred during inference", QDQ_TRT_RUNTIME},
    {"Uncaught exception detected: ", QDQ_TRT_RUNTIME},
    {"Engine could not be created from network", QDQ_TRT_BUILDER},
    {"Failed to create engine from model or file", QDQ_TRT_PARSE},
    {"Engine set up failed", QDQ_TRT_PARSE},
};

const char *qdq_trt_failure_name(qdq_trt_failure f)
{
    switch (f) {
    case QDQ_TRT_FINE:
        return "fine";
    case QDQ_TRT_ARGUMENTS:
        return "arguments";
    case QDQ_TRT_PARSE:
        return "parse";
    case QDQ_TRT_NETWORK:
        return "network";
    case QDQ_TRT_BUILDER:
        return "builder";
    case QDQ_TRT_RUNTIME:
        return "runtime";
    case QDQ_TRT_ACCURACY:
        return "accuracy";
    case QDQ_TRT_MEMORY:
        return "memory";
    case QDQ_TRT_OTHER:
        return "other";
    }
    return "?";
}

/* The model's fault, not that of the environment. */
static bool is_infeasible(qdq_trt_failure f)
{
    return f == QDQ_TRT_PARSE || f == QDQ_TRT_BUILDER;
}

bool qdq_trt_is_machine_failure(const char *message)
{
    const char *at = strstr(message, "trtexec ");

    at = at != NULL ? strchr(at, '(') : NULL;
    for (int f = QDQ_TRT_ARGUMENTS; at != NULL && f <= QDQ_TRT_OTHER; f++) {
        const char *name = qdq_trt_failure_name((qdq_trt_failure)f);
        const size_t n = strlen(name);
        if (strncmp(at + 1, name, n) == 0 && at[1 + n] == ')')
            return !is_infeasible((qdq_trt_failure)f);
    }
    return false;
}

static void copy_line(const char *p, size_t n, char *to, size_t size)
{
    n = n < size - 1 ? n : size - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = iscntrl((unsigned char)p[i]) ? ' ' : p[i];
    to[n] = '\0';
}

static size_t rank_of(qdq_trt_failure f, const char *reason)
{
    for (size_t i = 0; i < QDQ_COUNT(failures); i++)
        if (failures[i].failure == f && strstr(reason, failures[i].part) != NULL)
            return i;
    return f == QDQ_TRT_FINE ? SIZE_MAX : QDQ_COUNT(failures);
}

static void read_unknown(qdq_trt_log *log, const line *l)
{
    static const char mark[] = "Unknown option: ";
    const char *p = find_in_line(l, mark);

    if (p == NULL || log->n_unknown == QDQ_TRT_MAX_UNKNOWN)
        return;
    p += sizeof mark - 1;
    size_t n = (size_t)(l->p + l->n - p), k = 0;
    while (k < n && p[k] != ' ') /* "--flag value": trtexec splits at '=' and prints both */
        k++;
    if (k > 0)
        copy_line(p, k, log->unknown[log->n_unknown++], sizeof log->unknown[0]);
}

static void read_failure(qdq_trt_log *log, const line *l)
{
    size_t now = rank_of(log->failure, log->reason);

    for (size_t i = 0; i < QDQ_COUNT(failures) && i < now; i++)
        if (find_in_line(l, failures[i].part) != NULL) {
            log->failure = failures[i].failure;
            copy_line(l->p, l->n, log->reason, sizeof log->reason);
            return;
        }
    if (log->failure == QDQ_TRT_FINE && (l->level == 'E' || l->level == 'F') && l->n > 0) {
        log->failure = QDQ_TRT_OTHER;
        copy_line(l->p, l->n, log->reason, sizeof log->reason);
    }
}

static void read_line(qdq_trt_log *log, const line *l, heading *under)
{
    if (begins(l, "&&&& ")) {
        read_banner_version(log, l);
        log->passed = log->passed || begins(l, "&&&& PASSED");
        log->failed = log->failed || begins(l, "&&&& FAILED");
        return; /* the command line stands behind it, and means nothing here */
    }
    read_dotted(log, l);
    read_summary(log, l, under);
    for (size_t i = 0; i < QDQ_COUNT(warnings); i++)
        if (find_in_line(l, warnings[i].part) != NULL)
            log->trust |= warnings[i].trust;
    if (find_in_line(l, "profiler") != NULL && find_in_line(l, "timing") != NULL &&
        find_in_line(l, "not reported") != NULL)
        log->profiler_attached = true;
    read_unknown(log, l);
    read_failure(log, l);
}

void qdq_trt_log_read(qdq_trt_log *log, const char *text, size_t size)
{
    heading under = NO_HEADING;

    for (const char *p = text, *end = text + size; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const line l = strip_head(p, (size_t)((stop != NULL ? stop : end) - p));

        read_line(log, &l, &under);
        p = stop != NULL ? stop + 1 : end;
    }
}

/* --- exported times --------------------------------------------------------------------------- */

qdq_status qdq_trt_times_parse(const char *text, size_t size, int major, int minor,
                               double warm_up_ms, qdq_arena *arena, double **out, size_t *n,
                               qdq_error *err)
{
    const qdq_tool_json *root;
    bool with_warm_up = major > 0 && (major < 8 || (major == 8 && minor <= 4));

    *out = NULL;
    *n = 0;
    qdq_status st = qdq_tool_json_parse(text, size, arena, &root, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "exported times");
    if (root->kind != QDQ_TOOL_LIST)
        return qdq_fail(err, QDQ_E_FORMAT, "exported times: expected a list");
    *out = qdq_arena_array(arena, root->n + 1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    for (const qdq_tool_json *q = root->first; q != NULL; q = q->next) {
        double ms = qdq_tool_json_number(q, "computeMs");
        double start = qdq_tool_json_number(q, "startComputeMs");

        if (isfinite(ms) && ms >= 0 && !(with_warm_up && start < warm_up_ms))
            (*out)[(*n)++] = ms;
    }
    if (*n == 0)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "exported times: none of %zu rows has a compute time 'computeMs'", root->n);
    return QDQ_OK;
}

/* --- help ------------------------------------------------------------------------------------- */

const char *const *qdq_trt_help_options(const char *text, size_t size, qdq_arena *arena, size_t *n)
{
    QDQ_VEC(const char *) list = {0};

    for (const char *p = text, *end = text + size; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const char *from = p;

        stop = stop != NULL ? stop : end;
        while (from < stop && *from == ' ')
            from++;
        const char *to = from + 2;
        while (to < stop && isalnum((unsigned char)*to))
            to++;
        if (from > p && stop - from > 2 && from[0] == '-' && from[1] == '-' && to > from + 2) {
            const char *name = qdq_arena_strndup(arena, from, (size_t)(to - from));
            if (name == NULL || !QDQ_PUSH(arena, &list, name))
                return NULL;
        }
        p = stop < end ? stop + 1 : end;
    }
    *n = list.n;
    return QDQ_PUSH(arena, &list, NULL) ? list.at : NULL;
}
