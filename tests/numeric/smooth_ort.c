/* smooth_ort.c - data whose channels differ, on ONNX Runtime: divided by one number per channel,
 * with the weights multiplied, products in 8 bits lose less. */
#include "numeric/products_setting.h"
#include "qdq/pass.h"

static float large_gain;

static void add_norm(test_builder *b)
{
    const int64_t dim = IN;
    void *gain;
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_FLOAT, 1, &dim, &gain);

    assert_non_null(t);
    for (size_t i = 0; i < IN; i++)
        ((float *)gain)[i] = i % 32 == 5 ? large_gain : 1;
    assert_non_null(qdq_graph_add_init(b->m->graph, "g", t));
    TEST_NODE(b, "LayerNormalization", "n", "x", "g");
}

/* Normalized data; two of 64 gains are `large`. */
static test_goal set_up(float large, bool other_reader)
{
    static float x[VALUES];
    qdq_random r = qdq_random_new(7, NULL);

    for (size_t i = 0; i < VALUES; i++)
        x[i] = (float)qdq_random_uniform(&r) - 0.5f; /* little is clipped */
    large_gain = large;
    test_goal s = set_up_products(x, add_norm, other_reader);
    s.opts.float_channels = QDQ_FLOAT_CHANNELS_OFF;
    return s;
}

static double db_with(test_goal *s, qdq_smooth when)
{
    s->opts.smooth = when;
    return quantized_db(s);
}

static const float *scales_of(const test_goal *s)
{
    assert_int_equal(s->plan->smoothings.n, 1);
    assert_string_equal(s->plan->smoothings.at[0].tensor, "n");
    assert_int_equal(s->plan->smoothings.at[0].n_scales, IN);
    return s->plan->smoothings.at[0].scales;
}

TEST(channels_that_differ_are_smoothed)
{
    test_goal s = set_up(20, false);
    const double without = db_with(&s, QDQ_SMOOTH_OFF);
    char *text[2];
    qdq_model *again = NULL;
    qdq_plan *p = NULL;

    assert_int_equal(s.plan->smoothings.n, 0);
    test_goal_drop_outcome(&s);
    const double with = db_with(&s, QDQ_SMOOTH_ON);
    if (!(with > without + 1))
        fail_msg("%.2f dB, without %.2f", with, without);
    const float *scales = scales_of(&s);
    assert_true(scales[5] > 2 * scales[0] && scales[37] > 2 * scales[2]);
    assert_ok(qdq_plan_to_text(s.plan, &text[0], &err)); /* the plan alone gives the same bytes */
    assert_ok(qdq_plan_parse(text[0], strlen(text[0]), "plan", &p, &err));
    assert_ok(qdq_plan_apply(p, s.m, false, NULL, &again, &err));
    qdq_free(text[0]);
    text[0] = test_text_of(s.out);
    text[1] = test_text_of(again);
    assert_string_equal(text[0], text[1]);
    qdq_free(text[0]);
    qdq_free(text[1]);
    qdq_plan_free(p);
    qdq_model_free(again);
    test_goal_end(&s);
}

TEST(quantizing_again_smooths_nothing)
{
    test_goal s = set_up(20, false);
    qdq_plan *p = NULL;

    (void)db_with(&s, QDQ_SMOOTH_ON);
    assert_ok(qdq_quantize(s.out, s.target, s.engine, s.data, &s.opts, &p, NULL, &err));
    assert_int_equal(p->tensors.n + p->weights.n + p->smoothings.n, 0);
    qdq_plan_free(p);
    test_goal_end(&s);
}

TEST(channels_that_are_alike_are_not)
{
    test_goal s = set_up(1, false);

    (void)db_with(&s, QDQ_SMOOTH_ON);
    assert_int_equal(s.plan->smoothings.n, 0);
    test_goal_end(&s);
}

TEST(another_consumer_speaks_against_it)
{
    test_goal s = set_up(20, true);
    size_t n;
    const qdq_why_note *notes;
    bool has_reason = false;

    s.opts.why = qdq_why_new("p");
    assert_non_null(s.opts.why);
    (void)db_with(&s, QDQ_SMOOTH_ON);
    assert_int_equal(s.plan->smoothings.n, 0);
    notes = qdq_why_notes(s.opts.why, &n);
    for (size_t i = 0; i < n; i++)
        has_reason |= strcmp(notes[i].rule, "smooth") == 0 && !notes[i].holds;
    assert_true(has_reason);
    qdq_why_free(s.opts.why);
    test_goal_end(&s);
}

TEST(samples_of_random_numbers_and_ranges_from_a_file_smooth_nothing)
{
    test_goal s = set_up(20, false);

    s.opts.smooth = QDQ_SMOOTH_ON;
    assert_ok(qdq_quantize(s.m, s.target, s.engine, NULL, &s.opts, &s.plan, &s.out, &err));
    assert_int_equal(s.plan->smoothings.n, 0);
    const char *ranges = test_path("ranges.json");
    assert_ok(qdq_plan_save_ranges(s.plan, ranges, true, &err));
    s.opts.cache = ranges;
    qdq_plan *p = NULL;
    assert_fails(QDQ_E_USAGE, "ranges of the model as it is, but smoothing changes them",
                 qdq_quantize(s.m, s.target, s.engine, s.data, &s.opts, &p, NULL, &err));
    test_goal_end(&s);
}

/* One sample has no other to be held out for it. */
TEST(one_sample_smooths_too)
{
    test_goal s = set_up(20, false);

    s.opts.samples = 1;
    (void)db_with(&s, QDQ_SMOOTH_ON);
    (void)scales_of(&s);
    test_goal_end(&s);
}

TEST(a_goal_is_reached_by_smoothing_before_layers_go_back)
{
    test_goal s = set_up(20, false);

    s.goal.folds = 4;
    s.goal.min_sqnr = 60; /* out of reach */
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->is_smoothed && s.r->smoothed_db > s.r->unsmoothed_db + 0.5);
    assert_int_equal(s.plan->smoothings.n, 1);
    test_goal_drop_outcome(&s);
    s.opts.smooth = QDQ_SMOOTH_OFF;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->is_smoothed);
    assert_int_equal(s.plan->smoothings.n, 0);
    test_goal_drop_outcome(&s);
    s.opts.smooth = QDQ_SMOOTH_ON;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->is_smoothed); /* not as a variant */
    assert_int_equal(s.plan->smoothings.n, 1);
    test_goal_end(&s);
}
