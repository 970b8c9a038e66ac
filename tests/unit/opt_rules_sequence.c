/* opt_rules_sequence.c - sequences that are made and taken apart. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 8, opset_import: [\"\" : " #n "]> "
#define ALL      "split-sequence,pick-from-sequence,concat-sequence,drop-unused"

/* optimizer 10 case 15 */
static void an_uneven_split_has_its_sizes_written_down(void **state)
{
    (void)state;
    assert_becomes(
        ALL,
        "g (float[1,8400,80] x) => (float[1,8400,80] y) <int64 n = {5000}, int64 i = {0}, int64 j "
        "= {1}> {\n"
        "  s = SplitToSequence <axis = 1> (x, n)\n  a = SequenceAt(s, i)\n  b = SequenceAt(s, j)\n"
        "  y = Concat <axis = 1> (a, b)\n}",
        "g (float[1,8400,80] x) => (float[1,8400,80] y) <int64[2] split = {5000, 3400}> {\n"
        "  s_1, s_2 = Split <axis = 1> (x, split)\n  y = Concat <axis = 1> (s_1, s_2)\n}");
}

/* optimizer 10 case 16 */
static void an_even_split_below_opset_18_has_its_sizes_written_down(void **state)
{
    (void)state;
    assert_becomes(ALL,
                   OPSET(17) "g (float[6,N] x) => (float[3,N] y) <int64 n = {3}, int64 i = {-2}, "
                             "int64 j = {-1}> {\n"
                             "  s = SplitToSequence(x, n)\n  a = SequenceAt(s, i)\n  b = "
                             "SequenceAt(s, j)\n  y = Sub(a, "
                             "b)\n}",
                   OPSET(17) "g (float[6,N] x) => (float[3,N] y) <int64[2] split = {3, 3}> {\n"
                             "  s_1, s_2 = Split <axis = 0> (x, split)\n  y = Sub(s_1, s_2)\n}");
    assert_becomes(
        ALL,
        OPSET(11) "g (float[6,N] x) => (float[3,N] y) <int64 n = {3}, int64 i = {0}, int64 j = "
                  "{1}> {\n"
                  "  s = SplitToSequence(x, n)\n  a = SequenceAt(s, i)\n  b = SequenceAt(s, j)\n  "
                  "y = Sub(a, "
                  "b)\n}",
        OPSET(11) "g (float[6,N] x) => (float[3,N] y) {\n"
                  "  s_1, s_2 = Split <axis = 0, split = [3, 3]> (x)\n  y = Sub(s_1, s_2)\n}");
}

static void parts_of_listed_sizes_are_taken(void **state)
{
    (void)state;
    assert_becomes(ALL,
                   "g (float[N] x) => (float[2] y) <int64[2] n = {1, 2}, int64 j = {1}> { s = "
                   "SplitToSequence(x, n) y = "
                   "SequenceAt(s, j) }",
                   "g (float[N] x) => (float[2] y) <int64[2] split = {1, 2}> { s_1, y = Split "
                   "<axis = 0> (x, split) }");
}

static void parts_of_one_lose_their_dim_if_they_should(void **state)
{
    (void)state;
    assert_becomes(
        ALL,
        "g (float[2,3] x) => (float[2] y) <int64 j = {1}, int64 k = {0}> { s = SplitToSequence "
        "<axis = -1, keepdims = 0> (x) a = "
        "SequenceAt(s, j) b = SequenceAt(s, k) y = Sub(a, b) }",
        "g (float[2,3] x) => (float[2] y) <int64[3] split = {1, 1, 1}, int64[1] axes = {1}, "
        "int64[1] axes_1 = {1}> {\n"
        "  s_1, s_2, s_3 = Split <axis = 1> (x, split)\n  s_4 = Squeeze(s_1, axes)\n  s_5 = "
        "Squeeze(s_2, axes_1)\n"
        "  y = Sub(s_5, s_4)\n}");
    assert_becomes(
        ALL,
        "g (float[2,1] x) => (float[2,1] y) <int64 j = {0}> { s = SplitToSequence <axis = 1> (x) "
        "a = SequenceAt(s, j) y = Neg(a) }",
        "g (float[2,1] x) => (float[2,1] y) <int64[1] split = {1}> { s_1 = Split <axis = 1> (x, "
        "split) y = Neg(s_1) }");
}

static void sequences_that_are_not_known_stay(void **state)
{
    static const struct {
        const char *graph, *why;
    } cases[] = {
        {"g (float[N] x) => (float[?] y) <int64 n = {3}, int64 i = {0}> { s = SplitToSequence(x, "
         "n) y = "
         "SequenceAt(s, i) }",
         "the size that is split is not known"},
        {"g (float[6] x) => (float[?] y) <int64 n = {0}, int64 i = {0}> { s = SplitToSequence(x, "
         "n) y = "
         "SequenceAt(s, i) }",
         "the size that is split is not known"},
        {"g (float[65] x) => (float[?] y) <int64 i = {0}> { s = SplitToSequence(x) y = "
         "SequenceAt(s, i) }",
         "too many parts"},
        {"g (float[6] x) => (float[?] y) <int64[2] n = {3, 4}, int64 i = {0}> { s = "
         "SplitToSequence(x, n) y "
         "= SequenceAt(s, i) }",
         "the sizes of the parts do not fit"},
        {"g (float[6] x) => (float[?] y) <int64[2] n = {7, -1}, int64 i = {0}> { s = "
         "SplitToSequence(x, n) y "
         "= SequenceAt(s, i) }",
         "the sizes of the parts do not fit"},
        {"g (float[6] x) => (float[?] y) <int64 i = {0}> { s = SplitToSequence <axis = 1> (x) y = "
         "SequenceAt(s, i) }",
         "the axis is not known"},
        {"g (float[6] x, int64 i) => (float[?] y) { s = SplitToSequence(x) y = SequenceAt(s, i) }",
         "is read as a whole"},
        {"g (float[6] x) => (int64 y) { s = SplitToSequence(x) y = SequenceLength(s) }",
         "is read as a whole"},
        {"g (float[6] x) => (seq(float[1]) s) { s = SplitToSequence(x) }", "is read as a whole"},
        {"g (float[6] x) => (float[6] y) <int64 i = {2}> { s = SequenceConstruct(x, x) y = "
         "SequenceAt(s, i) "
         "}",
         "the sequence has no such place"},
        {"g (float[6] x) => (float[6] y) <int64 i = {-3}> { s = SequenceConstruct(x, x) y = "
         "SequenceAt(s, i) "
         "}",
         "the sequence has no such place"},
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        assert_refused(ALL, cases[i].graph, cases[i].why);
    assert_kept(
        ALL,
        "g (float[6] x, int64 n) => (float[?] y) <int64 i = {0}> { s = SplitToSequence(x, n) y "
        "= SequenceAt(s, i) }");
}

static void what_is_picked_from_a_sequence_is_passed_on(void **state)
{
    (void)state;
    assert_becomes(
        ALL,
        "g (float[N] x, float[M] z) => (float[?] y) <int64 i = {-1}> { a = Neg(x) b = Abs(z) s = "
        "SequenceConstruct(a, b) y = "
        "SequenceAt(s, i) }",
        "g (float[N] x, float[M] z) => (float[?] y) { y = Abs(z) }");
}

static void joined_parts_are_a_concat(void **state)
{
    (void)state;
    assert_becomes(
        ALL,
        "g (float[N] x, float[M] z) => (float[?] y) { s = SequenceConstruct(x, z, x) y = "
        "ConcatFromSequence <axis = 0> (s) }",
        "g (float[N] x, float[M] z) => (float[?] y) { y = Concat <axis = 0> (x, z, x) }");
    assert_becomes(ALL,
                   "g (float[N] x, float[N] z) => (float[N,2] y) { s = SequenceConstruct(x, z) y = "
                   "ConcatFromSequence "
                   "<axis = -1, new_axis = 1> (s) }",
                   "g (float[N] x, float[N] z) => (float[N,2] y) <int64[1] axes = {-1}, int64[1] "
                   "axes_1 = {-1}> {\n"
                   "  y_1 = Unsqueeze(x, axes)\n  y_2 = Unsqueeze(z, axes_1)\n  y = Concat <axis = "
                   "-1> (y_1, y_2)\n}");
    assert_becomes(
        ALL,
        OPSET(11) "g (float[N] x) => (float[1,N] y) { s = SequenceConstruct(x) y = "
                  "ConcatFromSequence <axis = 0, new_axis = 1> (s) }",
        OPSET(11) "g (float[N] x) => (float[1,N] y) { y_1 = Unsqueeze <axes = [0]> (x) y = Concat "
                  "<axis = 0> (y_1) }");
    assert_refused(
        ALL,
        "g (float[N] x) => (float[N] y) { s = SequenceConstruct(x) y = ConcatFromSequence(s) }",
        "the axis is not known");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_uneven_split_has_its_sizes_written_down),
        cmocka_unit_test(an_even_split_below_opset_18_has_its_sizes_written_down),
        cmocka_unit_test(parts_of_listed_sizes_are_taken),
        cmocka_unit_test(parts_of_one_lose_their_dim_if_they_should),
        cmocka_unit_test(sequences_that_are_not_known_stay),
        cmocka_unit_test(what_is_picked_from_a_sequence_is_passed_on),
        cmocka_unit_test(joined_parts_are_a_concat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
