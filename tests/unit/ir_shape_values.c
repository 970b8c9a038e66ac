/* ir_shape_values.c - elements of small tensors on their way from Shape to Reshape. */
#include "support/shapes.h"

/* The dims of y are the elements of `s`: ConstantOfShape(s) shows them. */
static void elements(int opset, const char *inputs, const char *inits, const char *nodes,
                     const char *dims)
{
    char graph[2048], type[256];

    snprintf(graph, sizeof graph, "g (%s) => (y) <%s> { %s y = ConstantOfShape(s) }", inputs, inits,
             nodes);
    snprintf(type, sizeof type, "float[%s]", dims);
    test_infers(opset, graph, type);
}

static void shape_gives_dims_and_symbols(void **state)
{
    (void)state;
    elements(17, "float[N,3,?] x", "", "s = Shape(x)", "N,3,?");
    elements(17, "float[N,3,5] x", "", "s = Shape<start = -2>(x)", "3,5");
    elements(17, "float[2,3,5] x", "int64[1] one = {1}", "z = Size(x) s = Reshape(z, one)", "30");
    elements(17, "float[1,N,1] x", "int64[1] one = {1}", "z = Size(x) s = Reshape(z, one)", "N");
    elements(17, "float[4,N] x", "int64[1] one = {1}", "z = Size(x) s = Reshape(z, one)", "?");
    elements(17, "", "", "s = Constant<value_ints = [3, 4]>()", "3,4");
    elements(17, "", "int64[1] a = {0}", "i = Constant<value_int = 3>() s = Unsqueeze(i, a)", "3");
    elements(17, "", "int64[1] n = {3}", "s = ConstantOfShape<value = int64[1] {7}>(n)", "7,7,7");
    elements(17, "", "int64 a = {2}, int64 b = {9}, int64 c = {3}", "s = Range(a, b, c)", "2,5,8");
}

static void elements_move(void **state)
{
    (void)state;
    elements(17, "float[N,3,5] x", "int64[2] i = {-1, 0}", "h = Shape(x) s = Gather(h, i)", "5,N");
    elements(17, "float[N,3,5] x", "int64 i = {1}, int64[1] a = {0}",
             "h = Shape(x) g = Gather(h, i) s = Unsqueeze(g, a)", "3");
    elements(17, "float[N,3,5] x", "int64[2] i = {7, 0}", "h = Shape(x) s = Gather(h, i)", "?,N");
    elements(17, "float[N,3,5] x", "int64[1] b = {1}, int64[1] e = {100}",
             "h = Shape(x) s = Slice(h, b, e)", "3,5");
    elements(17, "float[N,3,5] x",
             "int64[1] b = {-1}, int64[1] e = {-100}, int64[1] a = {0}, int64[1] t = {-1}",
             "h = Shape(x) s = Slice(h, b, e, a, t)", "5,3,N");
    elements(17, "float[N,3] x", "int64[1] k = {9}", "h = Shape(x) s = Concat<axis = 0>(h, k, h)",
             "N,3,9,N,3");
    elements(17, "float[N,3] x, int64[2] u", "", "h = Shape(x) s = Concat<axis = 0>(u, h)",
             "?,?,N,3");
    elements(11, "float[N,3,5] x", "", "h = Shape(x) a, s = Split<split = [1, 2]>(h)", "3,5");
    elements(17, "float[N,3] x", "int64[2] p = {2, 2}, int64[1] m = {-1}",
             "h = Shape(x) c = Concat<axis = 0>(h, h) r = Reshape(c, p) t = Transpose(r) s = "
             "Reshape(t, m)",
             "N,N,3,3");
    elements(17, "float[N] x", "int64[1] three = {3}", "h = Shape(x) s = Expand(h, three)",
             "N,N,N");
    elements(17, "float[N,4] x", "int64[1] two = {2}", "h = Shape(x) s = Tile(h, two)", "N,4,N,4");
    elements(17, "float[N,4] x", "",
             "h = Shape(x) i = Identity(h) f = Cast<to = 6>(i) s = Cast<to = 7>(f)", "N,4");
}

static void pads_as_torch_writes_them(void **state)
{
    (void)state;
    test_infers(
        17,
        "g (float[N,3,8,9] x) => (y) <int64[4] p = {1, 2, 3, 4}, int64[1] n = {4}, int64[2] r = "
        "{-1, 2}, "
        "int64[1] m = {-1}, int64[1] z = {0}, int64[1] lo = {-9223372036854775807}> {"
        " k = ConstantOfShape<value = int64[1] {0}>(n) c = Concat<axis = 0>(p, k) q = Reshape(c, r)"
        " v = Slice(q, m, lo, z, m) t = Transpose<perm = [1, 0]>(v) f = Reshape(t, m) i = Cast<to "
        "= 7>(f)"
        " y = Pad(x, i) }",
        "float[N,3,15,12]");
}

static void arithmetic_on_numbers(void **state)
{
    (void)state;
    elements(17, "float[4,6] x", "int64[2] k = {2, 4}", "h = Shape(x) s = Add(h, k)", "6,10");
    elements(17, "float[4,6] x", "int64[2] k = {2, 4}", "h = Shape(x) s = Sub(h, k)", "2,2");
    elements(17, "float[4,6] x", "int64 k = {3}", "h = Shape(x) s = Mul(h, k)", "12,18");
    elements(17, "float[4,7] x", "int64 k = {2}", "h = Shape(x) s = Div(h, k)", "2,3");
    elements(17, "float[4,7] x", "int64 k = {4}", "h = Shape(x) s = Mod(h, k)", "0,3");
    elements(17, "float[4,7] x", "int64 k = {5}", "h = Shape(x) s = Max(h, k)", "5,7");
    elements(17, "float[4,7] x", "int64 k = {5}", "h = Shape(x) s = Min(h, k)", "4,5");
    elements(17, "float[4,7] x", "int64[1] o = {1}",
             "h = Shape(x) p = ReduceProd<keepdims = 1>(h) s = Reshape(p, o)", "28");
    elements(17, "float[4,7] x", "", "h = Shape(x) s = ReduceMax(h)", "7");
    elements(17, "float[4,7] x", "", "h = Shape(x) s = ReduceMin(h)", "4");
    elements(17, "float[4,7] x", "", "h = Shape(x) s = ReduceSum(h)", "11");
    elements(17, "float[4,7] x", "", "h = Shape(x) n = Neg(h) s = Abs(n)", "4,7");
    elements(17, "", "int64[1] k = {9223372036854775807}", "s = Add(k, k)", "?");
    elements(17, "", "int64[1] k = {-9223372036854775808}, int64[1] m = {-1}",
             "a = Div(k, m) b = Neg(k) c = Abs(k) d = Mul(k, m) e = Sub(m, k) s = Concat<axis = "
             "0>(a, b, c, d)",
             "?,?,?,?");
    elements(17, "float[4] x", "int64[1] k = {0}",
             "h = Shape(x) a = Div(h, k) b = Mod(h, k) s = Concat<axis = 0>(a, b)", "?,?");
}

static void symbols_survive_what_does_not_change_them(void **state)
{
    (void)state;
    elements(17, "float[N] x", "int64 one = {1}", "h = Shape(x) a = Mul(h, one) s = Div(a, one)",
             "N");
    elements(17, "float[N] x", "int64 zero = {0}", "h = Shape(x) a = Add(zero, h) s = Sub(a, zero)",
             "N");
    elements(17, "float[N] x", "int64 two = {2}", "h = Shape(x) s = Mul(h, two)", "?");
    elements(17, "float[N] x", "",
             "h = Shape(x) a = Div(h, h) b = Sub(h, h) s = Concat<axis = 0>(a, b)", "1,0");
    elements(17, "float[N] x", "int64 m = {-1}", "h = Shape(x) a = Max(h, m) s = Max(a, h)", "N");
    elements(17, "float[N,M] x", "", "h = Shape(x) s = ReduceProd<keepdims = 1>(h)", "?");
    elements(17, "float[N,1] x", "", "h = Shape(x) s = ReduceProd<keepdims = 1>(h)", "N");
}

static void sizes_pass_through_floats(void **state)
{
    (void)state;
    elements(17, "float[9,N] x", "float two = {2}, float one = {1}",
             "h = Shape(x) f = Cast<to = 1>(h) d = Div(f, one) r = Floor(d) s = Cast<to = 7>(r)",
             "9,N");
    elements(17, "float[9] x", "float two = {2}",
             "h = Shape(x) f = Cast<to = 1>(h) d = Div(f, two) a = Floor(d) b = Ceil(d) c = "
             "Round(d) q = "
             "Concat<axis = 0>(a, b, c) s = Cast<to = 7>(q)",
             "4,5,4");
    elements(17, "float[9] x", "double k = {0}",
             "h = Shape(x) f = Cast<to = 11>(h) d = Div(f, k) s = Cast<to = 7>(d)", "?");
    /* the scales that a resize to a fixed size computes */
    test_infers(
        18,
        "g (uint8[120,160,3] x) => (y) <float[2] want = {224, 224}, float[1] one = {1}, int64[1] a "
        "= {0}, "
        "int64[3] k = {1, 1, 1}> { h = Shape(x) p, q, r = Split(h, k) w = Concat<axis = 0>(p, q)"
        " f = Cast<to = 1>(w) t = Div(want, f) m = ReduceMax(t) c = Concat<axis = 0>(one, m, m, "
        "one)"
        " u = Unsqueeze(x, a) y = Resize(u, \"\", c) }",
        "uint8[1,224,298,3]");
}

static void comparisons_choose(void **state)
{
    (void)state;
    /* Expand as torch writes it: -1 stays what the input has */
    elements(17, "float[N,3] x", "int64[2] want = {-1, 3}, int64 m = {-1}",
             "h = Shape(x) e = Equal(want, m) s = Where(e, h, want)", "N,3");
    elements(17, "float[N,3] x", "int64 m = {-1}",
             "h = Shape(x) e = Equal(h, m) s = Where(e, m, h)", "N,3");
    elements(17, "float[N,3] x", "int64 k = {2}",
             "h = Shape(x) e = Greater(h, k) s = Where(e, k, h)", "?,2");
    elements(17, "float[5,3] x", "int64 k = {3}",
             "h = Shape(x) a = LessOrEqual(h, k) b = Less(h, k) c = Not(b) e = And(a, c) s = "
             "Where(e, k, h)",
             "5,3");
    elements(
        17, "float[5,3] x", "int64 k = {3}, int64 z = {8}",
        "h = Shape(x) a = GreaterOrEqual(h, k) b = Equal(h, k) e = Or(a, b) s = Where(e, z, h)",
        "8,8");
}

/* Their shape is none that the result's allows for: elements were read beyond their end. */
static void inputs_that_an_operator_does_not_have_are_not_followed(void **state)
{
    (void)state;
    elements(17, "", "int64[2] a = {1, 2}, int64[1] b = {1}, int64[2] h = {5, 6}",
             "e = Less(h, a, b) s = Where(e, h, a)", "?,?");
    elements(17, "", "int64[2] a = {1, 2}, int64[1] b = {1}",
             "c = Less(b, b, a) s = Where(c, b, b)", "1");
}

static void large_tensors_are_not_followed(void **state)
{
    (void)state;
    elements(17, "", "int64[1] n = {65}, int64[1] z = {0}, int64[1] o = {1}",
             "c = ConstantOfShape<value = int64[1] {7}>(n) s = Slice(c, z, o)", "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_gives_dims_and_symbols),
        cmocka_unit_test(elements_move),
        cmocka_unit_test(pads_as_torch_writes_them),
        cmocka_unit_test(arithmetic_on_numbers),
        cmocka_unit_test(symbols_survive_what_does_not_change_them),
        cmocka_unit_test(sizes_pass_through_floats),
        cmocka_unit_test(comparisons_choose),
        cmocka_unit_test(inputs_that_an_operator_does_not_have_are_not_followed),
        cmocka_unit_test(large_tensors_are_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
