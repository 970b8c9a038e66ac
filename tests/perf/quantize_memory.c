/* quantize_memory.c - of a model in one file, no more is in memory than the weight at hand, and
 * with GPTQ the matrices that --memory allows. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "qdq/model.h"
#include "qdq/quant.h"
#include "support/build.h"
#include "support/test.h"

enum { LAYERS = 16, WIDTH = 1024 }; /* 64 MiB of weights */

static void write_model(const char *path)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    test_builder b = test_build(21);
    char weight[20], before[20] = "x", after[20];

    TEST_INPUT(&b, "x", 1, WIDTH);
    for (int i = 0; i < LAYERS; i++) {
        snprintf(weight, sizeof weight, "weight%d",
                 i); /* a name of any length: bytes lie anywhere */
        snprintf(after, sizeof after, "y%d", i);
        TEST_RANDOM(&b, weight, WIDTH, WIDTH);
        TEST_NODE(&b, "MatMul", after, before, weight);
        memcpy(before, after, sizeof before);
    }
    test_output(&b, before);
    qdq_model *m = test_built(&b);
    opts.external = QDQ_EXTERNAL_NEVER;
    assert_ok(qdq_model_save(m, path, &opts, &err));
    qdq_model_free(m);
}

/* In a process of its own: what it needs is not counted here. */
static void write_model_elsewhere(const char *path)
{
    const pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        write_model(path);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

TEST(weights_in_one_file_are_quantized_one_at_a_time)
{
    const char *path = test_path("model.onnx");
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL, *q = NULL;
    qdq_plan *plan = NULL;
    qdq_target *t = NULL;
    qdq_engine *e = NULL;
    struct rusage usage;

    write_model_elsewhere(path);
    opts.external = QDQ_EXTERNAL_NEVER;
    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, &err));
    assert_ok(qdq_target_load("int4", &t, &err));
    assert_ok(qdq_target_set(t, "weight.type", "int8", &err));
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    assert_ok(qdq_quantize(m, t, e, NULL, NULL, &plan, &q, &err));
    assert_ok(qdq_model_save(q, test_path("quantized.onnx"), &opts, &err));
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > 40 * 1024)
        fail_msg("%ld KiB of memory", usage.ru_maxrss);
    assert_non_null(qdq_graph_find(q->graph, "weight15_quantized"));
    qdq_plan_free(plan);
    qdq_model_free(q);
    qdq_model_free(m);
    qdq_target_free(t);
    qdq_engine_close(e);
}

static qdq_data *some_rows(const qdq_model *m)
{
    enum { SAMPLES = 4 };
    static float rows[SAMPLES * WIDTH];
    qdq_named_array x = {"x", {QDQ_FLOAT, 2, {SAMPLES, WIDTH}, rows, sizeof rows}};
    qdq_random r = qdq_random_new(3, "rows");
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data *d = NULL;

    for (size_t i = 0; i < QDQ_COUNT(rows); i++)
        rows[i] = qdq_random_normal(&r);
    assert_ok(qdq_data_from_arrays(&x, 1, m, NULL, &d, &err));
    return d;
}

/* Two of the Hessians at once, which take 6 MiB each, as one does beside its factor. */
TEST(gptq_holds_a_weight_at_a_time_and_the_matrices_that_memory_allows)
{
    const char *path = test_path("gptq.onnx");
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL, *q = NULL;
    qdq_plan *plan = NULL;
    qdq_target *t = NULL;
    qdq_engine *e = NULL;
    struct rusage usage;

    write_model_elsewhere(path);
    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, &err));
    assert_ok(qdq_target_load("int4", &t, &err));
    assert_ok(qdq_target_set(t, "weight.method", "gptq", &err));
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    qdq_data *d = some_rows(m);
    opts.memory = 20 << 20;
    assert_ok(qdq_quantize(m, t, e, d, &opts, &plan, &q, &err));
    assert_int_equal(qdq_plan_get_summary(plan)->n_rounded, LAYERS);
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > 56 * 1024)
        fail_msg("%ld KiB of memory", usage.ru_maxrss);
    qdq_plan_free(plan);
    qdq_model_free(q);
    qdq_model_free(m);
    qdq_data_close(d);
    qdq_target_free(t);
    qdq_engine_close(e);
}
