/* Islands in 8 bits when layers go back to float for a goal. */
#include <string.h>

#include "ir/shape.h"
#include "quant/place/place.h"
#include "support/placed.h"
#include "support/test.h"

static qdq_error err;

static qdq_plan *placed(const qdq_model *m, const qdq_target *t, const char *const *exclude,
                        const qdq_plan *islands_of)
{
    const qdq_place_opts o = {.exclude = exclude, .islands_of = islands_of};
    qdq_plan *p = qdq_plan_new();

    assert_non_null(p);
    assert_ok(qdq_place(m, t, &o, p, &err));
    return p;
}

/* Two Conv in a row multiply enough, one of them alone does not; a third one is alone anyway. */
TEST(a_layer_that_goes_back_to_float_takes_no_other_along)
{
    static const char *const one[] = {"=d", NULL};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 24, 24, 48);
    TEST_RANDOM(&b, "cw", 24, 24, 1, 1);
    TEST_RANDOM(&b, "dw", 24, 24, 1, 1);
    TEST_RANDOM(&b, "ew", 24, 24, 1, 1);
    TEST_NODE(&b, "Tanh", "t", "x");
    TEST_NODE(&b, "Conv", "c", "t", "cw");
    TEST_NODE(&b, "Conv", "d", "c", "dw");
    TEST_NODE(&b, "Tanh", "s", "d");
    TEST_NODE(&b, "Conv", "e", "s", "ew");
    TEST_NODE(&b, "Tanh", "y", "e");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    qdq_target *any, *t;

    assert_ok(qdq_model_infer_shapes(m, &err));
    assert_ok(qdq_target_load("ort-cpu", &any, &err));
    assert_ok(qdq_target_for_cpu(any, "avx2", NULL, &t, &err));
    qdq_plan *first = placed(m, t, NULL, NULL);
    assert_true(test_is_quantized(first, "c") && test_is_quantized(first, "d"));
    assert_false(test_is_quantized(first, "e"));
    qdq_plan *by_rules = placed(m, t, one, NULL), *without = placed(m, t, one, first);
    assert_false(test_is_quantized(by_rules, "c"));
    assert_true(test_is_quantized(without, "c"));
    assert_false(test_is_quantized(without, "d") || test_is_quantized(without, "e"));
    qdq_plan_free(without);
    qdq_plan_free(by_rules);
    qdq_plan_free(first);
    qdq_target_free(t);
    qdq_target_free(any);
    qdq_model_free(m);
}

/* The names are those that the two processors reported; whole models were measured on one. */
TEST(of_processors_with_vnni_only_those_that_were_measured_leave_islands_of_little_work_in_float)
{
    static const struct {
        const char *name;
        bool is_quantized;
    } rows[] = {{"Intel(R) Xeon(R) Processor", false}, {"AMD EPYC", true}, {NULL, true}};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 24, 24, 48);
    TEST_RANDOM(&b, "w", 24, 24, 1, 1);
    TEST_NODE(&b, "Tanh", "t", "x");
    TEST_NODE(&b, "Conv", "c", "t", "w");
    TEST_NODE(&b, "Tanh", "y", "c");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    qdq_target *any;

    assert_ok(qdq_model_infer_shapes(m, &err));
    assert_ok(qdq_target_load("ort-cpu", &any, &err));
    for (size_t i = 0; i < QDQ_COUNT(rows); i++) {
        qdq_target *t;
        assert_ok(qdq_target_for_cpu(any, "vnni", rows[i].name, &t, &err));
        qdq_plan *p = placed(m, t, NULL, NULL);
        assert_int_equal(test_is_quantized(p, "c"), rows[i].is_quantized);
        qdq_plan_free(p);
        qdq_target_free(t);
    }
    qdq_target_free(any);
    qdq_model_free(m);
}
