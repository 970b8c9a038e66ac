/* tune_scheme.c - schemes as sets of points: hash and distance are those of Model-Optimizer. */
#include "tune/scheme/scheme.h"

#include "base/sha256.h"
#include "support/schemes.h"
#include "support/test.h"

static void expect_hash(qdq_scheme s, const char *want)
{
    char hash[33];

    assert_true(qdq_scheme_sort(&s));
    qdq_scheme_hash(&s, hash);
    assert_string_equal(hash, want);
}

/* The text that is hashed is what Python prints: "[(0, 0), (3, 1)]|[]|[(None, 1, 0)]". */
TEST(hashes_of_schemes_are_those_of_the_format)
{
    expect_hash((qdq_scheme){0}, "735cc3cc897328fe2f9937a0441db2ec");
    expect_hash((qdq_scheme){.node_inputs = POINTS(NODE(0, 0))},
                "b66e6d916c91ca9420ece5a422f369a4");
    expect_hash((qdq_scheme){.node_inputs = POINTS(NODE(3, 1), NODE(0, 0))},
                "898d79d3248d3eb11a82a22b8ccae89a");
    expect_hash((qdq_scheme){.node_inputs = POINTS(NODE(0, 0), NODE(3, 1))},
                "898d79d3248d3eb11a82a22b8ccae89a");
    expect_hash((qdq_scheme){.outputs = POINTS({-1, 1, 0})}, "da13f5156a2557726fd953aea294484d");
    expect_hash((qdq_scheme){.node_inputs = POINTS(NODE(0, 0)),
                             .child_inputs = POINTS(CHILD(1, 2)),
                             .outputs = POINTS({0, -1, 1})},
                "a9e42b3b44f71f53342d56bc902936d7");
}

/* Python cannot compare None with a number: the hash of "[]|[]|[(None, 0, 0), (1, None, 0)]". */
TEST(none_comes_before_any_number)
{
    const char *text = "[]|[]|[(None, 0, 0), (1, None, 0)]";
    char want[33];

    qdq_sha256_name(text, want);
    expect_hash((qdq_scheme){.outputs = POINTS({1, -1, 0}, {-1, 0, 0})}, want);
    expect_hash((qdq_scheme){.outputs = POINTS({-1, 0, 0}, {1, -1, 0})}, want);
}

TEST(the_hash_of_a_pattern_is_that_of_the_format)
{
    char hash[33];

    qdq_sha256_name("Conv->Relu", hash);
    assert_string_equal(hash, "a5407a95946a92bbd0f0ee3b97750717");
}

TEST(what_was_measured_is_not_in_the_hash)
{
    expect_hash(
        (qdq_scheme){.latency_ms = 3, .error = true, .timestamp = "2026-01-31T10:15:02+00:00"},
        "735cc3cc897328fe2f9937a0441db2ec");
}

TEST(a_point_that_comes_twice_is_taken_out)
{
    qdq_scheme s = {.node_inputs = POINTS(NODE(3, 1), NODE(0, 0), NODE(3, 1))};

    assert_false(qdq_scheme_sort(&s));
    assert_int_equal(s.node_inputs.n, 2);
    expect_hash(s, "898d79d3248d3eb11a82a22b8ccae89a");
}

TEST(the_distance_of_schemes_counts_their_differences)
{
    const qdq_scheme a = {.node_inputs = POINTS(NODE(0, 0), NODE(1, 0))};
    const qdq_scheme b = {.node_inputs = POINTS(NODE(1, 0), NODE(2, 0)),
                          .child_inputs = POINTS(CHILD(0, 0))};
    const qdq_scheme slow = {.node_inputs = POINTS(NODE(0, 0), NODE(1, 0)), .latency_ms = 9};
    const qdq_scheme none = {.latency_ms = 1};

    assert_int_equal(qdq_scheme_distance(&a, &b), 3);
    assert_int_equal(qdq_scheme_distance(&b, &a), 3);
    assert_int_equal(qdq_scheme_distance(&a, &slow), 0);
    assert_int_equal(qdq_scheme_distance(&a, &none), 2);
}

/* A node's output and a child's are never one point, whatever their numbers. */
TEST(outputs_of_nodes_and_of_children_are_different_points)
{
    const qdq_scheme node = {.outputs = POINTS({-1, 0, 0})},
                     child = {.outputs = POINTS({0, -1, 0})};

    assert_int_equal(qdq_scheme_distance(&node, &child), 2);
}

TEST(the_pool_has_the_size_that_its_choices_allow)
{
    static const struct {
        size_t n, pool;
    } cases[] = {{0, 0}, {1, 1}, {9, 9}, {10, 10}, {109, 10}, {110, 11}, {200, 20}, {250, 25}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        assert_int_equal(qdq_scheme_pool(cases[i].n, 0.1, 10), cases[i].pool);
    assert_int_equal(qdq_scheme_pool(20, 1, 10), 20);
    assert_int_equal(qdq_scheme_pool(20, 2, 10), 20);
    assert_int_equal(qdq_scheme_pool(20, 0, 0), 0);
}
