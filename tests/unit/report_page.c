/* Pages from plain data: text stays text, numbers that are none do no harm. */
#include "report/page.h"

#include <math.h>

#include "report/html.h"
#include "support/test.h"

static const char *escaped(const char *text)
{
    static qdq_buf b;

    qdq_buf_free(&b);
    b = (qdq_buf)QDQ_BUF_INIT(10000);
    qdq_html_text(&b, text);
    return b.data != NULL ? b.data : "";
}

TEST(markup_is_escaped)
{
    assert_string_equal(escaped("<script>alert(\"1\" & '2')</script>"),
                        "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
    assert_string_equal(escaped("plain /b/b.0::MatMul_1"), "plain /b/b.0::MatMul_1");
    assert_string_equal(escaped(NULL), "");
}

TEST(what_is_no_text_is_replaced)
{
    assert_string_equal(escaped("a\xff\x80z"), "a\xef\xbf\xbd\xef\xbf\xbdz");
    assert_string_equal(escaped("\xc0\xbc"), "\xef\xbf\xbd\xef\xbf\xbd"); /* an overlong '<' */
    /* a surrogate */
    assert_string_equal(escaped("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    /* cut off */
    assert_string_equal(escaped("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(escaped("\x01\n\x7f"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(escaped("\xc2\x85"), "\xef\xbf\xbd");     /* C1 */
    assert_string_equal(escaped("\xe2\x80\xae"), "\xef\xbf\xbd"); /* right to left from here */
    assert_string_equal(escaped("\xe2\x82\xac \xf0\x9f\x98\x80"), "\xe2\x82\xac \xf0\x9f\x98\x80");
}

static const char *counted(double n)
{
    static qdq_buf b;

    qdq_buf_free(&b);
    b = (qdq_buf)QDQ_BUF_INIT(100);
    qdq_html_count(&b, n);
    return b.data;
}

TEST(counts_are_short)
{
    assert_string_equal(counted(0), "0");
    assert_string_equal(counted(999), "999");
    assert_string_equal(counted(1234), "1.23 k");
    assert_string_equal(counted(12345678), "12.3 M");
    assert_string_equal(counted(4.1e9), "4.10 G");
    assert_string_equal(counted(999999), "1.00 M");
}

static const qdq_page_column columns[] = {
    {.head = "a<b", .is_code = true},
    {.head = "n", .hint = "\"x\"", .is_number = true, .bar = true}};
static const qdq_page_table table = {"t", columns, 2, false};

TEST(numbers_that_are_none_sort_last_and_are_dashes)
{
    qdq_buf b = QDQ_BUF_INIT(100000);

    qdq_page_table_begin(&b, &table);
    qdq_page_row_begin(&b, QDQ_TONE_GOOD);
    qdq_page_cell(&b, &table, 0, "<i>");
    qdq_page_number(&b, (double)NAN, "%g");
    qdq_page_number(&b, -(double)INFINITY, "%g");
    qdq_page_share(&b, &table, 1, 7.5);
    qdq_page_share(&b, &table, 1, (double)NAN);
    qdq_page_many(&b, 0);
    qdq_page_row_end(&b);
    qdq_page_table_end(&b);
    assert_false(b.failed);
    assert_non_null(strstr(b.data, "a&lt;b"));
    assert_non_null(strstr(b.data, "title=\"&quot;x&quot;\""));
    assert_non_null(strstr(b.data, "data-v=\"\">\xe2\x80\x93"));
    assert_non_null(strstr(b.data, "data-v=\"-1e+300\""));
    assert_non_null(strstr(b.data, "width:100.0%"));
    assert_null(strstr(b.data, "nan"));
    assert_null(strstr(b.data, "<i>\xe2"));
    qdq_buf_free(&b);
}

TEST(plots_of_nothing_are_drawn)
{
    qdq_buf b = QDQ_BUF_INIT(100000);
    const double count[4] = {0, 5, 0, 1};
    qdq_page_histogram h = {"x", "y", -1, 1, count, 4, -0.5, 0.5};
    const qdq_page_bar bars[] = {{"float", 0, 0, 0, QDQ_TONE_PLAIN}};

    qdq_page_histogram_plot(&b, &h);
    assert_non_null(strstr(b.data, "class=\"in\""));
    assert_non_null(strstr(b.data, "class=\"out\""));
    h = (qdq_page_histogram){"x", "y", 0, 0, count, 0, 0, 0};
    qdq_page_histogram_plot(&b, &h);
    qdq_page_bars(&b, bars, 1, "ms");
    qdq_page_scatter_plot(&b, &(qdq_page_scatter){.title = "none", .x_unit = "dB", .y_unit = "ms"});
    assert_null(strstr(b.data, "none"));
    assert_false(b.failed);
    assert_null(strstr(b.data, "nan"));
    assert_null(strstr(b.data, "inf"));
    qdq_buf_free(&b);
}

TEST(dots_stand_where_their_numbers_say)
{
    qdq_buf b = QDQ_BUF_INIT(100000);
    const qdq_page_dot dots[] = {{"<one>", 20, 1, 0.9, 1.1, QDQ_TONE_GOOD},
                                 {"two", 40, 2, NAN, NAN, QDQ_TONE_BAD},
                                 {"right", INFINITY, 1.5, NAN, NAN, QDQ_TONE_PLAIN},
                                 {"left out", NAN, 1.5, NAN, NAN, QDQ_TONE_PLAIN},
                                 {"and so is this", 30, NAN, NAN, NAN, QDQ_TONE_PLAIN}};

    qdq_page_scatter_plot(&b,
                          &(qdq_page_scatter){"t", "dB", "ms", dots, QDQ_COUNT(dots), "given", 3});
    assert_non_null(strstr(b.data, "&lt;one&gt;"));
    assert_non_null(strstr(b.data, "<circle class=\"out\""));
    assert_non_null(strstr(b.data, "<circle class=\"mark\" cx=\"900.0\""));
    assert_non_null(strstr(b.data, ">given</text>"));
    assert_null(strstr(b.data, "left out"));
    assert_null(strstr(b.data, "and so"));
    assert_null(strstr(b.data, "nan"));
    assert_null(strstr(b.data, "inf"));
    qdq_buf_free(&b);
}

TEST(a_page_lets_nothing_in)
{
    qdq_buf b = QDQ_BUF_INIT(100000);

    qdq_page_begin(&b, "</title><script>", "k", NULL);
    qdq_page_end(&b, "&");
    assert_non_null(strstr(b.data, "default-src 'none'"));
    assert_non_null(strstr(b.data, "<title>&lt;/title&gt;&lt;script&gt;</title>"));
    assert_null(strstr(b.data, "http://"));
    assert_null(strstr(b.data, "https://"));
    qdq_buf_free(&b);
}
