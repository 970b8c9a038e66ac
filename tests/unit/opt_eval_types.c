/* opt_eval_types.c - every element type gives what the widest type gives, wrapped; and the ends of
 * what the evaluator accepts. */
#include "base/random.h"
#include "ir/edit.h"
#include "support/evals.h"

enum { N = 64 };

static const qdq_elem numbers[] = {QDQ_INT8,   QDQ_INT16,  QDQ_INT32,  QDQ_INT64, QDQ_UINT8,
                                   QDQ_UINT16, QDQ_UINT32, QDQ_UINT64, QDQ_FLOAT, QDQ_DOUBLE};

static bool is_unsigned(qdq_elem e)
{
    return e == QDQ_UINT8 || e == QDQ_UINT16 || e == QDQ_UINT32 || e == QDQ_UINT64;
}

static int64_t get(qdq_elem e, const void *data, int64_t i)
{
    return qdq_elem_is_int(e) ? qdq_elem_int(e, data, i) : (int64_t)qdq_elem_float(e, data, i);
}

/* What is left of x in the type. */
static int64_t wrapped(qdq_elem e, int64_t x)
{
    int64_t bytes[1] = {x};

    return qdq_elem_is_int(e) ? qdq_elem_int(e, bytes, 0) : x;
}

/* The result in 64 bits; values are small enough for that. */
static int64_t expected(const char *op, int64_t x, int64_t y)
{
    static const char *const names[] = {"Add",
                                        "Sub",
                                        "Mul",
                                        "Div",
                                        "Mod",
                                        "Max",
                                        "Min",
                                        "Equal",
                                        "Greater",
                                        "Less",
                                        "GreaterOrEqual",
                                        "LessOrEqual",
                                        "BitwiseAnd",
                                        "BitwiseOr",
                                        "BitwiseXor"};
    int64_t floor_mod = x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y : x % y;
    int64_t results[] = {x + y,         x - y,         x * y,  x / y, floor_mod,
                         x > y ? x : y, x < y ? x : y, x == y, x > y, x < y,
                         x >= y,        x <= y,        x & y,  x | y, x ^ y};

    for (size_t i = 0; i < QDQ_COUNT(names); i++)
        if (strcmp(names[i], op) == 0)
            return results[i];
    fail_msg("%s", op);
    return 0;
}

static void compare_binary(const char *op, qdq_elem e)
{
    static const int64_t dim = N;
    unsigned char a[N * 8], b[N * 8];
    qdq_random r = qdq_random_new(5, op);
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    const char *why, *out_name = "y";
    qdq_model *m = qdq_model_new();
    qdq_node *n = qdq_graph_add_node(m->graph, NULL, "", op, "", 2, 1, &out_name);
    bool is_float = !qdq_elem_is_int(e);
    qdq_const out;

    for (int64_t i = 0; i < N; i++) {
        int64_t x = (int64_t)(qdq_random_u64(&r) % 128),
                y = (int64_t)(qdq_random_u64(&r) % 127) + 1;

        y = i % 4 == 0 ? (x != 0 ? x : 1) : y; /* equal ones */
        if (!is_unsigned(e)) {
            x = i % 3 == 0 ? -x : x;
            y = i % 5 == 0 ? -y : y;
        }
        if (is_float && strcmp(op, "Div") == 0)
            x *= y; /* without remainder */
        assert_true(is_float ? qdq_elem_put_float(e, a, i, (double)x)
                             : qdq_elem_put_int(e, a, i, x));
        assert_true(is_float ? qdq_elem_put_float(e, b, i, (double)y)
                             : qdq_elem_put_int(e, b, i, y));
    }
    for (int64_t n_b = 1; n_b <= N; n_b += N - 1) { /* a scalar, and as many */
        qdq_const left = {e, 1, &dim, N, a, N * (qdq_elem_bits(e) / 8)};
        qdq_const right = {e, 1, &n_b, n_b, b, (size_t)n_b * (qdq_elem_bits(e) / 8)};
        const qdq_const *in[] = {&left, &right};

        if (is_float && n_b == 1 && strcmp(op, "Div") == 0)
            continue;
        assert_ok(qdq_eval_node(n, 18, in, 1 << 20, &memory, &out, &why, &err));
        if (why != NULL)
            fail_msg("%s of %s: %s", op, qdq_elem_name(e), why);
        for (int64_t i = 0; i < N; i++) {
            int64_t x = get(e, a, i), y = get(e, b, n_b == 1 ? 0 : i), want = expected(op, x, y);

            if (get(out.elem, out.data, i) != (out.elem == QDQ_BOOL ? want : wrapped(e, want)))
                fail_msg("%s of %s: %lld and %lld give %lld", op, qdq_elem_name(e), (long long)x,
                         (long long)y, (long long)get(out.elem, out.data, i));
        }
    }
    qdq_arena_free(&memory);
    qdq_model_free(m);
}

TEST(two_numbers_of_any_type_give_what_wide_ones_give)
{
    static const char *const any[] = {"Add",        "Sub",   "Mul",     "Div",  "Max",
                                      "Min",        "Equal", "Greater", "Less", "GreaterOrEqual",
                                      "LessOrEqual"};
    static const char *const integers[] = {"Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor"};

    for (size_t k = 0; k < QDQ_COUNT(numbers); k++) {
        for (size_t i = 0; i < QDQ_COUNT(any); i++)
            compare_binary(any[i], numbers[k]);
        for (size_t i = 0; i < QDQ_COUNT(integers) && qdq_elem_is_int(numbers[k]); i++)
            compare_binary(integers[i], numbers[k]);
    }
}

TEST(one_number_of_any_type)
{
    static const char *const negative[] = {"int8", "int16", "int32", "int64"};
    static const char *const all[] = {"int8",  "int16",  "int32",  "int64",
                                      "uint8", "uint16", "uint32", "uint64"};
    char in[100], want[100];

#define CHECK(node, values, results)                                                               \
    snprintf(in, sizeof in, "%s[3] x = {" values "}", type);                                       \
    snprintf(want, sizeof want, "%s[3] y = {" results "}", type);                                  \
    gives(18, in, node, want);
    for (size_t i = 0; i < QDQ_COUNT(negative); i++) {
        const char *type = negative[i];

        CHECK("y = Abs(x)", "-5, 0, 7", "5, 0, 7")
        CHECK("y = Neg(x)", "-5, 0, 7", "5, 0, -7")
        CHECK("y = Sign(x)", "-5, 0, 7", "-1, 0, 1")
        CHECK("y = Relu(x)", "-5, 0, 7", "0, 0, 7")
        CHECK("y = BitwiseNot(x)", "-5, 0, 7", "4, -1, -8")
        CHECK("y = Mod <fmod = 1> (x, x)", "-5, 1, 7", "0, 0, 0")
    }
    for (size_t i = 0; i < QDQ_COUNT(all); i++) {
        const char *type = all[i];

        CHECK("y = Abs(x)", "5, 0, 7", "5, 0, 7")
        CHECK("y = Sign(x)", "5, 0, 7", "1, 0, 1")
        snprintf(want, sizeof want, "int64[3] y = {5, 0, 7}");
        gives(18, in, "y = Cast <to = 7> (x)", want);
    }
#undef CHECK
}

TEST(extremes_and_sums_of_any_type)
{
    static const char *const types[] = {"int8",   "int16",  "int32",  "int64", "uint8",
                                        "uint16", "uint32", "uint64", "float", "double"};
    static const struct {
        const char *node, *result;
    } cases[] = {
        {"y = ReduceSum(x)", "14"},       {"y = ReduceL1(x)", "14"},
        {"y = ReduceSumSquare(x)", "78"}, {"y = ReduceProd(x)", "70"},
        {"y = ReduceMax(x)", "7"},        {"y = ReduceMin(x)", "2"},
        {"y = Max(x, z)", "5, 7, 4"},     {"y = Min(x, z)", "4, 4, 2"},
        {"y = ReduceMean(x)", "4"},
    };
    char in[100], want[100];

    for (size_t i = 0; i < QDQ_COUNT(types); i++)
        for (size_t k = 0; k < QDQ_COUNT(cases); k++) {
            bool three = strchr(cases[k].result, ',') != NULL;

            if (types[i][0] != 'i' && types[i][0] != 'u' && strstr(cases[k].node, "Mean") != NULL)
                continue;
            snprintf(in, sizeof in, "%s[3] x = {5, 7, 2}, %s z = {4}", types[i], types[i]);
            snprintf(want, sizeof want, "%s[%d] y = {%s}", types[i], three ? 3 : 1,
                     cases[k].result);
            gives(13, in, cases[k].node, want);
        }
}

TEST(bits_are_shifted)
{
    static const char *const types[] = {"uint8", "uint16", "uint32", "uint64"};
    char in[100], want[100];

    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        snprintf(in, sizeof in, "%s[2] x = {5, 7}, %s z = {1}", types[i], types[i]);
        snprintf(want, sizeof want, "%s[2] y = {10, 14}", types[i]);
        gives(13, in, "y = BitShift <direction = \"LEFT\"> (x, z)", want);
        snprintf(want, sizeof want, "%s[2] y = {2, 3}", types[i]);
        gives(13, in, "y = BitShift <direction = \"RIGHT\"> (x, z)", want);
    }
    gives(13, "uint8 x = {255}, uint8 z = {4}", "y = BitShift <direction = \"LEFT\"> (x, z)",
          "uint8 y = {240}");
    refuses(13, "uint8 x = {255}, uint8 z = {8}", "y = BitShift <direction = \"LEFT\"> (x, z)",
            "as many bits");
    refuses(13, "uint8 x = {255}, uint8 z = {1}", "y = BitShift(x, z)", "neither LEFT nor RIGHT");
    refuses(13, "int8 x = {1}, int8 z = {1}", "y = BitShift <direction = \"LEFT\"> (x, z)",
            "type int8");
}

TEST(sizes_at_the_end_of_what_is_accepted)
{
    char inputs[1000] = "x0";

    for (int i = 1; i <= QDQ_EVAL_INPUTS; i++)
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), ", x0");
    char node[1100];
    snprintf(node, sizeof node, "y = Max(%s)", inputs);
    refuses(13, "float x0 = {1}", node, "65 inputs and 1 outputs, expected at most 64");
    inputs[strlen(inputs) - 4] = '\0';
    snprintf(node, sizeof node, "y = Sum(%s)", inputs);
    gives(13, "float x0 = {1}", node, "float y = {64}");
    refuses(13,
            "int64[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] x = {0}, int64 d = {1}, float[2] v = {0, 1}",
            "y = OneHot(x, d, v)", "a result of rank 17, expected at most 16");
    refuses(13, "float[1] x = {1}, int64[1,1] a = {0}", "y = Squeeze(x, a)",
            "input 1 has rank 2, expected 1");
    refuses(13, "complex128[1] x = {1, 2}", "y = Identity(x)", "type complex128");
    gives(13, "complex64[2] x = {1, 2, 3, 4}, int64 i = {1}", "y = Gather(x, i)",
          "complex64 y = {3, 4}");
    refuses(27, "float x = {1}", "y = Abs(x)", "opset 27, expected 7 to 26");
}

/* Weights lie in files at any place. */
TEST(unaligned_tensors_are_copied)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_model *m = qdq_model_new();
    int64_t dim = 17, value = 0x0102030405060708;
    void *data;
    qdq_const c;
    const char *why;

    qdq_tensor *bytes = qdq_tensor_new(m, QDQ_UINT8, 1, &dim, &data);
    assert_non_null(bytes);
    memcpy((char *)data + 1, &value, 8);
    memcpy((char *)data + 9, &value, 8);
    qdq_tensor t = *bytes;
    t.elem = QDQ_INT64;
    t.count = dim = 2;
    t.dim = &dim;
    t.bytes.data++;
    t.bytes.size = 16;
    assert_ok(qdq_const_of_tensor(&t, &memory, &c, &why, &err));
    assert_null(why);
    assert_int_equal((uintptr_t)c.data % 8, 0);
    assert_true(((const int64_t *)c.data)[0] == value && ((const int64_t *)c.data)[1] == value);
    t.bytes.size = 15; /* not what the shape says */
    assert_ok(qdq_const_of_tensor(&t, &memory, &c, &why, &err));
    assert_non_null(strstr(why, "found 15 bytes of data, expected 16"));
    assert_null(c.data);
    qdq_arena_free(&memory);
    qdq_model_free(m);
}

/* What is not in the table cannot be folded by mistake. */
TEST(quantization_and_randomness_are_not_known)
{
    static const char *const names[] = {"QuantizeLinear",
                                        "DequantizeLinear",
                                        "DynamicQuantizeLinear",
                                        "QLinearConv",
                                        "QLinearMatMul",
                                        "RandomNormal",
                                        "RandomUniform",
                                        "RandomNormalLike",
                                        "RandomUniformLike",
                                        "Multinomial",
                                        "Bernoulli",
                                        "If",
                                        "Loop",
                                        "Scan"};

    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        assert_true(qdq_op_find("", names[i]) != QDQ_OP_UNKNOWN);
        assert_false(qdq_eval_knows(qdq_op_find("", names[i])));
    }
    assert_false(qdq_eval_knows(QDQ_OP_UNKNOWN));
    assert_false(qdq_eval_knows(QDQ_OP_COUNT));
    for (int op = 1; op < QDQ_OP_COUNT; op++)
        if (qdq_eval_knows((qdq_op)op))
            assert_int_equal(qdq_op_get_info((qdq_op)op)->flags, QDQ_OP_PURE);
}
