/* Layers of a goal in other formats than the target's and float: data that is quantized at run
 * time, more bits, smaller blocks. On ONNX Runtime, whose kernels these are. */
#include <math.h>

#include "support/build.h"
#include "support/goals.h"
#include "support/test.h"

static qdq_error err;

static void run(test_goal *s)
{
    assert_ok(test_goal_run(s, &err));
}

static void again(test_goal *s)
{
    test_goal_drop_outcome(s);
    run(s);
}

static size_t count_form(const qdq_goal_result *r, const char *form)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_layers; i++)
        n += r->layers[i].form != NULL && strcmp(r->layers[i].form, form) == 0;
    return n;
}

static size_t dynamic_of(const test_goal *s)
{
    return qdq_plan_get_summary(s->plan)->n_dynamic;
}

/* --- recurrent layers ------------------------------------------------------------------------- */

/* Small weights: gates that saturate are a switch, and lose everything with one step. */
static void add_weight(test_builder *b, const char *name, int64_t hidden)
{
    const int64_t dim[] = {1, 4 * hidden, hidden};
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_FLOAT, 3, dim, &data);

    assert_non_null(t);
    for (int64_t i = 0; i < t->count; i++)
        ((float *)data)[i] = 0.1F * sinf((float)(i * 7 + name[0]));
    assert_non_null(qdq_graph_add_init(b->g, name, t));
}

static qdq_model *lstm_of(int64_t hidden)
{
    test_builder b = test_build(17);
    const int64_t x[] = {8, 1, hidden, 0};

    test_input(&b, "x", x);
    add_weight(&b, "w", hidden);
    add_weight(&b, "r", hidden);
    qdq_node *n = TEST_NODE(&b, "LSTM", "y", "x", "w", "r");
    assert_true(qdq_node_set_int(n, "hidden_size", hidden));
    test_output(&b, "y");
    return test_built(&b);
}

TEST(an_lstm_gets_data_quantized_at_run_time_where_the_default_goal_holds)
{
    test_goal s = test_goal_begin_ort(lstm_of(64), "ort-cpu", "random:1");

    s.goal.by_default = true;
    run(&s);
    assert_true(s.r->reached && s.r->has_recurrent);
    assert_int_equal(s.r->n_steps, 1);
    assert_true(s.r->compared->worst_db > 20 && s.r->compared->worst_db < 100);
    assert_true(dynamic_of(&s) > 0);
    test_goal_end(&s);
}

TEST(an_lstm_stays_float_where_a_goal_would_be_missed_with_it)
{
    test_goal s = test_goal_begin_ort(lstm_of(64), "ort-cpu", "random:1");

    s.goal.min_sqnr = 90;
    run(&s);
    assert_true(s.r->reached && !s.r->has_recurrent);
    assert_int_equal(dynamic_of(&s), 0);
    assert_string_equal(s.r->why, "");
    test_goal_end(&s);
}

TEST(an_lstm_stays_float_where_one_format_is_wanted_or_nothing_is_asked)
{
    test_goal s = test_goal_begin_ort(lstm_of(64), "ort-cpu", "random:1");

    s.goal.by_default = true;
    s.goal.one_format = true;
    run(&s);
    assert_int_equal(dynamic_of(&s), 0);
    s.goal.one_format = s.goal.by_default = false; /* no goal at all */
    again(&s);
    assert_int_equal(dynamic_of(&s), 0);
    test_goal_end(&s);
}

TEST(a_small_lstm_and_one_that_users_exclude_stay_float)
{
    const char *const exclude[] = {"=y", NULL};
    test_goal s = test_goal_begin_ort(lstm_of(16), "ort-cpu", "random:1");

    s.goal.by_default = true;
    run(&s);
    assert_int_equal(dynamic_of(&s), 0);
    test_goal_end(&s);
    s = test_goal_begin_ort(lstm_of(64), "ort-cpu", "random:1");
    s.goal.by_default = true;
    s.opts.exclude = exclude;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->has_recurrent);
    assert_int_equal(dynamic_of(&s), 0);
    test_goal_end(&s);
}

TEST(a_target_without_such_a_form_or_with_overrides_leaves_an_lstm_float)
{
    static const char *const targets[] = {"openvino", "ort-cpu"};

    for (int i = 0; i < 2; i++) {
        test_goal s = test_goal_begin_ort(lstm_of(64), targets[i], "random:1");

        if (i == 1)
            assert_ok(qdq_target_set(s.target, "overrides",
                                     "[{\"op\": \"Conv\", \"weight\": {\"method\": \"mse\"}}]",
                                     &err));
        s.goal.by_default = true;
        run(&s);
        assert_int_equal(dynamic_of(&s), 0);
        test_goal_end(&s);
    }
}

/* --- products --------------------------------------------------------------------------------- */

enum { PRODUCTS = 4 };

static qdq_model *products(int64_t width)
{
    test_builder b = test_build(21);
    char name[20], weight[20], before[20] = "x";

    TEST_INPUT(&b, "x", 64, width);
    TEST_RANDOM(&b, "scale", width);
    for (int i = 0; i < PRODUCTS; i++) {
        snprintf(name, sizeof name, "m%d", i);
        snprintf(weight, sizeof weight, "w%d", i);
        TEST_RANDOM(&b, weight, width, width);
        TEST_NODE(&b, "MatMul", name, before, weight);
        snprintf(before, sizeof before, "t%d", i);
        TEST_NODE(&b, "LayerNormalization", before, name, "scale");
    }
    test_output(&b, before);
    return test_built(&b);
}

/* Scales that are powers of two waste range; those of run time fit. */
static test_goal begin_coarse(void)
{
    /* with 256 8 bits hardly save time on AVX2 */
    test_goal s = test_goal_begin_ort(products(768), "ort-cpu", "random:1");

    assert_ok(qdq_target_set(s.target, "activation.pow2", "true", &err));
    assert_ok(qdq_target_set(s.target, "activation.reduced", "true", &err));
    assert_ok(qdq_target_set(s.target, "stay_float", "[]", &err));
    return s;
}

TEST(layers_that_went_back_to_float_get_data_quantized_at_run_time)
{
    test_goal s = begin_coarse();

    s.goal.min_sqnr = 1;
    run(&s);
    s.goal.min_sqnr = s.r->steps[0].sqnr_db + 4;
    s.goal.one_format = true;
    again(&s);
    const size_t gone = test_goal_gone(s.r);
    assert_true(s.r->reached && gone > 0);
    assert_int_equal(count_form(s.r, "at run time") + dynamic_of(&s), 0);
    s.goal.one_format = false;
    again(&s);
    assert_true(s.r->reached);
    assert_true(count_form(s.r, "at run time") > 0);
    assert_true(test_goal_gone(s.r) < gone);
    assert_int_equal(dynamic_of(&s), count_form(s.r, "at run time"));
    for (size_t i = 0; i < s.r->n_layers; i++)
        assert_false(s.r->layers[i].is_float && s.r->layers[i].form != NULL);
    test_goal_end(&s);
}

/* What a clock decided is in the plan, and decides again. */
TEST(times_of_other_formats_are_recorded_and_give_the_same_plan)
{
    test_goal s = begin_coarse();
    char *text[2];

    s.goal.min_sqnr = 1;
    run(&s);
    s.goal.min_sqnr = s.r->steps[0].sqnr_db + 4;
    again(&s);
    assert_ok(qdq_plan_to_text(s.plan, &text[0], &err));
    assert_non_null(strstr(text[0], "\"other_trials\": "));
    assert_non_null(strstr(text[0], "\"other_us\": ["));
    qdq_plan *times = NULL;
    assert_ok(qdq_plan_parse(text[0], strlen(text[0]), "times", &times, &err));
    s.goal.times = times;
    again(&s);
    assert_ok(qdq_plan_to_text(s.plan, &text[1], &err));
    assert_string_equal(text[0], text[1]);
    qdq_plan_free(times);
    qdq_free(text[0]);
    qdq_free(text[1]);
    test_goal_end(&s);
}

TEST(trials_with_other_formats_count_as_evaluations)
{
    test_goal s = begin_coarse();

    s.goal.min_sqnr = 1;
    run(&s);
    s.goal.min_sqnr = s.r->steps[0].sqnr_db + 4;
    s.goal.max_evaluations = 3;
    again(&s);
    assert_true(s.r->n_steps <= 3);
    test_goal_end(&s);
}

/* --- weights in blocks ------------------------------------------------------------------------ */

TEST(weights_in_blocks_get_more_bits_where_four_are_too_few)
{
    test_goal s = test_goal_begin_ort(products(256), "ort-cpu-int4", "random:1");

    s.goal.min_sqnr = 1;
    run(&s);
    s.goal.min_sqnr = s.r->steps[0].sqnr_db + 6;
    s.goal.one_format = true;
    again(&s);
    const size_t gone = test_goal_gone(s.r);
    assert_true(gone > 0);
    s.goal.one_format = false;
    again(&s);
    assert_true(s.r->reached);
    assert_true(test_goal_gone(s.r) < gone);
    assert_true(count_form(s.r, "uint8, blocks of 32") + count_form(s.r, "uint4, blocks of 16") >
                0);
    test_goal_end(&s);
}

/* No layer may have 4 bits: that is no reason for a float model. */
TEST(a_goal_that_no_layer_in_four_bits_reaches_is_reached_in_eight)
{
    test_goal s = test_goal_begin_ort(products(256), "ort-cpu-int4", "random:1");

    s.goal.min_sqnr = 38;
    s.goal.one_format = true;
    run(&s);
    assert_false(s.r->reached);
    s.goal.one_format = false;
    again(&s);
    assert_true(s.r->reached);
    assert_true(s.r->compared->worst_db >= 38);
    assert_int_equal(count_form(s.r, "uint8, blocks of 32") +
                         count_form(s.r, "uint4, blocks of 16") + test_goal_gone(s.r),
                     PRODUCTS);
    test_goal_end(&s);
}

/* The default goal does not change a format that users chose. */
TEST(weights_in_blocks_keep_their_bits_under_the_default_goal)
{
    test_goal s = test_goal_begin_ort(products(256), "ort-cpu-int4", "random:1");

    s.goal.by_default = true;
    run(&s);
    assert_int_equal(s.r->n_layers, 0);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, PRODUCTS);
    test_goal_end(&s);
}
