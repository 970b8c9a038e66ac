/* ir_qdq_node.c - what Q and DQ nodes say: values where they are sound, a reason where they are
 * not. */
#include "ir/qdq_node.h"

#include "ir/edit.h"
#include "support/test.h"

#define SCALE "float s = {0.5}"

/* Reads the node called n of `g`; the data is its first input if that is constant, else unknown. */
static const char *read_node(const qdq_model *m, qdq_arena *memory, qdq_params *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *why = NULL;

    QDQ_FOR_NODES (n, m->graph)
        if (strcmp(n->name, "n") == 0) {
            const qdq_value *x = qdq_node_in(n, 0);
            assert_ok(qdq_params_read(n, qdq_value_const(x), memory, p, &why, &err));
            return why;
        }
    fail_msg("no node n");
    return NULL;
}

typedef struct sound_case {
    const char *inits, *node;
    qdq_elem codes;
    int64_t count;
    int axis;
    int64_t block;
    float last_scale;
    int32_t last_zero;
    bool positive;
} sound_case;

TEST(sound_nodes_are_read)
{
    static const sound_case cases[] = {
        {SCALE ", uint8 z = {7}", "DequantizeLinear(q, s, z)", QDQ_UINT8, 1, -1, 0, 0.5F, 7, true},
        {SCALE ", uint8[4] c = {1, 2, 3, 4}", "DequantizeLinear(c, s)", QDQ_UINT8, 1, -1, 0, 0.5F,
         0, true},
        {"float16 s = {0.5}, int8 z = {-3}", "DequantizeLinear(q, s, z)", QDQ_INT8, 1, -1, 0, 0.5F,
         -3, true},
        {"float[1] s = {0.5}", "QuantizeLinear(x, s)", QDQ_UINT8, 1, -1, 0, 0.5F, 0, true},
        {SCALE, "QuantizeLinear <output_dtype = 5> (x, s)", QDQ_INT16, 1, -1, 0, 0.5F, 0, true},
        {"float[2] s = {1, 0}, int8[2] z = {0, 9}, int8[2,3] c = {1, 2, 3, 4, 5, 6}",
         "DequantizeLinear <axis = 0> (c, s, z)", QDQ_INT8, 2, 0, 0, 0, 9, false},
        {"float[3] s = {1, 2, 3}, int8[2,3] c = {1, 2, 3, 4, 5, 6}", "DequantizeLinear(c, s)",
         QDQ_INT8, 3, 1, 0, 3, 0, true},
        {"float[3] s = {1, 2, 3}, int32[2,3] c = {1, 2, 3, 4, 5, 6}",
         "DequantizeLinear <axis = -1> (c, s)", QDQ_INT32, 3, 1, 0, 3, 0, true},
        {"float[1] s = {2}, int8[2,3] c = {1, 2, 3, 4, 5, 6}", "DequantizeLinear <axis = 5> (c, s)",
         QDQ_INT8, 1, -1, 0, 2, 0, true},
        {"float[1] s = {2}, int8[1,3] c = {1, 2, 3}", "DequantizeLinear <axis = 0> (c, s)",
         QDQ_INT8, 1, 0, 0, 2, 0, true},
        {"float[2,2] s = {1, 2, 3, 4}, int8[2,3] c = {1, 2, 3, 4, 5, 6}",
         "DequantizeLinear <axis = 1, block_size = 2> (c, s)", QDQ_INT8, 4, 1, 2, 4, 0, true},
        {SCALE ", float8e4m3fn z = {0}, float8e4m3fn[2] c = {1, 2}", "DequantizeLinear(c, s, z)",
         QDQ_FLOAT8E4M3FN, 1, -1, 0, 0.5F, 0, true},
        {SCALE ", int4 z = {-8}, int4[2] c = {1, 2}", "DequantizeLinear(c, s, z)", QDQ_INT4, 1, -1,
         0, 0.5F, -8, true},
    };
    char text[600];

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const sound_case *c = &cases[i];
        qdq_arena memory = QDQ_ARENA_INIT;
        qdq_params p;

        snprintf(text, sizeof text, "g (float[4] x, %s[4] q) => (y) <%s> { [n] y = %s }",
                 qdq_elem_name(c->codes), c->inits, c->node);
        qdq_model *m = test_model(text);
        const char *why = read_node(m, &memory, &p);
        if (why != NULL)
            fail_msg("case %zu: %s", i, why);
        assert_int_equal(p.codes, c->codes);
        assert_int_equal(p.count, c->count);
        assert_int_equal(p.axis, c->axis);
        assert_int_equal(p.block, c->block);
        assert_true(p.scale[p.count - 1] == c->last_scale);
        assert_int_equal(qdq_params_zero(&p, p.count - 1), c->last_zero);
        assert_int_equal(p.positive, c->positive);
        assert_true(qdq_params_equal(&p, &p));
        qdq_arena_free(&memory);
        qdq_model_free(m);
    }
}

TEST(what_a_node_lacks_is_said)
{
    static const struct {
        const char *inits, *node, *why;
    } cases[] = {
        {SCALE, "Relu(x)", "it is no QuantizeLinear or DequantizeLinear"},
        {SCALE, "DequantizeLinear(q, x)", "its scale is computed"},
        {SCALE, "DequantizeLinear(q, s, q)", "its zero point is computed"},
        {"float s = {-1}", "DequantizeLinear(q, s)", "its scale is negative or not finite"},
        {"float s = {nan}", "DequantizeLinear(q, s)", "its scale is negative or not finite"},
        {"float s = {inf}", "DequantizeLinear(q, s)", "its scale is negative or not finite"},
        {"double s = {1e300}", "DequantizeLinear(q, s)", "its scale is negative or not finite"},
        {"int32 s = {1}", "DequantizeLinear(q, s)", "its scale is not a float tensor"},
        {"float[0] s = {}", "DequantizeLinear(q, s)", "its scale is not a float tensor"},
        {"float[2] s = {1, 2}", "DequantizeLinear(q, s)",
         "it has several scales for data of unknown shape"},
        {SCALE, "DequantizeLinear <block_size = 2> (q, s)",
         "it has several scales for data of unknown shape"},
        {"float[2] s = {1, 2}, int8[3] c = {1, 2, 3}", "DequantizeLinear <axis = 0> (c, s)",
         "it has not one scale for each channel of its axis"},
        {"float[2] s = {1, 2}, int8[2] c = {1, 2}", "DequantizeLinear(c, s)",
         "it has not one scale for each channel of its axis"},
        {"float[2] s = {1, 2}, int8[2] c = {1, 2}",
         "DequantizeLinear <axis = 9223372036854775807> (c, s)",
         "it has not one scale for each channel of its axis"},
        {"float[2] s = {1, 2}, int8[2] c = {1, 2}",
         "DequantizeLinear <axis = -9223372036854775808> (c, s)",
         "it has not one scale for each channel of its axis"},
        {"float[2,1] s = {1, 2}, int8[2,2] c = {1, 2, 3, 4}", "DequantizeLinear <axis = 0> (c, s)",
         "it has not one scale for each channel of its axis"},
        {"float[2,1] s = {1, 2}, int8[2,2] c = {1, 2, 3, 4}",
         "DequantizeLinear <block_size = -2> (c, s)", "its scales do not fit its blocks"},
        {"float[2,1] s = {1, 2}, int8[2,2] c = {1, 2, 3, 4}",
         "DequantizeLinear <axis = 7, block_size = 2> (c, s)", "its scales do not fit its blocks"},
        {"float[2,1] s = {1, 2}, int8[2,2] c = {1, 2, 3, 4}",
         "DequantizeLinear <axis = 0, block_size = 2> (c, s)", "its scales do not fit its blocks"},
        {SCALE ", uint8[2] z = {1, 2}", "DequantizeLinear(q, s, z)",
         "it has not as many zero points as scales"},
        {SCALE ", float z = {0}", "DequantizeLinear(q, s, z)",
         "its zero point is of no type for codes"},
        {SCALE ", int64 z = {0}", "DequantizeLinear(q, s, z)",
         "its zero point is of no type for codes"},
        {SCALE ", float8e5m2 z = {1.0}", "QuantizeLinear(x, s, z)",
         "its zero point is not 0, as that of float codes must be"},
        {SCALE ", int8 z = {0}, uint8[1] c = {0}", "DequantizeLinear(c, s, z)",
         "its zero point is of another type than its codes"},
    };
    char text[600];

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_arena memory = QDQ_ARENA_INIT;
        qdq_params p;

        snprintf(text, sizeof text, "g (float[4] x, uint8[4] q) => (y) <%s> { [n] y = %s }",
                 cases[i].inits, cases[i].node);
        qdq_model *m = test_model(text);
        const char *why = read_node(m, &memory, &p);
        if (why == NULL || strcmp(why, cases[i].why) != 0)
            fail_msg("case %zu: '%s', expected '%s'", i, why != NULL ? why : "sound", cases[i].why);
        qdq_arena_free(&memory);
        qdq_model_free(m);
    }
}

TEST(an_overridable_scale_is_computed)
{
    qdq_model *m =
        test_model("g (uint8[4] q, float s = {0.5}) => (y) { [n] y = DequantizeLinear(q, s) }");
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_params p;

    assert_string_equal(read_node(m, &memory, &p), "its scale is computed");
    qdq_arena_free(&memory);
    qdq_model_free(m);
}

TEST(the_codes_behind_q_are_those_of_q)
{
    qdq_model *m = test_model(
        "g (float[4] x) => (y) <float s = {0.5}, float t = {0.500000059604644775390625}> {\n"
        "  q = QuantizeLinear <output_dtype = 3> (x, s)\n"
        "  [n] y = DequantizeLinear(q, s)\n"
        "  other = DequantizeLinear(q, t)\n"
        "}");
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_params p, other;
    const char *why = NULL;

    assert_null(read_node(m, &memory, &p));
    assert_int_equal(p.codes, QDQ_INT8);
    qdq_node *last = m->graph->end.prev;
    assert_ok(qdq_params_read(last, NULL, &memory, &other, &why, &err));
    assert_false(qdq_params_equal(&p, &other)); /* one ulp apart */
    assert_true(other.scale[0] > 0.5F);
    qdq_arena_free(&memory);
    qdq_model_free(m);
}

TEST(channels_of_an_empty_tensor_are_empty)
{
    qdq_error err = QDQ_ERROR_INIT;
    const int64_t dim[3] = {(int64_t)1 << 40, (int64_t)1 << 40, 0};
    qdq_tensor t = {.name = "t", .elem = QDQ_INT8, .rank = 3, .dim = dim, .count = 0};
    qdq_channels c;

    assert_ok(qdq_channels_of(&t, 1, &c, &err));
    assert_int_equal(c.outer * c.inner, 0);
    assert_fails(QDQ_E_FORMAT, "tensor 't': axis 3, but its rank is 3",
                 qdq_channels_of(&t, 3, &c, &err));
}

TEST(the_bias_of_a_matmul_is_added_behind_it)
{
    qdq_model *m = test_model("g (float[2,2] x, float[2,2] w, float[2] b) => (y, z) {\n"
                              "  [matmul] t = MatMul(x, w)\n"
                              "  [add] y = Add(b, t)\n"
                              "  [gemm] z = Gemm(x, w, b)\n"
                              "}");
    const qdq_node *gemm = m->graph->end.prev, *add = gemm->prev, *matmul = add->prev;

    assert_ptr_equal(qdq_bias_linear(add, 0), matmul);
    assert_null(qdq_bias_linear(add, 1)); /* b is computed by nobody */
    assert_null(qdq_bias_linear(add, 2));
    assert_ptr_equal(qdq_bias_linear(gemm, 2), gemm);
    qdq_model_free(m);
}
