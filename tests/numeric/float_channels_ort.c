/* float_channels_ort.c - data with few channels that are far larger than all others, on ONNX
 * Runtime: a goal that one range for all of them misses is reached with these channels in float. */
#include "numeric/products_setting.h"

static void add_neg(test_builder *b)
{
    TEST_NODE(b, "Neg", "n", "x");
}

/* Channels 5 and 40 are `large`. */
static test_goal set_up(float large, bool other_reader)
{
    static float x[VALUES];
    qdq_random r = qdq_random_new(7, NULL);

    for (size_t i = 0; i < VALUES; i++)
        x[i] = (i % IN == 5 || i % IN == 40 ? large : 1) * qdq_random_normal(&r);
    return set_up_products(x, add_neg, other_reader);
}

static double db_with(test_goal *s, qdq_float_channels when)
{
    s->opts.float_channels = when;
    return quantized_db(s);
}

TEST(channels_in_float_leave_finer_steps_to_the_others)
{
    test_goal s = set_up(40, false);
    const double without = db_with(&s, QDQ_FLOAT_CHANNELS_OFF);
    qdq_model *again = NULL;

    assert_int_equal(s.plan->float_channels.n, 0);
    test_goal_drop_outcome(&s);
    assert_true(db_with(&s, QDQ_FLOAT_CHANNELS_ON) > without + 20);
    assert_int_equal(s.plan->float_channels.n, 1);
    assert_int_equal(s.plan->float_channels.at[0].consumers.n, 2);
    assert_int_equal(s.plan->float_channels.at[0].n_channels, 2);
    assert_int_equal(s.plan->float_channels.at[0].channels[1], 40);
    assert_true(s.plan->tensors.at[0].qparam.scale < 0.1f);
    assert_ok(qdq_plan_apply(s.plan, s.m, false, NULL, &again, &err));
    qdq_model_free(again);
    test_goal_end(&s);
}

TEST(quantizing_again_adds_nothing_to_float_channels)
{
    test_goal s = set_up(40, false);
    qdq_plan *p = NULL;

    (void)db_with(&s, QDQ_FLOAT_CHANNELS_ON);
    assert_ok(qdq_quantize(s.out, s.target, s.engine, s.data, &s.opts, &p, NULL, &err));
    assert_int_equal(p->tensors.n + p->weights.n + p->float_channels.n, 0);
    qdq_plan_free(p);
    test_goal_end(&s);
}

TEST(a_goal_is_reached_by_channels_in_float_before_layers_go_back)
{
    test_goal s = set_up(40, false);

    s.goal.folds = 4;
    s.goal.min_sqnr = 28;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached && s.r->has_float_channels);
    assert_int_equal(s.r->n_steps, 1);
    assert_true(s.r->float_channels_db > s.r->all_channels_db + 15);
    assert_int_equal(s.plan->float_channels.n, 1);
    test_goal_drop_outcome(&s);
    s.opts.float_channels = QDQ_FLOAT_CHANNELS_OFF;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->has_float_channels);
    assert_int_equal(s.plan->float_channels.n, 0);
    test_goal_end(&s);
}

TEST(data_without_such_channels_stays_in_8_bits)
{
    test_goal s = set_up(1, false);

    (void)db_with(&s, QDQ_FLOAT_CHANNELS_ON);
    assert_int_equal(s.plan->float_channels.n, 0);
    test_goal_end(&s);
}

/* The Relu reads the float tensor: what the products leave out is theirs alone. */
TEST(other_readers_keep_all_channels)
{
    test_goal s = set_up(40, true);

    assert_true(db_with(&s, QDQ_FLOAT_CHANNELS_ON) > 30);
    assert_int_equal(s.plan->float_channels.n, 1);
    test_goal_end(&s);
}

TEST(random_input_shows_no_channels)
{
    test_goal s = set_up(40, false);

    qdq_data_close(s.data);
    s.data = NULL;
    s.opts.float_channels = QDQ_FLOAT_CHANNELS_ON;
    assert_ok(qdq_quantize(s.m, s.target, s.engine, NULL, &s.opts, &s.plan, &s.out, &err));
    assert_int_equal(s.plan->float_channels.n, 0);
    test_goal_end(&s);
}
