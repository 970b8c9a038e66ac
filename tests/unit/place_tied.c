/* place_tied.c - operands and result of a Concat in 8 bits share one scale on ort-cpu: the codes
 * are copied. Which do shows in the groups of the plan's tensors. */
#include "quant/place/why.h"
#include "support/placed.h"
#include "support/test.h"

#define CONCAT(b, name, ...)                                                                       \
    assert_true(qdq_node_set_int(TEST_NODE((b), "Concat", (name), __VA_ARGS__), "axis", 1))

static test_builder begin(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "a", "x", 32, 32, 3, 1);
    test_conv(&b, "b", "x", 32, 32, 3, 1);
    return b;
}

/* The group of tensor `name`; "" is none. */
static const char *group_of(const qdq_plan *p, const char *name)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (strcmp(p->tensors.at[i].tensor, name) == 0)
            return p->tensors.at[i].group != NULL ? p->tensors.at[i].group : "";
    fail_msg("the plan has no tensor '%s'", name);
    return "";
}

/* groups: pairs of a tensor and the group that it is in, ending with NULL. */
static void expect_groups(test_builder *b, const char *const *groups)
{
    test_placed p = test_place(b);

    for (; *groups != NULL; groups += 2)
        assert_string_equal(group_of(p.plan, groups[0]), groups[1]);
    test_placed_free(p);
}
#define EXPECT_GROUPS(b, ...) expect_groups((b), (const char *const[]){__VA_ARGS__, NULL})

TEST(operands_and_result_share_a_scale)
{
    test_builder b = begin();

    CONCAT(&b, "cc", "a", "b");
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_output(&b, "c");
    EXPECT_GROUPS(&b, "a", "a", "b", "a", "cc", "a", "x", "", "c", "");
}

TEST(chained_concats_are_one_group)
{
    test_builder b = begin();

    CONCAT(&b, "cc", "a", "b");
    test_conv(&b, "d", "x", 32, 32, 3, 1);
    CONCAT(&b, "ce", "d", "cc");
    test_conv(&b, "c", "ce", 32, 96, 3, 1);
    test_output(&b, "c");
    EXPECT_GROUPS(&b, "a", "a", "b", "a", "cc", "a", "d", "a", "ce", "a", "c", "");
}

TEST(two_concats_apart_are_two_groups)
{
    test_builder b = begin();

    CONCAT(&b, "cc", "a", "b");
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_conv(&b, "d", "cc", 32, 64, 3, 1);
    CONCAT(&b, "ce", "c", "d");
    test_conv(&b, "e", "ce", 32, 64, 3, 1);
    test_output(&b, "e");
    EXPECT_GROUPS(&b, "a", "a", "cc", "a", "c", "c", "d", "c", "ce", "c");
}

/* As in DenseNet: tied, all layers of a block would have the widest range. */
TEST(what_others_read_too_keeps_its_scale)
{
    test_builder b = begin();

    CONCAT(&b, "cc", "a", "b");
    test_conv(&b, "d", "cc", 32, 64, 3, 1);
    CONCAT(&b, "ce", "cc", "d");
    test_conv(&b, "c", "ce", 32, 96, 3, 1);
    test_output(&b, "c");
    EXPECT_GROUPS(&b, "a", "a", "b", "a", "cc", "a", "d", "d", "ce", "d");
}

TEST(a_graph_output_keeps_its_scale_as_an_operand_but_not_as_the_result)
{
    test_builder b = begin();

    CONCAT(&b, "cc", "a", "b");
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_output(&b, "b");
    test_output(&b, "cc");
    test_output(&b, "c");
    EXPECT_GROUPS(&b, "a", "a", "cc", "a", "b", "");
}

/* x -> MaxPool -> Concat: the pool's codes are those in front of it. */
static test_builder pooled(const char *other)
{
    test_builder b = begin();
    const int64_t three[2] = {3, 3}, pads[4] = {1, 1, 1, 1};
    qdq_node *pool = TEST_NODE(&b, "MaxPool", "mp", "a");

    assert_true(qdq_node_set_ints(pool, "kernel_shape", three, 2) &&
                qdq_node_set_ints(pool, "pads", pads, 4));
    CONCAT(&b, "cc", "mp", other);
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_output(&b, "c");
    return b;
}

TEST(what_moves_codes_is_looked_through)
{
    test_builder b = pooled("b"), both = pooled("a");

    EXPECT_GROUPS(&b, "a", "a", "mp", "a", "b", "a", "cc", "a");
    /* both of its readers lead to the Concat */
    EXPECT_GROUPS(&both, "a", "a", "mp", "a", "cc", "a");
}

TEST(what_is_read_behind_a_mover_keeps_its_scale)
{
    test_builder b = pooled("b");

    test_conv(&b, "d", "mp", 32, 32, 3, 1);
    test_output(&b, "d");
    EXPECT_GROUPS(&b, "a", "", "mp", "", "b", "b", "cc", "b");
}

TEST(a_shared_and_a_constant_operand)
{
    test_builder b = begin();

    TEST_RANDOM(&b, "k", 1, 32, 8, 8);
    CONCAT(&b, "cc", "a", "k", "x");
    test_conv(&b, "c", "cc", 32, 96, 3, 1);
    test_output(&b, "c");
    EXPECT_GROUPS(&b, "a", "a", "k", "a", "cc", "a", "x", ""); /* x is what two Conv read */
}

TEST(a_concat_that_stays_float_ties_nothing)
{
    test_builder b = begin();

    CONCAT(&b, "cc", "a", "b");
    TEST_NODE(&b, "Softmax", "sm", "cc");
    test_output(&b, "sm");
    EXPECT_GROUPS(&b, "a", "", "b", "");
}

TEST(scales_of_the_model_stay)
{
    test_builder b = begin(), result = begin();

    test_qdq(&b, "b", QDQ_UINT8, 0.5F, 3);
    CONCAT(&b, "cc", "a", "b.dq");
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_output(&b, "c");
    EXPECT_GROUPS(&b, "a", "a", "cc", "a");
    CONCAT(&result, "cc", "a", "b");
    test_qdq(&result, "cc", QDQ_UINT8, 0.5F, 3);
    test_conv(&result, "c", "cc.dq", 32, 64, 3, 1);
    test_output(&result, "c");
    EXPECT_GROUPS(&result, "a", "", "b", "");
}

static void expect_no_group(const char *key, const char *value)
{
    test_builder b = begin();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();

    CONCAT(&b, "cc", "a", "b");
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_output(&b, "c");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, key, value, &err));
    assert_ok(qdq_place(m, t, NULL, plan, &err));
    assert_string_equal(group_of(plan, "cc"), "");
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(not_where_the_target_does_not_say_so_and_not_in_16_bits)
{
    expect_no_group(
        "operators",
        "[{\"op\": \"Conv\", \"kind\": \"linear\", \"axis\": \"0\", \"output\": \"quantized\","
        " \"rule\": \"c\"}, {\"op\": \"Concat\", \"kind\": \"joint\", \"output\": \"quantized\","
        " \"rule\": \"j\"}]");
    expect_no_group("activation.type", "uint16");
}

TEST(the_rule_says_what_it_tied)
{
    test_builder b = begin();
    qdq_place_opts opts = {.why = qdq_why_new("cc")};
    size_t n, tied = 0;

    CONCAT(&b, "cc", "a", "x");
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_output(&b, "b");
    test_output(&b, "c");
    test_placed p = test_place_with(&b, &opts);
    const qdq_why_note *note = qdq_why_notes(opts.why, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(note[i].rule, "tied") != 0)
            continue;
        tied += note[i].holds;
        assert_non_null(strstr(note[i].verdict, note[i].holds ? "'a' and 'cc' share one scale"
                                                              : "'x' is not only read here"));
    }
    assert_int_equal(tied, 1);
    test_placed_free(p);
    qdq_why_free(opts.why);
}
