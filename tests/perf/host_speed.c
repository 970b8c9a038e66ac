/* host_speed.c - what a host costs a search: candidates of 1 MB that are new each time, built by a
 * lab on this machine and over a link. */

#include <sys/resource.h>

#include "base/buf.h"
#include "support/lab_setting.h"

enum { CANDIDATES = 31, WEIGHTS = 256 * 1024 };

/* A model with 1 MB of weights that no other one has. */
static void write_candidate(unsigned number)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    char name[40];

    qdq_buf_puts(&text, "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                        "g (float[1,512] x) => (float[1,512] y) <float[512,512] w = {");
    for (size_t i = 0; i < WEIGHTS; i++)
        qdq_buf_printf(&text, "%s%u", i > 0 ? "," : "", (unsigned)(number * 7919 + i % 1000));
    qdq_buf_puts(&text, "}>\n{ [mm] t = MatMul(x, w)\n [relu] y = Relu(t) }\n");
    assert_false(text.failed);
    snprintf(name, sizeof name, "c%u.onnx", number);
    (void)save(name, text.data);
    qdq_buf_free(&text);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Median of the time to build one, in ms. */
static double build_all(qdq_worker_client *worker_client)
{
    double ms[CANDIDATES];

    for (unsigned i = 0; i < CANDIDATES; i++) {
        const char *path = test_path("c%u.onnx", i);
        const double start = qdq_clock_seconds();
        const int handle = test_worker_client_build(worker_client, path);

        ms[i] = (qdq_clock_seconds() - start) * 1e3;
        qdq_worker_client_drop(worker_client, handle);
    }
    qsort(ms, CANDIDATES, sizeof *ms, by_value);
    return ms[CANDIDATES / 2];
}

/* Of this process and of those that have ended: other programs make no difference to it. */
static double cpu_ms(void)
{
    struct rusage own, ended;

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &ended);
    return 1e3 * (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + ended.ru_utime.tv_sec +
                          ended.ru_stime.tv_sec) +
           1e-3 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + ended.ru_utime.tv_usec +
                           ended.ru_stime.tv_usec);
}

/* Builds all in a worker client of its own: medians of the clock, and the mean of the processor's
 * time. */
static double build_on(const char *host, double *median)
{
    qdq_engine_opts o = QDQ_ENGINE_OPTS_INIT;
    const double start = cpu_ms();

    o.host = host;
    qdq_worker_client *worker_client =
        open_worker_client("", (qdq_worker_client_opts){.engine_opts = &o});
    *median = build_all(worker_client);
    close_worker_client(worker_client);
    return (cpu_ms() - start) / CANDIDATES;
}

TEST(a_candidate_of_a_megabyte_costs_milliseconds_more_on_a_host)
{
    char host[2000];
    double here, there, known;

    for (unsigned i = 0; i < CANDIDATES; i++)
        write_candidate(i);
    snprintf(host, sizeof host, "exec:%s --serve --cache-dir %s/cache", WORKER, test_dir());
    const double cpu_here = build_on(NULL, &here), cpu_there = build_on(host, &there),
                 cpu_known = build_on(host, &known);
    print_message("%d candidates, processor's time and median: here %.1f and %.1f ms, host %.1f "
                  "and %.1f ms, files there already %.1f and %.1f ms\n",
                  (int)CANDIDATES, cpu_here, here, cpu_there, there, cpu_known, known);
    assert_true(test_is_sanitized() || cpu_there - cpu_here <= 20);
}
