/* opt_initializers.c - constants that are shared, lifted out of bodies, or taken off the inputs. */
#include "support/rewrite.h"

#include "support/build.h"

/* --- freeze-inputs ---------------------------------------------------------------------------- */

/* optimizer 10 case 17 */
static void inputs_with_data_stay_inputs_unless_that_is_asked_for(void **state)
{
    static const char text[] = "g (float[1] x, float[1] c = {1}) => (float[1] z) {\n"
                               "  t = Add(c, c)\n"
                               "  z = Mul(x, t)\n"
                               "}\n";

    (void)state;
    assert_kept("default", text);
    assert_becomes("freeze-inputs", text,
                   "g (float[1] x) => (float[1] z) <float[1] c = {1}> {\n"
                   "  t = Add(c, c)\n"
                   "  z = Mul(x, t)\n"
                   "}\n");
    assert_becomes("freeze-inputs,default", text,
                   "g (float[1] x) => (float[1] z) <float[1] t = {2}> {\n"
                   "  z = Mul(x, t)\n"
                   "}\n");
}

static void many_inputs_with_data_between_others_are_frozen_in_order(void **state)
{
    (void)state;
    assert_becomes(
        "freeze-inputs",
        "g (float a = {1}, float x, float b = {2}, float c = {3}, float y) => (float z) {\n"
        "  z = Sum(a, b, c, x, y)\n"
        "}\n",
        "g (float x, float y) => (float z) <float a = {1}, float b = {2}, float c = {3}> {\n"
        "  z = Sum(a, b, c, x, y)\n"
        "}\n");
}

static void below_ir_version_4_initializers_stay_listed(void **state)
{
    (void)state;
    assert_kept("freeze-inputs", "<ir_version: 3, opset_import: [\"\" : 8]>\n"
                                 "g (float x, float a = {1}) => (float z) {\n"
                                 "  z = Sum(a, x)\n"
                                 "}\n");
}

/* --- lift-subgraph-initializers --------------------------------------------------------------- */

static void constants_of_bodies_go_to_the_main_graph(void **state)
{
    (void)state;
    assert_becomes(
        "lift-subgraph-initializers",
        "g (bool c, float[2] x) => (float[2] y) <float[2] v = {5, 6}> {\n"
        "  y = If <then_branch = t () => (float[2] a) <float[2] w = {1, 2}, float[2] u = {5, 5}> "
        "{\n"
        "    s = Add(x, w)\n"
        "    r = If <then_branch = t2 () => (float[2] d) <float[2] deep = {7, 8}> {\n"
        "      d = Sum(s, deep, u)\n"
        "    }, else_branch = e2 () => (float[2] f) {\n"
        "      f = Neg(s)\n"
        "    }> (c)\n"
        "    a = Add(r, v)\n"
        "  }, else_branch = e () => (float[2] b) <float[2] w = {3, 4}> {\n"
        "    b = Add(x, w)\n"
        "  }> (c)\n"
        "}\n",
        "g (bool c, float[2] x) => (float[2] y) <float[2] v = {5, 6}, float[2] w_1 = {1, 2}, "
        "float[2] u = {5, 5}, float[2] deep = {7, 8}, float[2] w = {3, 4}> {\n"
        "  y = If <then_branch = t () => (float[2] a) {\n"
        "    s = Add(x, w_1)\n"
        "    r = If <then_branch = t2 () => (float[2] d) {\n"
        "      d = Sum(s, deep, u)\n"
        "    }, else_branch = e2 () => (float[2] f) {\n"
        "      f = Neg(s)\n"
        "    }> (c)\n"
        "    a = Add(r, v)\n"
        "  }, else_branch = e () => (float[2] b) {\n"
        "    b = Add(x, w)\n"
        "  }> (c)\n"
        "}\n");
}

static void inputs_and_outputs_of_bodies_and_functions_stay(void **state)
{
    (void)state;
    assert_kept("lift-subgraph-initializers",
                "g (bool c, float[2] x) => (float[2] y, float[2] z) {\n"
                "  y = If <then_branch = t () => (float[2] w) <float[2] w = {1, 2}> {\n"
                "  }, else_branch = e () => (float[2] b) {\n"
                "    b = Neg(x)\n"
                "  }> (c)\n"
                "  z = your.Op <body = b (float[2] u = {1, 2}) => (float[2] d) {\n"
                "    d = Add(u, x)\n"
                "  }> (x)\n"
                "}\n");
    assert_kept("lift-subgraph-initializers",
                "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\n"
                "g (bool c, float[2] x) => (float[2] y) {\n"
                "  y = my.F(c, x)\n"
                "}\n"
                "<domain: \"my\", opset_import: [\"\" : 17]>\n"
                "F (c, x) => (y) {\n"
                "  y = If <then_branch = t () => (float[2] a) <float[2] w = {1, 2}> {\n"
                "    a = Add(x, w)\n"
                "  }, else_branch = e () => (float[2] b) {\n"
                "    b = Neg(x)\n"
                "  }> (c)\n"
                "}\n");
}

/* --- share-initializers ----------------------------------------------------------------------- */

static void equal_constants_become_the_first_of_them(void **state)
{
    (void)state;
    assert_becomes(
        "share-initializers",
        "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 3}, float[2] c = "
        "{1, 2}, float[2] d = {1, 3}, float[2] e = {1, 2}> {\n"
        "  y = Sum(x, a, b, c, d, e)\n"
        "}\n",
        "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 3}> {\n"
        "  y = Sum(x, a, b, a, b, a)\n"
        "}\n");
}

static void shape_type_sign_of_zero_and_nan_keep_constants_apart(void **state)
{
    (void)state;
    assert_kept("share-initializers", "g (float[2] x) => (float[2] y, float[2,1] z) <float[2] a = "
                                      "{0, 0}, float[2] b = {0, -0.0}, "
                                      "float[2,1] c = {0, 0}, int32[2] d = {0, 0}> {\n"
                                      "  i = Cast <to = 1> (d)\n"
                                      "  y = Sum(x, a, b, i)\n"
                                      "  z = Neg(c)\n"
                                      "}\n");
    assert_kept(
        "share-initializers",
        "g (float[2] x) => (float[2] y) <float[2] a = {nan, 1}, float[2] b = {nan, 1}, double c = "
        "{nan}, double d = {nan}> {\n"
        "  y = Sum(x, a, b)\n"
        "  s = Mul(c, d)\n"
        "}\n");
}

static void outputs_and_inputs_of_the_graph_are_not_shared(void **state)
{
    (void)state;
    assert_kept(
        "share-initializers",
        "g (float[2] x, float[2] i = {1, 2}) => (float[2] y, float[2] o) <float[2] a = {1, 2}, "
        "float[2] o = {1, 2}> {\n"
        "  y = Sum(x, a, i, o)\n"
        "}\n");
}

static void empty_packed_and_string_tensors(void **state)
{
    (void)state;
    assert_becomes(
        "share-initializers",
        "<ir_version: 10, opset_import: [\"\" : 21, \"your\" : 1]>\n"
        "g (int64 x) => (int64 y) <int64[0] a = {}, int64[0] b = {}, int4[3] c = {1, 2, 3}, "
        "int4[3] "
        "d = {1, 2, 3}, string[1] s = {\"a\"}, string[1] t = {\"a\"}> {\n"
        "  y = your.Op(x, a, b, c, d, s, t)\n"
        "}\n",
        "<ir_version: 10, opset_import: [\"\" : 21, \"your\" : 1]>\n"
        "g (int64 x) => (int64 y) <int64[0] a = {}, int4[3] c = {1, 2, 3}, string[1] s = {\"a\"}, "
        "string[1] t = {\"a\"}> {\n"
        "  y = your.Op(x, a, a, c, c, s, t)\n"
        "}\n");
}

/* The same scale in two places is one scale; codes of weights and their zero points stay with their
 * layers: OpenVINO leaves a MatMul in float whose weight's zero point another layer reads, too. */
static void scales_are_shared_and_quantized_weights_only_on_request(void **state)
{
    static const char text[] = "g (float[1,2] x) => (float[1,2] y) <int8[2,2] w = {1, 2, 3, 4}, "
                               "int8[2,2] v = {1, 2, 3, 4}, "
                               "float s = {0.5}, float r = {0.5}, int8 z = {0}, int8 p = {0}, "
                               "float[2,2] f = {1, 2, 3, 4}, "
                               "float[2,2] h = {1, 2, 3, 4}> {\n"
                               "  d = DequantizeLinear(w, s, z)\n"
                               "  e = DequantizeLinear(v, r, p)\n"
                               "  q = QuantizeLinear(f, s, z)\n"
                               "  k = QuantizeLinear(h, r, p)\n"
                               "  a = MatMul(x, d)\n"
                               "  b = MatMul(a, e)\n"
                               "  y = your.Op(b, q, k)\n"
                               "}\n";

    (void)state;
    assert_becomes(
        "share-initializers", text,
        "g (float[1,2] x) => (float[1,2] y) <int8[2,2] w = {1, 2, 3, 4}, int8[2,2] v = {1, 2, 3, "
        "4}, float s = {0.5}, int8 z = {0}, int8 p = {0}, float[2,2] f = {1, 2, 3, 4}, float[2,2] "
        "h = {1, 2, 3, "
        "4}> {\n"
        "  d = DequantizeLinear(w, s, z)\n"
        "  e = DequantizeLinear(v, s, p)\n"
        "  q = QuantizeLinear(f, s, z)\n"
        "  k = QuantizeLinear(h, s, p)\n"
        "  a = MatMul(x, d)\n"
        "  b = MatMul(a, e)\n"
        "  y = your.Op(b, q, k)\n"
        "}\n");
    assert_becomes(
        "share-initializers:weights", text,
        "g (float[1,2] x) => (float[1,2] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {0.5}, int8 z = "
        "{0}, float[2,2] f = {1, 2, 3, 4}> {\n"
        "  d = DequantizeLinear(w, s, z)\n"
        "  e = DequantizeLinear(w, s, z)\n"
        "  q = QuantizeLinear(f, s, z)\n"
        "  k = QuantizeLinear(f, s, z)\n"
        "  a = MatMul(x, d)\n"
        "  b = MatMul(a, e)\n"
        "  y = your.Op(b, q, k)\n"
        "}\n");
}

/* Scales that differ in the last bit are two scales: optimizer 10 case 6 */
static void scales_one_step_apart_are_not_equal(void **state)
{
    (void)state;
    assert_kept("default", "g (uint8[2] x) => (float[2] y) <float s = {0.5}, float r = "
                           "{0.50000006}, uint8 z = {1}> {\n"
                           "  a = DequantizeLinear(x, s, z)\n"
                           "  b = DequantizeLinear(x, r, z)\n"
                           "  y = Add(a, b)\n"
                           "}\n");
}

/* Two constants of 1 MiB and four bytes, and two of 1 MiB. */
static void large_constants_are_left_unread(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        test_builder b = test_build(17);
        qdq_error err = QDQ_ERROR_INIT;
        uint64_t seed = b.seed;

        TEST_INPUT(&b, "x", 1);
        TEST_RANDOM(&b, "large", (1 << 18) + 1);
        b.seed = seed;
        TEST_RANDOM(&b, "large2", (1 << 18) + 1);
        b.seed = seed;
        TEST_RANDOM(&b, "small", 1 << 18);
        b.seed = seed;
        TEST_RANDOM(&b, "small2", 1 << 18);
        TEST_NODE(&b, "Sum", "y", "x", "large", "large2");
        TEST_NODE(&b, "Sum", "z", "x", "small", "small2");
        test_output(&b, "y");
        test_output(&b, "z");
        qdq_model *m = test_built(&b);
        assert_ok(
            qdq_model_run_passes(m, all ? "share-initializers:all" : "share-initializers", &err));
        assert_null(qdq_graph_find(m->graph, "small2"));
        assert_true((qdq_graph_find(m->graph, "large2") == NULL) == (all != 0));
        qdq_model_free(m);
    }
}

static void constants_inside_a_body_are_shared_there(void **state)
{
    (void)state;
    assert_becomes("share-initializers",
                   "g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
                   "  y = If <then_branch = t () => (float[2] a) <float[2] u = {1, 2}, float[2] v "
                   "= {1, 2}> {\n"
                   "    a = Sum(u, v, w)\n"
                   "  }, else_branch = e () => (float[2] b) {\n"
                   "    b = Neg(x)\n"
                   "  }> (c)\n"
                   "}\n",
                   "g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
                   "  y = If <then_branch = t () => (float[2] a) <float[2] u = {1, 2}> {\n"
                   "    a = Sum(u, u, w)\n"
                   "  }, else_branch = e () => (float[2] b) {\n"
                   "    b = Neg(x)\n"
                   "  }> (c)\n"
                   "}\n");
}

static void an_empty_graph_stays_one(void **state)
{
    (void)state;
    assert_kept("default", "g () => () {\n}\n");
    assert_kept("default", "g (float x) => (float x, float w, float w) <float w = {1}> {\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_with_data_stay_inputs_unless_that_is_asked_for),
        cmocka_unit_test(many_inputs_with_data_between_others_are_frozen_in_order),
        cmocka_unit_test(below_ir_version_4_initializers_stay_listed),
        cmocka_unit_test(constants_of_bodies_go_to_the_main_graph),
        cmocka_unit_test(inputs_and_outputs_of_bodies_and_functions_stay),
        cmocka_unit_test(equal_constants_become_the_first_of_them),
        cmocka_unit_test(shape_type_sign_of_zero_and_nan_keep_constants_apart),
        cmocka_unit_test(outputs_and_inputs_of_the_graph_are_not_shared),
        cmocka_unit_test(empty_packed_and_string_tensors),
        cmocka_unit_test(scales_are_shared_and_quantized_weights_only_on_request),
        cmocka_unit_test(scales_one_step_apart_are_not_equal),
        cmocka_unit_test(large_constants_are_left_unread),
        cmocka_unit_test(constants_inside_a_body_are_shared_there),
        cmocka_unit_test(an_empty_graph_stays_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
