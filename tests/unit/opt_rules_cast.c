/* opt_rules_cast.c - Cast that does nothing, and two that are one. */
#include "support/rewrite.h"

/* TensorProto.DataType */
enum {
    F32 = 1,
    U8 = 2,
    I8 = 3,
    I32 = 6,
    I64 = 7,
    BOOL = 9,
    F16 = 10,
    F64 = 11,
    U64 = 13,
    BF16 = 16
};

static void a_cast_to_the_same_type_goes(void **state)
{
    (void)state;
    assert_becomes("drop-noop-cast",
                   "g (float[N] x) => (float[N] y) { t = Cast <to = 1> (x) y = Exp(t) }",
                   "g (float[N] x) => (float[N] y) { y = Exp(x) }");
    assert_becomes("drop-noop-cast",
                   "g (int64[2] x) => (int64[2] y) { t = Neg(x) y = Cast <to = 7> (t) }",
                   "g (int64[2] x) => (int64[2] y) { y = Neg(x) }");
    assert_becomes("drop-noop-cast", "g (float[N] x) => (float[N] y) { y = Cast <to = 1> (x) }",
                   "g (float[N] x) => (float[N] y) { y = Identity(x) }");
}

static void a_cast_to_another_or_from_an_unknown_type_stays(void **state)
{
    (void)state;
    assert_kept("drop-noop-cast", "g (float[N] x) => (float16[N] y) { y = Cast <to = 10> (x) }");
    assert_kept("drop-noop-cast",
                "g (float[N] x) => (float[N] y) { t = my.Op(x) y = Cast <to = 1> (t) }");
    assert_kept("drop-noop-cast", "g (float[N] x) => (float[N] y) { y = Cast <to = 99> (x) }");
    assert_kept(
        "drop-noop-cast",
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (float[N] x) => (float[N] y) { y = d.F(x) }\n"
        "<domain: \"d\", opset_import: [\"\" : 17]> F (a) => (b) { b = Cast <to = 1> (a) }");
}

static void a_cast_between_dequantize_and_a_reader_goes(void **state)
{
    (void)state;
    assert_becomes("drop-noop-cast",
                   "g (uint8[N] x) => (float[N] y) <float s = {0.5}, uint8 z = {0}> {\n"
                   "  d = DequantizeLinear(x, s, z)\n  c = Cast <to = 1> (d)\n  y = Relu(c)\n}",
                   "g (uint8[N] x) => (float[N] y) <float s = {0.5}, uint8 z = {0}> {\n"
                   "  d = DequantizeLinear(x, s, z)\n  y = Relu(d)\n}");
}

static void castlike_to_a_known_type_is_a_cast(void **state)
{
    (void)state;
    assert_becomes("castlike-to-cast",
                   "g (float[N] x, int64[1] l) => (int64[N] y) { y = CastLike(x, l) }",
                   "g (float[N] x, int64[1] l) => (int64[N] y) { y = Cast <to = 7> (x) }");
    assert_becomes("castlike-to-cast,drop-noop-cast",
                   "g (float[N] x, float[1] l) => (float[N] y) { t = CastLike(x, l) y = Exp(t) }",
                   "g (float[N] x, float[1] l) => (float[N] y) { y = Exp(x) }");
    assert_becomes(
        "castlike-to-cast",
        "<ir_version: 9, opset_import: [\"\" : 19]> g (float[N] x, float8e4m3fn[1] l) => "
        "(float8e4m3fn[N] y) { y = "
        "CastLike <saturate = 0> (x, l) }",
        "<ir_version: 9, opset_import: [\"\" : 19]> g (float[N] x, float8e4m3fn[1] l) => "
        "(float8e4m3fn[N] y) { y = Cast "
        "<to = 17, saturate = 0> (x) }");
    assert_refused("castlike-to-cast",
                   "g (float[N] x) => (float[N] y) { l = my.Op(x) y = CastLike(x, l) }",
                   "the type to cast to is not known");
}

/* The two casts become one, or stay for this reason. */
static void assert_merge(const char *from, int middle, int to, const char *last, const char *reason)
{
    char before[300], after[300];

    snprintf(before, sizeof before,
             "g (%s[N] x) => (%s[N] y) { t = Cast <to = %d> (x) y = Cast <to = %d> (t) }", from,
             last, middle, to);
    snprintf(after, sizeof after, "g (%s[N] x) => (%s[N] y) { y = Cast <to = %d> (x) }", from, last,
             to);
    if (reason != NULL)
        assert_refused("merge-casts", before, reason);
    else
        assert_becomes("merge-casts", before, after);
}

static void two_casts_are_one_where_the_first_loses_nothing(void **state)
{
    (void)state;
    assert_merge("float16", F32, BF16, "bfloat16", NULL);
    assert_merge("float", F64, F16, "float16", NULL);
    assert_merge("uint8", I64, F32, "float", NULL);
    assert_merge("uint8", F32, I32, "int32", NULL);
    assert_merge("int32", I64, U8, "uint8", NULL); /* both wrap */
    assert_merge("bool", F32, I64, "int64", NULL);
    assert_merge("float16", F64, BOOL, "bool", NULL);
    assert_merge("int8", BF16, F32, "float", NULL);
    assert_merge("int16", F32, F64, "double", NULL);
}

static void two_casts_stay_where_the_first_rounds_or_wraps(void **state)
{
    static const char why[] = "the first Cast rounds or wraps";

    (void)state;
    assert_merge("double", F32, F16, "float16", why); /* rounded twice */
    assert_merge("int64", F32, F16, "float16", why);
    assert_merge("int64", F64, F32, "float", why);
    assert_merge("float", I32, F32, "float", why);
    assert_merge("int32", U8, I32, "int32", why);
    assert_merge("int8", U64, I32, "int32", why);
    assert_merge("float", BOOL, F32, "float", why);
    assert_merge("int32", F32, F64, "double", why);
    assert_merge("int16", F16, F32, "float", why);
    assert_merge("bfloat16", F16, F32, "float", why);
    assert_merge("float16", BF16, F32, "float", why);
    assert_merge("uint8", 17, F32, "float", why);
}

static void two_casts_stay_where_engines_differ(void **state)
{
    (void)state;
    assert_merge("int8", F32, U8, "uint8", "out of the range of integers");
    assert_merge("float16", F32, I32, "int32", "out of the range of integers");
    assert_merge("float16", F32, 17, "float8e4m3fn", "rules of its own");
    assert_refused("merge-casts",
                   "g (float[N] x) => (float[N] y) { u = my.Op(x) t = Cast <to = 11> (u) y = Cast "
                   "<to = 1> (t) }",
                   "the type of what is cast first is not known");
}

static void a_chain_of_casts_that_ends_where_it_began_goes(void **state)
{
    (void)state;
    assert_becomes(
        "drop-noop-cast,merge-casts",
        "g (float16[N] x) => (float16[N] y) {\n"
        "  a = Cast <to = 1> (x) b = Cast <to = 11> (a) c = Cast <to = 10> (b) y = Neg(c)\n}",
        "g (float16[N] x) => (float16[N] y) { y = Neg(x) }");
}

static void a_cast_that_others_read_stays_for_them(void **state)
{
    (void)state;
    assert_becomes("merge-casts",
                   "g (uint8[N] x) => (int64[N] t, float[N] y) { t = Cast <to = 7> (x) y = Cast "
                   "<to = 1> (t) }",
                   "g (uint8[N] x) => (int64[N] t, float[N] y) { t = Cast <to = 7> (x) y = Cast "
                   "<to = 1> (x) }");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cast_to_the_same_type_goes),
        cmocka_unit_test(a_cast_to_another_or_from_an_unknown_type_stays),
        cmocka_unit_test(a_cast_between_dequantize_and_a_reader_goes),
        cmocka_unit_test(castlike_to_a_known_type_is_a_cast),
        cmocka_unit_test(two_casts_are_one_where_the_first_loses_nothing),
        cmocka_unit_test(two_casts_stay_where_the_first_rounds_or_wraps),
        cmocka_unit_test(two_casts_stay_where_engines_differ),
        cmocka_unit_test(a_chain_of_casts_that_ends_where_it_began_goes),
        cmocka_unit_test(a_cast_that_others_read_stays_for_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
