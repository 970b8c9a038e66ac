/* quant_rest.c - the rest of a model in float16 and bfloat16. */
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "quant/half_precision/rest.h"
#include "quant/weights/half_numbers.h"
#include "support/test.h"

#define OPSET19 "<ir_version: 9, opset_import: [\"\" : 19]>\n"
#define OPSET22 "<ir_version: 10, opset_import: [\"\" : 22]>\n"

typedef struct said {
    char text[2000];
} said;

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    said *s = ctx;
    size_t used = strlen(s->text);

    if (level == QDQ_LOG_WARNING)
        snprintf(s->text + used, sizeof s->text - used, "%s\n", text);
}

/* For every Q type(x) = type(scale), for every DQ type(out) = type(scale). */
static void assert_scales_follow(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g) {
            if (n->op == QDQ_OP_QUANTIZELINEAR)
                assert_int_equal(n->in[0].value->type->elem, n->in[1].value->type->elem);
            if (n->op == QDQ_OP_DEQUANTIZELINEAR)
                assert_int_equal(n->out[0]->type->elem, n->in[1].value->type->elem);
        }
}

/* Converts, checks, converts again: the second time nothing happens. `keep`: the label of one node,
 * or NULL. */
static qdq_model *converted(const char *text, qdq_elem type, const char *keep, bool direct_io,
                            said *out)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_job job = {.size = sizeof job, .log = record_line, .ctx = out};
    qdq_model *m = test_model(text);
    qdq_plan *p = qdq_plan_new();
    qdq_plan_float kept = {keep, "", ""};
    char *once = NULL, *twice = NULL;

    p->rest.type = type;
    p->rest.direct_io = direct_io;
    if (keep != NULL)
        assert_true(QDQ_PUSH(&p->arena, &p->rest.keep, kept));
    for (int i = 0; i < 2; i++) {
        qdq_map map = QDQ_MAP_INIT;

        assert_ok(qdq_model_infer(m, NULL, &err));
        assert_ok(qdq_rest_find_kept(m, p, &map, &err));
        assert_ok(qdq_rest_convert(m, &p->rest, &map, out != NULL ? &job : NULL, &err));
        assert_ok(qdq_model_verify(m, &err));
        assert_scales_follow(m);
        assert_ok(qdq_model_to_text(m, i == 0 ? &once : &twice, &err));
        qdq_map_free(&map);
    }
    assert_string_equal(once, twice);
    qdq_free(once);
    qdq_free(twice);
    qdq_plan_free(p);
    return m;
}

static void check(const char *text, qdq_elem type, const char *keep, const char *want)
{
    qdq_model *m = converted(text, type, keep, false, NULL);

    test_assert_text(m, want);
    qdq_model_free(m);
}

TEST(casts_stand_at_the_borders_alone)
{
    check(OPSET19 "graph (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
                  "a = Mul(x, w)\n b = Relu(a)\n c = Add(b, x)\n y = Neg(c)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x) => (float[2] y) <\n"
          "  float16[2] w = {1.0, 2.0}\n"
          "> {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  a = Mul(x_float16, w)\n"
          "  b = Relu(a)\n"
          "  c = Add(b, x_float16)\n"
          "  y_float16 = Neg(c)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(a_node_that_is_kept_reads_and_gives_float)
{
    check(OPSET19
          "graph (float[2] x) => (float[2] y) {\n"
          "a = Neg(x)\n [\"keep\"] b = Relu(a)\n c = Exp(a)\n d = Add(b, c)\n y = Sub(d, b)\n}",
          QDQ_FLOAT16, "keep",
          "graph (float[2] x) => (float[2] y) {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  a = Neg(x_float16)\n"
          "  [a_Cast] a_float = Cast <to = 1> (a)\n"
          "  [keep] b = Relu(a_float)\n"
          "  [b_Cast] b_float16 = Cast <to = 10> (b)\n"
          "  c = Exp(a)\n"
          "  d = Add(b_float16, c)\n"
          "  y_float16 = Sub(d, b_float16)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(an_initializer_that_both_sides_read_is_there_twice)
{
    check(OPSET19 "graph (float[2] x) => (float[2] y) <float[2] w = {0.1, 2}> {\n"
                  "[\"keep\"] a = Mul(x, w)\n y = Add(a, w)\n}",
          QDQ_FLOAT16, "keep",
          "graph (float[2] x) => (float[2] y) <\n"
          "  float[2] w = {0.1, 2},\n"
          "  float16[2] w_float16 = {0.1, 2.0}\n"
          "> {\n"
          "  [keep] a = Mul(x, w)\n"
          "  [a_Cast] a_float16 = Cast <to = 10> (a)\n"
          "  y_float16 = Add(a_float16, w_float16)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(an_initializer_that_callers_may_override_is_cast)
{
    check(OPSET19 "graph (float[2] x, float[2] w = {1, 2}) => (float[2] y) {\n y = Mul(x, w)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x, float[2] w = {1, 2}) => (float[2] y) {\n"
          "  [w_Cast] w_float16 = Cast <to = 10> (w)\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  y_float16 = Mul(x_float16, w_float16)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(a_constant_node_becomes_an_initializer_of_its_type)
{
    check(OPSET19 "graph (float[1] x) => (float[1] y) {\n"
                  "c = Constant <value = float[1] {0.5}> ()\n y = Mul(x, c)\n}",
          QDQ_BFLOAT16, NULL,
          "graph (float[1] x) => (float[1] y) <\n"
          "  bfloat16[1] c_bfloat16 = {0.5}\n"
          "> {\n"
          "  [x_Cast] x_bfloat16 = Cast <to = 16> (x)\n"
          "  y_bfloat16 = Mul(x_bfloat16, c_bfloat16)\n"
          "  [y_bfloat16_Cast] y = Cast <to = 1> (y_bfloat16)\n"
          "}\n");
}

/* 6/7 as float16 times 7 is less than 6 */
TEST(scales_of_resize_stay_float)
{
    check(OPSET19 "graph (float[1,1,7,7] x) => (float[1,1,6,6] y) <float[4] s = {1, 1, "
                  "0.857142866, 0.857142866}>"
                  " {\n y = Resize(x, \"\", s)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[1,1,7,7] x) => (float[1,1,6,6] y) <\n"
          "  float[4] s = {1, 1, 0.85714287, 0.85714287}\n"
          "> {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  y_float16 = Resize(x_float16, \"\", s)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(computed_scales_of_resize_stay_float)
{
    check(OPSET19
          "graph (float[1,1,7,7] x, int64[4] n) => (float[A,B,C,D] y) <float[1] k = {7}> {\n"
          "f = Cast <to = 1> (n)\n s = Div(f, k)\n r = Neg(x)\n y = Resize(r, \"\", s)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[1,1,7,7] x, int64[4] n) => (float[A,B,C,D] y) <\n"
          "  float[1] k = {7}\n"
          "> {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  f = Cast <to = 1> (n)\n"
          "  s = Div(f, k)\n"
          "  r = Neg(x_float16)\n"
          "  y_float16 = Resize(r, \"\", s)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(numbers_that_become_indices_stay_float)
{
    check(OPSET19 "graph (float[4] x, float p) => (float y) <float k = {3}> {\n"
                  "f = Mul(p, k)\n i = Cast <to = 7> (f)\n r = Neg(x)\n y = Gather(r, i)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[4] x, float p) => (float y) <\n"
          "  float k = {3}\n"
          "> {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  f = Mul(p, k)\n"
          "  i = Cast <to = 7> (f)\n"
          "  r = Neg(x_float16)\n"
          "  y_float16 = Gather(r, i)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(an_operator_without_16_bits_stays_float)
{
    check(OPSET19 "graph (float[2] x) => (float[2] y) {\n a = Neg(x)\n b = Celu(a)\n y = Neg(b)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x) => (float[2] y) {\n"
          "  a = Neg(x)\n"
          "  b = Celu(a)\n"
          "  [b_Cast] b_float16 = Cast <to = 10> (b)\n"
          "  y_float16 = Neg(b_float16)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
    check("<ir_version: 9, opset_import: [\"\" : 19, \"other\" : 1]>\n"
          "graph (float[2] x) => (float[2] y) {\n a = Neg(x)\n b = other.Op(a)\n y = Neg(b)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x) => (float[2] y) {\n"
          "  a = Neg(x)\n"
          "  b = other.Op(a)\n"
          "  y = Neg(b)\n"
          "}\n");
}

TEST(an_operator_gets_bfloat16_only_from_the_version_that_has_it)
{
    check(OPSET19 "graph (float[2] x) => (float[2] y) {\n y = Elu(x)\n}", QDQ_BFLOAT16, NULL,
          "graph (float[2] x) => (float[2] y) {\n"
          "  y = Elu(x)\n"
          "}\n");
    check(OPSET22 "graph (float[2] x) => (float[2] y) {\n y = Elu(x)\n}", QDQ_BFLOAT16, NULL,
          "graph (float[2] x) => (float[2] y) {\n"
          "  [x_Cast] x_bfloat16 = Cast <to = 16> (x)\n"
          "  y_bfloat16 = Elu(x_bfloat16)\n"
          "  [y_bfloat16_Cast] y = Cast <to = 1> (y_bfloat16)\n"
          "}\n");
}

TEST(q_takes_the_type_of_its_input_and_dq_the_one_that_is_wanted)
{
    check(OPSET19 "graph (float[2] x) => (float[2] y) <float s = {0.5}, int8 z = {0}> {\n"
                  "q = QuantizeLinear(x, s, z)\n d = DequantizeLinear(q, s, z)\n a = Relu(d)\n"
                  "q1 = QuantizeLinear(a, s, z)\n y = DequantizeLinear(q1, s, z)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x) => (float[2] y) <\n"
          "  float s = {0.5},\n"
          "  int8 z = {0},\n"
          "  float16 s_float16 = {0.5}\n"
          "> {\n"
          "  q = QuantizeLinear(x, s, z)\n"
          "  d = DequantizeLinear(q, s_float16, z)\n"
          "  a = Relu(d)\n"
          "  q1 = QuantizeLinear(a, s_float16, z)\n"
          "  y = DequantizeLinear(q1, s, z)\n"
          "}\n");
}

TEST(a_scale_that_float16_does_not_have_keeps_its_pair_in_float)
{
    check(
        OPSET19
        "graph (float[2] x) => (float[2] y) <float s = {1e-08}, int8 z = {0}> {\n"
        "a = Neg(x)\n q = QuantizeLinear(a, s, z)\n d = DequantizeLinear(q, s, z)\n y = Neg(d)\n}",
        QDQ_FLOAT16, NULL,
        "graph (float[2] x) => (float[2] y) <\n"
        "  float s = {1e-08},\n"
        "  int8 z = {0}\n"
        "> {\n"
        "  a = Neg(x)\n"
        "  q = QuantizeLinear(a, s, z)\n"
        "  d = DequantizeLinear(q, s, z)\n"
        "  [d_Cast] d_float16 = Cast <to = 10> (d)\n"
        "  y_float16 = Neg(d_float16)\n"
        "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
        "}\n");
}

TEST(q_and_dq_below_opset_19_stay_float)
{
    check(
        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
        "graph (float[2] x) => (float[2] y) <float s = {0.5}, int8 z = {0}> {\n"
        "a = Neg(x)\n q = QuantizeLinear(a, s, z)\n d = DequantizeLinear(q, s, z)\n y = Neg(d)\n}",
        QDQ_FLOAT16, NULL,
        "graph (float[2] x) => (float[2] y) <\n"
        "  float s = {0.5},\n"
        "  int8 z = {0}\n"
        "> {\n"
        "  a = Neg(x)\n"
        "  q = QuantizeLinear(a, s, z)\n"
        "  d = DequantizeLinear(q, s, z)\n"
        "  [d_Cast] d_float16 = Cast <to = 10> (d)\n"
        "  y_float16 = Neg(d_float16)\n"
        "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
        "}\n");
}

/* shared constants are copied, and every reader is rewired */
TEST(casts_that_the_model_has_are_used)
{
    check(OPSET19 "graph (float[2] x) => (float[2] y, float16[2] z) {\n"
                  "h = Cast <to = 10> (x)\n z = Neg(h)\n f = Cast <to = 1> (z)\n g = Relu(f)\n y = "
                  "Add(g, x)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x) => (float[2] y, float16[2] z) {\n"
          "  h = Cast <to = 10> (x)\n"
          "  z = Neg(h)\n"
          "  g = Relu(z)\n"
          "  y_float16 = Add(g, h)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
    check(OPSET19 "graph (float[2] x) => (float16[2] y, float16[2] z) {\n"
                  "a = Neg(x)\n y = Cast <to = 10> (a)\n b = Cast <to = 10> (a)\n z = Relu(b)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x) => (float16[2] y, float16[2] z) {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  y = Neg(x_float16)\n"
          "  z = Relu(y)\n"
          "}\n");
}

TEST(casts_from_and_to_other_types_have_no_second_one)
{
    check(OPSET19
          "graph (int64[2] n) => (int64[2] m, float[2] y) {\n"
          "a = Cast <to = 1> (n)\n b = Neg(a)\n m = Cast <to = 7> (b)\n y = Cast <to = 1> (n)\n}",
          QDQ_FLOAT16, NULL,
          "graph (int64[2] n) => (int64[2] m, float[2] y) {\n"
          "  a = Cast <to = 1> (n)\n"
          "  b = Neg(a)\n"
          "  m = Cast <to = 7> (b)\n"
          "  y = Cast <to = 1> (n)\n"
          "}\n");
}

TEST(a_fill_has_the_type_of_what_it_fills)
{
    check(OPSET19 "graph (float[2] x, int64[1] n) => (float[A] y) {\n"
                  "a = ConstantOfShape <value = float[1] {1.5}> (n)\n b = ConstantOfShape(n)\n c = "
                  "Add(a, b)\n"
                  "y = Add(c, x)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x, int64[1] n) => (float[2] y) {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  a = ConstantOfShape <value = float16[1] {1.5}> (n)\n"
          "  b = ConstantOfShape <value = float16[1] {0.0}> (n)\n"
          "  c = Add(a, b)\n"
          "  y_float16 = Add(c, x_float16)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(bodies_have_their_borders_at_inputs_outputs_and_captures)
{
    check(OPSET19 "graph (float[2] x, bool c) => (float[2] y) {\n"
                  "a = Neg(x)\n"
                  "b = If <then_branch = t () => (float[2] p) { p = Relu(a) },\n"
                  "        else_branch = e () => (float[2] q) { [\"keep\"] q = Exp(a) }> (c)\n"
                  "y = Neg(b)\n}",
          QDQ_FLOAT16, "keep",
          "graph (float[2] x, bool c) => (float[2] y) {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  a = Neg(x_float16)\n"
          "  [a_Cast] a_float = Cast <to = 1> (a)\n"
          "  b = If <then_branch = t () => (float[2] p) {\n"
          "    p_float16 = Relu(a)\n"
          "    [p_float16_Cast] p = Cast <to = 1> (p_float16)\n"
          "  }, else_branch = e () => (float[2] q) {\n"
          "    [keep] q = Exp(a_float)\n"
          "  }> (c)\n"
          "  [b_Cast] b_float16 = Cast <to = 10> (b)\n"
          "  y_float16 = Neg(b_float16)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(an_output_that_is_an_input_or_a_constant_stays_float)
{
    check(OPSET19
          "graph (float[2] x) => (float[2] x, float[2] w, float[2] y) <float[2] w = {1, 2}> {\n"
          "y = Mul(x, w)\n}",
          QDQ_FLOAT16, NULL,
          "graph (float[2] x) => (float[2] x, float[2] w, float[2] y) <\n"
          "  float[2] w = {1, 2},\n"
          "  float16[2] w_float16 = {1.0, 2.0}\n"
          "> {\n"
          "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
          "  y_float16 = Mul(x_float16, w_float16)\n"
          "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
          "}\n");
}

TEST(direct_io_changes_the_types_of_inputs_and_outputs)
{
    qdq_model *m =
        converted(OPSET19 "graph (float[2] x, int64[1] i) => (float[2] y, float[1] z) {\n"
                          "y = Neg(x)\n z = Gather(x, i)\n}",
                  QDQ_FLOAT16, NULL, true, NULL);

    test_assert_text(m, "graph (float16[2] x, int64[1] i) => (float16[2] y, float16[1] z) {\n"
                        "  y = Neg(x)\n"
                        "  z = Gather(x, i)\n"
                        "}\n");
    qdq_model_free(m);
}

TEST(what_is_beyond_the_range_is_clamped_and_told)
{
    said s = {""};
    qdq_model *m = converted(
        OPSET19 "graph (float[4] x) => (float[4] y) <float[4] w = {-3e+38, inf, 1e-12, 70000}>"
                " {\n y = Add(x, w)\n}",
        QDQ_FLOAT16, NULL, false, &s);

    test_assert_text(m, "graph (float[4] x) => (float[4] y) <\n"
                        "  float16[4] w = {-65504.0, inf, 6e-08, 65504.0}\n"
                        "> {\n"
                        "  [x_Cast] x_float16 = Cast <to = 10> (x)\n"
                        "  y_float16 = Add(x_float16, w)\n"
                        "  [y_float16_Cast] y = Cast <to = 1> (y_float16)\n"
                        "}\n");
    assert_string_equal(s.text, "constant 'w': 2 values beyond the range of float16 are clamped\n");
    qdq_model_free(m);
}

/* Rounds scales, converts. */
static void check_rounded(const char *text, const char *want)
{
    const qdq_plan_rest rest = {.type = QDQ_BFLOAT16};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    qdq_map none = QDQ_MAP_INIT;

    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_rest_round_scales(m, &rest, &none, &err));
    assert_ok(qdq_rest_convert(m, &rest, &none, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    test_assert_text(m, want);
    qdq_model_free(m);
}

TEST(a_q_in_front_of_the_border_has_the_scale_of_its_dq)
{
    check_rounded(OPSET22
                  "graph (float[2] x) => (float[2] y) <float s = {0.1}, uint8 z = {3}> {\n"
                  "q = QuantizeLinear(x, s, z)\n d = DequantizeLinear(q, s, z)\n a = Neg(d)\n"
                  "y = Mul(a, s)\n}",
                  "graph (float[2] x) => (float[2] y) <\n"
                  "  bfloat16 s = {0.1},\n"
                  "  uint8 z = {3},\n"
                  "  float s_1 = {0.100097656},\n"
                  "  bfloat16 s_1_bfloat16 = {0.1}\n"
                  "> {\n"
                  "  q = QuantizeLinear(x, s_1, z)\n"
                  "  d = DequantizeLinear(q, s_1_bfloat16, z)\n"
                  "  a = Neg(d)\n"
                  "  y_bfloat16 = Mul(a, s)\n"
                  "  [y_bfloat16_Cast] y = Cast <to = 1> (y_bfloat16)\n"
                  "}\n");
}

TEST(scales_of_biases_and_of_what_stays_float_are_not_rounded)
{
    check_rounded(
        OPSET22
        "graph () => (float[2] y, float[2] z) <int32[2] b = {1, 2}, float s = {0.1}, uint8[2] w = "
        "{1, 2}> "
        "{\n y = DequantizeLinear <output_dtype = 1> (w, s)\n z = DequantizeLinear(b, s)\n}",
        "graph () => (float[2] y, float[2] z) <\n"
        "  int32[2] b = {1, 2},\n"
        "  float s = {0.1},\n"
        "  uint8[2] w = {1, 2}\n"
        "> {\n"
        "  y = DequantizeLinear <output_dtype = 1> (w, s)\n"
        "  z = DequantizeLinear(b, s)\n"
        "}\n");
}

TEST(a_number_is_rounded_up_to_one_that_the_type_has)
{
    assert_true(qdq_half_round_up(0.1F, QDQ_FLOAT) == 0.1F);
    assert_true(qdq_half_round_up(0.5F, QDQ_BFLOAT16) == 0.5F);
    assert_true(qdq_half_round_up(1.001F, QDQ_BFLOAT16) == 1.0078125F);
    assert_true(qdq_half_round_up(1.0001F, QDQ_FLOAT16) == 1.0009765625F);
    assert_true(qdq_half_round_up(1e-12F, QDQ_FLOAT16) == 0x1p-24F);
    assert_true(qdq_half_round_up(1e9F, QDQ_FLOAT16) == 65504.0F);
}

TEST(a_label_that_is_not_there_is_named)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("graph (float x) => (float y) { y = Neg(x) }");
    qdq_plan *p = qdq_plan_new();
    qdq_plan_float kept = {"gone", "", ""};
    qdq_map map = QDQ_MAP_INIT;

    assert_true(QDQ_PUSH(&p->arena, &p->rest.keep, kept));
    assert_fails(QDQ_E_FORMAT,
                 "the plan keeps in float32 what the model does not have: node 'gone'",
                 qdq_rest_find_kept(m, p, &map, &err));
    qdq_map_free(&map);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(a_plan_says_what_stays_float)
{
    static const char wrong[] = "{\"qdq_plan\": 1, \"rest\": {\"type\": \"half\"}}";
    static const char text[] =
        "{\"qdq_plan\": 1, \"rest\": {\"type\": \"bfloat16\", \"direct_io\": true, "
        "\"keep\": [{\"node\": \"b\","
        " \"op\": \"Exp\", \"reason\": \"asked for\"}, {\"node\": \"a\"}]}}";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL, *again = NULL;
    char *once = NULL, *twice = NULL;

    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    assert_int_equal(p->rest.type, QDQ_BFLOAT16);
    assert_true(p->rest.direct_io);
    assert_string_equal(p->rest.keep.at[0].node, "a");
    assert_ok(qdq_plan_to_text(p, &once, &err));
    assert_ok(qdq_plan_parse(once, strlen(once), "plan", &again, &err));
    assert_ok(qdq_plan_to_text(again, &twice, &err));
    assert_string_equal(once, twice);
    qdq_free(once);
    qdq_free(twice);
    qdq_plan_free(p);
    qdq_plan_free(again);
    assert_fails(QDQ_E_FORMAT, "rest, key 'type': expected 'float', 'float16' or 'bfloat16'",
                 qdq_plan_parse(wrong, strlen(wrong), "plan", &p, &err));
}
