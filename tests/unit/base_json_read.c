/* base_json_read.c - members of JSON objects: values, fallbacks, and the place of every mistake. */
#include "support/test.h"

#include <math.h>

#include "base/json_read.h"

static qdq_error err;

typedef struct document {
    qdq_arena arena;
    qdq_json_reader reader;
    qdq_json_place top;
} document;

static void open_document(document *d, const char *text)
{
    json_t *root = NULL;

    *d = (document){.arena = QDQ_ARENA_INIT};
    assert_ok(qdq_json_parse(text, strlen(text), "t", &root, &err));
    d->reader = (qdq_json_reader){.arena = &d->arena, .err = &err};
    d->top = qdq_json_top(&d->reader, root, "v", 1);
}

static void close_document(document *d)
{
    json_decref(d->top.object);
    qdq_arena_free(&d->arena);
}

static const char *const colours[] = {"red", "green", "blue", NULL};

TEST(members_are_read_by_type)
{
    document d;

    open_document(&d, "{\"v\": 1, \"s\": \"\\u00e4\", \"c\": \"blue\", \"i\": -3, \"x\": 0.5, "
                      "\"n\": 2, \"b\": true,"
                      " \"l\": [\"a\", \"b\"], \"e\": []}");
    const char *s = qdq_json_text(&d.top, "s", NULL);
    const char *const *l = qdq_json_texts(&d.top, "l"), *const *e = qdq_json_texts(&d.top, "e");
    assert_int_equal(qdq_json_word(&d.top, "c", colours, -1), 2);
    assert_int_equal(qdq_json_int(&d.top, "i", -3, 7, 0), -3);
    assert_true(qdq_json_number(&d.top, "x", 0, 1, 0) == 0.5);
    assert_true(qdq_json_number(&d.top, "n", 0, INFINITY, 0) == 2);
    assert_true(qdq_json_bool(&d.top, "b"));
    assert_true(qdq_json_has(&d.top, "b"));
    assert_int_equal(d.reader.status, QDQ_OK);
    json_object_clear(d.top.object); /* what was read outlives the document */
    assert_string_equal(s, "\xc3\xa4");
    assert_string_equal(l[0], "a");
    assert_string_equal(l[1], "b");
    assert_null(l[2]);
    assert_null(e[0]);
    close_document(&d);
}

TEST(absent_and_null_members_give_the_fallback)
{
    static const char *const texts[] = {"{\"v\": 1}", "{\"v\": 1, \"k\": null}"};
    qdq_json_place p;
    document d;

    for (size_t i = 0; i < 2; i++) {
        open_document(&d, texts[i]);
        assert_string_equal(qdq_json_text(&d.top, "k", "none"), "none");
        assert_int_equal(qdq_json_word(&d.top, "k", colours, 1), 1);
        assert_int_equal(qdq_json_int(&d.top, "k", 0, 7, -1), -1);
        assert_true(qdq_json_number(&d.top, "k", 0, 1, 2.5) == 2.5);
        assert_false(qdq_json_bool(&d.top, "k"));
        assert_null(qdq_json_texts(&d.top, "k"));
        assert_false(qdq_json_has(&d.top, "k"));
        assert_false(qdq_json_member(&d.top, "k", &p));
        assert_false(qdq_json_item(&d.top, "k", 0, &p));
        assert_int_equal(d.reader.status, QDQ_OK);
        close_document(&d);
    }
}

TEST(objects_in_objects_and_lists_know_where_they_are)
{
    qdq_json_place a, b, c;
    document d;
    size_t n = 0;

    open_document(&d, "{\"v\": 1, \"a\": {\"list\": [{}, {\"c\": {\"x\": 3}}]}}");
    assert_true(qdq_json_member(&d.top, "a", &a));
    while (qdq_json_item(&a, "list", n, &b))
        n++;
    assert_int_equal(n, 2);
    assert_int_equal(d.reader.status, QDQ_OK);
    assert_true(qdq_json_item(&a, "list", 1, &b));
    assert_true(qdq_json_member(&b, "c", &c));
    assert_string_equal(c.path, "a.list[1].c");
    qdq_json_int(&c, "x", 0, 2, 0);
    assert_string_equal(err.text, "a.list[1].c, key 'x': expected a whole number from 0 to 2");
    close_document(&d);
}

/* Reads one of each; the mistake is in the document. */
static qdq_status read_all(const char *text)
{
    static const char *const keys[] = {"v", "s", "c", "i", "j", "x", "y",
                                       "z", "b", "l", "o", "m", NULL};
    qdq_json_place p;
    document d;

    open_document(&d, text);
    qdq_json_known(&d.top, keys);
    qdq_json_text(&d.top, "s", "");
    qdq_json_word(&d.top, "c", colours, 0);
    qdq_json_int(&d.top, "i", 0, INT64_MAX, 0);
    qdq_json_int(&d.top, "j", -1, 7, 0);
    qdq_json_number(&d.top, "x", 0, 1, 0);
    qdq_json_number(&d.top, "y", 0, INFINITY, 0);
    qdq_json_number(&d.top, "z", -INFINITY, INFINITY, 0);
    qdq_json_bool(&d.top, "b");
    qdq_json_texts(&d.top, "l");
    qdq_json_member(&d.top, "o", &p);
    for (size_t i = 0; qdq_json_item(&d.top, "m", i, &p); i++)
        ;
    qdq_status st = d.reader.status;
    close_document(&d);
    return st;
}

TEST(mistakes_are_named_with_key_and_expectation)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "expected an object with the key 'v'"},
        {"{}", "expected an object with the key 'v'"},
        {"{\"v\": 1.5}", "key 'v': expected 1, the version of the format"},
        {"{\"v\": 1, \"S\": 1}",
         "top level: unknown key 'S', expected 'v', 's', 'c', 'i', 'j', 'x', 'y', 'z', "
         "'b', 'l', 'o' or 'm'"},
        {"{\"v\": 1, \"s\": 1}", "key 's': expected a string"},
        {"{\"v\": 1, \"c\": \"Red\"}", "key 'c': expected 'red', 'green' or 'blue'"},
        {"{\"v\": 1, \"c\": 0}", "key 'c': expected 'red', 'green' or 'blue'"},
        {"{\"v\": 1, \"i\": -1}", "key 'i': expected a whole number of at least 0"},
        {"{\"v\": 1, \"i\": 1.0}", "key 'i': expected a whole number of at least 0"},
        {"{\"v\": 1, \"j\": 8}", "key 'j': expected a whole number from -1 to 7"},
        {"{\"v\": 1, \"x\": 1.5}", "key 'x': expected a number from 0 to 1"},
        {"{\"v\": 1, \"y\": -1}", "key 'y': expected a number of at least 0"},
        {"{\"v\": 1, \"z\": \"1\"}", "key 'z': expected a number"},
        {"{\"v\": 1, \"b\": 1}", "key 'b': expected true or false"},
        {"{\"v\": 1, \"l\": \"a\"}", "key 'l': expected a list of strings"},
        {"{\"v\": 1, \"l\": [\"a\", 1]}", "key 'l': expected a list of strings"},
        {"{\"v\": 1, \"o\": []}", "key 'o': expected an object"},
        {"{\"v\": 1, \"m\": {}}", "key 'm': expected a list of objects"},
        {"{\"v\": 1, \"m\": [{}, 1]}", "m[1]: expected an object"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        assert_fails(QDQ_E_FORMAT, cases[i].message, read_all(cases[i].text));
        assert_string_equal(err.text, cases[i].message);
    }
    assert_fails(QDQ_E_UNSUPPORTED, "key 'v': version 2 of the format, expected 1",
                 read_all("{\"v\": 2}"));
}

TEST(members_that_are_needed_are_missed)
{
    document d;

    open_document(&d, "{\"v\": 1}");
    assert_string_equal(qdq_json_text(&d.top, "s", NULL), "");
    assert_string_equal(err.text, "key 's': expected a string");
    close_document(&d);
    open_document(&d, "{\"v\": 1}");
    assert_int_equal(qdq_json_word(&d.top, "c", colours, -1), 0);
    assert_string_equal(err.text, "key 'c': expected 'red', 'green' or 'blue'");
    close_document(&d);
}

TEST(the_first_mistake_stays_and_ends_walks)
{
    qdq_json_place p;
    document d;

    open_document(&d, "{\"v\": 1, \"a\": [{}], \"o\": {}, \"s\": \"text\", \"i\": 3}");
    qdq_json_bool(&d.top, "s");
    assert_string_equal(qdq_json_text(&d.top, "s", NULL), "");
    assert_int_equal(qdq_json_int(&d.top, "i", 0, 9, 1), 1);
    assert_false(qdq_json_item(&d.top, "a", 0, &p));
    assert_false(qdq_json_member(&d.top, "o", &p));
    qdq_json_fail(&d.top, "another");
    qdq_json_wrong(&d.top, "i", "another");
    qdq_json_nomem(&d.top);
    assert_int_equal(d.reader.status, QDQ_E_FORMAT);
    assert_string_equal(err.text, "key 's': expected true or false");
    close_document(&d);
}

TEST(a_list_of_words_that_is_too_long_is_cut)
{
    static const char *const long_words[] = {
        "012345678901234567890123456789012345678901234567890123456789012"
        "3456789012345678901234567890123456789",
        "112345678901234567890123456789012345678901234567890123456789012"
        "3456789012345678901234567890123456789",
        "212345678901234567890123456789012345678901234567890123456789012"
        "3456789012345678901234567890123456789",
        "312345678901234567890123456789012345678901234567890123456789012"
        "3456789012345678901234567890123456789",
        "412345678901234567890123456789012345678901234567890123456789012"
        "3456789012345678901234567890123456789",
        "512345678901234567890123456789012345678901234567890123456789012"
        "3456789012345678901234567890123456789",
        "612345678901234567890123456789012345678901234567890123456789012"
        "3456789012345678901234567890123456789",
        NULL};
    document d;

    open_document(&d, "{\"v\": 1}");
    qdq_json_word(&d.top, "c", long_words, -1);
    assert_int_equal(d.reader.status, QDQ_E_FORMAT);
    assert_true(strlen(err.text) < 700);
    close_document(&d);
}
