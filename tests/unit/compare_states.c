/* compare_states.c - models whose outputs are fed back, over sequences on ONNX Runtime: errors add
 * up, each model has its own state, and a sequence is one sample. */
#include <math.h>

#include "quant/compare/reference_outputs.h"
#include "quant/plan/plan.h"
#include "support/opened_data.h"

/* A sum over the steps, and one that is 0.5 off at each step. */
static const char sum[] = "g (float[1,2] x, float[1,2] s) => (float[1,2] t, float[1,2] y)"
                          "{ t = Add(s, x) y = Identity(t) }";
static const char drift[] = "g (float[1,2] x, float[1,2] s) => (float[1,2] t, float[1,2] y)"
                            "<float c = {0.5}> { u = Add(s, c) t = Add(u, x) y = Identity(t) }";
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
    if (test_ort() == NULL)
        return;
    /* 1, 2, 3 against 1.5, 3, 4.5 */
    qdq_compare_result *r = compared(sum, drift, 6, 3);

    assert_int_equal(r->samples, 2);
    assert_int_equal(r->n_outputs, 2);
    assert_string_equal(r->outputs[1].name, "y");
    assert_float_equal(r->outputs[1].sqnr_db, db(1 + 4 + 9, 0.25 + 1 + 2.25), 1e-6);
    assert_float_equal(r->outputs[1].max_abs, 1.5, 1e-6);
    assert_int_equal(r->outputs[1].elements, 12);
    qdq_free(r);
    /* each sequence begins at zero */
    r = compared(sum, drift, 6, 1);
    assert_int_equal(r->samples, 6);
    assert_float_equal(r->outputs[1].sqnr_db, db(1, 0.25), 1e-6);
    qdq_free(r);
}

TEST(a_bound_is_for_other_sequences)
{
    if (test_ort() == NULL)
        return;
    /* one sequence is one sample, however many steps it has */
    qdq_compare_result *r = compared(sum, drift, 6, 6);
    assert_int_equal(r->samples, 1);
    assert_true(isnan(r->bound_db));
    qdq_free(r);
    r = compared(sum, drift, 6, 2);
    assert_true(isfinite(r->bound_db)); /* equal sequences do not differ */
    assert_float_equal(r->bound_db, r->worst_db, 1e-6);
    qdq_free(r);
}

TEST(a_model_equals_itself_over_sequences)
{
    if (test_ort() == NULL)
        return;
    qdq_compare_result *r = compared(drift, drift, 6, 3);
    assert_true(isinf(r->worst_db));
    qdq_free(r);
}

TEST(a_cache_grows_by_one_at_each_step)
{
    static const char cache[] =
        "g (float[1,2] x, float[past,2] s) => (float[all,2] t, float[1,2] y)"
        "<int64[1] k = {0}> { t = Concat<axis = 0>(s, x) y = ReduceSum<keepdims = 1>(t, k) }";
    static const char half[] =
        "g (float[1,2] x, float[past,2] s) => (float[all,2] t, float[1,2] y)"
        "<float c = {0.5}, int64[1] k = {0}> { u = Mul(x, c) t = Concat<axis = 0>(s, u)"
        " y = ReduceSum<keepdims = 1>(t, k) }";

    if (test_ort() == NULL)
        return;
    qdq_compare_result *r = compared(cache, half, 6, 3);
    assert_int_equal(r->outputs[0].elements, 2 * 2 * (1 + 2 + 3));
    assert_float_equal(r->outputs[1].sqnr_db, db(1 + 4 + 9, 0.25 + 1 + 2.25), 1e-6);
    qdq_free(r);
}

/* A mask of another length, but 1, fits no cache. */
TEST(a_mask_grows_with_its_cache)
{
    static const char cache[] = "g (float[N,1] x, float[N,total] m, float[N,past] s)"
                                " => (float[N,total] t, float[N,total] y)"
                                "{ t = Concat<axis = 1>(s, x) y = Add(t, m) }";
    static const char half[] = "g (float[N,1] x, float[N,total] m, float[N,past] s)"
                               " => (float[N,total] t, float[N,total] y) <float c = {0.5}>"
                               "{ t = Concat<axis = 1>(s, x) u = Mul(t, c) y = Add(u, m) }";
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
    qdq_model *a = test_model(sum), *b = test_model(drift);
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
    static const char a_text[] = "g (float[1,2] x, float[1,2] s) => (float[1,2] t)"
                                 "{ u = Relu(s) t = Add(u, x) }";
    static const char b_text[] =
        "g (float[1,2] x, float[1,2] s) => (float[1,2] t)"
        "<float k = {0.5}, uint8 z = {0}, float c = {0.25}>"
        "{ u = Relu(s) q = QuantizeLinear(u, k, z) v = DequantizeLinear(q, k, z)"
        " w = Add(v, c) t = Add(w, x) }";
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
    qdq_model *a = test_model(sum),
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
    static const char half[] = "g (float[1,2] x, float16[1,2] s) => (float16[1,2] t, float[1,2] y)"
                               "{ f = Cast<to = 1>(s) y = Add(f, x) t = Cast<to = 10>(y) }";

    if (test_ort() == NULL)
        return;
    qdq_compare_result *r = compared(sum, half, 6, 3);
    assert_true(isinf(r->worst_db)); /* whole numbers */
    qdq_free(r);
}

TEST(a_step_that_fails_is_named)
{
    /* fits at the first step alone */
    static const char grows[] = "g (float[1,2] x, float[s0,2] s) => (float[all,2] t, float[1,2] y)"
                                "{ t = Concat<axis = 0>(s, x) y = Identity(x) }";
    static const char fixed[] = "g (float[1,2] x, float[1,2] s) => (float[all,2] t, float[1,2] y)"
                                "{ t = Concat<axis = 0>(s, x) y = Identity(x) }";
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

#define WEIGHT "<float[2,2] w = {1, 0.5, -1, 0.25}>"

TEST(calibration_sees_the_states_of_the_float_model)
{
    static const char inner[] =
        "g (float[1,2] x, float[1,2] s) => (float[1,2] t, float[1,2] y)" WEIGHT
        "{ t = Add(s, x) y = MatMul(t, w) }";
    /* a graph input is shown with what the step before returned */
    static const char input[] =
        "g (float[1,2] x, float[1,2] s) => (float[1,2] t, float[1,2] y)" WEIGHT
        "{ y = MatMul(s, w) t = Add(s, x) }";
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;

    if (test_ort() == NULL)
        return;
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
    static const char branch[] =
        "g (float[1,2] x, float[1,2] s) => (float[1,2] t, float[1,2] y) <bool c = {1}, float[2,2] "
        "w = "
        "{1, 0.5, -1, 0.25}> {"
        "  y = If <then_branch = a () => (float[1,2] p) { u = Add(s, x) p = MatMul(u, w) },"
        "          else_branch = b () => (float[1,2] q) { q = Neg(s) }> (c)"
        "  t = Add(s, x) }";
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;

    if (test_ort() == NULL)
        return;
    opts.method = QDQ_METHOD_MAX;
    opts.passes = QDQ_PASSES_MINIMAL;
    opts.cpu = QDQ_CPU_VNNI;
    assert_float_equal(most_seen(branch, "u", &opts), 3, 0.02);
}

TEST(quantization_is_evaluated_over_sequences)
{
    static const char model[] =
        "g (float[1,2] x, float[1,2] s) => (float[1,2] t, float[1,2] y)" WEIGHT
        "{ t = Add(s, x) y = MatMul(t, w) }";
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_ptq_opts opts = QDQ_PTQ_OPTS_INIT;
    qdq_ptq_result *r = NULL;
    qdq_target *t = NULL;

    if (test_ort() == NULL)
        return;
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
