/* html.c - escapes text for HTML. */
#include "report/html.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";

/* C0 and C1 controls, and those that change the direction of what follows. */
static bool is_control(const unsigned char *s, size_t size)
{
    if (size == 1)
        return s[0] < 0x20 || s[0] == 0x7f;
    if (size == 2)
        return s[0] == 0xc2 && s[1] < 0xa0;
    return size == 3 && s[0] == 0xe2 &&
           ((s[1] == 0x80 && ((s[2] >= 0x8e && s[2] <= 0x8f) || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
            (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

static const char *escaped(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Each character as `as_text` has it; NULL: as it is. */
static void put(qdq_buf *b, const char *text, const char *(*as_text)(unsigned char c))
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n = text != NULL ? strlen(text) : 0;

    while (n > 0) {
        size_t size = qdq_utf8_size(s, n);
        const char *as = size == 1 ? as_text(s[0]) : NULL;

        if (size == 0 || is_control(s, size))
            as = replacement;
        if (as != NULL)
            qdq_buf_puts(b, as);
        else
            qdq_buf_append(b, s, size);
        size = size == 0 ? 1 : size;
        s += size;
        n -= size;
    }
}

void qdq_html_text(qdq_buf *b, const char *text)
{
    put(b, text, escaped);
}

static const char *escaped_json(unsigned char c)
{
    switch (c) {
    case '&':
        return "\\u0026";
    case '<':
        return "\\u003c";
    case '>':
        return "\\u003e";
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    default:
        return NULL;
    }
}

void qdq_html_json(qdq_buf *b, const char *text)
{
    qdq_buf_putc(b, '"');
    put(b, text, escaped_json);
    qdq_buf_putc(b, '"');
}

void qdq_html_count(qdq_buf *b, double n)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P"};
    size_t i = 0;

    while (n >= 999.5 && i + 1 < sizeof units / sizeof units[0]) {
        n /= 1000;
        i++;
    }
    qdq_buf_printf(b,
                   i == 0 || n >= 99.95 ? "%.0f%s"
                   : n >= 9.995         ? "%.1f%s"
                                        : "%.2f%s",
                   n, units[i]);
}
