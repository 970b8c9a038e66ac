/* lstm_ort.c - an LSTM whose data is quantized at run time, on ONNX Runtime: one kernel that gives
 * what the float one does, up to rounding, with every input and attribute that both have. */
#include <math.h>

#include "numeric/ort_help.h"
#include "support/dynamic.h"

enum { HIDDEN = 16, STEPS = 5, BATCH = 2, INPUT = 12 };

typedef struct variant {
    /* NULL: none, or the number is meant */
    const char *attribute, *text;
    int64_t number;
    /* of "bnhcp", those that are there */
    const char *inputs;
    int64_t directions;
} variant;

static void add_list(test_builder *b, qdq_node *n, uint32_t i, const char *name, const int64_t *dim)
{
    test_random(b, name, dim);
    while (n->n_in <= i)
        assert_true(qdq_node_append_in(n, NULL));
    qdq_node_set_in(n, i, qdq_graph_find(b->g, name));
}

static void add_inputs(test_builder *b, qdq_node *n, const variant *v)
{
    const int64_t d = v->directions;

    if (strchr(v->inputs, 'b') != NULL)
        add_list(b, n, 3, "b", (const int64_t[]){d, 8 * HIDDEN, 0});
    if (strchr(v->inputs, 'h') != NULL)
        add_list(b, n, 5, "h", (const int64_t[]){d, BATCH, HIDDEN, 0});
    if (strchr(v->inputs, 'c') != NULL)
        add_list(b, n, 6, "c", (const int64_t[]){d, BATCH, HIDDEN, 0});
    if (strchr(v->inputs, 'p') != NULL)
        add_list(b, n, 7, "p", (const int64_t[]){d, 3 * HIDDEN, 0});
    if (strchr(v->inputs, 'n') == NULL)
        return;
    const int64_t dim[] = {BATCH};
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_INT32, 1, dim, &data);

    assert_non_null(t);
    memcpy(data, (const int32_t[]){STEPS, 2}, sizeof(int32_t[2]));
    while (n->n_in <= 4)
        assert_true(qdq_node_append_in(n, NULL));
    qdq_node_set_in(n, 4, qdq_graph_add_init(b->g, "n", t));
}

static qdq_model *lstm(const variant *v)
{
    test_builder b = test_build(17);
    const bool open = v->inputs[0] == '\0'; /* else lengths have to fit */
    const qdq_dim dim[] = {{open ? -1 : STEPS, open ? "t" : NULL}, {BATCH, NULL}, {INPUT, NULL}};

    assert_non_null(qdq_graph_add_input(b.g, "x", qdq_type_tensor(b.m, QDQ_FLOAT, 3, dim)));
    TEST_RANDOM(&b, "w", v->directions, 4 * HIDDEN, INPUT);
    TEST_RANDOM(&b, "r", v->directions, 4 * HIDDEN, HIDDEN);
    qdq_node *n = TEST_NODE(&b, "LSTM", "y", "x", "w", "r");
    assert_true(qdq_node_set_int(n, "hidden_size", HIDDEN));
    add_inputs(&b, n, v);
    if (v->text != NULL)
        assert_true(qdq_node_set_string(n, v->attribute, v->text));
    else if (v->attribute != NULL && strcmp(v->attribute, "clip") == 0)
        assert_true(qdq_node_set_float(n, "clip", (float)v->number));
    else if (v->attribute != NULL)
        assert_true(qdq_node_set_int(n, v->attribute, v->number));
    test_output(&b, "y");
    return test_built(&b);
}

static qdq_model *quantized(const qdq_model *m, const char *key, const char *value)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = test_dynamic_plan(m, &any_size, key, value);
    qdq_model *q = NULL;

    assert_ok(qdq_model_clone(m, &q, &err));
    assert_ok(qdq_insert(q, p, NULL, NULL, &err));
    qdq_plan_free(p);
    return q;
}

static const kept *run_on(qdq_engine *e, const qdq_model *m, float *x, int64_t steps)
{
    static kept k;
    const qdq_named_array in = {"x",
                                {.elem = QDQ_FLOAT,
                                 .rank = 3,
                                 .dim = {steps, BATCH, INPUT},
                                 .data = x,
                                 .bytes = (size_t)(steps * BATCH * INPUT) * sizeof *x}};

    run_on_one(e, m, NULL, &in, &k);
    return &k;
}

static void fill(float *x, float first, float step)
{
    for (int i = 0; i < STEPS * BATCH * INPUT; i++)
        x[i] = first + step * sinf((float)i);
}

TEST(results_are_those_of_the_float_lstm_up_to_rounding)
{
    static const char *const formats[][2] = {{"weight.pairs", "true"},
                                             {"weight.type", "uint8"},
                                             {"weight.reduced", "true"},
                                             {"weight.type", "int8"},
                                             {"weight.per_channel", "false"}};
    const size_t full = 3; /* from here on sums saturate without VNNI */
    static const variant variants[] = {
        {NULL, NULL, 0, "", 1},
        {NULL, NULL, 0, "bnhcp", 1},
        {NULL, NULL, 0, "hp", 1},
        {"direction", "reverse", 0, "bn", 1},
        {"direction", "bidirectional", 0, "", 2},
        {"direction", "bidirectional", 0, "bnhcp", 2},
        {"clip", NULL, 1, "b", 1},
        {"input_forget", NULL, 1, "b", 1},
        {"layout", NULL, 0, "b", 1},
    };
    qdq_engine *e = need_ort();
    float x[STEPS * BATCH * INPUT];

    fill(x, 0.25F, 1);
    for (size_t i = 0; i < QDQ_COUNT(variants); i++) {
        qdq_model *m = lstm(&variants[i]);
        const kept want = *run_on(e, m, x, STEPS);

        for (size_t k = 0; k < QDQ_COUNT(formats); k++) {
            qdq_model *q = quantized(m, formats[k][0], formats[k][1]);

            assert_int_equal(count_kernels(e, q, "DynamicQuantizeLSTM"), 1);
            assert_int_equal(count_kernels(e, q, "LSTM"), 0);
            if (!test_saturates() || k < full)
                assert_true(error_of(&want, run_on(e, q, x, STEPS)) < 0.05);
            qdq_model_free(q);
        }
        qdq_model_free(m);
    }
}

/* The scale of a range of one value is 0 or 1: whatever it is, nothing is NaN. */
TEST(no_steps_and_data_of_one_value_are_no_special_case)
{
    static const variant plain = {NULL, NULL, 0, "", 1};
    qdq_engine *e = need_ort();
    qdq_model *m = lstm(&plain), *q = quantized(m, "weight.pairs", "true");
    float x[STEPS * BATCH * INPUT];

    fill(x, 0, 0);
    assert_true(error_of(&(kept){.size = 0}, run_on(e, q, x, 0)) == 0);
    for (int value = -1; value <= 1; value++) {
        fill(x, (float)value, 0);
        const kept want = *run_on(e, m, x, STEPS);
        assert_true(error_of(&want, run_on(e, q, x, STEPS)) < 0.05);
    }
    qdq_model_free(m);
    qdq_model_free(q);
}

/* All that placement and the plan say comes back from the file, and gives the same model. */
TEST(a_stripped_lstm_computes_what_its_rounded_weights_say)
{
    static const variant both = {"direction", "bidirectional", 0, "bnhcp", 2};
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = lstm(&both), *q = quantized(m, "weight.type", "int8"), *f = NULL;
    float x[STEPS * BATCH * INPUT];
    size_t n_left = 9;

    fill(x, 0.25F, 1);
    const kept want = *run_on(e, m, x, STEPS);
    assert_ok(qdq_model_strip(q, NULL, &f, &n_left, &err));
    assert_int_equal(n_left, 0);
    assert_true(error_of(&want, run_on(e, f, x, STEPS)) < 0.02);
    qdq_model_free(m);
    qdq_model_free(q);
    qdq_model_free(f);
}
