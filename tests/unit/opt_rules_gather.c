/* opt_rules_gather.c - Gather, ScatterND, and MatMul between Reshapes. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 8, opset_import: [\"\" : " #n "]> "
#define CLEAN    ",drop-unused"

/* --- gather-keeps-dim ------------------------------------------------------------------------- */

static void a_gathered_dim_that_is_put_back_is_kept(void **state)
{
    (void)state;
    assert_becomes(
        "gather-keeps-dim" CLEAN,
        "g (float[N,3] x) => (int64[1] y) <int64 i = {0}, int64[1] a = {0}> { s = Shape(x) g = "
        "Gather(s, i) y = Unsqueeze(g, a) }",
        "g (float[N,3] x) => (int64[1] y) <int64[1] i_1 = {0}> { s = Shape(x) y = Gather <axis = "
        "0> (s, i_1) }");
    assert_becomes("gather-keeps-dim" CLEAN,
                   "g (float[N,3] x) => (float[N,1] y) <int64 i = {-1}, int64[1] a = {-1}> { g = "
                   "Gather <axis = 1> (x, "
                   "i) y = Unsqueeze(g, a) }",
                   "g (float[N,3] x) => (float[N,1] y) <int64[1] i_1 = {-1}> { y = Gather <axis = "
                   "1> (x, i_1) }");
    assert_becomes("gather-keeps-dim" CLEAN,
                   OPSET(11) "g (float[] x) => (float[] y) <int32 i = {1}> { g = Gather <axis = 2> "
                             "(x, i) y = Unsqueeze "
                             "<axes = [2]> (g) }",
                   OPSET(11) "g (float[] x) => (float[] y) <int32[1] i_1 = {1}> { y = Gather <axis "
                             "= 2> (x, i_1) }");
}

static void a_dim_that_is_put_elsewhere_stays(void **state)
{
    (void)state;
    assert_refused(
        "gather-keeps-dim",
        "g (float[N,3] x) => (float[N,1] y) <int64 i = {0}, int64[1] a = {1}> { g = Gather(x, i) "
        "y = Unsqueeze(g, a) }",
        "the new dim stands elsewhere");
    assert_refused(
        "gather-keeps-dim",
        "g (float[] x) => (float[] y) <int64 i = {0}, int64[1] a = {0}> { g = Gather <axis = -1> "
        "(x, i) y = Unsqueeze(g, a) }",
        "the new dim stands elsewhere");
    assert_refused(
        "gather-keeps-dim",
        "g (float[] x) => (float[] y) <int64 i = {0}, int64[1] a = {-1}> { g = Gather(x, i) y = "
        "Unsqueeze(g, a) }",
        "the axis is not known");
    assert_refused(
        "gather-keeps-dim",
        "g (float[N,3] x) => (float[1,3,1] y) <int64 i = {0}, int64[2] a = {0, 2}> { g = "
        "Gather(x, i) y = Unsqueeze(g, a) }",
        "the axis is not known");
    assert_kept("gather-keeps-dim",
                "g (float[N,3] x) => (float[1,2,3] y) <int64[2] i = {0, 1}, int64[1] a = "
                "{0}> { g = Gather(x, i) y = Unsqueeze(g, a) }");
    assert_kept("gather-keeps-dim",
                "g (float[N,3] x, int64 i) => (float[1,3] y) <int64[1] a = {0}> { g = "
                "Gather(x, i) y = Unsqueeze(g, a) }");
    assert_kept("gather-keeps-dim",
                "g (float[N,3] x) => (float[1,3] y, float[3] g) <int64 i = {0}, int64[1] "
                "a = {0}> { g = Gather(x, i) y = Unsqueeze(g, a) }");
}

/* --- drop-full-scatter ------------------------------------------------------------------------ */

#define ROWS "int64[3,1] i = {0, 1, 2}"

static void a_scatter_of_all_rows_goes(void **state)
{
    (void)state;
    assert_becomes("drop-full-scatter" CLEAN,
                   "g (float[3,N] x, float[3,N] u) => (float[3,N] y) <" ROWS
                   "> { t = Neg(u) y = ScatterND(x, i, t) }",
                   "g (float[3,N] x, float[3,N] u) => (float[3,N] y) { y = Neg(u) }");
    assert_becomes(
        "drop-full-scatter" CLEAN,
        "g (float[N,3] x, float[N,3] u) => (float[N,3] y) <int64 zero = {0}, int64 one = {1}, "
        "int64[1] a = {-1}> {\n"
        "  s = Shape(x)\n  n = Gather(s, zero)\n  r = Range(zero, n, one)\n  i = Unsqueeze(r, "
        "a)\n  t = Neg(u)\n  y = ScatterND(x, i, t)\n}",
        "g (float[N,3] x, float[N,3] u) => (float[N,3] y) { y = Neg(u) }");
}

/* optimizer 10 case 25 */
static void a_scatter_that_adds_stays(void **state)
{
    (void)state;
    assert_refused("drop-full-scatter",
                   "g (float[3] x, float[3] u) => (float[3] y) <" ROWS
                   "> { y = ScatterND <reduction = \"add\"> (x, i, u) }",
                   "what is scattered is combined with what was there");
}

static void a_scatter_of_other_rows_stays(void **state)
{
    (void)state;
    assert_kept("drop-full-scatter", "g (float[3] x, float[3] u) => (float[3] y) <int64[3,1] i = "
                                     "{0, 2, 1}> { y = ScatterND(x, i, u) }");
    assert_kept("drop-full-scatter",
                "g (float[4] x, float[3] u) => (float[4] y) <" ROWS "> { y = ScatterND(x, i, u) }");
    assert_kept("drop-full-scatter",
                "g (float[N] x, float[3] u) => (float[N] y) <" ROWS "> { y = ScatterND(x, i, u) }");
    assert_refused("drop-full-scatter",
                   "g (float[] x, float[3] u) => (float[] y) <" ROWS "> { y = ScatterND(x, i, u) }",
                   "the shape is not known");
    assert_refused("drop-full-scatter",
                   "g (float[3,N] x, float[3,M] u) => (float[3,N] y) <" ROWS
                   "> { y = ScatterND(x, i, u) }",
                   "what is scattered may have another shape");
    assert_kept("drop-full-scatter",
                "g (float[N,3] x, float[N,3] u, float[M] w) => (float[N,3] y) <int64 "
                "zero = {0}, int64 one = {1}, int64[1] a = {-1}> {\n"
                "  s = Shape(w)\n  n = Gather(s, zero)\n  r = Range(zero, n, one)\n  i "
                "= Unsqueeze(r, a)\n  y = ScatterND(x, i, u)\n}");
    assert_kept("drop-full-scatter",
                "g (float[N,3] x, float[N,3] u) => (float[N,3] y) <int64 zero = {0}, "
                "int64 one = {1}, int64[1] a = {-1}> {\n"
                "  s = Shape(x)\n  n = Gather(s, zero)\n  r = Range(one, n, one)\n  i = "
                "Unsqueeze(r, a)\n  y = ScatterND(x, i, u)\n}");
}

/* --- unwrap-matmul ---------------------------------------------------------------------------- */

static void a_matrix_is_multiplied_from_the_left_by_rows_of_any_shape(void **state)
{
    (void)state;
    assert_becomes(
        "unwrap-matmul" CLEAN,
        "g (float[2,5,3] a, float[3,4] b) => (float[2,5,4] y) <int64[2] s = {-1, 3}, int64[3] t = "
        "{2, 5, 4}> {\n"
        "  r = Reshape(a, s)\n  p = MatMul(r, b)\n  y = Reshape(p, t)\n}",
        "g (float[2,5,3] a, float[3,4] b) => (float[2,5,4] y) { y = MatMul(a, b) }");
    assert_becomes(
        "unwrap-matmul" CLEAN,
        "g (float[N,5,3] a, float[3,4] b) => (float[N,5,4] y) <int64[2] s = {-1, 3}, int64[3] t = "
        "{-1, 5, 4}> {\n"
        "  r = Reshape(a, s)\n  p = MatMul(r, b)\n  y = Reshape(p, t)\n}",
        "g (float[N,5,3] a, float[3,4] b) => (float[N,5,4] y) { y = MatMul(a, b) }");
}

static void batches_of_batches_are_multiplied_as_they_are(void **state)
{
    (void)state;
    assert_becomes(
        "unwrap-matmul" CLEAN,
        "g (float[2,3,5,7] a, float[2,3,7,4] b) => (float[2,3,5,4] y) <int64[3] s = {6, 5, 7}, "
        "int64[3] t = "
        "{6, 7, 4}, int64[4] u = {2, 3, 5, "
        "4}> {\n  r = Reshape(a, s)\n  q = Reshape(b, t)\n  p = MatMul(r, q)\n  y = Reshape(p, "
        "u)\n}",
        "g (float[2,3,5,7] a, float[2,3,7,4] b) => (float[2,3,5,4] y) { y = MatMul(a, b) }");
}

static void dequantized_operands_stand_in_front_of_the_matmul_then(void **state)
{
    (void)state;
    assert_becomes(
        "unwrap-matmul" CLEAN,
        "g (uint8[2,5,3] x, float[3,4] b) => (float[2,5,4] y) <int64[2] s = {-1, 3}, int64[3] t = "
        "{2, 5, 4}, "
        "float f = {0.5}, uint8 z = {0}> {\n"
        "  a = DequantizeLinear(x, f, z)\n  r = Reshape(a, s)\n  p = MatMul(r, b)\n  y = "
        "Reshape(p, t)\n}",
        "g (uint8[2,5,3] x, float[3,4] b) => (float[2,5,4] y) <float f = {0.5}, uint8 z = {0}> {\n"
        "  a = DequantizeLinear(x, f, z)\n  y = MatMul(a, b)\n}");
}

static void reshapes_that_cut_rows_or_matrices_stay(void **state)
{
    (void)state;
    assert_refused(
        "unwrap-matmul",
        "g (float[6,8] a, float[2,4] b) => (float[6,4] y) <int64[2] s = {12, 4}, int64[2] t = {4, "
        "2}, int64[2] u = {6, 4}> {\n"
        "  r = Reshape(a, s)\n  q = Reshape(b, t)\n  p = MatMul(r, q)\n  y = Reshape(p, u)\n}",
        "rows are cut");
    assert_refused(
        "unwrap-matmul",
        "g (float[1,2,3,4] a, float[2,4,5] b) => (float[1,2,3,5] y) <int64[3] s = {2, 3, 4}, "
        "int64[4] u = {1, 2, 3, 5}> {\n"
        "  r = Reshape(a, s)\n  p = MatMul(r, b)\n  y = Reshape(p, u)\n}",
        "matrices are cut");
    assert_refused(
        "unwrap-matmul",
        "g (float[2,5,3] a, float[3,4] b) => (float[5,2,4] y) <int64[2] s = {-1, 3}, int64[3] t = "
        "{5, 2, 4}> {\n"
        "  r = Reshape(a, s)\n  p = MatMul(r, b)\n  y = Reshape(p, t)\n}",
        "what comes out has not the shape of the product");
    assert_refused("unwrap-matmul",
                   "g (float[] a, float[3,4] b) => (float[4,4] y) <int64[2] s = {4, 3}, int64[2] t "
                   "= {4, 4}> {\n"
                   "  r = Reshape(a, s)\n  p = MatMul(r, b)\n  y = Reshape(p, t)\n}",
                   "shapes are not known");
}

static void a_product_that_others_read_stays(void **state)
{
    (void)state;
    assert_kept("unwrap-matmul",
                "g (float[2,5,3] a, float[3,4] b) => (float[2,5,4] y, float[10,4] p) "
                "<int64[2] s = {-1, 3}, int64[3] t = {2, 5, 4}> {\n"
                "  r = Reshape(a, s)\n  p = MatMul(r, b)\n  y = Reshape(p, t)\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gathered_dim_that_is_put_back_is_kept),
        cmocka_unit_test(a_dim_that_is_put_elsewhere_stays),
        cmocka_unit_test(a_scatter_of_all_rows_goes),
        cmocka_unit_test(a_scatter_that_adds_stays),
        cmocka_unit_test(a_scatter_of_other_rows_stays),
        cmocka_unit_test(a_matrix_is_multiplied_from_the_left_by_rows_of_any_shape),
        cmocka_unit_test(batches_of_batches_are_multiplied_as_they_are),
        cmocka_unit_test(dequantized_operands_stand_in_front_of_the_matmul_then),
        cmocka_unit_test(reshapes_that_cut_rows_or_matrices_stay),
        cmocka_unit_test(a_product_that_others_read_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
