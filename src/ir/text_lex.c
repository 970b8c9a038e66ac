/* text_lex.c - characters to words for the text form. Knows no grammar. */
#include "ir/text_lex.h"

#include "base/fail.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Own tests of characters: those of ctype.h depend on the locale. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_id_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_id(char c)
{
    return is_id_start(c) || is_digit(c);
}

static void skip(qdq_lex *l)
{
    for (; l->at < l->end; l->at++) {
        char c = *l->at;

        if (c == '#')
            while (l->at + 1 < l->end && l->at[1] != '\n')
                l->at++;
        else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return;
    }
}

/* --- messages --------------------------------------------------------------------------------- */

qdq_status qdq_lex_fail(qdq_lex *l, const char *fmt, ...)
{
    size_t line = 1, column = 1;
    char text[600];
    va_list ap;

    skip(l);
    for (const char *p = l->start; p < l->at; p++) { /* once per text: errors end the parse */
        column++;
        if (*p == '\n') {
            line++;
            column = 1;
        }
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return qdq_fail(l->err, QDQ_E_FORMAT, "%s:%zu:%zu: %s", l->name, line, column, text);
}

qdq_status qdq_lex_expected(qdq_lex *l, const char *what)
{
    char word[24];
    size_t n = 0;

    skip(l);
    if (l->at == l->end)
        return qdq_lex_fail(l, "found the end, expected %s", what);
    while (n + 1 < sizeof word && l->at + n < l->end && l->at[n] > ' ' && l->at[n] != 127 &&
           (n == 0 || is_id(l->at[n]))) {
        word[n] = l->at[n];
        n++;
        if (!is_id(word[0]))
            break;
    }
    word[n] = '\0';
    if (n == 0)
        return qdq_lex_fail(l, "found byte 0x%02x, expected %s", (unsigned)(unsigned char)*l->at,
                            what);
    return qdq_lex_fail(l, "found '%s', expected %s", word, what);
}

/* --- words ------------------------------------------------------------------------------------ */

char qdq_lex_peek(qdq_lex *l)
{
    skip(l);
    return l->at < l->end ? *l->at : '\0';
}

bool qdq_lex_at_end(qdq_lex *l)
{
    skip(l);
    return l->at == l->end;
}

bool qdq_lex_match(qdq_lex *l, char c)
{
    if (qdq_lex_at_end(l) || *l->at != c)
        return false;
    l->at++;
    return true;
}

qdq_status qdq_lex_need(qdq_lex *l, char c)
{
    char what[] = "'?'";

    if (qdq_lex_match(l, c))
        return QDQ_OK;
    what[1] = c;
    return qdq_lex_expected(l, what);
}

bool qdq_lex_peek_id(qdq_lex *l, qdq_span *id)
{
    const char *p;

    skip(l);
    *id = (qdq_span){(const unsigned char *)l->at, 0};
    if (l->at == l->end || !is_id_start(*l->at))
        return false;
    for (p = l->at; p < l->end && is_id(*p);)
        p++;
    id->size = (size_t)(p - l->at);
    return true;
}

bool qdq_lex_id(qdq_lex *l, qdq_span *id)
{
    if (!qdq_lex_peek_id(l, id))
        return false;
    l->at += id->size;
    return true;
}

static int hex(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One character behind a backslash; the two forms that ONNX itself writes, \" and \\, fall under
 * "itself". */
static bool unescape(const char **p, const char *end, unsigned char *to)
{
    char c = *(*p)++;

    switch (c) {
    case 'n':
        *to = '\n';
        return true;
    case 't':
        *to = '\t';
        return true;
    case 'r':
        *to = '\r';
        return true;
    case 'x':
        if (end - *p < 2 || hex((*p)[0]) < 0 || hex((*p)[1]) < 0)
            return false;
        *to = (unsigned char)(hex((*p)[0]) * 16 + hex((*p)[1]));
        *p += 2;
        return true;
    default:
        *to = (unsigned char)c;
        return true;
    }
}

qdq_status qdq_lex_string(qdq_lex *l, qdq_span *s)
{
    const char *from, *to;
    bool has_escape = false;
    unsigned char *copy;
    size_t n = 0;

    if (qdq_lex_peek(l) != '"')
        return qdq_lex_expected(l, "a string in double quotes");
    from = l->at + 1;
    for (to = from; to < l->end && *to != '"'; to++)
        if (*to == '\\') {
            has_escape = true;
            if (++to == l->end)
                break;
        }
    if (to >= l->end)
        return qdq_lex_fail(l, "found a string without an end, expected '\"'");
    *s = (qdq_span){(const unsigned char *)from, (size_t)(to - from)};
    if (has_escape) {
        copy = qdq_arena_alloc(l->arena, s->size);
        QDQ_NEED(copy != NULL, l->err);
        while (from < to) {
            if (*from != '\\') {
                copy[n++] = (unsigned char)*from++;
                continue;
            }
            from++;
            if (!unescape(&from, to, &copy[n++]))
                return qdq_lex_fail(l, "found \\x without two hexadecimal digits");
        }
        *s = (qdq_span){copy, n};
    }
    l->at = to + 1;
    return QDQ_OK;
}

qdq_status qdq_lex_name(qdq_lex *l, qdq_span *name)
{
    if (qdq_lex_id(l, name))
        return QDQ_OK;
    if (qdq_lex_peek(l) != '"')
        return qdq_lex_expected(l, "a name");
    QDQ_TRY(qdq_lex_string(l, name));
    if (name->size > 0 && memchr(name->data, '\0', name->size) != NULL)
        return qdq_lex_fail(l, "found a name with a zero byte in front of this");
    return QDQ_OK;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The letters of inf, infinity or nan at p, else NULL. */
static const char *special_end(const char *p, const char *end)
{
    static const char *const words[] = {"infinity", "inf", "nan"};

    for (size_t i = 0; i < QDQ_COUNT(words); i++) {
        size_t n = strlen(words[i]);

        if ((size_t)(end - p) >= n && memcmp(p, words[i], n) == 0 &&
            ((size_t)(end - p) == n || !is_id(p[n])))
            return p + n;
    }
    return NULL;
}

bool qdq_lex_is_number(qdq_lex *l)
{
    const char *p;

    skip(l);
    p = l->at;
    if (p < l->end && (*p == '-' || *p == '+'))
        p++;
    return p < l->end && (is_digit(*p) || *p == '.' || special_end(p, l->end) != NULL);
}

qdq_status qdq_lex_number(qdq_lex *l, qdq_number *n)
{
    const char *p, *digits, *special;

    if (!qdq_lex_is_number(l))
        return qdq_lex_expected(l, "a number");
    p = l->at;
    n->is_float = false;
    if (*p == '-' || *p == '+')
        p++;
    digits = p;
    special = special_end(p, l->end);
    if (special != NULL) {
        p = special;
        n->is_float = true;
    } else {
        while (p < l->end && is_digit(*p))
            p++;
        if (p < l->end && *p == '.') {
            n->is_float = true;
            for (p++; p < l->end && is_digit(*p);)
                p++;
        }
        if (p == digits + n->is_float)
            return qdq_lex_expected(l, "digits");
        if (p < l->end && (*p == 'e' || *p == 'E')) {
            const char *exponent = p + 1;

            if (exponent < l->end && (*exponent == '-' || *exponent == '+'))
                exponent++;
            if (exponent == l->end || !is_digit(*exponent))
                return qdq_lex_fail(l, "found a number without digits in its exponent");
            for (p = exponent; p < l->end && is_digit(*p);)
                p++;
            n->is_float = true;
        }
    }
    n->text = (qdq_span){(const unsigned char *)l->at, (size_t)(p - l->at)};
    l->at = p;
    return QDQ_OK;
}

bool qdq_number_uint(const qdq_number *n, uint64_t *out)
{
    const unsigned char *p = n->text.data, *end = p + n->text.size;
    uint64_t x = 0;

    if (n->is_float || p == end || *p == '-')
        return false;
    for (p += *p == '+'; p < end; p++) {
        unsigned digit = *p - '0';

        if (x > (UINT64_MAX - digit) / 10)
            return false;
        x = x * 10 + digit;
    }
    *out = x;
    return true;
}

bool qdq_number_int(const qdq_number *n, int64_t *out)
{
    bool is_negative = n->text.size > 0 && n->text.data[0] == '-';
    qdq_number plain = *n;
    uint64_t x;

    if (is_negative) {
        plain.text.data++;
        plain.text.size--;
    }
    if (!qdq_number_uint(&plain, &x) || x > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative ? (int64_t)(0 - x) : (int64_t)x;
    return true;
}

/* strtod takes the decimal point of the caller's locale, which is not ours to change. */
bool qdq_number_double(const qdq_number *n, double *out)
{
    const char *point = localeconv()->decimal_point;
    size_t point_size = strlen(point), size = 0;
    char text[1200];

    for (size_t i = 0; i < n->text.size; i++) {
        if (size + point_size + 1 >= sizeof text)
            return false;
        if (n->text.data[i] == '.') {
            memcpy(text + size, point, point_size);
            size += point_size;
        } else {
            text[size++] = (char)n->text.data[i];
        }
    }
    text[size] = '\0';
    *out = strtod(text, NULL);
    return true;
}
