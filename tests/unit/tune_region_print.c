/* tune_region_print.c - regions as text, JSON and drawing: what the command line does not show. */
#include "base/json.h"
#include "support/build.h"
#include "support/test.h"

static qdq_error err;

static qdq_model *two_modules(void)
{
    test_builder b = test_build(17);
    char from[32] = "x";

    TEST_INPUT(&b, "x", 1, 8);
    for (int i = 0; i < 24; i++) {
        char name[32];
        snprintf(name, sizeof name, "/l.%d/m.%d/n%d", i / 12, i / 6, i);
        TEST_NODE(&b, i / 6 == 3 ? "Erf" : "Sigmoid", name, from);
        memcpy(from, name, sizeof from);
    }
    TEST_RANDOM(&b, "w", 8, 8);
    TEST_NODE(&b, "MatMul", "/fc/MatMul", from, "w");
    test_output(&b, "/fc/MatMul");
    return test_built(&b);
}

static char *print(qdq_regions_form form, bool all, bool verbose)
{
    qdq_model *m = two_modules();
    char *text = NULL;

    assert_ok(qdq_regions_print(m, NULL, NULL, NULL, form, all, verbose, &text, &err));
    qdq_model_free(m);
    return text;
}

TEST(regions_without_kernels_are_hidden_but_counted)
{
    json_t *few = NULL, *all = NULL;
    char *some = print(QDQ_REGIONS_JSON, false, false),
         *every = print(QDQ_REGIONS_JSON, true, false);

    assert_ok(qdq_json_parse(some, strlen(some), "some", &few, &err));
    assert_ok(qdq_json_parse(every, strlen(every), "every", &all, &err));
    size_t shown = json_array_size(json_object_get(few, "regions"));
    size_t total = json_array_size(json_object_get(all, "regions"));
    assert_int_equal(shown, 1);
    assert_true(total > 5);
    assert_int_equal(json_integer_value(json_object_get(few, "hidden_regions")), total - shown);
    assert_int_equal(json_integer_value(json_object_get(all, "hidden_regions")), 0);
    assert_int_equal(json_array_size(json_object_get(few, "patterns")),
                     json_array_size(json_object_get(all, "patterns")));
    json_decref(few);
    json_decref(all);
    qdq_free(some);
    qdq_free(every);
}

TEST(names_that_are_no_utf8_are_written_with_marks)
{
    test_builder b = test_build(17);
    json_t *o = NULL;
    char *text = NULL;

    TEST_INPUT(&b, "x", 1, 8);
    TEST_NODE(&b, "Sigmoid", "/m/a\xff/Sigmoid", "x");
    TEST_NODE(&b, "Erf", "/m/b\n\"/Erf", "/m/a\xff/Sigmoid");
    test_output(&b, "/m/b\n\"/Erf");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_regions_print(m, NULL, NULL, NULL, QDQ_REGIONS_JSON, true, false, &text, &err));
    assert_ok(qdq_json_parse(text, strlen(text), "regions", &o, &err));
    assert_non_null(strstr(text, "\"/m/a?/Sigmoid\""));
    assert_non_null(strstr(text, "\"/m/b\\n\\\"/Erf\""));
    json_decref(o);
    qdq_free(text);
    qdq_model_free(m);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

TEST(frames_lie_in_each_other)
{
    char *dot = print(QDQ_REGIONS_DOT, false, false);
    int depth = 0, deepest = 0;

    for (const char *p = dot; *p != '\0'; p++) {
        depth += (*p == '{') - (*p == '}');
        deepest = depth > deepest ? depth : deepest;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(deepest, 3);
    assert_int_equal(count(dot, "style=dashed"), 2);
    assert_int_equal(count(dot, " -> "), 24);
    assert_int_equal(count(dot, "[label="), 25);
    qdq_free(dot);
}

TEST(the_tree_goes_down_before_it_goes_on)
{
    char *text = print(QDQ_REGIONS_TEXT, true, false);
    const char *first = strstr(text, "/l.0\n"), *inner = strstr(text, "/l.0/m.1\n"),
               *next = strstr(text, "/l.1\n");

    assert_true(first != NULL && inner != NULL && next != NULL && first < inner && inner < next);
    assert_null(strstr(text, "not shown"));
    qdq_free(text);
}

TEST(long_lists_end_with_a_count)
{
    test_builder b = test_build(17);
    char *text = NULL;

    const char *in[26] = {NULL};
    static char names[25][8];
    for (int i = 0; i < 25; i++) {
        snprintf(names[i], sizeof names[i], "x%d", i);
        TEST_INPUT(&b, names[i], 1, 8);
        in[i] = names[i];
    }
    test_node(&b, "Sum", "y", in);
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_regions_print(m, NULL, NULL, NULL, QDQ_REGIONS_TEXT, false, false, &text, &err));
    assert_non_null(strstr(text, "x18, x19, and 5 more\n"));
    qdq_free(text);
    qdq_model_free(m);
}
