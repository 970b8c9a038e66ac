/* base_regexp.c - regular expressions of users: what they match, and what is refused for its
 * size. */
#include "base/regexp.h"

#include "support/test.h"

static bool matches(const char *text, const char *name)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_regexp r;
    bool yes;

    assert_ok(qdq_regexp_open(text, false, &r, &err));
    assert_ok(qdq_regexp_match(&r, name, &yes, &err));
    qdq_regexp_close(&r);
    return yes;
}

static void refuses(const char *text, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    double begin = test_cpu_seconds();
    qdq_regexp r;

    assert_int_equal(qdq_regexp_open(text, false, &r, &err), QDQ_E_USAGE);
    if (strstr(err.text, part) == NULL)
        fail_msg("'%s' does not have '%s'", err.text, part);
    assert_true(test_cpu_seconds() - begin < 1);
}

TEST(usual_expressions_match_as_before)
{
    assert_true(matches("^/model/layers.[0-9]+/", "/model/layers.12/attn"));
    assert_false(matches("^/model/layers.[0-9]+/", "/model/layers./attn"));
    assert_true(matches("conv{2}$|(a|b){1,3}[]x{1,}]", "bab]"));
    assert_true(matches("[[:digit:]]{3}", "conv123"));
    assert_true(matches("a\\{2\\}", "a{2}"));
    assert_true(matches("", "anything"));
}

TEST(repetitions_inside_repetitions_are_refused_before_they_take_memory)
{
    refuses("((a{1,250}){1,250}){1,250}", "too large");
    refuses("a{250}{250}{250}", "too large");
    refuses("((((((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+",
            "too large");
    refuses("(a?){30000}", "operators");
    refuses("(abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz){350}", "characters");
}

TEST(an_expression_that_goes_back_to_what_it_matched_is_refused)
{
    refuses("(.*)(.*)(.*)\\1\\2\\3x", "back reference '\\1'");
}

TEST(deep_parentheses_do_not_end_the_stack)
{
    static char text[QDQ_REGEXP_TEXT + 2];

    memset(text, '(', 10000);
    refuses(text, "nested parentheses");
    memset(text, 'a', sizeof text - 1);
    refuses(text, "expected at most 16384 bytes");
}

TEST(what_does_not_compile_is_told)
{
    refuses("a(b", "regular expression 'a(b': ");
    refuses("a[b", "regular expression 'a[b': ");
    refuses("a\\", "regular expression 'a\\': ");
}

TEST(a_name_of_a_megabyte_matches_nothing)
{
    const size_t size = 1 << 20;
    char *name = malloc(size);

    assert_non_null(name);
    memset(name, 'a', size - 1);
    name[size - 1] = '\0';
    assert_false(matches("a", name));
    name[QDQ_REGEXP_NAME] = '\0';
    assert_true(matches("a", name));
    free(name);
}

/* The worst that the bounds allow: hundreds of states at once for every byte of a name. */
TEST(the_worst_expression_ends_after_its_time)
{
    static char text[4096], name[QDQ_REGEXP_NAME + 1];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_status st = QDQ_OK;
    double begin = test_cpu_seconds();
    qdq_regexp r;
    bool yes;

    strcpy(text, "(a|b)*a");
    for (int i = 0; i < 300; i++)
        strcat(text, "(a|b)");
    strcat(text, "c");
    assert_ok(qdq_regexp_open(text, false, &r, &err));
    r.seconds = QDQ_REGEXP_SECONDS - 1; /* of the texts before */
    for (int k = 0; k < 2000 && st == QDQ_OK; k++) {
        for (int i = 0; i < QDQ_REGEXP_NAME; i++)
            name[i] = (unsigned)(i * 2654435761u + k) >> 13 & 1 ? 'a' : 'b';
        st = qdq_regexp_match(&r, name, &yes, &err);
    }
    if (st != QDQ_OK)
        assert_non_null(strstr(err.text, "took more than 5 s"));
    assert_true(test_cpu_seconds() - begin < 11);
    qdq_regexp_close(&r);
}
