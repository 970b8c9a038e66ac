/* calibrate_ort.c - calibration of plans made for the test: cuts into runs, groups, tensors without
 * values, caches. */
#include <math.h>

#include "numeric/ort_help.h"
#include "quant/calib/calib.h"
#include "quant/calib/scales.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/placed.h"

/* Three Conv behind each other. */
static qdq_model *chain(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 4, 8, 8);
    test_conv(&b, "c0", "x", 8, 4, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 8, 8, 3, 1);
    TEST_NODE(&b, "Sigmoid", "s1", "c1");
    test_conv(&b, "c2", "s1", 8, 8, 3, 1);
    test_output(&b, "c2");
    return test_built(&b);
}

typedef struct wanted {
    const char *tensor, *group;
} wanted;

static qdq_plan *plan_of(const wanted *w, size_t n, qdq_elem type)
{
    qdq_plan *p = qdq_plan_new();

    assert_non_null(p);
    for (size_t i = 0; i < n; i++) {
        qdq_plan_tensor t = {
            .tensor = w[i].tensor, .group = w[i].group, .all = true, .rule = "", .origin = "rule"};
        t.qparam.type = type;
        assert_true(QDQ_PUSH(&p->arena, &p->tensors, t));
    }
    return p;
}

static qdq_target *target_of(bool symmetric)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = test_target("ort-cpu");

    if (symmetric) {
        assert_ok(qdq_target_set(t, "activation.type", "int8", &err));
        assert_ok(qdq_target_set(t, "activation.symmetric", "true", &err));
    }
    return t;
}

static void calibrate_in_folds(const qdq_target *t, qdq_engine *e, const qdq_model *m,
                               const qdq_quantize_opts *opts, unsigned folds, qdq_plan *p,
                               qdq_calib_names *empty)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    dopts.max_samples = 10;
    assert_ok(qdq_data_open("random:4", m, &dopts, &d, &err));
    const qdq_quantizing q = {m, t, e, d, .opts = opts, .plan = p, .basis = {.folds = folds}};
    assert_ok(qdq_calibrate(&q, empty, &err));
    qdq_data_close(d);
}

static void calibrate_for(const qdq_target *t, qdq_engine *e, const qdq_model *m,
                          const qdq_quantize_opts *opts, qdq_plan *p, qdq_calib_names *empty)
{
    calibrate_in_folds(t, e, m, opts, 0, p, empty);
}

static void calibrate(qdq_engine *e, const qdq_model *m, const qdq_quantize_opts *opts,
                      bool symmetric, qdq_plan *p, qdq_calib_names *empty)
{
    qdq_target *t = target_of(symmetric);

    calibrate_for(t, e, m, opts, p, empty);
    qdq_target_free(t);
}

/* One tensor at a time, or all at once: the same scales by every method. */
TEST(the_bound_on_memory_changes_no_scale)
{
    static const wanted all[] = {{"x", NULL},  {"c0", NULL}, {"r0", NULL},
                                 {"c1", NULL}, {"s1", NULL}, {"c2", NULL}};
    static const uint64_t bounds[] = {0, 3000, 1};
    qdq_engine *e = need_ort();

    qdq_model *m = chain();
    for (int method = QDQ_METHOD_MAX; method <= QDQ_METHOD_AUTO; method++) {
        qdq_plan *p[3];

        for (size_t k = 0; k < 3; k++) {
            qdq_quantize_opts opts = {.method = (qdq_method)method, .memory = bounds[k]};
            qdq_calib_names empty = {0};

            p[k] = plan_of(all, 6, QDQ_UINT8);
            calibrate(e, m, &opts, false, p[k], &empty);
            assert_int_equal(empty.n, 0);
            for (size_t i = 0; i < 6; i++) {
                assert_true(p[k]->tensors.at[i].qparam.scale == p[0]->tensors.at[i].qparam.scale);
                assert_int_equal(p[k]->tensors.at[i].qparam.zero_point,
                                 p[0]->tensors.at[i].qparam.zero_point);
                assert_true(p[k]->tensors.at[i].qparam.scale > 0);
            }
        }
        for (size_t k = 0; k < 3; k++)
            qdq_plan_free(p[k]);
    }
    qdq_model_free(m);
}

/* Through the engine: the widest member decides for all, and nobody else's scale changes. */
TEST(a_group_shares_the_scale_of_its_widest_member)
{
    static const wanted apart[] = {{"r0", NULL}, {"s1", NULL}, {"c2", NULL}};
    static const wanted tied[] = {{"r0", "g"}, {"s1", "g"}, {"c2", NULL}};
    qdq_engine *e = need_ort();
    qdq_quantize_opts opts = {.method = QDQ_METHOD_MAX};
    qdq_calib_names empty = {0};

    qdq_model *m = chain();
    qdq_plan *a = plan_of(apart, 3, QDQ_INT8), *b = plan_of(tied, 3, QDQ_INT8);
    calibrate(e, m, &opts, true, a, &empty);
    calibrate(e, m, &opts, true, b, &empty);
    float widest = fmaxf(a->tensors.at[0].qparam.scale, a->tensors.at[1].qparam.scale);
    assert_true(a->tensors.at[0].qparam.scale != a->tensors.at[1].qparam.scale);
    assert_true(b->tensors.at[0].qparam.scale == widest && b->tensors.at[1].qparam.scale == widest);
    assert_true(a->tensors.at[2].qparam.scale == b->tensors.at[2].qparam.scale);
    qdq_plan_free(a);
    qdq_plan_free(b);
    qdq_model_free(m);
}

/* A Relu's output in int16, which one reader wants in uint8: that range has no negative half. */
TEST(codes_of_two_types_on_one_tensor_have_ranges_of_their_own)
{
    static const wanted twice[] = {{"r0", NULL}, {"r0", NULL}}, once[] = {{"r0", NULL}};
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;

    qdq_model *m = chain();
    for (int method = QDQ_METHOD_MAX; method <= QDQ_METHOD_AUTO; method++) {
        qdq_quantize_opts opts = {.method = (qdq_method)method};
        qdq_calib_names empty = {0};
        qdq_plan *both = plan_of(twice, 2, QDQ_INT16), *alone = plan_of(once, 1, QDQ_UINT8);
        qdq_target *t = target_of(false);

        both->tensors.at[1].qparam.type = QDQ_UINT8;
        assert_ok(qdq_target_set(
            t, "overrides",
            "[{\"op\": \"Relu\", \"activation\": {\"type\": \"int16\", \"symmetric\": true}}]",
            &err));
        calibrate_for(t, e, m, &opts, both, &empty);
        calibrate(e, m, &opts, false, alone, &empty);
        assert_int_equal(both->tensors.at[1].qparam.zero_point, 0);
        assert_true(both->tensors.at[1].qparam.scale == alone->tensors.at[0].qparam.scale);
        assert_true(both->tensors.at[0].qparam.scale < both->tensors.at[1].qparam.scale / 50);
        qdq_plan_free(both);
        qdq_plan_free(alone);
        qdq_target_free(t);
    }
    qdq_model_free(m);
}

/* Relu and Sigmoid give nothing below 0; x and the Conv between them do. */
TEST(what_is_never_negative_has_unsigned_codes_where_the_target_says_so)
{
    static const wanted all[] = {{"x", NULL}, {"r0", NULL}, {"s1", NULL}, {"c1", NULL}};
    static const wanted once[] = {{"r0", NULL}};
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;

    qdq_model *m = chain();
    qdq_target *signs = target_of(true);
    assert_ok(qdq_target_set(signs, "activation.unsigned_if_non_negative", "true", &err));
    for (int method = QDQ_METHOD_MAX; method <= QDQ_METHOD_AUTO; method++) {
        qdq_quantize_opts opts = {.method = (qdq_method)method};
        qdq_calib_names empty = {0};
        qdq_plan *p = plan_of(all, 4, QDQ_INT8), *plain = plan_of(all, 4, QDQ_INT8),
                 *u = plan_of(once, 1, QDQ_UINT8);

        calibrate_for(signs, e, m, &opts, p, &empty);
        calibrate(e, m, &opts, true, plain, &empty);
        calibrate(e, m, &opts, false, u, &empty);
        for (size_t i = 0; i < 4; i++) {
            bool positive = i == 1 || i == 2;

            assert_int_equal(p->tensors.at[i].qparam.type, positive ? QDQ_UINT8 : QDQ_INT8);
            assert_int_equal(p->tensors.at[i].qparam.zero_point, 0);
            assert_int_equal(plain->tensors.at[i].qparam.type, QDQ_INT8);
            assert_true(positive ||
                        p->tensors.at[i].qparam.scale == plain->tensors.at[i].qparam.scale);
        }
        assert_true(p->tensors.at[1].qparam.scale == u->tensors.at[0].qparam.scale);
        qdq_plan_free(p);
        qdq_plan_free(plain);
        qdq_plan_free(u);
    }
    qdq_target_free(signs);
    qdq_model_free(m);
}

/* One member below 0 is enough; and what was kept serves the next plan, asked for as before. */
TEST(a_group_has_unsigned_codes_if_no_member_is_negative)
{
    static const wanted tied[] = {{"r0", "g"}, {"s1", "g"}, {"c1", "h"}, {"c2", "h"}};
    static const wanted mixed[] = {{"r0", "g"}, {"c1", "g"}};
    qdq_engine *e = need_ort();
    qdq_quantize_opts opts = {.method = QDQ_METHOD_MAX};
    qdq_calib_names empty = {0};
    qdq_scales known = {0};
    qdq_error err = QDQ_ERROR_INIT;

    qdq_model *m = chain();
    qdq_target *signs = target_of(true);
    assert_ok(qdq_target_set(signs, "activation.unsigned_if_non_negative", "true", &err));
    qdq_plan *a = plan_of(tied, 4, QDQ_INT8), *b = plan_of(mixed, 2, QDQ_INT8),
             *again = plan_of(tied, 4, QDQ_INT8);
    calibrate_for(signs, e, m, &opts, a, &empty);
    calibrate_for(signs, e, m, &opts, b, &empty);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(a->tensors.at[i].qparam.type, i < 2 ? QDQ_UINT8 : QDQ_INT8);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(b->tensors.at[i].qparam.type, QDQ_INT8);
    assert_ok(qdq_scales_keep(&known, a, &err));
    assert_ok(qdq_scales_give(&known, again, &err));
    for (size_t i = 0; i < 4; i++) {
        assert_true(again->tensors.at[i].known);
        assert_int_equal(again->tensors.at[i].qparam.type, a->tensors.at[i].qparam.type);
        assert_true(again->tensors.at[i].qparam.scale == a->tensors.at[i].qparam.scale);
    }
    qdq_scales_free(&known);
    qdq_plan_free(a);
    qdq_plan_free(b);
    qdq_plan_free(again);
    qdq_target_free(signs);
    qdq_model_free(m);
}

TEST(tiny_ranges_are_widened_where_the_target_says_so)
{
    static const wanted w[] = {{"s1", NULL}}; /* a Sigmoid's, within [0, 1] */
    qdq_engine *e = need_ort();
    qdq_quantize_opts opts = {.method = QDQ_METHOD_MAX};
    qdq_calib_names empty = {0};
    qdq_error err = QDQ_ERROR_INIT;

    qdq_model *m = chain();
    qdq_target *t = target_of(false);
    qdq_plan *wide = plan_of(w, 1, QDQ_UINT8), *same = plan_of(w, 1, QDQ_UINT8),
             *plain = plan_of(w, 1, QDQ_UINT8);
    calibrate_for(t, e, m, &opts, plain, &empty);
    assert_ok(qdq_target_set(t, "activation.min_range", "0.0001", &err));
    calibrate_for(t, e, m, &opts, same, &empty);
    assert_ok(qdq_target_set(t, "activation.min_range", "5.1", &err));
    calibrate_for(t, e, m, &opts, wide, &empty);
    assert_true(same->tensors.at[0].qparam.scale == plain->tensors.at[0].qparam.scale);
    assert_float_equal(wide->tensors.at[0].qparam.scale, 0.02f, 1e-7);
    assert_int_equal(wide->tensors.at[0].qparam.zero_point, 0);
    assert_fails(QDQ_E_FORMAT, "min_range", qdq_target_set(t, "activation.min_range", "-1", &err));
    qdq_plan_free(wide);
    qdq_plan_free(same);
    qdq_plan_free(plain);
    qdq_target_free(t);
    qdq_model_free(m);
}

/* Square roots of what is below 0: no value that a range could be made of. */
TEST(a_tensor_of_nan_alone_leaves_its_nodes_float_and_the_others_not)
{
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    test_builder b = test_build(17);
    bool found = false;

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "c0", "x", 16, 16, 3, 1);
    TEST_NODE(&b, "Exp", "e0", "c0");
    TEST_NODE(&b, "Neg", "n0", "e0");
    TEST_NODE(&b, "Sqrt", "bad", "n0");
    test_conv(&b, "c1", "bad", 16, 16, 3, 1);
    test_output(&b, "c0");
    test_output(&b, "c1");
    qdq_model *m = test_built(&b);
    qdq_target *t = target_of(false);
    qdq_plan *p = NULL;
    assert_ok(qdq_plan_make(m, t, e, NULL, &opts, &p, &err));
    assert_true(p->tensors.n >= 1);
    for (size_t i = 0; i < p->tensors.n; i++)
        assert_string_not_equal(p->tensors.at[i].tensor, "bad");
    for (size_t i = 0; i < p->left_float.n; i++)
        found = found ||
                (strcmp(p->left_float.at[i].node, "c1") == 0 &&
                 strstr(p->left_float.at[i].reason, "took no finite value in calibration") != NULL);
    assert_true(found);
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_model_free(m);
}

static void count_line(void *ctx, qdq_log_level level, const char *text)
{
    unsigned *n = ctx;

    *n += level <= QDQ_LOG_WARNING && strstr(text, "not finite") != NULL;
}

static void count_zeros(void *ctx, qdq_log_level level, const char *text)
{
    unsigned *n = ctx;

    *n +=
        level == QDQ_LOG_WARNING && strstr(text, "'r0': 0 in all samples; its scale is 1") != NULL;
}

/* Samples of a wrong kind, or a dead layer: a scale that was made of nothing is none to trust. */
TEST(a_tensor_of_zeros_alone_is_named)
{
    static const wanted w[] = {{"x", NULL}, {"r0", NULL}};
    qdq_engine *e = need_ort();
    test_builder b = test_build(17);
    unsigned n = 0;

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    TEST_NODE(&b, "Abs", "a0", "x");
    TEST_NODE(&b, "Neg", "n0", "a0");
    TEST_NODE(&b, "Relu", "r0", "n0");
    test_output(&b, "r0");
    qdq_model *m = test_built(&b);
    const qdq_job job = {.size = sizeof job, .ctx = &n, .log = count_zeros};
    for (int method = QDQ_METHOD_MAX; method <= QDQ_METHOD_AUTO; method++) {
        qdq_quantize_opts opts = {.method = (qdq_method)method, .job = &job};
        qdq_plan *p = plan_of(w, 2, QDQ_UINT8);
        qdq_calib_names empty = {0};

        n = 0;
        calibrate(e, m, &opts, false, p, &empty);
        assert_int_equal(n, 1);
        assert_true(p->tensors.at[1].qparam.scale == 1 || p->tensors.at[0].qparam.scale == 1);
        qdq_plan_free(p);
    }
    qdq_model_free(m);
}

/* What gets no codes is not looked at. On tensorrt results get none; this one is all NaN, which is
 * said of every tensor that is looked at. */
TEST(tensors_without_codes_are_not_observed)
{
    static const wanted of_input[] = {{"x", NULL}}, of_both[] = {{"x", NULL}, {"bad", NULL}};
    qdq_engine *e = need_ort();
    test_builder b = test_build(17);
    unsigned n = 0;

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "c0", "x", 16, 16, 3, 1);
    TEST_NODE(&b, "Exp", "e0", "c0");
    TEST_NODE(&b, "Neg", "n0", "e0");
    TEST_NODE(&b, "Sqrt", "bad", "n0");
    test_output(&b, "bad");
    qdq_model *m = test_built(&b);
    const qdq_job job = {.size = sizeof job, .ctx = &n, .log = count_line};
    qdq_quantize_opts opts = {.method = QDQ_METHOD_MAX, .job = &job};
    for (size_t k = 1; k <= 2; k++) {
        qdq_plan *p = plan_of(k == 1 ? of_input : of_both, k, QDQ_UINT8);
        qdq_calib_names empty = {0};

        calibrate(e, m, &opts, false, p, &empty);
        assert_int_equal(n, k - 1);
        qdq_plan_free(p);
    }
    qdq_model_free(m);
}

/* --- values on one side of 0 ------------------------------------------------------------------ */

/* Positive numbers, `n` of them in a sample, and the same behind a Relu. */
static void calibrate_positive(qdq_engine *e, int64_t n, unsigned folds, qdq_plan *p)
{
    const qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    test_builder b = test_build(17);
    qdq_calib_names empty = {0};

    TEST_INPUT(&b, "x", 1, n);
    TEST_NODE(&b, "Exp", "up", "x");
    TEST_NODE(&b, "Add", "y", "up", "up");
    TEST_NODE(&b, "Relu", "r", "y");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "ru", "r", "up"), "axis", 1));
    test_output(&b, "ru");
    qdq_model *m = test_built(&b);
    qdq_target *t = target_of(false);
    calibrate_in_folds(t, e, m, &opts, folds, p, &empty);
    qdq_target_free(t);
    qdq_model_free(m);
}

/* A detector of speech that was calibrated on speech gave 0.5 for silence. */
TEST(few_scores_that_are_all_above_0_leave_codes_for_others_below_it)
{
    static const wanted both[] = {{"y", NULL}, {"r", NULL}};
    qdq_engine *e = need_ort();

    qdq_plan *few = plan_of(both, 2, QDQ_UINT8), *many = plan_of(both, 2, QDQ_UINT8);
    calibrate_positive(e, 2, 0, few);
    calibrate_positive(e, 64, 0, many);
    assert_in_range(few->tensors.at[0].qparam.zero_point, 127, 128);
    assert_int_equal(few->tensors.at[1].qparam.zero_point, 0); /* none is below it */
    assert_int_equal(many->tensors.at[0].qparam.zero_point, 0);
    qdq_plan_free(few);
    qdq_plan_free(many);
}

TEST(few_values_that_share_a_scale_leave_such_codes_if_one_of_them_may_be_below_0)
{
    static const wanted open[] = {{"r", "g"}, {"y", "g"}}, limited[] = {{"r", "g"}, {"ru", "g"}};
    qdq_engine *e = need_ort();

    qdq_plan *p = plan_of(open, 2, QDQ_UINT8), *q = plan_of(limited, 2, QDQ_UINT8);
    calibrate_positive(e, 2, 0, p);
    calibrate_positive(e, 2, 0, q);
    for (size_t i = 0; i < 2; i++) {
        assert_in_range(p->tensors.at[i].qparam.zero_point, 127, 128);
        assert_int_equal(q->tensors.at[i].qparam.zero_point, 0);
    }
    qdq_plan_free(p);
    qdq_plan_free(q);
}

/* Of 300 values a fold sees 150. */
TEST(folds_leave_such_codes_where_all_samples_do)
{
    static const wanted all[] = {{"y", NULL}};
    qdq_engine *e = need_ort();

    qdq_plan *p = plan_of(all, 1, QDQ_UINT8);
    calibrate_positive(e, 30, 2, p);
    assert_int_equal(p->n_folds, 2);
    assert_int_equal(p->tensors.at[0].qparam.zero_point, 0);
    for (unsigned k = 0; k < 2; k++)
        assert_int_equal(p->tensors.at[0].fold[k].zero_point, 0);
    qdq_plan_free(p);
}
