/* opt_unique_dq.c - one DequantizeLinear for each reader. */
#include "support/rewrite.h"

#define PASS  "unique-dq"
#define SCALE "<float s = {0.5}, uint8 z = {3}>"

/* optimizer 10 case 5 */
static void every_reader_gets_one_of_its_own(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (uint8[1,1,4,4] x, float[1,1,4,4] v, float[1,1,1,1] w) => (float[1,1,4,4] y, "
                   "float[1,1,4,4] u) " SCALE " {\n"
                   "  [\"dq\"] a = DequantizeLinear <axis = 1> (x, s, z)\n"
                   "  y = Conv(a, w)\n"
                   "  u = Add(a, v)\n"
                   "}\n",
                   "g (uint8[1,1,4,4] x, float[1,1,4,4] v, float[1,1,1,1] w) => (float[1,1,4,4] y, "
                   "float[1,1,4,4] u) " SCALE " {\n"
                   "  [dq] a = DequantizeLinear <axis = 1> (x, s, z)\n"
                   "  [dq_1] a_1 = DequantizeLinear <axis = 1> (x, s, z)\n"
                   "  y = Conv(a, w)\n"
                   "  u = Add(a_1, v)\n"
                   "}\n");
}

static void both_operands_of_one_node_are_two_readers(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (uint8[2] x) => (float[2] y) " SCALE " {\n"
                   "  a = DequantizeLinear(x, s, z)\n"
                   "  y = Mul(a, a)\n"
                   "}\n",
                   "g (uint8[2] x) => (float[2] y) " SCALE " {\n"
                   "  a = DequantizeLinear(x, s, z)\n"
                   "  a_1 = DequantizeLinear(x, s, z)\n"
                   "  y = Mul(a, a_1)\n"
                   "}\n");
}

static void a_graph_output_keeps_the_one_that_has_its_name(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (uint8[2] x) => (float[2] a, float[2] y) " SCALE " {\n"
                   "  a = DequantizeLinear(x, s, z)\n"
                   "  y = Neg(a)\n"
                   "}\n",
                   "g (uint8[2] x) => (float[2] a, float[2] y) " SCALE " {\n"
                   "  a = DequantizeLinear(x, s, z)\n"
                   "  a_1 = DequantizeLinear(x, s, z)\n"
                   "  y = Neg(a_1)\n"
                   "}\n");
}

/* The bodies of a node are one reader, which goes on reading from the main graph. */
static void bodies_share_one_of_the_main_graph(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (bool c, uint8[2] x) => (float[2] y, float[2] u) " SCALE " {\n"
                   "  a = DequantizeLinear(x, s, z)\n"
                   "  u = Neg(a)\n"
                   "  y = If <then_branch = t () => (float[2] p) {\n"
                   "    p = Mul(a, a)\n"
                   "  }, else_branch = e () => (float[2] q) {\n"
                   "    q = Abs(a)\n"
                   "  }> (c)\n"
                   "}\n",
                   "g (bool c, uint8[2] x) => (float[2] y, float[2] u) " SCALE " {\n"
                   "  a = DequantizeLinear(x, s, z)\n"
                   "  a_1 = DequantizeLinear(x, s, z)\n"
                   "  u = Neg(a)\n"
                   "  y = If <then_branch = t () => (float[2] p) {\n"
                   "    p = Mul(a_1, a_1)\n"
                   "  }, else_branch = e () => (float[2] q) {\n"
                   "    q = Abs(a_1)\n"
                   "  }> (c)\n"
                   "}\n");
}

static void weights_are_dequantized_for_each_layer_and_stored_once(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (float[1,2] x) => (float[1,2] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {0.5}> {\n"
        "  d = DequantizeLinear(w, s)\n"
        "  h = MatMul(x, d)\n"
        "  y = MatMul(h, d)\n"
        "}\n",
        "g (float[1,2] x) => (float[1,2] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {0.5}> {\n"
        "  d = DequantizeLinear(w, s)\n"
        "  d_1 = DequantizeLinear(w, s)\n"
        "  h = MatMul(x, d)\n"
        "  y = MatMul(h, d_1)\n"
        "}\n");
}

static void one_reader_is_enough_and_nothing_happens_unasked(void **state)
{
    (void)state;
    assert_kept(PASS, "g (uint8[2] x) => (float[2] y) " SCALE " {\n"
                      "  unread = DequantizeLinear(x, s, z)\n"
                      "  a = DequantizeLinear(x, s, z)\n"
                      "  y = Neg(a)\n"
                      "}\n");
    assert_kept("default", "g (uint8[2] x) => (float[2] y, float[2] u) " SCALE " {\n"
                           "  a = DequantizeLinear(x, s, z)\n"
                           "  y = Neg(a)\n"
                           "  u = Sigmoid(a)\n"
                           "}\n");
}

/* They are not merged again by what runs beside. */
static void what_is_unique_stays_so(void **state)
{
    (void)state;
    assert_becomes("default,unique-dq",
                   "g (uint8[2] x) => (float[2] y, float[2] u) " SCALE " {\n"
                   "  a = DequantizeLinear(x, s, z)\n"
                   "  y = Neg(a)\n"
                   "  u = Sigmoid(a)\n"
                   "}\n",
                   "g (uint8[2] x) => (float[2] y, float[2] u) " SCALE " {\n"
                   "  a = DequantizeLinear(x, s, z)\n"
                   "  a_1 = DequantizeLinear(x, s, z)\n"
                   "  y = Neg(a)\n"
                   "  u = Sigmoid(a_1)\n"
                   "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reader_gets_one_of_its_own),
        cmocka_unit_test(both_operands_of_one_node_are_two_readers),
        cmocka_unit_test(a_graph_output_keeps_the_one_that_has_its_name),
        cmocka_unit_test(bodies_share_one_of_the_main_graph),
        cmocka_unit_test(weights_are_dequantized_for_each_layer_and_stored_once),
        cmocka_unit_test(one_reader_is_enough_and_nothing_happens_unasked),
        cmocka_unit_test(what_is_unique_stays_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
