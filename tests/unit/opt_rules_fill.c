/* opt_rules_fill.c - ConstantOfShape behind Cast, and Dropout whose mask is read. */
#include "support/rewrite.h"

#define CLEAN ",drop-unused"

/* Filled with `value`, cast to type `to`: then filled with `cast`. */
static void assert_fill(const char *value, int to, const char *type, const char *cast)
{
    char before[300], after[300];

    snprintf(before, sizeof before,
             "g (int64[2] s) => (%s[] y) { t = ConstantOfShape%s%s%s (s) y = Cast <to = %d> (t) }",
             type, value[0] != '\0' ? " <value = " : "", value, value[0] != '\0' ? ">" : "", to);
    snprintf(after, sizeof after,
             "g (int64[2] s) => (%s[] y) { y = ConstantOfShape <value = %s> (s) }", type, cast);
    assert_becomes("cast-fill", before, after);
}

static void a_filled_tensor_is_filled_in_the_type_it_is_cast_to(void **state)
{
    (void)state;
    assert_fill("", 7, "int64", "int64[1] {0}");
    assert_fill("float[1] {2.5}", 7, "int64", "int64[1] {2}");
    assert_fill("float[1] {-2.5}", 6, "int32", "int32[1] {-2}");
    assert_fill("int64[1] {1}", 1, "float", "float[1] {1}");
    assert_fill("int64[1] {5}", 9, "bool", "bool[1] {1}");
    assert_fill("bool[1] {1}", 1, "float", "float[1] {1}");
    assert_fill("float[1] {0.1}", 10, "float16", "float16[1] {0.099975586}");
}

static void a_value_that_does_not_fit_stays_to_be_cast(void **state)
{
    (void)state;
    assert_refused(
        "cast-fill",
        "g (int64[2] s) => (uint8[] y) { t = ConstantOfShape <value = float[1] {300}> (s) y = "
        "Cast <to = 2> (t) }",
        "does not convert in one way only");
    assert_refused(
        "cast-fill",
        "g (int64[2] s) => (int32[] y) { t = ConstantOfShape <value = float[1] {nan}> (s) y = "
        "Cast <to = 6> (t) }",
        "does not convert in one way only");
    assert_refused(
        "cast-fill",
        "g (int64[2] s) => (string[] y) { t = ConstantOfShape(s) y = Cast <to = 8> (t) }",
        "one way only");
    assert_refused(
        "cast-fill",
        "g (int64[2] s) => (bfloat16[] y) { t = ConstantOfShape(s) y = Cast <to = 16> (t) }",
        "does not make that type");
    assert_refused(
        "cast-fill",
        "g (int64[2] s) => (float[] y) { t = ConstantOfShape <value = int64[2] {1, 2}> (s) y = "
        "Cast <to = 1> (t) }",
        "the fill value is not known");
}

static void a_filled_tensor_that_others_read_stays_for_them(void **state)
{
    (void)state;
    assert_becomes(
        "cast-fill",
        "g (int64[2] s) => (float[] t, int64[] y) { t = ConstantOfShape(s) y = Cast <to = 7> (t) }",
        "g (int64[2] s) => (float[] t, int64[] y) { t = ConstantOfShape(s) y = ConstantOfShape "
        "<value = "
        "int64[1] {0}> (s) }");
}

/* --- drop-dropout ----------------------------------------------------------------------------- */

static void a_mask_of_a_dropout_that_does_not_train_is_all_true(void **state)
{
    (void)state;
    assert_becomes(
        "drop-dropout" CLEAN,
        "g (float[N] x) => (float[N] y, bool[N] m) { t, m = Dropout(x) y = Neg(t) }",
        "g (float[N] x) => (float[N] y, bool[N] m) { t_1 = Shape(x) m = ConstantOfShape <value = "
        "bool[1] {1}> (t_1) y = Neg(x) }");
    assert_becomes("drop-dropout" CLEAN,
                   "g (float[N] x) => (float[N] y) <float r = {0}, bool tr = {1}> { t = Dropout(x, "
                   "r, tr) y = Neg(t) }",
                   "g (float[N] x) => (float[N] y) { y = Neg(x) }");
    assert_becomes("drop-dropout" CLEAN,
                   "g (float[N] x, float r) => (float[N] y) <bool tr = {0}> { t = Dropout(x, r, "
                   "tr) y = Neg(t) }",
                   "g (float[N] x, float r) => (float[N] y) { y = Neg(x) }");
}

static void a_dropout_that_may_train_stays(void **state)
{
    (void)state;
    assert_refused(
        "drop-dropout",
        "g (float[N] x, bool tr) => (float[N] y) <float r = {0.5}> { y = Dropout(x, r, tr) }",
        "it may train");
    assert_refused(
        "drop-dropout",
        "g (float[N] x) => (float[N] y) <float r = {0.5}, bool tr = {1}> { y = Dropout(x, r, tr) }",
        "it may train");
    assert_refused("drop-dropout",
                   "g (float[N] x) => (float[N] y) <bool tr = {1}> { y = Dropout(x, \"\", tr) }",
                   "it may train");
    assert_kept("drop-dropout",
                "<ir_version: 8, opset_import: [\"\" : 11]> g (float[N] x) => (float[N] y, "
                "bool[N] m) { y, m = Dropout(x) }");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filled_tensor_is_filled_in_the_type_it_is_cast_to),
        cmocka_unit_test(a_value_that_does_not_fit_stays_to_be_cast),
        cmocka_unit_test(a_filled_tensor_that_others_read_stays_for_them),
        cmocka_unit_test(a_mask_of_a_dropout_that_does_not_train_is_all_true),
        cmocka_unit_test(a_dropout_that_may_train_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
