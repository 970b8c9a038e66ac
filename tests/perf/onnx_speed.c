/* onnx_speed.c - time and memory of large models. The limits leave room for a slow, shared machine:
 * what is promised (docs/benchmarks.md) is measured by `make bench`; here falls what became several
 * times slower. */
#include "support/test.h"

#include "ir/graph_check.h"

#include <sys/resource.h>

static qdq_error err;

/* First, while the program has used little memory. */
TEST(four_gigabytes_of_weights_are_not_read)
{
    const char *path = test_generated(8000, "--weights-gb 4");
    qdq_model *m = NULL;
    struct rusage usage;
    double start = test_cpu_seconds();

    assert_ok(qdq_model_load(path, NULL, &m, &err));
    assert_true(test_cpu_seconds() - start < 0.5);
    assert_ok(qdq_model_verify(m, &err));
    assert_int_equal(m->graph->inits.n, 2000);
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > 32 * 1024)
        fail_msg("%ld KiB of memory", usage.ru_maxrss);
    qdq_model_free(m);
}

/* Seconds for load + verify + save. */
static double copy_time(long nodes)
{
    const char *path = test_generated(nodes, "");
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_model *m = NULL;
    double start = test_cpu_seconds();

    opts.allow_overwrite = true;
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    assert_ok(qdq_model_verify(m, &err));
    assert_ok(qdq_model_save(m, test_path("copy.onnx"), &opts, &err));
    start = test_cpu_seconds() - start;
    assert_int_equal(m->graph->n_node, nodes);
    qdq_model_free(m);
    return start;
}

TEST(hundred_thousand_nodes_are_copied_in_no_time)
{
    double seconds = copy_time(100000);

    printf("100000 nodes: %.3f s\n", seconds);
    assert_true(seconds < 2.5);
}

TEST(time_per_node_does_not_grow)
{
    double small = 0, large = copy_time(200000);

    for (int i = 0; i < 10; i++)
        small += copy_time(2000);
    printf("200000 nodes: %.2f us each, 2000: %.2f us each\n", large * 5, small * 50);
    assert_true(large / 200000 < 8 * small / 20000);
}
