/* base_suggest.c - what was meant: slips of the finger, capitals, what was left off. */
#include "base/suggest.h"

#include "support/test.h"

static void expect(const char *word, const char *near)
{
    static const char *const names[] = {"exclude", "include", "op-types", "Conv", "calib", "a"};
    const char *found = qdq_suggest(word, names, QDQ_COUNT(names));

    if (near == NULL)
        assert_null(found);
    else
        assert_string_equal(found, near);
}

TEST(slips_are_found)
{
    expect("exlude", "exclude");
    expect("inclued", "include");
    expect("op-type", "op-types");
    expect("calibration", "calib");
    expect("conv", "Conv");
    expect("OP-TYPES", "op-types");
}

TEST(other_words_are_not)
{
    expect("", NULL);
    expect("b", NULL);
    expect("optimize", NULL);
    expect("xyz", NULL);
}

TEST(long_words_are_compared_by_capitals_and_beginning_alone)
{
    char word[400], same[400];
    const char *const names[] = {same};

    memset(word, 'x', sizeof word - 1);
    memset(same, 'X', sizeof same - 1);
    word[399] = same[399] = '\0';
    assert_string_equal(qdq_suggest(word, names, 1), same);
    same[5] = 'y';
    assert_null(qdq_suggest(word, names, 1));
}

TEST(of_names_that_begin_so_the_shortest_is_meant)
{
    static const char *const names[] = {"openvino", "tensorrt-fp8", "tensorrt", "tensorrt-int8"};

    assert_string_equal(qdq_suggest("tensor", names, QDQ_COUNT(names)), "tensorrt");
    assert_string_equal(qdq_suggest("tensorrt-", names, QDQ_COUNT(names)), "tensorrt-fp8");
}
