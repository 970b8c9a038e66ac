/* base_buf.c - growing bytes and text. */
#include "support/test.h"

#include "base/buf.h"

TEST(text_is_always_terminated)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_puts(&b, "one");
    assert_string_equal(b.data, "one");
    qdq_buf_putc(&b, ' ');
    qdq_buf_append(&b, "two three", 3);
    assert_string_equal(b.data, "one two");
    qdq_buf_printf(&b, " %d", 3);
    assert_string_equal(b.data, "one two 3");
    memcpy(qdq_buf_extend(&b, 5), " four", 5);
    assert_string_equal(b.data, "one two 3 four");
    assert_int_equal(b.size, 14);
    assert_false(b.failed);
    qdq_buf_free(&b);
}

TEST(printf_grows_as_needed)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (int width = 1; width < 3000; width += 7) { /* crosses every size of the buffer */
        size_t before = b.size;
        qdq_buf_printf(&b, "%*d", width, 5);
        assert_int_equal(b.size, before + (size_t)width);
        assert_int_equal(b.data[b.size - 1], '5');
        assert_int_equal(b.data[b.size], '\0');
    }
    qdq_buf_free(&b);
}

TEST(the_limit_is_kept_to_the_byte)
{
    qdq_buf b = QDQ_BUF_INIT(10);

    qdq_buf_puts(&b, "0123456789");
    assert_false(b.failed);
    qdq_buf_puts(&b, "");
    assert_false(b.failed);
    qdq_buf_putc(&b, 'x');
    assert_true(b.failed);
    assert_int_equal(b.size, 10);
    assert_string_equal(b.data, "0123456789");
    qdq_buf_free(&b);
}

TEST(printf_beyond_the_limit_writes_nothing)
{
    qdq_buf b = QDQ_BUF_INIT(10);

    qdq_buf_puts(&b, "0123");
    qdq_buf_printf(&b, "%d", 4567890);
    assert_true(b.failed);
    assert_string_equal(b.data, "0123");
    qdq_buf_free(&b);
}

TEST(failure_sticks)
{
    qdq_buf b = QDQ_BUF_INIT(4);

    qdq_buf_puts(&b, "12345");
    assert_true(b.failed);
    qdq_buf_puts(&b, "1"); /* would fit, but a gap in the text is not text */
    qdq_buf_printf(&b, "1");
    assert_null(qdq_buf_extend(&b, 0));
    assert_int_equal(b.size, 0);
    assert_null(qdq_buf_take(&b));
    assert_true(b.failed);
    qdq_buf_free(&b);
    assert_false(b.failed); /* freed is as good as new, with the same limit */
    qdq_buf_puts(&b, "1234");
    assert_false(b.failed);
    qdq_buf_free(&b);
}

TEST(sizes_that_overflow_fail)
{
    qdq_buf b = QDQ_BUF_INIT(SIZE_MAX);

    qdq_buf_putc(&b, 'x');
    assert_null(qdq_buf_extend(&b, SIZE_MAX - 1));
    assert_true(b.failed);
    qdq_buf_free(&b);
    assert_null(qdq_buf_extend(&b, SIZE_MAX));
    qdq_buf_free(&b);
}

TEST(take_hands_over_and_empties)
{
    qdq_buf b = QDQ_BUF_INIT(100);
    char *text;

    text = qdq_buf_take(&b);
    assert_string_equal(text, "");
    qdq_free(text);
    qdq_buf_puts(&b, "abc");
    text = qdq_buf_take(&b);
    assert_string_equal(text, "abc");
    assert_null(b.data);
    assert_int_equal(b.size, 0);
    qdq_buf_puts(&b, "next");
    assert_string_equal(text, "abc");
    assert_string_equal(b.data, "next");
    qdq_free(text);
    qdq_buf_free(&b);
}

TEST(bytes_may_be_zero)
{
    qdq_buf b = QDQ_BUF_INIT(100);

    qdq_buf_append(&b, "a\0b", 3);
    qdq_buf_append(&b, NULL, 0);
    assert_int_equal(b.size, 3);
    assert_memory_equal(b.data, "a\0b", 4);
    qdq_buf_free(&b);
}
