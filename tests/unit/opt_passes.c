/* opt_passes.c - pipelines, and passes on graphs that a file of tests/text cannot hold. */
#include "ir/ir.h"
#include "support/build.h"
#include "support/test.h"

/* --- pipelines -------------------------------------------------------------------------------- */

TEST(every_pass_of_the_default_pipeline_is_listed_with_help)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *name, *help;
    char *all;
    size_t found = 0, steps = 1;

    assert_ok(qdq_pass_pipeline("default", NULL, &all, &err));
    for (size_t i = 0; (name = qdq_pass_name(i, &help)) != NULL; i++) {
        assert_true(help[0] != '\0');
        found += strstr(all, name) != NULL;
    }
    for (const char *at = all; *at != '\0'; at++)
        steps += *at == ',';
    assert_true(steps >= 5 && found >= steps);
    qdq_free(all);
}

TEST(pipelines_have_groups_arguments_and_exceptions)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text;

    assert_ok(qdq_pass_pipeline("default,-fold-batchnorm,inline-functions:a+b", NULL, &text, &err));
    assert_null(strstr(text, "fold-batchnorm"));
    assert_true(strncmp(text, "inline-functions:a+b,lift-constants", 35) == 0); /* where it stood */
    qdq_free(text);
    assert_ok(qdq_pass_pipeline("quantize-bias:int32,drop-unused,quantize-bias:float,drop-unused",
                                NULL, &text, &err));
    /* the last word counts */
    assert_string_equal(text, "quantize-bias:float,drop-unused,drop-unused");
    qdq_free(text);
    assert_ok(
        qdq_pass_pipeline("lift-constants,fold-constants,drop-unused,fold-constants:no=Neg+input=7",
                          NULL, &text, &err));
    assert_string_equal(text, "lift-constants,fold-constants:no=Neg+input=7,drop-unused");
    qdq_free(text);
    assert_fails(QDQ_E_USAGE, "pipeline: 'nothing' is not a pass",
                 qdq_pass_pipeline("-nothing", NULL, &text, &err));
    assert_null(text);
}

TEST(fold_weight_quantize_is_off_in_default_and_on_before_placement)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    assert_ok(qdq_pass_pipeline("default", NULL, &text, &err));
    assert_null(strstr(text, "fold-weight-quantize"));
    qdq_free(text);
    assert_ok(qdq_pass_pipeline("quantize", NULL, &text, &err));
    assert_non_null(strstr(text, "fold-weight-quantize"));
    qdq_free(text);
}

/* --- large graphs ----------------------------------------------------------------------------- */

/* Two constants of 1 MiB and four bytes, and two of 1 MiB. */
TEST(large_constants_are_left_unread)
{
    for (int all = 0; all < 2; all++) {
        test_builder b = test_build(17);
        qdq_error err = QDQ_ERROR_INIT;
        uint64_t seed = b.seed;

        TEST_INPUT(&b, "x", 1);
        TEST_RANDOM(&b, "large", (1 << 18) + 1);
        b.seed = seed;
        TEST_RANDOM(&b, "large2", (1 << 18) + 1);
        b.seed = seed;
        TEST_RANDOM(&b, "small", 1 << 18);
        b.seed = seed;
        TEST_RANDOM(&b, "small2", 1 << 18);
        TEST_NODE(&b, "Sum", "y", "x", "large", "large2");
        TEST_NODE(&b, "Sum", "z", "x", "small", "small2");
        test_output(&b, "y");
        test_output(&b, "z");
        qdq_model *m = test_built(&b);
        assert_ok(
            qdq_model_run_passes(m, all ? "share-initializers:all" : "share-initializers", &err));
        assert_null(qdq_graph_find(m->graph, "small2"));
        assert_true((qdq_graph_find(m->graph, "large2") == NULL) == (all != 0));
        qdq_model_free(m);
    }
}

/* 60 Ifs inside each other: each is copied out once for every one around it, and no more. */
TEST(deeply_nested_branches_come_up)
{
    enum { DEEP = 60 };
    static char text[DEEP * 400];
    size_t n = 0;
    qdq_error err = QDQ_ERROR_INIT;

    n += (size_t)snprintf(text + n, sizeof text - n,
                          "g (float[2] x) => (float[2] y0) <"
                          "bool c = {1}"
                          "> {\n");
    for (int i = 0; i < DEEP; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "t%d = Neg(x) y%d = If <else_branch = e () => (float[2] b) { b = Abs(t%d) },"
            " then_branch = p () => (float[2] y%d) {\n",
            i, i, i, i + 1);
    n += (size_t)snprintf(text + n, sizeof text - n, "y%d = Exp(x)", DEEP);
    for (int i = 0; i < DEEP; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "}> (c)");
    snprintf(text + n, sizeof text - n, "}");
    qdq_model *m = test_model(text);
    assert_ok(qdq_model_run_passes(m, "inline-if,drop-unused", &err));
    test_assert_text(m, test_graph_text(__func__));
    qdq_model_free(m);
}

TEST(a_long_chain_of_concats_ends_at_a_bound)
{
    enum { N = 3000 };
    qdq_error err = QDQ_ERROR_INIT;
    char *text = malloc(N * 60 + 200);
    size_t used;

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
