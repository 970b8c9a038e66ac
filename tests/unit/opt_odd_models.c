/* opt_odd_models.c - sound but odd models come through every pass and pipeline sound
 * (support/survive.h): of every opset, deep and long ones, and what takes no memory. Others are in
 * text/odd and text/default. */
#include <sys/resource.h>

#include "base/buf.h"
#include "support/build.h"
#include "support/survive.h"
#include "support/test.h"
#include "support/text_case.h"

/* --- every version ---------------------------------------------------------------------------- */

TEST(every_opset_comes_through_every_pass)
{
    for (int opset = 7; opset <= 22; opset++) {
        char text[1500], name[32];

        snprintf(name, sizeof name, "opset %d", opset);
        snprintf(
            text, sizeof text,
            "<ir_version: %d, opset_import: [\"\" : %d]>\n"
            "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}, float[2] "
            "b = {0, "
            "0},\n"
            "  float[2] s = {1, 2}, float[2] v = {0.5, 0.25}, int64[4] shape = {1, 2, 4, 4}, "
            "float[2] two = "
            "{2, 2}> {\n"
            "  a = Identity(x) c = Conv(a, w, b) d = BatchNormalization(c, s, b, b, v) e = "
            "Relu(d)\n"
            "  f = Relu(e) g1 = Dropout(f) h = Shape(g1) i = Cast <to = 7> (h) k = Reshape(g1, i)\n"
            "  l = Transpose <perm = [0, 1, 3, 2]> (k) m = Transpose <perm = [0, 1, 3, 2]> (l)\n"
            "  n = Reshape(m, shape) o = Mul(two, two) p = Softmax <axis = 1> (o) q = Add(n, n) y "
            "= Abs(q) }",
            opset < 9 ? 3 : 8, opset);
        qdq_model *m = test_model(text);
        test_survives_all(m, name);
        qdq_model_free(m);
    }
}

/* --- depth and length ------------------------------------------------------------------------- */

/* If in If, `depth` deep: the innermost reads x of the main graph; conditions are all known, or
 * none is. */
static qdq_model *nested(int depth, bool known)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_puts(
        &text,
        "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[2] x, bool c) => (float[2] y0) "
        "<bool yes = {1}> {\n");
    for (int i = 0; i < depth; i++)
        qdq_buf_printf(&text, "y%d = If <then_branch = t%d () => (float[2] y%d) {\n", i, i, i + 1);
    qdq_buf_printf(&text, "i = Identity(x) y%d = Neg(i)\n", depth);
    for (int i = depth; i-- > 0;)
        qdq_buf_printf(&text, "}, else_branch = e%d () => (float[2] n%d) { n%d = Abs(x) }> (%s)\n",
                       i, i, i, known ? "yes" : "c");
    qdq_buf_puts(&text, "}\n");
    assert_false(text.failed);
    qdq_model *m = test_model(text.data);
    qdq_buf_free(&text);
    return m;
}

TEST(graphs_as_deep_as_readers_take_them_are_cleaned)
{
    qdq_model *m = nested(63, false);

    test_survives_all(m, "63 deep");
    qdq_model_free(m);
    m = nested(63, true);
    test_survives_all(m, "63 deep, known");
    qdq_optimize_report_free(test_optimize_twice(m, "63 deep, known", "default", NULL));
    test_assert_text(m, test_graph_text(__func__));
    qdq_model_free(m);
}

/* Names of values that are read `n` deep are looked up, walked and renamed without recursion. */
TEST(a_chain_as_long_as_a_list_of_nodes_may_be_is_cleaned)
{
    enum { N = 20000 };
    static const char *const ops[] = {"Identity", "Relu", "Neg", "Abs"};
    test_builder b = test_build(17);
    char name[32], before[32] = "x";

    TEST_INPUT(&b, "x", 2, 2);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "v%d", i);
        TEST_NODE(&b, ops[i % 4], name, before);
        memcpy(before, name, sizeof name);
    }
    test_output(&b, before);
    test_survives(b.m, "a long chain", "default", NULL);
    qdq_model_free(b.m);
}

/* --- limits ----------------------------------------------------------------------------------- */

static bool has_reason(const qdq_optimize_report *r, const char *reason)
{
    for (size_t i = 0; i < r->n_passes; i++)
        for (size_t k = 0; k < r->passes[i].n_refusals; k++)
            if (strstr(r->passes[i].refusals[k].reason, reason) != NULL)
                return true;
    return false;
}

static void assert_refuses_what_is_huge(void *ctx, const text_case *odd)
{
    qdq_model *m = test_model(odd->before);
    qdq_optimize_report *r = test_optimize_twice(m, odd->before, "default", NULL);

    (void)ctx;
    if (!has_reason(r, "larger than the limit") && !has_reason(r, "above the limit") &&
        !has_reason(r, "than can be counted") && !has_reason(r, "the file would become larger"))
        fail_msg("%s: no limit is in the report", odd->before);
    assert_true(r->bytes_after <= r->bytes_before + 4096);
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

TEST(huge_results_are_refused_with_a_reason_and_without_memory)
{
    static const char *const names[] = {"huge_fills", "huge_copies", "scales_of_huge_tensors",
                                        "a_tensor_that_is_doubled_forty_times"};
    struct rusage before, after;

    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        char file[100];

        snprintf(file, sizeof file, "odd/%s.txt", names[i]);
        text_each(file, assert_refuses_what_is_huge, NULL);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 * 1024); /* KiB */
}
