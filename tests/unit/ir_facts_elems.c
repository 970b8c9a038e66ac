/* ir_facts_elems.c - what elements of small tensors can be proven: numbers, symbols, and sums of
 * them. */
#include "support/facts.h"

#include "ir/edit.h"

/* --- elements of shape arithmetic ------------------------------------------------------------- */

/* optimizer 3: each operator of its list */
static void shape_arithmetic_is_followed(void **state)
{
    (void)state;
    test_elements(17, "float[N,3,5] x", "", "s = Shape(x)", "N,3,5");
    test_elements(17, "float[N,3,?] x", "", "s = Shape(x)", "N,3,?");
    test_elements(17, "float x", "", "s = Shape(x)", "");
    test_elements(17, "float[4,3,5] x", "", "s = Size(x)", "(60)");
    test_elements(17, "float[N,1] x", "", "s = Size(x)", "(N)");
    test_elements(17, "float[4294967296,4294967296] x", "", "s = Size(x)", "-");
    test_elements(17, "float[4294967296,4294967296,0] x", "", "s = Size(x)", "(0)");
    test_elements(17, "float[N,3] x", "int64 i = {0}", "h = Shape(x) s = Gather(h, i)", "(N)");
    test_elements(17, "float[N,3] x", "int64 i = {-1}", "h = Shape(x) s = Gather<axis = 0>(h, i)",
                  "(3)");
    test_elements(17, "float[N,3] x", "int64 i = {2}", "h = Shape(x) s = Gather(h, i)", "-");
    test_elements(17, "float[N,3] x", "int64[2] i = {1, 0}", "h = Shape(x) s = Gather(h, i)",
                  "3,N");
    test_elements(17, "float[N,3] x", "int64[1] a = {0}, int64 i = {0}",
                  "h = Shape(x) g = Gather(h, i) s = Unsqueeze(g, a)", "N");
    test_elements(11, "float[N,3] x", "int64 i = {0}",
                  "h = Shape(x) g = Gather(h, i) s = Unsqueeze<axes = [0]>(g)", "N");
    test_elements(17, "float[N,3] x", "int64[1] a = {0}",
                  "h = Shape<start = 0, end = 1>(x) s = Squeeze(h, a)", "(N)");
    test_elements(17, "float[N] x", "", "h = Shape(x) s = Squeeze(h)", "(N)");
    test_elements(17, "float[N,3] x", "int64[2] p = {2, 1}", "h = Shape(x) s = Reshape(h, p)",
                  "-"); /* rank 2 */
    test_elements(17, "float[N,3] x", "int64[2] p = {2, 1}, int64[1] m = {-1}",
                  "h = Shape(x) r = Reshape(h, p) s = Reshape(r, m)", "N,3");
    test_elements(17, "float[N,3,5] x", "int64[1] b = {1}, int64[1] e = {9}",
                  "h = Shape(x) s = Slice(h, b, e)", "3,5");
    test_elements(17, "float[N,3,5] x", "int64[1] b = {-1}, int64[1] e = {-9}, int64[1] a = {0}",
                  "h = Shape(x) s = Slice(h, b, e, a, b)", "5,3,N");
    test_elements(9, "float[N,3,5] x", "", "h = Shape(x) s = Slice<starts = [0], ends = [-1]>(h)",
                  "N,3");
    test_elements(17, "float[N,3] x", "int64[1] k = {-1}",
                  "h = Shape(x) s = Concat<axis = 0>(h, k)", "N,3,-1");
    test_elements(17, "float[N,3] x", "int64[1] k = {-1}",
                  "h = Shape(x) s = Concat<axis = -1>(k, h)", "-1,N,3");
    test_elements(17, "float[N,3,5] x", "int64[2] k = {1, 2}", "h = Shape(x) a, s = Split(h, k)",
                  "3,5");
    test_elements(18, "float[N,3,5] x", "", "h = Shape(x) a, s = Split<num_outputs = 2>(h)", "5");
    test_elements(17, "float[N,3] x", "", "h = Shape(x) c = Cast<to = 6>(h) s = Cast<to = 7>(c)",
                  "N,3");
    test_elements(17, "float[N,3] x", "", "h = Shape(x) s = Abs(h)", "N,3");
    test_elements(17, "float[N,?] x", "", "h = Shape(x) s = Identity(h)", "N,?");
    test_elements(17, "", "int64[2] k = {-7, 7}", "s = Abs(k)", "7,7");
    test_elements(17, "", "int64 a = {60}, int64 b = {-4}, int64 c = {-1}",
                  "d = Range(a, b, c) s = Neg(d)",
                  "-60,-59,-58,-57,-56,-55,-54,-53,-52,-51,-50,-49,-48,-47,-46,-45,-44,-43,-42,-41,"
                  "-40,-39,-38,-"
                  "37,-36,-35,"
                  "-34,-33,-32,-31,-30,-29,-28,-27,-26,-25,-24,-23,-22,-21,-20,-19,-18,-17,-16,-15,"
                  "-14,-13,-12,-"
                  "11,-10,-9,-"
                  "8,-7,-6,-5,-4,-3,-2,-1,0,1,2,3");
    test_elements(17, "", "int64 a = {0}, int64 b = {65}, int64 c = {1}", "s = Range(a, b, c)",
                  "-");
    test_elements(17, "float[N] x", "int64 a = {0}, int64 c = {1}",
                  "h = Shape(x) b = Squeeze(h) s = Range(a, b, c)", "-");
    test_elements(17, "float[4,N] x", "",
                  "r = Shape(x) h = Shape(r) s = ConstantOfShape<value = int64[1] {-1}>(h)",
                  "-1,-1");
    test_elements(17, "float[N,3] x", "int64[2] w = {-1, 3}, int64 m = {-1}",
                  "h = Shape(x) e = Equal(w, m) s = Where(e, h, w)", "N,3");
    test_elements(17, "float[N,3] x, bool c", "", "h = Shape(x) s = Where(c, h, h)", "N,3");
    test_elements(17, "float[N,3] x, bool c", "int64[2] k = {9, 3}",
                  "h = Shape(x) s = Where(c, h, k)", "?,3");
    test_elements(17, "float[N,3] x, bool c, int64[2] u", "", "h = Shape(x) s = Where(c, h, u)",
                  "-");
    test_elements(17, "float[N,6] x", "int64 k = {2}", "h = Shape(x) s = Mul(h, k)", "2*N,12");
    test_elements(17, "float[N,6] x", "int64 k = {1}", "h = Shape(x) s = Mul(h, k)", "N,6");
    test_elements(17, "float[N,6] x", "int64 k = {8}", "h = Shape(x) s = Sub(h, k)", "?,-2");
    test_elements(17, "float[N,6] x", "", "h = Shape(x) s = Sub(h, h)", "0,0");
    test_elements(17, "float[N,7] x", "int64 k = {-2}", "h = Shape(x) s = Div(h, k)", "?,-3");
    test_elements(17, "float[N,7] x", "int64 k = {0}", "h = Shape(x) s = Div(h, k)", "-");
    test_elements(17, "float[N,7] x", "int64 k = {-2}", "h = Shape(x) s = Min(h, k)", "-2,-2");
    test_elements(17, "float[N,7] x", "int64 k = {0}", "h = Shape(x) s = Max(h, k)", "N,7");
    test_elements(17, "float[N,7] x", "int64 k = {3}", "h = Shape(x) s = Add(h, k)", "N+3,10");
    test_elements(17, "float[N,7] x, int64[2] u", "", "h = Shape(x) s = Add(h, u)", "-");
    test_elements(17, "float[N,7] x", "int64 k = {3}", "h = Shape(x) s = Sum(h, k, h)", "2*N+3,17");
    test_elements(17, "float[N,7] x", "int64 k = {0}, int64 l = {5}",
                  "h = Shape(x) s = Clip(h, k, l)", "?,5");
    test_elements(17, "float[N,7] x", "int64 k = {0}", "h = Shape(x) s = Clip(h, k)", "N,7");
    test_elements(17, "float[N,7] x, int64 u", "", "h = Shape(x) s = Clip(h, u)", "-");
    test_elements(17, "", "int64[2] k = {9, -9}, int64 l = {5}", "s = Clip(k, \"\", l)", "5,-9");
    test_elements(17, "", "int64[2] k = {9, -9}, int64 h = {5}, int64 l = {7}", "s = Clip(k, l, h)",
                  "5,5");
    test_elements(17, "float[N,7] x, int32 u", "", "h = Shape(x) s = CastLike(h, u)", "N,7");
    test_elements(17, "", "float[3] k = {1.75, -1.75, 3e38}, int32 l = {1}", "s = CastLike(k, l)",
                  "1,-1,?");
    test_elements(17, "", "float[1] k = {0.1}, int64[1] o = {0}",
                  "a = Sum(k, k, k) s = Cast<to = 7>(a)", "-");
}

/* optimizer 3, Add: a+b is b+a */
static void sums_and_products_of_symbols_have_one_name(void **state)
{
    (void)state;
    test_elements(
        17, "float[N,M] x", "",
        "a, b = Split(h) h = Shape(x) c = Add(a, b) d = Add(b, a) s = Concat<axis = 0>(c, d)",
        "M+N,M+N");
    test_elements(17, "float[N,M] x", "", "h = Shape(x) s = ReduceProd<keepdims = 1>(h)", "M*N");
    test_elements(17, "float[N,3,M,5] x", "", "s = Size(x)", "(15*M*N)");
    test_elements(17, "float[N,M] x", "int64 k = {2}",
                  "h = Shape(x) a = Mul(h, k) b = Add(a, k) c = Mul(b, b) s = Sub(c, a)",
                  "4*N*N+6*N+4,4*M*M+6*M+4");
    test_elements(
        17, "float[N] x", "int64 k = {12}",
        "h = Shape(x) a = Mul(h, k) b = Div(a, k) c = Div(a, h) s = Concat<axis = 0>(b, c)",
        "N,12");
    test_elements(17, "float[N] x", "int64 k = {12}, int64 l = {5}",
                  "h = Shape(x) a = Mul(h, k) s = Div(a, l)", "-");
    test_elements(
        17, "float[N] x", "int64 k = {1}",
        "h = Shape(x) a = Add(h, k) b = Sub(a, h) c = Sub(a, k) s = Concat<axis = 0>(b, c)", "1,N");
    /* N - 1 may be below zero, and -1 has a meaning in shapes */
    test_elements(17, "float[N] x", "int64 k = {1}", "h = Shape(x) s = Sub(h, k)", "-");
    test_elements(17, "float[N] x", "int64 k = {-1}", "h = Shape(x) s = Mul(h, k)", "-");
    test_elements(17, "float[N] x", "int64 k = {9223372036854775807}",
                  "h = Shape(x) a = Mul(h, k) s = Add(a, a)", "-");
    test_elements(17, "float[N] x", "int64[1] k = {2}",
                  "h = Shape(x) c = Cast<to = 6>(h) d = Cast<to = 6>(k) s = Mul(c, d)", "-");
    test_elements(17, "float[A,B,C,D,E] x", "", "s = Size(x)", "-"); /* long */
    test_elements(17, "float[A,B,C,D] x", "", "s = Size(x)", "(A*B*C*D)");
    test_elements(17, "float[A,B,C,D,E,F,G,H,I] x", "",
                  "h = Shape(x) s = ReduceSum<keepdims = 0>(h)", "-");
}

static void names_that_look_like_sums_are_names(void **state)
{
    (void)state;
    test_known k = test_know_model(
        test_model(HEAD "g (float[N] x, float[P] z, float[Q] u) => (s) <int64 one = {1}> { h = "
                        "Shape(x) s = Add(h, one) i = Shape(z) t = Add(i, one) }"));
    qdq_dim dim = {-1, NULL};
    qdq_model *m = k.m;

    test_assert_elems(&k, "s", "N+1");
    qdq_facts_close(k.f);
    dim.param = qdq_intern(m, "N+1"); /* somebody called a dim that */
    qdq_value_set_type(test_value(&k, "z"), qdq_type_tensor(m, QDQ_FLOAT, 1, &dim));
    k = test_know_model(m);
    test_assert_elems(&k, "s", "-");
    test_assert_elems(&k, "i", "N+1");
    test_assert_elems(&k, "t", "-"); /* N+1+1 would say that it is N and 2 */
    test_forget(&k);
}

static void shapes_follow_sums_of_symbols(void **state)
{
    (void)state;
    test_known k = test_know(
        HEAD
        "g (float[N,S,12,64] x, float[N,1,768] c) => (y) <int64[2] f = {-1, 64}, int64[4] b = {-1, "
        "1, "
        "12, 64}, "
        "int64[3] three = {0, 0, -1}> { a = Reshape(x, f) y = Reshape(a, b) t = Reshape(x, three) "
        "u = "
        "Concat<axis = 1>(c, t) v = Flatten(x) w = Shape(u) z = Reshape(x, z0) z0 = Shape(x) }");

    test_assert_type(&k, "a", "float[12*N*S,64]");
    test_assert_type(&k, "y", "float[N*S,1,12,64]");
    test_assert_type(&k, "t", "float[N,S,768]");
    test_assert_type(&k, "u", "float[N,S+1,768]");
    test_assert_type(&k, "v", "float[N,768*S]");
    test_assert_elems(&k, "w", "N,S+1,768");
    test_assert_type(&k, "z", "float[N,S,12,64]");
    assert_null(test_value(&k, "a")->type);
    test_forget(&k);
}

static void what_is_not_exact_is_not_known(void **state)
{
    (void)state;
    /* above 2^24 the float is another number */
    test_elements(17, "float[N,3] x", "", "h = Shape(x) f = Cast<to = 1>(h) s = Cast<to = 7>(f)",
                  "?,3");
    test_elements(17, "float[N,3] x", "",
                  "h = Shape(x) f = Cast<to = 1>(h) d = Div(f, f) s = Cast<to = 7>(d)", "?,1");
    test_elements(17, "", "int64 k = {9007199791611905}", "f = Cast<to = 1>(k) s = Cast<to = 7>(f)",
                  "(9007200328482816)");
    test_elements(17, "", "double k = {16777217}", "s = Cast<to = 7>(k)", "(16777217)");
    test_elements(17, "", "uint64[2] k = {18446744073709551615, 5}", "s = Identity(k)", "?,5");
    test_elements(17, "", "uint64[1] k = {18446744073709551615}, uint64[1] o = {1}",
                  "g = Greater(k, o) s = Cast<to = 7>(g)", "-");
    test_elements(17, "", "float[3] k = {1, 2, 3}",
                  "r = ReduceSum<keepdims = 0>(k) s = Cast<to = 7>(r)", "-");
    test_elements(17, "", "int64[3] k = {1, 2, 3}", "s = ReduceSum<keepdims = 0>(k)", "(6)");
    test_elements(17, "", "int32[1] k = {2147483647}", "s = Add(k, k)", "-");
}

static void at_most_as_many_elements_as_asked_for(void **state)
{
    (void)state;
    test_known k = test_know(
        HEAD
        "g (float[N,3,4] x) => (s) <int64[3] c = {1, 2, 3}, float[2] f = {1, 2}, int64[0] e> { s "
        "= Shape(x) }");
    qdq_fact_elem e[3];
    int rank, n;

    assert_false(qdq_facts_elems(k.f, test_value(&k, "s"), 2, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, test_value(&k, "s"), 3, &rank, &n, e));
    assert_int_equal(n, 3);
    assert_false(qdq_facts_elems(k.f, test_value(&k, "c"), 2, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, test_value(&k, "c"), 3, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, test_value(&k, "c"), 3, &rank, &n, e)); /* and again */
    assert_int_equal(e[2].value, 3);
    test_assert_elems(&k, "f", "-"); /* no integers */
    test_forget(&k);
}

/* --- elements as tensors ---------------------------------------------------------------------- */

static void known_elements_become_a_tensor(void **state)
{
    (void)state;
    test_known k = test_know(
        HEAD
        "g (float[2,3] x, float[N] z) => (y) <int64[2] c = {-1, 5}, float[2] two = {2, -2}, "
        "float16[1] h = {1.5}, int64[2] p = {2, 1}> { s = Shape(x) r = Mul(s, c) t = Reshape(r, p)"
        " f = Cast<to = 1>(s) d = Div(f, two) b = Greater(s, c) u = Shape(z) j = Identity(h) g = "
        "Shape(o) o = ReduceMax<keepdims = 0>(z) y = Concat<axis = 0>(s, u) i = Cast<to = 6>(r) }");
    qdq_status st = QDQ_E_NOMEM;
    qdq_tensor *t;
    float f[2];

    t = qdq_facts_tensor(k.f, test_value(&k, "r"), &st);
    assert_non_null(t);
    assert_int_equal(st, QDQ_OK);
    assert_int_equal(t->elem, QDQ_INT64);
    assert_memory_equal(t->bytes.data, ((int64_t[]){-2, 15}), 16);
    t = qdq_facts_tensor(k.f, test_value(&k, "t"), &st);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dim[0], 2);
    t = qdq_facts_tensor(k.f, test_value(&k, "i"), &st);
    assert_int_equal(t->elem, QDQ_INT32);
    assert_memory_equal(t->bytes.data, ((int32_t[]){-2, 15}), 8);
    t = qdq_facts_tensor(k.f, test_value(&k, "d"), &st);
    memcpy(f, t->bytes.data, sizeof f);
    assert_true(f[0] == 1.0F && f[1] == -1.5F);
    t = qdq_facts_tensor(k.f, test_value(&k, "b"), &st);
    assert_memory_equal(t->bytes.data, "\1\0", 2);
    t = qdq_facts_tensor(k.f, test_value(&k, "j"), &st);
    assert_int_equal(t->elem, QDQ_FLOAT16);
    assert_memory_equal(t->bytes.data, "\0\76", 2);
    t = qdq_facts_tensor(k.f, test_value(&k, "g"), &st); /* of a scalar: no elements */
    assert_int_equal(t->count, 0);
    assert_null(qdq_facts_tensor(k.f, test_value(&k, "u"), &st)); /* a symbol */
    assert_null(qdq_facts_tensor(k.f, test_value(&k, "y"), &st)); /* one of three */
    assert_null(qdq_facts_tensor(k.f, test_value(&k, "c"), &st)); /* a constant already */
    assert_null(qdq_facts_tensor(k.f, test_value(&k, "x"), &st));
    assert_int_equal(st, QDQ_OK);
    test_forget(&k);
}

static void zeros_keep_their_sign(void **state)
{
    (void)state;
    test_known k = test_know(HEAD "g (float[2] x) => (y) <float[1] m = {-0.0}, float[1] z = {0.0}> "
                                  "{ y = Add(m, z) w = Add(m, "
                                  "m) }");
    qdq_status st;
    qdq_tensor *t = qdq_facts_tensor(k.f, test_value(&k, "y"), &st);

    assert_memory_equal(t->bytes.data, "\0\0\0\0", 4);
    t = qdq_facts_tensor(k.f, test_value(&k, "w"), &st);
    assert_memory_equal(t->bytes.data, "\0\0\0\x80", 4);
    test_forget(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_arithmetic_is_followed),
        cmocka_unit_test(sums_and_products_of_symbols_have_one_name),
        cmocka_unit_test(names_that_look_like_sums_are_names),
        cmocka_unit_test(shapes_follow_sums_of_symbols),
        cmocka_unit_test(what_is_not_exact_is_not_known),
        cmocka_unit_test(at_most_as_many_elements_as_asked_for),
        cmocka_unit_test(known_elements_become_a_tensor),
        cmocka_unit_test(zeros_keep_their_sign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
