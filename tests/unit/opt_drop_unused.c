/* opt_drop_unused.c - what nothing needs goes: nodes, bodies, calls, outputs, constants,
 * annotations. */
#include "support/rewrite.h"

#include "ir/edit.h"
#include "support/pb_build.h"

#define PASS "drop-unused"

/* --- nodes ------------------------------------------------------------------------------------ */

static void dead_chains_and_their_constants_go(void **state)
{
    (void)state;
    assert_becomes("drop-unused",
                   "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
                   "  a = Add(x, w)\n"
                   "  b = Relu(a)\n"
                   "  y = Relu(x)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  y = Relu(x)\n"
                   "}\n");
}

static void random_and_unknown_nodes_stay(void **state)
{
    (void)state;
    assert_kept("drop-unused", "g (float[2] x) => (float[2] y) {\n"
                               "  a = RandomNormalLike(x)\n"
                               "  y = Relu(x)\n"
                               "}\n");
}

static void dequantized_weights_that_are_read_stay(void **state)
{
    (void)state;
    assert_kept(
        "drop-unused",
        "g (float[2] x) => (float[2] y) <int8[2] w = {1, 2}, float s = {0.5}, int8 z = {0}> {\n"
        "  d = DequantizeLinear(w, s, z)\n"
        "  y = Add(x, d)\n"
        "}\n");
}

/* Random nodes draw from one source: which numbers the next one gets depends on them. */
static void bodies_of_nothing_but_pure_operators_go_whole(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (bool c, int64 n, float[2] x) => (float[2] y) {\n"
        "  dead = Neg(x)\n"
        "  a = If <then_branch = t () => (float[2] p) {\n"
        "    p = Neg(dead)\n"
        "  }, else_branch = e () => (float[2] q) {\n"
        "    q = Loop <body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] s2) {\n"
        "      k2 = Identity(k)\n"
        "      s2 = Add(s, dead)\n"
        "    }> (n, \"\", x)\n"
        "  }> (c)\n"
        "  y = Neg(x)\n"
        "}\n",
        "g (bool c, int64 n, float[2] x) => (float[2] y) {\n"
        "  y = Neg(x)\n"
        "}\n");
}

static void bodies_with_random_or_unknown_nodes_stay(void **state)
{
    (void)state;
    assert_kept(PASS, "g (bool c, float[2] x) => (float[2] y) {\n"
                      "  a = If <then_branch = t () => (float[2] p) {\n"
                      "    p = If <then_branch = t2 () => (float[2] u) {\n"
                      "      u = RandomNormalLike(x)\n"
                      "    }, else_branch = e2 () => (float[2] v) {\n"
                      "      v = Neg(x)\n"
                      "    }> (c)\n"
                      "  }, else_branch = e () => (float[2] q) {\n"
                      "    q = Neg(x)\n"
                      "  }> (c)\n"
                      "  b = If <then_branch = t3 () => (float[2] r) {\n"
                      "    r = your.Op(x)\n"
                      "  }, else_branch = e3 () => (float[2] s) {\n"
                      "    s = Neg(x)\n"
                      "  }> (c)\n"
                      "  y = Neg(x)\n"
                      "}\n");
}

static void inside_bodies_dead_nodes_go_too(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
                   "  only = Neg(x)\n"
                   "  y = If <then_branch = t () => (float[2] p) <float[2] u = {1, 2}> {\n"
                   "    dead = Sum(only, u, w)\n"
                   "    p = Neg(x)\n"
                   "  }, else_branch = e () => (float[2] q) {\n"
                   "    q = Abs(x)\n"
                   "  }> (c)\n"
                   "}\n",
                   "g (bool c, float[2] x) => (float[2] y) {\n"
                   "  y = If <then_branch = t () => (float[2] p) {\n"
                   "    p = Neg(x)\n"
                   "  }, else_branch = e () => (float[2] q) {\n"
                   "    q = Abs(x)\n"
                   "  }> (c)\n"
                   "}\n");
}

static void calls_go_when_all_in_the_function_may_go(void **state)
{
    static const char head[] = "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\n";
    static const char functions[] = "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]>\n"
                                    "Pure (a) => (b) {\n"
                                    "  b = my.Pure2(a)\n"
                                    "}\n"
                                    "<domain: \"my\", opset_import: [\"\" : 17]>\n"
                                    "Pure2 (a) => (b) {\n"
                                    "  b = Neg(a)\n"
                                    "}\n"
                                    "<domain: \"my\", opset_import: [\"\" : 17]>\n"
                                    "Random (a) => (b) {\n"
                                    "  b = RandomNormalLike(a)\n"
                                    "}\n"
                                    "<domain: \"\", opset_import: [\"my\" : 1]>\n"
                                    "Abs (a) => (b) {\n"
                                    "  b = my.Random(a)\n"
                                    "}\n";
    char before[1200], after[1200];

    (void)state;
    snprintf(before, sizeof before,
             "%sg (float[2] x) => (float[2] y) {\n"
             "  a = my.Pure(x)\n"
             "  b = my.Random(x)\n"
             "  d = Abs(x)\n"
             "  y = Neg(x)\n"
             "}\n%s",
             head, functions);
    snprintf(after, sizeof after,
             "%sg (float[2] x) => (float[2] y) {\n"
             "  b = my.Random(x)\n"
             "  d = Abs(x)\n"
             "  y = Neg(x)\n"
             "}\n%s",
             head, functions);
    assert_becomes(PASS, before, after);
}

/* --- operands --------------------------------------------------------------------------------- */

static void outputs_that_nobody_reads_are_left_out(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (float[1,1,4,4] x, float[2,1,3] s, float[1,8,3] w, float[1,8,2] r) => "
                   "(float[1,1,4,4] y, "
                   "float[1,1,2] z, float[1,1,2] h) {\n"
                   "  y, i = MaxPool <kernel_shape = [1, 1]> (x)\n"
                   "  a, z, c = LSTM <hidden_size = 2> (s, w, r)\n"
                   "  b, d, h = LSTM <hidden_size = 2> (s, w, r)\n"
                   "}\n",
                   "g (float[1,1,4,4] x, float[2,1,3] s, float[1,8,3] w, float[1,8,2] r) => "
                   "(float[1,1,4,4] y, "
                   "float[1,1,2] z, float[1,1,2] h) {\n"
                   "  y = MaxPool <kernel_shape = [1, 1]> (x)\n"
                   "  a, z = LSTM <hidden_size = 2> (s, w, r)\n"
                   "  b, \"\", h = LSTM <hidden_size = 2> (s, w, r)\n"
                   "}\n");
}

static void outputs_that_must_be_there_stay(void **state)
{
    (void)state;
    assert_kept(PASS,
                "g (float[6] x) => (float[2] y, float[1] v, uint8[6] q) <int64[1] k = {1}> {\n"
                "  y, b, c = Split <num_outputs = 3> (x)\n"
                "  v, i = TopK(x, k)\n"
                "  q, s, z = DynamicQuantizeLinear(x)\n"
                "}\n");
}

/* optimizer 10 case 28 */
static void batchnormalization_that_trains_keeps_its_outputs(void **state)
{
    (void)state;
    assert_refused(
        "default",
        "g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2] s = {1, 2}, float[2] b = {1, 3}, "
        "float[2] m = {0, 1}, float[2] v = {1, 4}, float[2,2,1,1] w = {1, 2, 3, 4}> {\n"
        "  c = Conv(x, w)\n"
        "  y, om, ov = BatchNormalization <training_mode = 1> (c, s, b, m, v)\n"
        "}\n",
        "it trains");
    assert_refused(
        PASS,
        "<ir_version: 7, opset_import: [\"\" : 9]>\n"
        "g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2] s = {1, 2}, float[2] b = {1, 3}, "
        "float[2] m = {0, 1}, float[2] v = {1, 4}> {\n"
        "  y, om, ov = BatchNormalization(x, s, b, m, v)\n"
        "}\n",
        "it trains");
    assert_becomes(
        PASS,
        "g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2] s = {1, 2}, float[2] b = {1, 3}, "
        "float[2] m = {0, 1}, float[2] v = {1, 4}> {\n"
        "  y, om, ov = BatchNormalization(x, s, b, m, v)\n"
        "}\n",
        "g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2] s = {1, 2}, float[2] b = {1, 3}, "
        "float[2] m = {0, 1}, float[2] v = {1, 4}> {\n"
        "  y = BatchNormalization(x, s, b, m, v)\n"
        "}\n");
}

static void left_out_inputs_at_the_end_go(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (bool c, float[2] x, float m) => (float[2] y, float[2] z, float[2] u) {\n"
                   "  y = Clip(x, \"\", \"\")\n"
                   "  z = Clip(x, \"\", m)\n"
                   "  u = Loop <body = b (int64 i, bool k) => (bool k2, float[2] s2) {\n"
                   "    k2 = Identity(c)\n"
                   "    s2 = Neg(x)\n"
                   "  }> (\"\", \"\")\n"
                   "}\n",
                   "g (bool c, float[2] x, float m) => (float[2] y, float[2] z, float[2] u) {\n"
                   "  y = Clip(x)\n"
                   "  z = Clip(x, \"\", m)\n"
                   "  u = Loop <body = b (int64 i, bool k) => (bool k2, float[2] s2) {\n"
                   "    k2 = Identity(c)\n"
                   "    s2 = Neg(x)\n"
                   "  }> (\"\", \"\")\n"
                   "}\n");
}

/* --- constants and annotations ---------------------------------------------------------------- */

static void constants_that_are_inputs_or_outputs_stay(void **state)
{
    (void)state;
    assert_kept(PASS, "g (float x, float unused, float i = {1}) => (float x, float o, float o) "
                      "<float o = {1}> {\n"
                      "}\n");
}

/* TensorAnnotation: tensor_name = 1, quant_parameter_tensor_names = 2 (key = 1, value = 2). */
static void annotate(qdq_buf *graph, const char *tensor, const char *scale)
{
    qdq_buf annotation = PB_NEW, entry = PB_NEW;

    pb_text(&entry, 1, "SCALE_TENSOR");
    pb_text(&entry, 2, scale);
    pb_text(&annotation, 1, tensor);
    pb_message(&annotation, 2, &entry);
    pb_message(graph, 14, &annotation);
}

static void annotations_go_with_their_tensors_and_hold_their_constants(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf rest = PB_NEW, expected = PB_NEW;
    qdq_model *m = test_model(
        "g (float[2] x) => (float[2] y) <float s = {1}, float t = {2}, float u = {3}> {\n"
        "  dead = Neg(x)\n"
        "  y = Abs(x)\n"
        "}\n");

    (void)state;
    pb_text(&rest, 10, "a comment");
    annotate(&rest, "y", "s");
    annotate(&rest, "dead", "t");
    annotate(&rest, "x", "no such constant");
    annotate(&rest, "x", "u");
    pb_text(&expected, 10, "a comment");
    annotate(&expected, "y", "s");
    annotate(&expected, "x", "u");
    qdq_graph_set_rest(m->graph, (qdq_span){(const unsigned char *)rest.data, rest.size});
    assert_ok(qdq_model_run_passes(m, PASS, &err));
    assert_int_equal(m->graph->rest.size, expected.size);
    assert_memory_equal(m->graph->rest.data, expected.data, expected.size);
    assert_null(qdq_graph_find(m->graph, "t"));
    assert_non_null(qdq_graph_find(m->graph, "s"));
    assert_non_null(qdq_graph_find(m->graph, "u"));
    qdq_buf_free(&rest);
    qdq_buf_free(&expected);
    qdq_model_free(m);
}

/* Hostile, but read: an annotation that is not one. It names nothing. */
static void an_annotation_of_garbage_goes(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float[2] x) => (float[2] y) {\n"
                              "  y = Abs(x)\n"
                              "}\n");
    qdq_buf rest = PB_NEW;

    (void)state;
    pb_bytes(&rest, 14, "\xff\xff\xff", 3);
    pb_int(&rest, 14, 5);
    qdq_graph_set_rest(m->graph, (qdq_span){(const unsigned char *)rest.data, rest.size});
    assert_ok(qdq_model_run_passes(m, PASS, &err));
    assert_int_equal(m->graph->rest.size, 0);
    qdq_buf_free(&rest);
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_chains_and_their_constants_go),
        cmocka_unit_test(random_and_unknown_nodes_stay),
        cmocka_unit_test(dequantized_weights_that_are_read_stay),
        cmocka_unit_test(bodies_of_nothing_but_pure_operators_go_whole),
        cmocka_unit_test(bodies_with_random_or_unknown_nodes_stay),
        cmocka_unit_test(inside_bodies_dead_nodes_go_too),
        cmocka_unit_test(calls_go_when_all_in_the_function_may_go),
        cmocka_unit_test(outputs_that_nobody_reads_are_left_out),
        cmocka_unit_test(outputs_that_must_be_there_stay),
        cmocka_unit_test(batchnormalization_that_trains_keeps_its_outputs),
        cmocka_unit_test(left_out_inputs_at_the_end_go),
        cmocka_unit_test(constants_that_are_inputs_or_outputs_stay),
        cmocka_unit_test(annotations_go_with_their_tensors_and_hold_their_constants),
        cmocka_unit_test(an_annotation_of_garbage_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
