/* opt_rules.c - rules on graphs that are too large for a file of tests/text. */
#include "ir/ir.h"
#include "support/rewrite.h"

/* --- pool-before-relu ------------------------------------------------------------------------- */

static const char pass[] = "pool-before-relu";

/* w of n numbers, all 1 */
static void expect_size(const char *dims, int n, bool taken)
{
    char text[1200];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "g (float[1,C,8,8] x) => (float[] y) <float[%s,1,1] w = {1", dims);

    for (int i = 1; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ", 1");
    snprintf(text + at, sizeof text - at,
             "}> {\n  c = Conv(x, w) r = Relu(c) y = MaxPool<kernel_shape = [2, 2]>(r)\n}\n");
    if (!taken) {
        assert_refused(pass, text, "more than 64 output channels or sums of more than 27");
        return;
    }
    qdq_model *m = test_model(text);
    qdq_error err = QDQ_ERROR_INIT;
    assert_ok(qdq_model_run_passes(m, pass, &err));
    assert_int_equal(qdq_graph_find(m->graph, "y")->producer->op, QDQ_OP_RELU);
    qdq_model_free(m);
}

static void sizes_are_those_of_the_rule_of_the_target(void **state)
{
    (void)state;
    expect_size("64,1", 64, true);
    expect_size("65,1", 65, false);
    expect_size("1,27", 27, true);
    expect_size("1,28", 28, false);
}

/* --- merge-concats ---------------------------------------------------------------------------- */

static void a_long_chain_of_concats_ends_at_a_bound(void **state)
{
    enum { N = 3000 };
    qdq_error err = QDQ_ERROR_INIT;
    char *text = malloc(N * 60 + 200);
    size_t used;

    (void)state;
    assert_non_null(text);
    used = (size_t)sprintf(text, "g (float[1] x) => (float[?] y) {\n  t0 = Neg(x)\n");
    for (int i = 1; i < N; i++)
        used += (size_t)sprintf(text + used, "  t%d = Concat <axis = 0> (t%d, x)\n", i, i - 1);
    sprintf(text + used, "  y = Neg(t%d)\n}\n", N - 1);
    qdq_model *m = test_model(text);
    free(text);
    assert_ok(qdq_model_run_passes(m, "merge-concats", &err));
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_of_the_rule_of_the_target),
        cmocka_unit_test(a_long_chain_of_concats_ends_at_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
