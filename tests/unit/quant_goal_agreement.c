/* A goal about the argmax of rows: which outputs count, and what is no such goal. On ONNX
 * Runtime. */
#include <math.h>

#include "ir/shape.h"
#include "quant/goal/goal_outputs.h"
#include "support/build.h"
#include "support/goals.h"
#include "support/test.h"

static qdq_error err;

enum { LAYERS = 3 };

/* Logits [4, 4, columns]: no numbers of theirs say that they are scores. */
static qdq_model *classifier(int64_t columns)
{
    test_builder b = test_build(21);
    char name[20], weight[20], before[20] = "x";

    TEST_INPUT(&b, "x", 4, 4, 64);
    for (int i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "m%d", i);
        snprintf(weight, sizeof weight, "w%d", i);
        TEST_RANDOM(&b, weight, 64, i + 1 < LAYERS ? 64 : columns);
        TEST_NODE(&b, "MatMul", name, before, weight);
        snprintf(before, sizeof before, "t%d", i);
        TEST_NODE(&b, i + 1 < LAYERS ? "Tanh" : "Neg", before, name);
    }
    test_output(&b, before);
    return test_built(&b);
}

static test_goal begin(int64_t columns)
{
    test_goal s = test_goal_begin_ort(classifier(columns), "ort-cpu", "random:1");

    assert_ok(qdq_target_set(s.target, "stay_float", "[]", &err));
    assert_ok(qdq_target_set(s.target, "activation.reduced", "true", &err));
    assert_ok(qdq_target_set(s.target, "activation.pow2", "true", &err));
    s.goal.one_format = true;
    return s;
}

TEST(layers_go_until_rows_agree)
{
    test_goal s = begin(64);

    s.goal.min_agreement = 0.01;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached && s.r->n_steps == 1);
    const double all = s.r->compared->outputs[0].top1;
    assert_true(all > 0.01 && all < 1);
    test_goal_drop_outcome(&s);

    s.goal.min_agreement = all + (1 - all) / 4;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached && s.r->n_steps > 1);
    assert_true(test_goal_gone(s.r) > 0 && test_goal_gone(s.r) < LAYERS);
    assert_true(s.r->compared->outputs[0].top1 >= s.goal.min_agreement);
    test_goal_end(&s);
}

TEST(an_agreement_that_is_missed_is_told)
{
    test_goal s = begin(64);

    s.goal.min_agreement = 1;
    s.goal.max_evaluations = 1;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    assert_non_null(strstr(s.r->why, "of its rows have float's argmax, expected at least 1"));
    test_goal_end(&s);
}

TEST(one_column_is_no_row_of_scores)
{
    test_goal s = begin(1);

    s.goal.min_agreement = 0.9;
    assert_fails(QDQ_E_USAGE, "output 't2' has no rows of two numbers or more",
                 test_goal_run(&s, &err));
    test_goal_end(&s);
}

TEST(an_agreement_is_a_fraction)
{
    static const double wrong[] = {-0.1, 1.01, (double)NAN};

    for (int i = 0; i < 3; i++) {
        test_goal s = begin(8);

        s.goal.min_agreement = wrong[i];
        assert_fails(QDQ_E_USAGE, "expected 0 to 1", test_goal_run(&s, &err));
        test_goal_end(&s);
    }
}

/* Without being asked, rows of rank 3 that add up to nothing are no scores. */
TEST(rows_count_as_scores_only_where_that_is_asked)
{
    test_goal s = begin(64);

    s.goal.min_sqnr = 1;
    assert_ok(test_goal_run(&s, &err));
    assert_true(isnan(s.r->compared->outputs[0].top1));
    test_goal_end(&s);
}

/* Ten images of 200 classes, by a comparison that was made by hand. */
TEST(by_default_ties_count_as_agreement_and_other_rows_do_not)
{
    test_builder b = test_build(21);
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_compare_tensor t = {.name = "y",
                            .sqnr_db = 30,
                            .worst_db = 30,
                            .bound_db = 29,
                            .elements = 2000,
                            .top1 = 0.6,
                            .top1_close = 0.9};
    const qdq_compare_result r = {.outputs = &t, .n_outputs = 1};
    char text[200];

    TEST_INPUT(&b, "x", 10, 200);
    TEST_NODE(&b, "Neg", "y", "x");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_model_infer(m, NULL, &err));
    goal.by_default = true;
    assert_null(qdq_goal_read_outputs(m, &r, &goal).disagreeing);

    t.top1_close = 0.8;
    qdq_goal_outputs o = qdq_goal_read_outputs(m, &r, &goal);
    assert_ptr_equal(o.disagreeing, &t);
    qdq_goal_rows_text(&goal, o.disagreeing->name, o.agreement, "float's", text, sizeof text);
    assert_string_equal(text, "output 'y': 0.8000 of its rows have float's argmax or a tie, "
                              "expected at least 0.95");

    goal.by_default = false;
    goal.min_agreement = 0.7;
    o = qdq_goal_read_outputs(m, &r, &goal);
    qdq_goal_rows_text(&goal, o.disagreeing->name, o.agreement, "float's", text, sizeof text);
    assert_string_equal(
        text, "output 'y': 0.6000 of its rows have float's argmax, expected at least 0.7");
    qdq_model_free(m);
}
