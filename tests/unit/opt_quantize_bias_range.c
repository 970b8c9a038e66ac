/* opt_quantize_bias_range.c - codes and scales of biases between Q/DQ are exact. */
#include <inttypes.h>

#include "ir/edit.h"
#include "ir/qdq_node.h"
#include "support/build.h"
#include "support/test.h"

#define PASS "quantize-bias"

/* --- numbers ---------------------------------------------------------------------------------- */

/* y = Conv(DQ(xq), DQ(wq), b), 1x1, one input channel: all that matters is numbers. */
typedef struct number_case {
    const char *name, *pass, *type, *scale_x, *zero_x, *w, *b;
    size_t channels, n_scale;
    int32_t code[5];
    /* bits */
    uint32_t scale[3];
    /* in the log; NULL: nothing is logged */
    const char *message;
    /* where they change */
    int32_t weight[2];
    uint32_t weight_scale;
} number_case;

typedef struct recorded_lines {
    char text[2000];
} recorded_lines;

static void record_line(void *ctx, qdq_log_level level, const char *line)
{
    recorded_lines *h = ctx;

    if (level <= QDQ_LOG_WARNING)
        snprintf(h->text + strlen(h->text), sizeof h->text - strlen(h->text), "%s\n", line);
}

static qdq_optimize_report *run(qdq_model *m, const char *pipeline, recorded_lines *h)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *report = NULL;

    job.log = record_line;
    job.ctx = h;
    opts.passes = pipeline;
    opts.job = &job;
    opts.verify_each = true;
    assert_ok(qdq_model_optimize(m, &opts, &report, &err));
    return report;
}

static const qdq_tensor *constant(const qdq_node *n, uint32_t i)
{
    assert_non_null(n);
    assert_non_null(qdq_node_in(n, i));
    const qdq_tensor *t = qdq_value_const(qdq_node_in(n, i));
    assert_non_null(t);
    return t;
}

static uint32_t bits_at(const qdq_tensor *t, size_t i)
{
    uint32_t bits;

    assert_int_equal(t->elem, QDQ_FLOAT);
    memcpy(&bits, t->bytes.data + i * sizeof bits, sizeof bits);
    return bits;
}

static void assert_bias(const number_case *c, const qdq_node *conv)
{
    const qdq_node *dq = qdq_node_in(conv, 2)->producer;
    const qdq_tensor *codes = constant(dq, 0), *scale = constant(dq, 1), *zero = constant(dq, 2);

    assert_int_equal(dq->op, QDQ_OP_DEQUANTIZELINEAR);
    assert_int_equal(codes->elem, QDQ_INT32);
    assert_int_equal(codes->count, c->channels);
    for (size_t i = 0; i < c->channels; i++)
        if (qdq_elem_int(QDQ_INT32, codes->bytes.data, (int64_t)i) != c->code[i])
            fail_msg("%s: code %zu is %" PRId64 ", expected %d", c->name, i,
                     qdq_elem_int(QDQ_INT32, codes->bytes.data, (int64_t)i), (int)c->code[i]);
    assert_int_equal(scale->count, c->n_scale);
    assert_int_equal(zero->count, c->n_scale);
    for (size_t i = 0; i < c->n_scale; i++) {
        if (bits_at(scale, i) != c->scale[i])
            fail_msg("%s: scale %zu is 0x%08X", c->name, i, (unsigned)bits_at(scale, i));
        assert_int_equal(qdq_elem_int(QDQ_INT32, zero->bytes.data, (int64_t)i), 0);
    }
    assert_int_equal(scale->rank, c->n_scale > 1 ? 1 : 0);
    assert_int_equal(qdq_node_int(dq, "axis", -7), c->n_scale > 1 ? 0 : -7);
}

static void check_numbers(const number_case *c)
{
    char text[1000];
    recorded_lines first = {""}, second = {""};

    snprintf(text, sizeof text,
             "g (%s[1,1,1,1] xq) => (float[1,%zu,1,1] y) <float xs = {%s}, %s xz = {%s}, %s, "
             "float[%zu] b = "
             "%s> {\n"
             "  x = DequantizeLinear(xq, xs, xz)\n"
             "  w = DequantizeLinear <axis = 0> (wq, ws)\n"
             "  y = Conv(x, w, b)\n"
             "}\n",
             c->type, c->channels, c->scale_x, c->type, c->zero_x, c->w, c->channels, c->b);
    qdq_model *m = test_model(text);
    qdq_optimize_report *r = run(m, c->pass, &first);
    const qdq_node *conv = m->graph->outputs.at[0]->producer;
    if (r->changes == 0)
        fail_msg("%s: nothing changed: %s", c->name, r->passes[0].refusals[0].reason);
    assert_bias(c, conv);
    assert_null(qdq_graph_find(m->graph, "b"));
    if (c->message == NULL ? first.text[0] != '\0' : strstr(first.text, c->message) == NULL)
        fail_msg("%s: logged '%s'", c->name, first.text);
    if (c->weight_scale != 0) {
        const qdq_node *w = qdq_node_in(conv, 1)->producer;
        assert_int_equal(bits_at(constant(w, 1), 0), c->weight_scale);
        for (int64_t i = 0; i < constant(w, 0)->count; i++)
            assert_int_equal(qdq_elem_int(QDQ_INT8, constant(w, 0)->bytes.data, i), c->weight[i]);
    }
    assert_int_equal(m->graph->inputs.n, 1);
    qdq_optimize_report_free(r);
    r = run(m, c->pass, &second);
    assert_int_equal(r->changes, 0);
    assert_string_equal(second.text, "");
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

#define W1(scale) "int8[1,1,1,1] wq = {1}, float ws = {" scale "}"
#define W2(scale) "int8[2,1,1,1] wq = {1, 1}, float ws = {" scale "}"
#define W4        "int8[4,1,1,1] wq = {1, 1, 1, 1}, float ws = {0.005}"
#define W5        "int8[5,1,1,1] wq = {1, 1, 1, 1, 1}, float ws = {0.25}"
#define RAISED    "int8[2,1,1,1] wq = {127, 100}, float ws = {7.843e-10}"

TEST(codes_and_scales_are_exact)
{
    static const number_case cases[] = {
        {"one scale of the weight",
         PASS,
         "uint8",
         "0.02",
         "0",
         W4,
         "{0.5, -0.25, 0, 1.2345}",
         4,
         1,
         {5000, -2500, 0, 12345},
         {0x38D1B717},
         NULL,
         {0},
         0},
        {"a scale for each channel",
         PASS,
         "uint8",
         "0.05",
         "0",
         "int8[3,1,1,1] wq = {1, 1, 1}, float[3] ws = {0.001, 0.002, 0.004}",
         "{0.1, -0.3, 0.7}",
         3,
         3,
         {2000, -3000, 3500},
         {0x3851B718, 0x38D1B718, 0x3951B718},
         NULL,
         {0},
         0},
        {"ties go to the even code",
         PASS,
         "uint8",
         "0.5",
         "0",
         W5,
         "{0.0625, 0.1875, 0.3125, -0.0625, -0.1875}",
         5,
         1,
         {0, 2, 2, 0, -2},
         {0x3E000000},
         NULL,
         {0},
         0},
        {"a zero point of uint8 data",
         PASS,
         "uint8",
         "0.02",
         "128",
         W4,
         "{0.5, -0.25, 0, 1.2345}",
         4,
         1,
         {5000, -2500, 0, 12345},
         {0x38D1B717},
         NULL,
         {0},
         0},
        {"a zero point of int8 data",
         PASS,
         "int8",
         "0.02",
         "-7",
         W4,
         "{0.5, -0.25, 0, 1.2345}",
         4,
         1,
         {5000, -2500, 0, 12345},
         {0x38D1B717},
         NULL,
         {0},
         0},
        {"clipped on request",
         PASS ":saturate",
         "uint8",
         "0.5",
         "0",
         W2("7.843e-10"),
         "{5, -4.5}",
         2,
         1,
         {INT32_MAX, INT32_MIN},
         {0x2FD79635},
         "'Conv@y': 2 numbers of the bias were clipped, by at most 4.16",
         {0},
         0},
        {"clipped on request, without the lowest code",
         PASS ":saturate+symmetric",
         "uint8",
         "0.5",
         "0",
         W2("7.843e-10"),
         "{5, -4.5}",
         2,
         1,
         {INT32_MAX, -INT32_MAX},
         {0x2FD79635},
         "were clipped",
         {0},
         0},
        {"the scale of the weight is raised",
         PASS,
         "int16",
         "0.5",
         "0",
         RAISED,
         "{5, -4.5}",
         2,
         1,
         {2147268834, -1932541951},
         {0x31200419},
         "scales of the weight were raised",
         {21, 17},
         0x31A00419},
        {"data of int16",
         PASS,
         "int16",
         "7.8e-5",
         "0",
         W1("0.004"),
         "{1.5}",
         1,
         1,
         {4807692},
         {0x34A780F4},
         NULL,
         {0},
         0},
        {"data of int8",
         PASS,
         "int8",
         "0.02",
         "0",
         W1("0.004"),
         "{1.5}",
         1,
         1,
         {18750},
         {0x38A7C5AD},
         NULL,
         {0},
         0},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        check_numbers(&cases[i]);
}

/* 4608 weights of 127 under data of 255 leave room for codes up to 1998253567 only. */
TEST(a_bias_leaves_room_for_the_accumulator)
{
    static const struct {
        double bias;
        int32_t code;
        uint32_t scale, weight_scale;
    } cases[] = {{-1.6, -1998053735, 0x305C1DD5, 0x3456F521}, {1.75, 1998053828, 0, 0}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        test_builder b = test_build(17);
        const int64_t shape[4] = {1, 512, 3, 3}, one = 1;
        const float xs = 0.004F, ws = 2e-7F, bias = (float)cases[i].bias;
        recorded_lines h = {""};
        void *data;

        qdq_tensor *t = qdq_tensor_new(b.m, QDQ_INT8, 4, shape, &data);
        memset(data, 127, 4608);
        qdq_graph_add_init(b.g, "wq", t);
        qdq_graph_add_init(b.g, "xs", qdq_tensor_of_floats(b.m, 0, &one, &xs));
        qdq_graph_add_init(b.g, "xz", qdq_tensor_new(b.m, QDQ_UINT8, 0, &one, &data));
        qdq_graph_add_init(b.g, "ws", qdq_tensor_of_floats(b.m, 0, &one, &ws));
        qdq_graph_add_init(b.g, "b", qdq_tensor_of_floats(b.m, 1, &one, &bias));
        TEST_INPUT(&b, "in", 1, 512, 3, 3);
        TEST_NODE(&b, "QuantizeLinear", "xq", "in", "xs", "xz");
        TEST_NODE(&b, "DequantizeLinear", "x", "xq", "xs", "xz");
        TEST_NODE(&b, "DequantizeLinear", "w", "wq", "ws");
        TEST_NODE(&b, "Conv", "y", "x", "w", "b");
        test_output(&b, "y");
        qdq_model *m = test_built(&b);
        qdq_optimize_report *r = run(m, PASS, &h);
        const qdq_node *conv = m->graph->outputs.at[0]->producer,
                       *dq = qdq_node_in(conv, 2)->producer;
        assert_int_equal(qdq_elem_int(QDQ_INT32, constant(dq, 0)->bytes.data, 0), cases[i].code);
        if (cases[i].scale != 0) {
            assert_int_equal(bits_at(constant(dq, 1), 0), cases[i].scale);
            assert_int_equal(bits_at(constant(qdq_node_in(conv, 1)->producer, 1), 0),
                             cases[i].weight_scale);
            /* 126.876 */
            assert_int_equal(constant(qdq_node_in(conv, 1)->producer, 0)->bytes.data[0], 127);
        }
        assert_non_null(strstr(h.text, "were raised"));
        qdq_optimize_report_free(r);
        r = run(m, PASS, &h);
        assert_int_equal(r->changes, 0);
        qdq_optimize_report_free(r);
        qdq_model_free(m);
    }
}
