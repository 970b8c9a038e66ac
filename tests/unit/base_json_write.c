/* base_json_write.c - documents that are built member by member and checked once. */
#include "support/test.h"

#include <math.h>

#include "base/json_write.h"

static void assert_text(qdq_json_doc *d, const char *expected)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    assert_ok(qdq_json_finish(d, &text, &err));
    assert_string_equal(text, expected);
    assert_null(d->root);
    qdq_free(text);
}

static void assert_line(qdq_json_doc *d, const char *expected)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_json_finish_line(d, &b);
    assert_false(b.failed);
    assert_string_equal(b.data, expected);
    assert_null(d->root);
    qdq_buf_free(&b);
}

TEST(members_stand_in_the_order_in_which_they_were_put)
{
    qdq_json_doc d = {0};
    qdq_json_out o = qdq_json_object(&d), list = qdq_json_put_list(o, "list");

    qdq_json_put_int(o, "last", -3);
    qdq_json_put_int(qdq_json_put_object(list, NULL), "a", 1);
    qdq_json_put_bool(list, NULL, true); /* a container can be filled after its successor */
    assert_text(&d, "{\n  \"list\": [\n    {\n      \"a\": 1\n    },\n    true\n  ],\n"
                    "  \"last\": -3\n}\n");
}

TEST(every_kind_of_value_has_its_form)
{
    static const char *const words[] = {"x", "y"};
    static const int64_t dims[] = {1, -1, INT64_MAX};
    qdq_json_doc d = {0};
    qdq_json_out l = qdq_json_list(&d);

    qdq_json_put_text(l, NULL, "");
    qdq_json_put_text(l, NULL, NULL);
    qdq_json_put_text(l, NULL, "a\xff\xc3\xa4");
    qdq_json_put_some(l, NULL, "");
    qdq_json_put_some(l, NULL, NULL);
    qdq_json_put_some(l, NULL, "why");
    qdq_json_put_texts(l, NULL, words, 2);
    qdq_json_put_ints(l, NULL, dims, 3);
    qdq_json_put_size(l, NULL, UINT64_MAX);
    qdq_json_put_null(l, NULL);
    qdq_json_put(l, NULL, json_integer(4));
    assert_line(&d, "[\"\", null, \"a???\", null, null, \"why\", [\"x\", \"y\"], "
                    "[1, -1, 9223372036854775807], 9223372036854775807, null, 4]");
}

TEST(numbers_have_all_digits_or_six)
{
    qdq_json_doc d = {0};
    qdq_json_out o = qdq_json_object(&d);

    qdq_json_put_real(o, "real", 1.23456789);
    qdq_json_put_real(o, "nan", (double)NAN);
    qdq_json_put_short(o, "short", 1.23456789);
    qdq_json_put_short(o, "infinite", (double)INFINITY);
    assert_line(&d, "{\"real\": 1.23456789, \"nan\": null, \"short\": 1.23457, "
                    "\"infinite\": null}");
}

TEST(a_document_that_failed_once_is_never_written)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_json_doc d = {0};
    char *text = NULL;

    qdq_json_put(qdq_json_object(&d), "a", NULL);
    assert_true(d.failed);
    assert_fails(QDQ_E_NOMEM, "out of memory", qdq_json_finish(&d, &text, &err));
    assert_null(text);
    assert_false(d.failed);

    qdq_json_out o = qdq_json_object(&d);
    qdq_json_out list = qdq_json_put_list(qdq_json_put_object(o, "in"), "list");
    qdq_json_put(list, NULL, NULL);
    qdq_json_put_int(list, NULL, 1); /* what follows makes no whole document of it */
    qdq_json_finish_line(&d, &b);
    assert_true(b.failed);
    qdq_buf_free(&b);

    qdq_json_put(qdq_json_list(&d), "key of a list", json_null());
    assert_null(qdq_json_take(&d));
}

TEST(a_finished_document_can_be_a_part_of_another)
{
    qdq_json_doc in = {0}, out = {0};

    qdq_json_put_int(qdq_json_object(&in), "a", 1);
    qdq_json_put(qdq_json_list(&out), NULL, qdq_json_take(&in));
    assert_line(&out, "[{\"a\": 1}]");
}
