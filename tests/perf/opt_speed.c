/* opt_speed.c - time to optimize large models: linear in nodes, whether they stand side by side or
 * in one chain. The limits leave room for a slow, shared machine: what is promised
 * (docs/benchmarks.md) is measured by `make bench`; here falls what became several times slower, or
 * no longer linear. */
#include "base/buf.h"
#include "support/test.h"

static qdq_error err;

static const char *generate(const char *kind, long nodes)
{
    char command[9000];
    const char *path = test_path("%s_%ld.onnx", kind, nodes);

    snprintf(command, sizeof command, "'%s/tests/gen_fold' %s %ld '%s'", QDQ_BUILD_DIR, kind, nodes,
             path);
    assert_int_equal(system(command), 0);
    return path;
}

/* Seconds for load + optimize + save; at most one node in `left` may be left. */
static double optimize_time(const char *kind, long nodes, double left)
{
    const char *path = generate(kind, nodes);
    qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
    qdq_optimize_report *r = NULL;
    qdq_model *m = NULL;
    double start = test_cpu_seconds();

    so.allow_overwrite = true;
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    assert_ok(qdq_model_optimize(m, NULL, &r, &err));
    assert_ok(qdq_model_save(m, test_path("optimized.onnx"), &so, &err));
    start = test_cpu_seconds() - start;
    assert_true(r->settled);
    assert_in_range(r->nodes_before, nodes, nodes + 20);
    if ((double)r->nodes_after > left * (double)nodes)
        fail_msg("%s: %zu of %zu nodes are left", kind, r->nodes_after, r->nodes_before);
    qdq_optimize_report_free(r);
    qdq_model_free(m);
    return start;
}

TEST(hundred_thousand_nodes_of_arithmetic_take_no_second)
{
    double seconds = optimize_time("arithmetic", 100000, 0.22);

    printf("100000 nodes of arithmetic: %.3f s\n", seconds);
    assert_true(seconds < 3);
}

TEST(a_chain_five_thousand_deep_takes_no_second)
{
    double seconds = optimize_time("shapes", 5000, 0.001);

    printf("5000 nodes in a chain: %.4f s\n", seconds);
    assert_true(seconds < 3);
}

TEST(time_per_node_does_not_grow)
{
    static const char *const kinds[] = {"arithmetic", "shapes"};

    for (size_t k = 0; k < QDQ_COUNT(kinds); k++) {
        double small = 0, large = optimize_time(kinds[k], 100000, 0.22);

        for (int i = 0; i < 5; i++)
            small += optimize_time(kinds[k], 5000, 0.22);
        printf("%s: 100000 nodes %.2f us each, 5000 nodes %.2f us each\n", kinds[k], large * 10,
               small * 40);
        assert_true(large / 100000 < 6 * small / 25000);
    }
}

static void unequal_to_all(qdq_buf *text, int i)
{
    qdq_buf_printf(text, "b%d = LeakyRelu <alpha: float = nan> (a0) a%d = Add(a%d, b%d)\n", i, i,
                   i - 1, i);
}

static void one_part_more(qdq_buf *text, int i)
{
    qdq_buf_printf(text, "a%d = Concat <axis = 1> (a%d, a0)\n", i, i - 1);
}

/* Seconds to optimize what `put` makes of 1 to `count`: a1 from a0, and so on. */
static double lines_time(void (*put)(qdq_buf *text, int i), int count)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(
        &text, "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,4] a0) => (a%d) {\n", count);
    for (int i = 1; i <= count; i++)
        put(&text, i);
    qdq_buf_puts(&text, "}\n");
    char *all = qdq_buf_take(&text);
    assert_non_null(all);
    qdq_model *m = test_model(all);
    double start = test_cpu_seconds();
    assert_ok(qdq_model_optimize(m, NULL, NULL, &err));
    start = test_cpu_seconds() - start;
    qdq_model_free(m);
    free(all);
    return start;
}

/* Nodes that hash alike and are not equal, and lists that every step makes longer. */
TEST(what_invites_to_look_at_all_takes_no_second)
{
    double nan_time = lines_time(unequal_to_all, 30000),
           concat_time = lines_time(one_part_more, 30000);

    printf("30000 times NaN %.3f s, Concat in Concat %.3f s\n", nan_time, concat_time);
    assert_true(nan_time < 2 && concat_time < 2);
}
