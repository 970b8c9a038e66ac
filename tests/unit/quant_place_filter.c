/* quant_place_filter.c - which nodes a user lets run in 8 bits: by name, by regular expression, by
 * operator. */
#include "support/placed.h"

#include "support/test.h"

/* x -> c0 -> Relu r0 -> c1 -> Relu r1 -> MatMul m -> Add a of a constant */
static test_builder chain(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    TEST_RANDOM(&b, "m.w", 8, 160);
    TEST_NODE(&b, "MatMul", "m", "r1", "m.w");
    TEST_RANDOM(&b, "a.b", 160);
    TEST_NODE(&b, "Add", "a", "m", "a.b");
    test_output(&b, "a");
    return b;
}

typedef struct heard {
    char text[1000];
} heard;

static void hear(void *ctx, qdq_log_level level, const char *text)
{
    heard *h = ctx;

    assert_int_equal(level, QDQ_LOG_WARNING);
    assert_true(strlen(h->text) + strlen(text) + 2 < sizeof h->text);
    strcat(h->text, text);
    strcat(h->text, "\n");
}

/* The labels that run in 8 bits, and the warnings. */
static void expect(qdq_place_opts opts, const char *eight_bit, const char *warnings)
{
    heard h = {""};
    qdq_job job = QDQ_JOB_INIT;
    char have[200] = "";

    job.ctx = &h;
    job.log = hear;
    opts.job = &job;
    test_builder b = chain();
    test_placed p = test_place_with(&b, &opts);
    for (size_t i = 0; i < p.plan->quantized.n; i++) {
        strcat(have, i == 0 ? "" : " ");
        strcat(have, p.plan->quantized.at[i].node);
    }
    assert_string_equal(have, eight_bit);
    assert_string_equal(h.text, warnings);
    test_placed_free(p);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(without_a_wish_the_target_decides)
{
    expect((qdq_place_opts){0}, "c0 c1 m", "");
}

TEST(include_leaves_all_others_float)
{
    /* not m: a Q behind c1 would make ORT quantize that */
    expect((qdq_place_opts){.include = LIST("^c")}, "c0 c1", "");
    expect((qdq_place_opts){.include = LIST("^c0$", "^m$")}, "c0", "");
}

TEST(what_is_fused_goes_along_with_what_is_included)
{
    test_builder b = chain();
    qdq_place_opts opts = {.include = LIST("^c1$")};
    test_placed p = test_place_with(&b, &opts);

    assert_string_equal(p.text, "c0: x c0.w c0.b\n"
                                "r0: c0\n"
                                "c1: QDQ(r0) QW(c1.w) QB(c1.b)\n"
                                "r1: c1\n"
                                "m: QDQ(r1) m.w\n"
                                "a: m a.b\n");
    assert_string_equal(test_reason(p.plan, "c0"), "not included by the user");
    test_placed_free(p);
}

TEST(an_excluded_relu_is_not_fused)
{
    test_builder b = chain();
    qdq_place_opts opts = {.exclude_op_types = LIST("Relu")};
    test_placed p = test_place_with(&b, &opts);

    assert_non_null(strstr(p.text, "r0: QDQ(c0)\n"));
    assert_string_equal(test_reason(p.plan, "r0"), "operator excluded by the user");
    test_placed_free(p);
}

TEST(an_excluded_bias_stays_float)
{
    test_builder b = chain();
    qdq_place_opts opts = {.exclude = LIST("^a$")};
    test_placed p = test_place_with(&b, &opts);

    assert_non_null(strstr(p.text, "a: m a.b\n"));
    assert_string_equal(test_reason(p.plan, "a"), "excluded by the user");
    test_placed_free(p);
}

TEST(include_and_exclude_together)
{
    expect((qdq_place_opts){.include = LIST("c"), .exclude = LIST("0")}, "c1", "");
    expect((qdq_place_opts){.include = LIST("c"), .op_types = LIST("MatMul")}, "", "");
}

TEST(operators_are_left_out_by_type)
{
    expect((qdq_place_opts){.exclude_op_types = LIST("Conv")}, "m", "");
    expect((qdq_place_opts){.op_types = LIST("Conv")}, "c0 c1", "");
}

/* A regular expression is found anywhere; '=' in front takes the rest as a whole name. */
TEST(a_name_is_exact_behind_an_equals_sign)
{
    expect((qdq_place_opts){.include = LIST("=c1")}, "c1", "");
    expect((qdq_place_opts){.exclude = LIST("1")}, "c0", "");
    expect((qdq_place_opts){.exclude = LIST("=1")}, "c0 c1 m",
           "name '=1' matches no node that is left after cleaning\n");
    expect((qdq_place_opts){.exclude = LIST("=(")}, "c0 c1 m",
           "name '=(' matches no node that is left after cleaning\n");
}

TEST(what_fits_nothing_is_told_and_capitals_are_suggested)
{
    expect((qdq_place_opts){.exclude = LIST("^C0", "=M", "^x$")}, "c0 c1 m",
           "regular expression '^C0' matches no node that is left after cleaning: capitals count, "
           "and there "
           "is a node 'c0'\n"
           "name '=M' matches no node that is left after cleaning: capitals count, and there is a "
           "node 'm'\n"
           "regular expression '^x$' matches no node that is left after cleaning\n");
    expect((qdq_place_opts){.op_types = LIST("conv", "Gemm")}, "",
           "op-types: the cleaned model has no 'conv', did you mean 'Conv'?\n"
           "op-types: the cleaned model has no 'Gemm'\n");
    expect((qdq_place_opts){.exclude_op_types = LIST("matmul")}, "c0 c1 m",
           "exclude-op-types: the cleaned model has no 'matmul', did you mean 'MatMul'?\n");
}

TEST(a_regular_expression_that_is_none_is_refused_in_include_too)
{
    test_builder b = chain();
    qdq_place_opts opts = {.include = LIST("a{")};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();
    qdq_model *m = test_built(&b);

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_fails(QDQ_E_USAGE, "regular expression 'a{'", qdq_place(m, t, &opts, plan, &err));
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(every_wish_is_told_to_who_asks_why)
{
    qdq_why why = {.about = "c0"};
    test_builder b = chain();
    qdq_place_opts opts = {.include = LIST("1"), .exclude = LIST("^c0$"), .why = &why};
    test_placed p = test_place_with(&b, &opts);

    assert_true(why.notes.n >= 2);
    assert_string_equal(why.notes.at[0].rule, "include");
    assert_string_equal(why.notes.at[0].verdict, "not included by the user: it stays float");
    assert_string_equal(why.notes.at[1].rule, "exclude");
    assert_true(why.notes.at[1].holds);
    for (size_t i = 0; i < why.notes.n; i++)
        assert_string_equal(why.notes.at[i].node, "c0"); /* r0 reads a tensor of that name */
    assert_string_equal(test_reason(p.plan, "c0"), "excluded by the user");
    qdq_why_clear(&why);
    test_placed_free(p);
}
