/* lab_setting.h - models in float and in 8 bits, and a worker client on the sim engine. */
#ifndef QDQ_LAB_SETTING_H
#define QDQ_LAB_SETTING_H

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "support/labs.h"
#include "support/test.h"
#include "tune/worker_client/worker_client.h"

static qdq_error err;

static inline const char *float_text(void)
{
    return test_graph_text("float_text");
}

static inline const char *int8_text(void)
{
    return test_graph_text("int8_text");
}

#define WORKER QDQ_BUILD_DIR "/qdq-worker"

#define COSTS                                                                                      \
    "\"overhead_us\": 10, \"default\": {\"float_us\": 2}, \"convert\": {\"float_us\": 5}, "        \
    "\"error\": 0.01,"                                                                             \
    "\"ops\": {\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true,"  \
    "\"epilogue\": [\"Relu\"]}}"

/* The path of a model file; static storage, as test_path(). */
static inline const char *save(const char *name, const char *text)
{
    const char *path = test_path("%s", name);

    test_save(test_model(text), path);
    return path;
}

static inline const char *float_model(void)
{
    return save("float.onnx", float_text());
}

static inline const char *int8_model(void)
{
    return save("int8.onnx", int8_text());
}

static inline void count_warnings(void *ctx, qdq_log_level level, const char *text)
{
    unsigned *n = ctx;

    *n += level <= QDQ_LOG_WARNING;
    print_message("%s\n", text);
}

static unsigned warnings;
static qdq_job job = {.size = sizeof(qdq_job), .ctx = &warnings, .log = count_warnings};

/* `more`: further keys of the cost model, with a comma in front. */
static inline qdq_worker_client *open_worker_client(const char *more, qdq_worker_client_opts opts)
{
    char json[2000];
    qdq_worker_client *worker_client = NULL;

    snprintf(json, sizeof json, "{\"qdq_sim\": 1, " COSTS "%s}", more);
    opts.engine = test_sim_spec(json);
    opts.worker = opts.worker != NULL ? opts.worker : WORKER;
    opts.job = opts.job != NULL ? opts.job : &job;
    assert_ok(qdq_worker_client_open(&opts, &worker_client, &err));
    return worker_client;
}

/* The worker frees all it had: under the leak checker it would complain otherwise. */
static inline void close_worker_client(qdq_worker_client *worker_client)
{
    warnings = 0;
    qdq_worker_client_close(worker_client);
    assert_int_equal(warnings, 0);
}

static inline void assert_outcome(const qdq_remote_outcome *outcome, qdq_remote_end end,
                                  const char *part)
{
    if (outcome->end != end || strstr(outcome->text, part) == NULL)
        fail_msg("want %s with '%s', got %s: %s", qdq_remote_end_name(end), part,
                 qdq_remote_end_name(outcome->end), outcome->text);
}

/* Where the 8-bit Conv runs, this happens; the float model goes on. */
static inline void assert_pair_is_fine(qdq_worker_client *worker_client, int a)
{
    qdq_remote_outcome outcome;
    double a_ns, b_ns;

    assert_ok(qdq_worker_client_pair(worker_client, a, a, false, 0, &a_ns, &b_ns, &outcome, &err));
    assert_outcome(&outcome, QDQ_REMOTE_FINE, "");
    assert_true(a_ns > 0 && b_ns > 0);
}

#endif /* QDQ_LAB_SETTING_H */
