/* compare_states.c - models whose outputs are fed back, over sequences on ONNX Runtime: errors add
 * up, each model has its own state, and a sequence is one sample. */
#include <math.h>

#include "quant/compare/reference_outputs.h"
#include "quant/plan/plan.h"
#include "support/opened_data.h"

static const qdq_state t_to_s = {"t", "s"};
static const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static qdq_data *sequences(const qdq_model *m, size_t runs, size_t steps, const qdq_state *state)
{
    const qdq_named_array x = named("x", QDQ_FLOAT, ones, 2, (int64_t)runs, 2);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    opts.states = state;
    opts.n_states = 1;
    opts.steps = steps;
    assert_ok(qdq_data_from_arrays(&x, 1, m, &opts, &d, &err));
    return d;
}

static qdq_compare_result *compared(const char *a, const char *b, size_t runs, size_t steps)
{
    qdq_model *m = test_model(a), *n = test_model(b);
    qdq_data *d = sequences(m, runs, steps, &t_to_s);
    qdq_compare_result *r = NULL;

    assert_ok(qdq_compare(test_ort(), m, n, d, NULL, &r, &err));
    qdq_data_close(d);
    qdq_model_free(m);
    qdq_model_free(n);
    return r;
}

static double db(double signal, double error)
{
    return 10 * log10(signal / error);
}

TEST(errors_of_steps_add_up_in_a_sequence)
{
    need_ort();
    /* 1, 2, 3 against 1.5, 3, 4.5 */
    qdq_compare_result *r = compared(test_graph_text("sum"), test_graph_text("drift"), 6, 3);

    assert_int_equal(r->samples, 2);
    assert_int_equal(r->n_outputs, 2);
    assert_string_equal(r->outputs[1].name, "y");
    assert_float_equal(r->outputs[1].sqnr_db, db(1 + 4 + 9, 0.25 + 1 + 2.25), 1e-6);
    assert_float_equal(r->outputs[1].max_abs, 1.5, 1e-6);
    assert_int_equal(r->outputs[1].elements, 12);
    qdq_free(r);
    /* each sequence begins at zero */
    r = compared(test_graph_text("sum"), test_graph_text("drift"), 6, 1);
    assert_int_equal(r->samples, 6);
    assert_float_equal(r->outputs[1].sqnr_db, db(1, 0.25), 1e-6);
    qdq_free(r);
}

TEST(a_bound_is_for_other_sequences)
{
    need_ort();
    /* one sequence is one sample, however many steps it has */
    qdq_compare_result *r = compared(test_graph_text("sum"), test_graph_text("drift"), 6, 6);
    assert_int_equal(r->samples, 1);
    assert_true(isnan(r->bound_db));
    qdq_free(r);
    r = compared(test_graph_text("sum"), test_graph_text("drift"), 6, 2);
    assert_true(isfinite(r->bound_db)); /* equal sequences do not differ */
    assert_float_equal(r->bound_db, r->worst_db, 1e-6);
    qdq_free(r);
}

TEST(a_model_equals_itself_over_sequences)
{
    need_ort();
    qdq_compare_result *r = compared(test_graph_text("drift"), test_graph_text("drift"), 6, 3);
    assert_true(isinf(r->worst_db));
    qdq_free(r);
}

TEST(a_cache_grows_by_one_at_each_step)
{
    const char *cache = test_graph_text("a_cache_grows_by_one_at_each_step_cache");
    const char *half = test_graph_text("a_cache_grows_by_one_at_each_step_half");

    need_ort();
    qdq_compare_result *r = compared(cache, half, 6, 3);
    assert_int_equal(r->outputs[0].elements, 2 * 2 * (1 + 2 + 3));
    assert_float_equal(r->outputs[1].sqnr_db, db(1 + 4 + 9, 0.25 + 1 + 2.25), 1e-6);
    qdq_free(r);
}

/* A mask of another length, but 1, fits no cache. */
TEST(a_mask_grows_with_its_cache)
{
    const char *cache = test_graph_text("a_mask_grows_with_its_cache_cache");
    const char *half = test_graph_text("a_mask_grows_with_its_cache_half");
    static const char *const mask[] = {"m", NULL};
    const qdq_named_array x = named("x", QDQ_FLOAT, ones, 2, 12, 1);
    qdq_model *a = test_model(cache), *b = test_model(half);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *d = NULL;

    opts.states = &t_to_s;
    opts.n_states = 1;
    opts.steps = 6;
    opts.masks = mask;
    assert_ok(qdq_data_from_arrays(&x, 1, a, &opts, &d, &err));
    if (test_ort() != NULL) {
        assert_ok(qdq_compare(test_ort(), a, b, d, NULL, &r, &err));
        assert_int_equal(r->outputs[1].elements, 2 * (1 + 2 + 3 + 4 + 5 + 6));
        assert_float_equal(r->outputs[1].sqnr_db, db(4, 0.25), 1e-6); /* 2 against 1.5 */
        qdq_free(r);
    }
    qdq_data_close(d);
    qdq_model_free(a);
    qdq_model_free(b);
}

TEST(kept_outputs_are_those_of_each_step)
{
    qdq_model *a = test_graph("sum"), *b = test_graph("drift");
    qdq_data *d = sequences(a, 6, 3, &t_to_s);
    qdq_reference_outputs kept = {.limit = 1 << 20};
    const qdq_comparison of = {test_ort(), a, d, NULL, &kept};
    qdq_compare_result *r = NULL;

    for (int turn = 0; turn < 2 && test_ort() != NULL; turn++) {
        assert_ok(qdq_compare_keeping(&of, b, &r, &err));
        assert_true(kept.is_complete);
        assert_float_equal(r->outputs[1].sqnr_db, db(14, 3.5), 1e-6);
        qdq_free(r);
    }
    qdq_reference_outputs_free(&kept);
    qdq_data_close(d);
    qdq_model_free(a);
    qdq_model_free(b);
}

TEST(layers_are_compared_with_states_of_their_own_model)
{
    const char *a_text = test_graph_text("a_text");
    const char *b_text = test_graph_text("b_text");
    qdq_model *a = test_model(a_text), *b = test_model(b_text);
    qdq_data *d = sequences(a, 3, 3, &t_to_s);
    qdq_compare_layers_result *r = NULL;

    if (test_ort() != NULL) {
        assert_ok(qdq_compare_layers(test_ort(), a, b, d, NULL, &r, &err));
        /* u: 0, 1, 2 in a; in b t is 1.25, then 1.0 + 0.25 + 1 (1.25 rounds to 1), ... */
        assert_true(r->n_layers > 0);
        for (size_t i = 0; i < r->n_layers; i++)
            if (strcmp(r->layers[i].name_in_a, "u") == 0)
                assert_float_equal(r->layers[i].value.sqnr_db, db(0 + 1 + 4, 0 + 0.0625 + 0.0625),
                                   1e-6);
        qdq_free(r);
    }
    qdq_data_close(d);
    qdq_model_free(a);
    qdq_model_free(b);
}

TEST(a_second_model_without_the_output_is_refused)
{
    qdq_model *a = test_graph("sum"),
              *b = test_model("g (float[1,2] x, float[1,2] s) => (float[1,2] y) { y = Add(s, x) }");
    qdq_data *d = sequences(a, 6, 3, &t_to_s);
    qdq_compare_result *r = NULL;

    if (test_ort() != NULL)
        assert_fails(QDQ_E_FORMAT,
                     "second model: found no output 't', expected the state of input 's'",
                     qdq_compare(test_ort(), a, b, d, NULL, &r, &err));
    qdq_data_close(d);
    qdq_model_free(a);
    qdq_model_free(b);
}

TEST(a_state_in_another_type_is_converted)
{
    const char *half = test_graph_text(__func__);

    need_ort();
    qdq_compare_result *r = compared(test_graph_text("sum"), half, 6, 3);
    assert_true(isinf(r->worst_db)); /* whole numbers */
    qdq_free(r);
}

TEST(a_step_that_fails_is_named)
{
    /* fits at the first step alone */
    const char *grows = test_graph_text("grows");
    const char *fixed = test_graph_text("fixed");
    qdq_model *a = test_model(grows), *b = test_model(fixed);
    qdq_data *d = sequences(a, 4, 2, &t_to_s);
    qdq_compare_result *r = NULL;

    if (test_ort() != NULL) {
        assert_fails(QDQ_E_USAGE, "second model, sample 0, step 1: ",
                     qdq_compare(test_ort(), a, b, d, NULL, &r, &err));
        assert_non_null(strstr(err.text, "input 's' has shape 2x2: expected 1x2"));
    }
    qdq_data_close(d);
    qdq_model_free(a);
    qdq_model_free(b);
}

/* --- quantization ----------------------------------------------------------------------------- */

/* The greatest value of a tensor that calibration saw: its scale is made for it. */
static double most_seen(const char *model, const char *tensor, const qdq_quantize_opts *opts)
{
    qdq_model *m = test_model(model);
    qdq_data *d = sequences(m, 12 / 2, 3, &t_to_s);
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    double most = -1;

    assert_ok(qdq_target_load("openvino", &t, &err)); /* has no rule against small nodes */
    assert_ok(qdq_plan_make(m, t, test_ort(), d, opts, &p, &err));
    for (size_t i = 0; i < p->tensors.n; i++)
        if (strcmp(p->tensors.at[i].tensor, tensor) == 0)
            most =
                (double)p->tensors.at[i].qparam.scale * (255 - p->tensors.at[i].qparam.zero_point);
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_data_close(d);
    qdq_model_free(m);
    return most;
}

TEST(calibration_sees_the_states_of_the_float_model)
{
    const char *inner = test_graph_text("inner");
    /* a graph input is shown with what the step before returned */
    const char *input = test_graph_text("input");
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;

    need_ort();
    opts.method = QDQ_METHOD_MAX;
    opts.cpu = QDQ_CPU_VNNI;
    assert_float_equal(most_seen(inner, "t", &opts), 3, 0.02);
    assert_float_equal(most_seen(input, "s", &opts), 2, 0.02);
    opts.memory = 1; /* a run for each tensor */
    assert_float_equal(most_seen(inner, "t", &opts), 3, 0.02);
    assert_float_equal(most_seen(input, "s", &opts), 2, 0.02);
}

TEST(subgraphs_see_the_states_of_the_graph_around_them)
{
    const char *branch = test_graph_text(__func__);
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;

    need_ort();
    opts.method = QDQ_METHOD_MAX;
    opts.passes = QDQ_PASSES_MINIMAL;
    opts.cpu = QDQ_CPU_VNNI;
    assert_float_equal(most_seen(branch, "u", &opts), 3, 0.02);
}

TEST(quantization_is_evaluated_over_sequences)
{
    const char *model = test_graph_text(__func__);
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_ptq_opts opts = QDQ_PTQ_OPTS_INIT;
    qdq_ptq_result *r = NULL;
    qdq_target *t = NULL;

    need_ort();
    qdq_model *m = test_model(model);
    qdq_data *d = sequences(m, 6, 2, &t_to_s);
    opts.quantize = &quantize;
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_ptq(m, t, test_ort(), d, &opts, &r, &err));
    assert_int_equal(r->split.calibrate, 3); /* sequences */
    assert_int_equal(r->compared->samples, 3);
    assert_int_equal(r->compared->outputs[0].elements, 12);
    qdq_ptq_result_free(r);
    qdq_target_free(t);
    qdq_data_close(d);
    qdq_model_free(m);
}
