/* base_json.c - JSON with our errors and our layout. */
#include "support/test.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "base/file.h"
#include "base/json.h"

static json_t *parse(const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    json_t *j = NULL;

    assert_ok(qdq_json_parse(text, strlen(text), "plan.json", &j, &err));
    return j;
}

static void assert_refused(const char *text, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    json_t *j = (json_t *)&err;

    assert_fails(QDQ_E_FORMAT, part, qdq_json_parse(text, strlen(text), "plan.json", &j, &err));
    assert_null(j);
    assert_null(strchr(err.text, '\n'));
}

static void assert_dump(json_t *j, const char *expected)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    assert_non_null(j);
    assert_ok(qdq_json_dump(j, &text, &err));
    assert_string_equal(text, expected);
    qdq_free(text);
    json_decref(j);
}

TEST(mistakes_are_named_with_their_place)
{
    assert_refused("{\n  \"a\": 1,\n  b\n}", "plan.json: line 3 column 3: not JSON: ");
    assert_refused("", "plan.json: line 1 column 0: not JSON: ");
    assert_refused("{\"a\": 1} x", "not JSON: end of file expected");
    assert_refused("{\"a\": 1, \"a\": 2}", "duplicate object key");
    assert_refused("[1, 2", "not JSON: ");
    assert_refused("{\"a\": \"\xff\"}", "unable to decode byte 0xff");
    assert_refused("{\"a\": 1e999}", "real number overflow");
    assert_refused("{\"a\": 99999999999999999999}", "too big integer");
}

/* Behind a number Jansson takes it for the end of the number, and text that is kept as a string
 * ends there. */
TEST(a_nul_byte_is_refused_wherever_it_is)
{
    static const char text[] = "{\"a\": 1\0 }";
    qdq_error err = QDQ_ERROR_INIT;
    json_t *j;

    assert_fails(QDQ_E_FORMAT, "plan.json: byte 7: not JSON: a NUL byte",
                 qdq_json_parse(text, sizeof text - 1, "plan.json", &j, &err));
    assert_null(j);
}

TEST(nesting_without_end_is_refused)
{
    char *text = malloc(100001);

    assert_non_null(text);
    memset(text, '[', 100000);
    text[100000] = '\0';
    assert_refused(text, "maximum parsing depth");
    free(text);
}

TEST(layout_is_two_spaces_and_the_order_of_insertion)
{
    assert_dump(parse("{\"z\":[1,-2],\"a\":{},\"m\":[],\"b\":{\"k\":null,\"t\":true,\"f\":false}}"),
                "{\n"
                "  \"z\": [\n"
                "    1,\n"
                "    -2\n"
                "  ],\n"
                "  \"a\": {},\n"
                "  \"m\": [],\n"
                "  \"b\": {\n"
                "    \"k\": null,\n"
                "    \"t\": true,\n"
                "    \"f\": false\n"
                "  }\n"
                "}\n");
    assert_dump(json_integer(7), "7\n");
}

TEST(strings_are_escaped_and_read_back)
{
    static const char odd[] = "\"quoted\" \\ / \n\t\x01\x1f\x7f \xc3\xa4 \xf0\x9f\x99\x82";
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;
    json_t *j = json_array(), *back = NULL;

    json_array_append_new(j, json_string(odd));
    assert_ok(qdq_json_dump(j, &text, &err));
    assert_ok(qdq_json_parse(text, strlen(text), "x", &back, &err));
    assert_string_equal(json_string_value(json_array_get(back, 0)), odd);
    assert_non_null(strstr(text, "\\u0001\\u001f"));
    qdq_free(text);
    json_decref(j);
    json_decref(back);
}

TEST(reals_have_the_fewest_digits)
{
    assert_dump(json_real(0.1), "0.1\n");
    assert_dump(json_real(5), "5.0\n");
    assert_dump(json_real(-0.0), "-0.0\n");
    assert_dump(json_real(1e20), "1e+20\n");
    assert_dump(json_real(1.0 / 3), "0.3333333333333333\n");
    assert_dump(json_real(0.1 + 0.2), "0.30000000000000004\n");
    assert_dump(json_real(DBL_MAX), "1.7976931348623157e+308\n");
    assert_dump(qdq_json_float(0.1f), "0.1\n");
    assert_dump(qdq_json_float(0.0217f), "0.0217\n");
    assert_dump(qdq_json_float(16777216.0f), "16777216.0\n");
    assert_null(qdq_json_float(INFINITY));
    assert_null(qdq_json_float(NAN));
}

TEST(floats_read_back_bit_by_bit)
{
    uint32_t bits = 12345;

    for (int i = 0; i < 20000; i++) {
        float x;
        bits = bits * 1664525 + 1013904223;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        json_t *j = qdq_json_float(x);
        assert_true((float)json_real_value(j) == x);
        json_decref(j);
    }
}

TEST(a_decimal_comma_does_not_reach_the_file)
{
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL &&
        setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL) {
        fprintf(stderr, "SKIPPED: no locale with a decimal comma is installed\n");
        skip();
    }
    assert_dump(json_real(0.5), "0.5\n");
    assert_dump(json_real(1.5e300), "1.5e+300\n");
    assert_dump(qdq_json_float(0.1f), "0.1\n");
    setlocale(LC_NUMERIC, "C");
}

TEST(one_line_has_spaces_behind_commas_and_colons)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    json_t *j = parse("{\"a\": [1, 0.1, {}], \"b\": {\"c\": null, \"d\": []}}");

    assert_true(qdq_json_put_line(&b, j));
    assert_string_equal(b.data, "{\"a\": [1, 0.1, {}], \"b\": {\"c\": null, \"d\": []}}");
    qdq_buf_free(&b);
    json_decref(j);
}

TEST(dumping_too_deep_is_our_mistake)
{
    qdq_error err = QDQ_ERROR_INIT;
    json_t *j = json_array();
    char *text = NULL;

    for (int i = 0; i < 64; i++) {
        json_t *outer = json_array();
        json_array_append_new(outer, j);
        j = outer;
    }
    assert_ok(qdq_json_dump(j, &text, &err));
    qdq_free(text);
    json_t *outer = json_object();
    json_object_set_new(outer, "x", j);
    assert_fails(QDQ_E_BUG, "nested deeper than 64", qdq_json_dump(outer, &text, &err));
    assert_null(text);
    json_decref(outer);
}

TEST(files_are_loaded_and_named)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *path = test_path("good.json"), *bad = test_path("bad.json");
    json_t *j = NULL;

    assert_ok(qdq_write_file(path, true, "{\"a\": 1}\n", 9, &err));
    assert_ok(qdq_json_load(path, &j, &err));
    assert_int_equal(json_integer_value(json_object_get(j, "a")), 1);
    json_decref(j);
    assert_ok(qdq_write_file(bad, true, "{]", 2, &err));
    assert_fails(QDQ_E_FORMAT, "bad.json: line 1 column 2: not JSON", qdq_json_load(bad, &j, &err));
    assert_null(j);
    assert_fails(QDQ_E_IO, "absent.json: cannot open",
                 qdq_json_load(test_path("absent.json"), &j, &err));
    assert_null(j);
}
