/* quantize_rest.c - what is not quantized in 16 bits, on ONNX Runtime: the digits networks keep
 * their results, and what float16 cannot hold stays float32. The engine has no bfloat16 kernels:
 * such results come from a widened copy. */
#include <math.h>

#include "numeric/ort_help.h"
#include "quant/plan/plan.h"
#include "quant/half_precision/widen.h"

typedef struct half {
    qdq_plan *plan;
    qdq_model *model;
} half;

/* Quantizes for ort-cpu with the rest in `type`; `exclude`: regular expression of nodes that stay
 * float, or NULL. */
static half halved(qdq_engine *e, const qdq_model *m, qdq_data *data, const char *type,
                   const char *exclude)
{
    const char *const list[] = {exclude, NULL};
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    half h = {NULL, NULL};

    opts.exclude = exclude != NULL ? list : NULL;
    opts.samples = 24;
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "rest.type", type, &err));
    /* no processor saturates, and a plan that is imported has the same scales by the same rule */
    assert_ok(qdq_target_set(t, "weight.reduced", "true", &err));
    assert_ok(qdq_quantize(m, t, e, data, &opts, &h.plan, &h.model, &err));
    qdq_target_free(t);
    return h;
}

static void free_half(half h)
{
    qdq_plan_free(h.plan);
    qdq_model_free(h.model);
}

static double sqnr_of(qdq_engine *e, const qdq_model *a, const qdq_model *b, qdq_data *data)
{
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_error err = QDQ_ERROR_INIT;

    opts.first = 24;
    opts.count = 16;
    assert_ok(qdq_compare(e, a, b, data, &opts, &r, &err));
    double db = r->outputs[0].sqnr_db;
    qdq_free(r);
    return db;
}

TEST(digits_keep_their_results)
{
    static const struct {
        const char *model;
        const char *type;
        const char *exclude;
        double least;
    } cases[] = {
        {"digits_cnn", "float16", ".", 55},       {"digits_convnext", "float16", ".", 55},
        {"digits_vit", "float16", ".", 55},       {"digits_cnn", "float16", NULL, 33},
        {"digits_convnext", "float16", NULL, 33}, {"digits_vit", "float16", NULL, 24},
        {"digits_vit", "bfloat16", NULL, 24},     {"digits_cnn", "bfloat16", NULL, 33},
    };
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        char path[64];
        qdq_data *data = NULL;

        snprintf(path, sizeof path, "digits/%s.onnx", cases[i].model);
        qdq_model *m = need_model(path);
        assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), m, NULL, &data, &err));
        half h = halved(e, m, data, cases[i].type, cases[i].exclude);
        double db = sqnr_of(e, m, h.model, data);
        if (db < cases[i].least)
            fail_msg("%s, %s: %g dB, want %g", cases[i].model, cases[i].type, db, cases[i].least);
        free_half(h);
        qdq_data_close(data);
        qdq_model_free(m);
    }
}

/* Applying the plan, as text, gives what was given with it; and what is quantized is found in the
 * result. */
TEST(the_plan_says_it_all)
{
    qdq_engine *e = need_ort();
    qdq_model *m = need_model("digits/digits_convnext.onnx"), *again = NULL, *stripped = NULL;
    qdq_plan *parsed = NULL, *imported = NULL;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data *data = NULL;
    char *plan, *a, *b;

    assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), m, NULL, &data, &err));
    half h = halved(e, m, data, "float16", NULL);
    assert_ok(qdq_plan_to_text(h.plan, &plan, &err));
    assert_ok(qdq_plan_parse(plan, strlen(plan), "plan", &parsed, &err));
    assert_ok(qdq_plan_apply(parsed, m, false, NULL, &again, &err));
    assert_ok(qdq_model_to_text(h.model, &a, &err));
    assert_ok(qdq_model_to_text(again, &b, &err));
    assert_string_equal(a, b);
    assert_ok(qdq_plan_import(again, NULL, &imported, &stripped, &err));
    assert_int_equal(imported->tensors.n, h.plan->tensors.n);
    for (size_t i = 0; i < imported->tensors.n; i++) {
        assert_string_equal(imported->tensors.at[i].tensor, h.plan->tensors.at[i].tensor);
        assert_true(imported->tensors.at[i].qparam.scale == h.plan->tensors.at[i].qparam.scale);
    }
    assert_int_equal(imported->weights.n, h.plan->weights.n);
    for (size_t i = 0; i < imported->weights.n; i++) {
        assert_string_equal(imported->weights.at[i].tensor, h.plan->weights.at[i].tensor);
        assert_null(imported->weights.at[i].scales);
    }
    assert_int_equal(imported->biases.n, h.plan->biases.n);
    assert_true(sqnr_of(e, m, stripped, data) > 30);
    qdq_free(plan);
    qdq_free(a);
    qdq_free(b);
    qdq_plan_free(parsed);
    qdq_plan_free(imported);
    qdq_model_free(again);
    qdq_model_free(stripped);
    free_half(h);
    qdq_data_close(data);
    qdq_model_free(m);
}

/* What was not quantized was forgotten: applying the imported plan gave a model in float32, 36 to
 * 49 dB away. */
TEST(an_imported_plan_gives_the_same_results_on_what_is_left_without_q_and_dq)
{
    static const struct {
        const char *model;
        const char *type;
        const char *exclude;
    } cases[] = {
        {"digits_cnn", "float16", NULL},
        {"digits_cnn", "bfloat16", NULL},
        {"digits_vit", "bfloat16", "MatMul"},
        {"digits_qat_bn", "float16", NULL},
    };
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *stripped = NULL, *again = NULL;
        qdq_plan *imported = NULL;
        qdq_data *data = NULL;
        char path[64];

        snprintf(path, sizeof path, "digits/%s.onnx", cases[i].model);
        qdq_model *m = need_model(path);
        assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), m, NULL, &data, &err));
        half h = halved(e, m, data, cases[i].type, cases[i].exclude);
        assert_ok(qdq_plan_import(h.model, NULL, &imported, &stripped, &err));
        assert_ok(qdq_plan_apply(imported, stripped, false, NULL, &again, &err));
        assert_true(isinf(sqnr_of(e, h.model, again, data)));
        qdq_plan_free(imported);
        qdq_model_free(again);
        qdq_model_free(stripped);
        free_half(h);
        qdq_data_close(data);
        qdq_model_free(m);
    }
}

TEST(what_is_beyond_float16_stays_float)
{
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);
    qdq_data *data = NULL;

    assert_ok(qdq_data_open("random:3", m, NULL, &data, &err));
    half h = halved(e, m, data, "float16", NULL);
    assert_int_equal(h.plan->half.keep.n, 2);
    assert_string_equal(h.plan->half.keep.at[0].node, "m");
    assert_string_equal(h.plan->half.keep.at[1].node, "t");
    assert_non_null(strstr(h.plan->half.keep.at[0].reason, "float16 ends at 65504"));
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    static kept a, b;
    run_model(e, m, &so, &a);
    run_model(e, h.model, &so, &b);
    for (size_t i = 0; i < 8; i++)
        assert_true(fabsf(kept_float(&a, i) - kept_float(&b, i)) <=
                    2e-3f * fabsf(kept_float(&a, i)));
    free_half(h);
    qdq_data_close(data);
    qdq_model_free(m);
}

TEST(a_model_in_bfloat16_is_checked_as_a_copy_in_float32)
{
    static kept a, b;
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_model *wide = NULL;
    qdq_session *s = NULL;
    qdq_model *m = test_graph("in_bfloat16");

    assert_fails(QDQ_E_ENGINE, "MatMul", qdq_session_open(e, m, &so, &s, &err));
    assert_ok(qdq_model_widen(m, &wide, &err));
    assert_true(qdq_model_has_half(m));
    run_model(e, wide, &so, &a);
    assert_string_equal(a.names, "z;");
    assert_int_equal(a.last.elem, QDQ_BFLOAT16);
    qdq_model_free(wide);
    qdq_model_free(m);
    m = test_graph("in_float16");
    assert_ok(qdq_model_widen(m, &wide, &err));
    run_model(e, m, &so, &a);
    run_model(e, wide, &so, &b);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    qdq_model_free(wide);
    qdq_model_free(m);
}

/* Scales of a float16 model are computed in double and stored in float16. What was float32 in it
 * stays. */
TEST(a_float16_model_is_quantized_and_stays_float16)
{
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_model *again = NULL, *q = NULL;
    qdq_plan *plan = NULL;
    qdq_target *t = NULL;
    qdq_data *data = NULL;
    qdq_io io;
    char *a, *b;
    qdq_model *m = test_graph(__func__);

    dopts.max_samples = 40;
    assert_ok(qdq_data_open("random:3", m, &dopts, &data, &err));
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "stay_float", "[]", &err));
    opts.samples = 24;
    assert_ok(qdq_quantize(m, t, e, data, &opts, &plan, &q, &err));
    assert_int_equal(plan->quantized.n, 0); /* not asked for */
    qdq_plan_free(plan);
    qdq_model_free(q);
    assert_ok(qdq_target_set(t, "rest.type", "float16", &err));
    assert_ok(qdq_quantize(m, t, e, data, &opts, &plan, &q, &err));
    assert_int_equal(plan->quantized.n, 2);
    assert_int_equal(plan->half.keep.n, 2);
    assert_string_equal(plan->half.keep.at[0].node, "exp");
    assert_string_equal(plan->half.keep.at[0].reason, "float32 in the model");
    assert_true(qdq_model_input(q, 0, &io) && io.elem == QDQ_FLOAT16);
    assert_true(qdq_model_output(q, 0, &io) && io.elem == QDQ_FLOAT16);
    assert_true(sqnr_of(e, m, q, data) > 25);
    assert_ok(qdq_plan_apply(plan, m, false, NULL, &again, &err));
    assert_ok(qdq_model_to_text(q, &a, &err));
    assert_ok(qdq_model_to_text(again, &b, &err));
    assert_string_equal(a, b);
    qdq_free(a);
    qdq_free(b);
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_data_close(data);
    qdq_model_free(m);
    qdq_model_free(q);
    qdq_model_free(again);
}

static void
a_model_whose_inputs_became_float16_is_compared_on_the_samples_of_the_float_model(void **state)
{
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_data *data = NULL;
    qdq_model *m[2] = {test_graph("scaled"), test_graph("scaled_in_float16")};

    (void)state;
    dopts.max_samples = 40;
    for (int i = 0; i < 2; i++) { /* and the other way round */
        assert_ok(qdq_data_open("random:3", m[i], &dopts, &data, &err));
        double db = sqnr_of(e, m[i], m[1 - i], data);
        assert_true(db > 50 && (i == 1 || db < 120));
        qdq_data_close(data);
    }
    qdq_model_free(m[0]);
    qdq_model_free(m[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_keep_their_results),
        cmocka_unit_test(the_plan_says_it_all),
        cmocka_unit_test(an_imported_plan_gives_the_same_results_on_what_is_left_without_q_and_dq),
        cmocka_unit_test(what_is_beyond_float16_stays_float),
        cmocka_unit_test(a_float16_model_is_quantized_and_stays_float16),
        cmocka_unit_test(
            a_model_whose_inputs_became_float16_is_compared_on_the_samples_of_the_float_model),
        cmocka_unit_test(a_model_in_bfloat16_is_checked_as_a_copy_in_float32),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
