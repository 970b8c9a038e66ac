/* quant_nbits.c - MatMulNBits and GatherBlockQuantized are taken apart: strip gives MatMul, Gemm
 * and Gather with float weights, import the plan that made them. */
#include "quant/insert/insert.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/test.h"

#define HEAD "<ir_version: 9, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"

#define ATTR "<K = 4, N = 2, bits = 4, block_size = 16>"
/* Columns 1, -1, 2, 0 and 3, 3, -8, 7, in codes whose middle is 8; what is behind them does not
 * count. */
#define CODES                                                                                      \
    "uint8[2,1,8] w_quantized = {121, 138, 255, 255, 255, 255, 255, 255, 187, 240, 0, 0, 0, 0, "   \
    "0, 0}"

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    char *recorded_lines = ctx;

    if (level <= QDQ_LOG_WARNING)
        strncat(recorded_lines, text, 1999 - strlen(recorded_lines));
}

static qdq_model *stripped(const char *text, size_t *n_left, char recorded_lines[2000])
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_model *m = test_model(text), *out = NULL;

    recorded_lines[0] = '\0';
    job.ctx = recorded_lines;
    job.log = record_line;
    opts.job = &job;
    assert_ok(qdq_model_strip(m, &opts, &out, n_left, &err));
    qdq_model_free(m);
    return out;
}

static void assert_strips(const char *before, const char *after)
{
    char recorded_lines[2000];
    size_t n_left = 9;
    qdq_model *m = stripped(before, &n_left, recorded_lines);

    assert_string_equal(recorded_lines, "");
    assert_int_equal(n_left, 0);
    test_assert_text(m, after);
    qdq_model_free(m);
}

static void assert_stays(const char *text, const char *why)
{
    char recorded_lines[2000];
    size_t n_left = 0;

    qdq_model_free(stripped(text, &n_left, recorded_lines));
    assert_int_equal(n_left, 1);
    if (strstr(recorded_lines, why) == NULL)
        fail_msg("'%s' is not in '%s'", why, recorded_lines);
}

TEST(a_product_becomes_matmul)
{
    assert_strips(HEAD "g (float[3,4] x) => (float[3,2] y) <" CODES ", float[2] s = {1, 0.5}> {\n"
                       "  y = com.microsoft.MatMulNBits " ATTR " (x, w_quantized, s)\n"
                       "}\n",
                  HEAD "g (float[3,4] x) => (float[3,2] y) <\n"
                       "  float[4,2] w = {1, 1.5, -1, 1.5, 2, -4, 0, 3.5}\n"
                       "> {\n"
                       "  y = MatMul(x, w)\n"
                       "}\n");
}

TEST(zero_points_count_and_scales_below_0)
{
    assert_strips(HEAD "g (float[3,4] x) => (float[3,2] y) <" CODES
                       ", float[2] s = {1, -0.5}, uint8[2,1] z = {9, 7}> {\n"
                       "  y = com.microsoft.MatMulNBits " ATTR " (x, w_quantized, s, z)\n"
                       "}\n",
                  HEAD "g (float[3,4] x) => (float[3,2] y) <\n"
                       "  float[4,2] w = {0, -2, -2, -2, 1, 3.5, -1, -4}\n"
                       "> {\n"
                       "  y = MatMul(x, w)\n"
                       "}\n");
}

TEST(eight_bits_come_out_too)
{
    assert_strips(
        HEAD
        "g (float[3,2] x) => (float[3,1] y) <uint8[1,1,16] w_Q8 = {129, 126, 0, 0, 0, 0, 0, 0, 0, "
        "0, 0, 0, 0, 0, 0, 0}, float[1,1] s = {2}> {\n"
        "  y = com.microsoft.MatMulNBits <K = 2, N = 1, bits = 8, block_size = 16> (x, w_Q8, s)\n"
        "}\n",
        HEAD "g (float[3,2] x) => (float[3,1] y) <\n"
             "  float[2,1] w = {2, -4}\n"
             "> {\n"
             "  y = MatMul(x, w)\n"
             "}\n");
}

TEST(a_bias_makes_a_gemm_of_matrices_and_an_add_behind_others)
{
    assert_strips(HEAD "g (float[3,4] x) => (float[3,2] y) <" CODES
                       ", float[2] s = {1, 0.5}, float[2] b = {5, 6}> {\n"
                       "  [\"n\"] y = com.microsoft.MatMulNBits " ATTR
                       " (x, w_quantized, s, \"\", \"\", b)\n"
                       "}\n",
                  HEAD "g (float[3,4] x) => (float[3,2] y) <\n"
                       "  float[2] b = {5, 6},\n"
                       "  float[2,4] w = {1, -1, 2, 0, 1.5, 1.5, -4, 3.5}\n"
                       "> {\n"
                       "  [n] y = Gemm <transB = 1> (x, w, b)\n"
                       "}\n");
    assert_strips(HEAD "g (float[1,3,4] x) => (float[1,3,2] y) <" CODES
                       ", float[2] s = {1, 0.5}, float[2] b = {5, 6}> {\n"
                       "  [\"n\"] y = com.microsoft.MatMulNBits " ATTR
                       " (x, w_quantized, s, \"\", \"\", b)\n"
                       "}\n",
                  HEAD "g (float[1,3,4] x) => (float[1,3,2] y) <\n"
                       "  float[2] b = {5, 6},\n"
                       "  float[4,2] w = {1, 1.5, -1, 1.5, 2, -4, 0, 3.5}\n"
                       "> {\n"
                       "  [n_1] y_1 = MatMul(x, w)\n"
                       "  [n] y = Add(y_1, b)\n"
                       "}\n");
}

TEST(a_table_becomes_gather)
{
    assert_strips(HEAD
                  "g (int64[2] i) => (float[2,2] y, float[2,2] z) <int4[2,2] t_Q4 = {1, -8, 7, 0}, "
                  "float[2,1] s = {1, -0.5}> {\n"
                  "  y = com.microsoft.GatherBlockQuantized <block_size = 16> (t_Q4, i, s)\n"
                  "  z = com.microsoft.GatherBlockQuantized <block_size = 16, quantize_axis = -1> "
                  "(t_Q4, i, s)\n"
                  "}\n",
                  HEAD "g (int64[2] i) => (float[2,2] y, float[2,2] z) <\n"
                       "  float[2,2] t = {1, -8, -3.5, 0}\n"
                       "> {\n"
                       "  y = Gather(t, i)\n"
                       "  z = Gather(t, i)\n"
                       "}\n");
}

TEST(in_bodies_and_with_one_weight_for_two)
{
    assert_strips(HEAD "g (float[3,4] x, bool k) => (float[3,2] y, float[3,2] v) <" CODES
                       ", float[2] s = {1, 0.5}> {\n"
                       "  y = com.microsoft.MatMulNBits " ATTR " (x, w_quantized, s)\n"
                       "  v = If <then_branch = p () => (float[3,2] a) {\n"
                       "    a = com.microsoft.MatMulNBits " ATTR " (x, w_quantized, s)\n"
                       "  }, else_branch = q () => (float[3,2] b) { b = Neg(y) }> (k)\n"
                       "}\n",
                  HEAD "g (float[3,4] x, bool k) => (float[3,2] y, float[3,2] v) <\n"
                       "  float[4,2] w = {1, 1.5, -1, 1.5, 2, -4, 0, 3.5}\n"
                       "> {\n"
                       "  y = MatMul(x, w)\n"
                       "  v = If <then_branch = p () => (float[3,2] a) {\n"
                       "    a = MatMul(x, w)\n"
                       "  }, else_branch = q () => (float[3,2] b) {\n"
                       "    b = Neg(y)\n"
                       "  }> (k)\n"
                       "}\n");
}

/* attributes; inputs; why it is not read. */
TEST(what_cannot_be_read_stays_with_its_reason)
{
    static const char *const cases[][3] = {
        {"K = 4, N = 2, bits = 2, block_size = 16", "x, w, s", "its codes do not have 4 or 8 bits"},
        {"K = 4, N = 2, block_size = 16", "x, u, s", "its weight is not constant"},
        {"K = 4, N = 2, block_size = 16", "x, w, s, u", "its weight is not constant"},
        {"K = 4, N = 2, block_size = 16", "x, w, s, \"\", g", "its blocks are in another order"},
        {"K = 4, N = 2, block_size = 16, weight_prepacked = 1", "x, w, s", "packed for one kernel"},
        {"K = 4, N = 3, block_size = 16", "x, w, s", "do not have the shape"},
        {"K = 4, N = 2, block_size = 32", "x, w, s", "do not have the shape"},
        {"K = 17, N = 2, block_size = 16", "x, w, s", "do not have the shape"},
        {"K = 9223372036854775807, N = 2, block_size = 16", "x, w, s", "do not have the shape"},
        {"K = -4, N = 2, block_size = 16", "x, w, s", "do not have the shape"},
        {"K = 4, N = 2, block_size = 16", "x, s, s", "do not have the shape"},
        {"K = 4, N = 2, block_size = 16", "x, w, n", "its scale is negative or not finite"},
        {"K = 4, N = 2, block_size = 16", "x, w, w", "it has not as many scales as blocks"},
        {"K = 4, N = 2, block_size = 16", "x, w, s, s", "its zero points are not codes"},
        {"K = 4, N = 2, block_size = 16", "\"\", w, s", "it has no input or no output"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        char text[1000];

        snprintf(
            text, sizeof text,
            HEAD
            "g (float[3,4] x, uint8[2,1,8] u) => (float[3,2] y) <uint8[2,1,8] w = {1, 2, 3, 4, 5, "
            "6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float[2] s = {1, 0.5}, float[2] n = {1, "
            "nan}, int32[4] g = {0, 0, 0, 0}> {\n"
            "  y = com.microsoft.MatMulNBits <%s> (%s)\n"
            "}\n",
            cases[i][0], cases[i][1]);
        assert_stays(text, cases[i][2]);
    }
}

TEST(tables_that_cannot_be_read_stay)
{
    static const char *const cases[][3] = {
        {"block_size = 16", "u, i, s", "its table is not constant"},
        {"block_size = 16", "b, i, s", "its codes are not of type int4 or uint4"},
        {"block_size = 16", "t, \"\", s", "it has no indices or no output"},
        {"block_size = 16, quantize_axis = 7", "t, i, s", "not taken apart"},
        {"block_size = 0", "t, i, s", "not taken apart"},
        {"block_size = 16", "t, i, one", "not taken apart"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        char text[1000];

        snprintf(text, sizeof text,
                 HEAD
                 "g (int64[2] i, int4[2,2] u) => (float[2,2] y) <int4[2,2] t = {1, -8, 7, 0}, "
                 "uint8[2,1] b = {1, 2}, float[2,1] s = {1, -0.5}, float[3] one = {1, 1, 1}> {\n"
                 "  y = com.microsoft.GatherBlockQuantized <%s> (%s)\n"
                 "}\n",
                 cases[i][0], cases[i][1]);
        assert_stays(text, cases[i][2]);
    }
}

/* MatMul [64, 48]; Gemm [32, 48] with transB and a bias, whose weight is a table, too. */
static qdq_model *products(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 64);
    TEST_RANDOM(&b, "w", 64, 48);
    TEST_RANDOM(&b, "v", 32, 48);
    TEST_RANDOM(&b, "c", 32);
    TEST_INTS(&b, "ids", 3, 1, 2);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "z", "y", "v", "c"), "transB", 1));
    TEST_NODE(&b, "Gather", "rows", "v", "ids");
    test_output(&b, "z");
    test_output(&b, "rows");
    return test_built(&b);
}

static void assert_same_weight(const qdq_plan_weight *a, const qdq_plan_weight *b)
{
    assert_string_equal(a->tensor, b->tensor);
    assert_int_equal(a->axis, b->axis);
    assert_int_equal(a->block, b->block);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->asymmetric, b->asymmetric);
    assert_int_equal(a->store, b->store);
    assert_int_equal(a->accuracy_level, b->accuracy_level);
    assert_int_equal(a->consumers.n, b->consumers.n);
    for (size_t i = 0; i < a->consumers.n; i++)
        assert_true(
            qdq_edges_have(&b->consumers, a->consumers.at[i].node, a->consumers.at[i].input));
}

/* Of codes in all four forms; the table that the Gemm reads, too, is packed twice, and one entry
 * again. */
TEST(import_gives_the_plan_that_was_applied)
{
    static const char *const types[] = {"\"int4\"", "\"uint4\", \"symmetric\": false"};
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        qdq_model *m = products();
        qdq_plan *p = NULL, *imported = NULL;
        char text[900];

        int n = snprintf(text, sizeof text,
                         "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"v\", \"consumers\": "
                         "[[\"z\", 1], [\"rows\", 0]], "
                         "\"axis\": 1, \"block\": 16, \"type\": %s, \"store\": \"nbits\", "
                         "\"accuracy_level\": 2}, "
                         "{\"tensor\": \"w\", \"consumers\": [[\"y\", 1]], \"axis\": 0, \"block\": "
                         "32, \"type\": %s, "
                         "\"store\": \"nbits\", \"accuracy_level\": 4}]}",
                         types[i], types[i]);
        assert_ok(qdq_plan_parse(text, (size_t)n, "plan", &p, &err));
        assert_ok(qdq_insert(m, p, NULL, NULL, &err));
        assert_ok(qdq_plan_import(m, NULL, &imported, NULL, &err));
        assert_int_equal(imported->weights.n, 2);
        for (size_t k = 0; k < 2; k++) {
            assert_same_weight(&p->weights.at[k], &imported->weights.at[k]);
            assert_null(imported->weights.at[k].scales); /* they follow from the weights */
        }
        qdq_plan_free(imported);
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}
