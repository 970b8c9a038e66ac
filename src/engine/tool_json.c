/* tool_json.c - a lenient reader of JSON. Texts end at a quote that is followed by what JSON
 * wants to see there; any other quote belongs to the text. */
#include "engine/tool_json.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"

enum { MAX_DEPTH = 64 };

typedef struct parser {
    const char *text, *end, *p;
    qdq_arena *arena;
    qdq_error *err;
} parser;

/* --- numbers ---------------------------------------------------------------------------------- */

static size_t word_number(const char *s, size_t size, double *x)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};

    for (size_t i = 0; i < QDQ_COUNT(words); i++) {
        size_t n = strlen(words[i].word), k = 0;

        while (k < n && k < size && tolower((unsigned char)s[k]) == words[i].word[k])
            k++;
        if (k == n && (n == size || !isalnum((unsigned char)s[n]))) {
            *x = words[i].value;
            return n;
        }
    }
    return 0;
}

static size_t read_digits(const char *s, size_t size, size_t at, uint64_t *mantissa, int *dropped)
{
    for (; at < size && isdigit((unsigned char)s[at]); at++) {
        if (*mantissa < UINT64_MAX / 10 - 1)
            *mantissa = *mantissa * 10 + (uint64_t)(s[at] - '0');
        else if (*dropped < 100000)
            ++*dropped;
    }
    return at;
}

static size_t read_exponent(const char *s, size_t size, size_t at, int *exponent)
{
    size_t k = at + 1;
    int value = 0, sign = 1;

    if (at >= size || (s[at] != 'e' && s[at] != 'E'))
        return at;
    if (k < size && (s[k] == '-' || s[k] == '+'))
        sign = s[k++] == '-' ? -1 : 1;
    if (k >= size || !isdigit((unsigned char)s[k]))
        return at;
    for (; k < size && isdigit((unsigned char)s[k]); k++)
        value = value < 100000 ? value * 10 + (s[k] - '0') : value;
    *exponent += sign * value;
    return k;
}

size_t qdq_tool_number(const char *s, size_t size, double *x)
{
    size_t at = size > 0 && (s[0] == '-' || s[0] == '+'), start = at, n;
    uint64_t mantissa = 0;
    int exponent = 0;

    if ((n = word_number(s + at, size - at, x)) > 0) {
        *x = s[0] == '-' ? -*x : *x;
        return at + n;
    }
    at = read_digits(s, size, at, &mantissa, &exponent);
    size_t digits = at - start;
    if (at < size && s[at] == '.') {
        size_t point = at + 1;
        int dropped = 0;

        at = read_digits(s, size, point, &mantissa, &dropped);
        digits += at - point;
        exponent -= at - point < 100000 ? (int)(at - point) - dropped : 100000;
    }
    if (digits == 0)
        return 0;
    at = read_exponent(s, size, at, &exponent);
    /* In two steps: 10 to the -320 has no precision left, what it is divided into has. */
    double value = mantissa == 0     ? 0
                   : exponent > 400  ? INFINITY
                   : exponent < -400 ? 0
                   : exponent < -300 ? (double)mantissa / 1e200 * pow(10, exponent + 200)
                   : exponent < 0    ? (double)mantissa / pow(10, -exponent)
                                     : (double)mantissa * pow(10, exponent);
    *x = s[0] == '-' ? -value : value;
    return at;
}

/* --- texts ------------------------------------------------------------------------------------ */

const char *qdq_tool_skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

static qdq_status wrong(const parser *s, const char *expected)
{
    size_t line = 1;

    for (const char *p = s->text; p < s->p && p < s->end; p++)
        line += *p == '\n';
    if (s->p >= s->end)
        return qdq_fail(s->err, QDQ_E_FORMAT, "line %zu: it ends where %s was expected", line,
                        expected);
    unsigned char c = (unsigned char)*s->p;
    return qdq_fail(s->err, QDQ_E_FORMAT,
                    isprint(c) ? "line %zu: found '%c', expected %s"
                               : "line %zu: found byte %d, expected %s",
                    line, c, expected);
}

typedef enum place { AS_KEY, IN_OBJECT, IN_LIST, AT_TOP } place;

/* Is this quote the end of a text that stands at such a place? */
static bool is_end(const parser *s, const char *quote, place where)
{
    const char *p = qdq_tool_skip_space(quote + 1, s->end);

    if (p == s->end)
        return where == AT_TOP;
    if (where == AS_KEY)
        return *p == ':';
    if (where == IN_LIST)
        return *p == ']' || *p == ',';
    /* the next key, or nothing at all where a comma is left over */
    if (where == IN_OBJECT && *p == ',')
        p = qdq_tool_skip_space(p + 1, s->end);
    return where == IN_OBJECT && (p == s->end || *p == '"' || *p == '}');
}

static bool hex4(const char *p, const char *end, unsigned *out)
{
    if (end - p < 4)
        return false;
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int c = tolower((unsigned char)p[i]);

        if (!isxdigit(c))
            return false;
        *out = *out * 16 + (unsigned)(isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static void put_utf8(qdq_buf *b, unsigned c)
{
    if (c == 0)
        c = '?';
    if (c < 0x80) {
        qdq_buf_putc(b, (char)c);
    } else if (c < 0x800) {
        qdq_buf_putc(b, (char)(0xc0 | c >> 6));
        qdq_buf_putc(b, (char)(0x80 | (c & 0x3f)));
    } else {
        if (c >= 0x10000) {
            qdq_buf_putc(b, (char)(0xf0 | c >> 18));
            qdq_buf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
        } else {
            qdq_buf_putc(b, (char)(0xe0 | c >> 12));
        }
        qdq_buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        qdq_buf_putc(b, (char)(0x80 | (c & 0x3f)));
    }
}

/* Behind the backslash; returns the first byte behind the escape. What is no escape stays as it was
 * written. */
static const char *put_escape(qdq_buf *b, const char *p, const char *end)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known = p < end && *p != '\0' ? strchr(from, *p) : NULL;
    unsigned c, low;

    if (known != NULL) {
        qdq_buf_putc(b, to[known - from]);
        return p + 1;
    }
    if (p < end && *p == 'u' && hex4(p + 1, end, &c)) {
        p += 5;
        if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
            hex4(p + 2, end, &low) && low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            p += 6;
        } else if (c >= 0xd800 && c < 0xe000) {
            c = 0xfffd;
        }
        put_utf8(b, c);
        return p;
    }
    qdq_buf_putc(b, '\\');
    return p;
}

static qdq_status read_text(parser *s, place where, const char **out)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    const char *p = s->p + 1;

    while (p < s->end && !(*p == '"' && is_end(s, p, where))) {
        if (*p == '\\') {
            p = put_escape(&b, p + 1, s->end);
        } else {
            qdq_buf_putc(&b, *p == '\0' ? '?' : *p);
            p++;
        }
    }
    if (p >= s->end) {
        qdq_buf_free(&b);
        return wrong(s, "a text that comes to an end");
    }
    s->p = p + 1;
    *out = b.failed ? NULL : qdq_arena_strndup(s->arena, b.size > 0 ? b.data : "", b.size);
    qdq_buf_free(&b);
    return *out != NULL ? QDQ_OK : qdq_nomem(s->err);
}

/* --- values ----------------------------------------------------------------------------------- */

static qdq_status read_value(parser *s, place where, int depth, qdq_tool_json **out);

static void add_child(qdq_tool_json *parent, qdq_tool_json *child)
{
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->n++;
}

static qdq_status read_member(parser *s, qdq_tool_json *parent, int depth)
{
    const char *key = NULL;
    qdq_tool_json *child;

    if (parent->kind == QDQ_TOOL_OBJECT) {
        if (*s->p != '"')
            return wrong(s, "a key");
        QDQ_TRY(read_text(s, AS_KEY, &key));
        s->p = qdq_tool_skip_space(s->p, s->end) + 1; /* the colon: the text ended in front of it */
        s->p = qdq_tool_skip_space(s->p, s->end);
    }
    QDQ_TRY(read_value(s, key != NULL ? IN_OBJECT : IN_LIST, depth, &child));
    child->key = key;
    add_child(parent, child);
    return QDQ_OK;
}

static qdq_status read_members(parser *s, qdq_tool_json *parent, char close, int depth)
{
    if (depth >= MAX_DEPTH)
        return wrong(s, "something less deeply nested");
    s->p++;
    for (;;) {
        s->p = qdq_tool_skip_space(s->p, s->end);
        if (s->p < s->end && *s->p == ',') /* one too many does no harm */
            s->p = qdq_tool_skip_space(s->p + 1, s->end);
        if (s->p < s->end && *s->p == close)
            break;
        if (s->p >= s->end)
            return wrong(s, close == ']' ? "']'" : "'}'");
        QDQ_TRY(read_member(s, parent, depth + 1));
        s->p = qdq_tool_skip_space(s->p, s->end);
        if (s->p < s->end && *s->p != ',' && *s->p != close)
            return wrong(s, close == ']' ? "',' or ']'" : "',' or '}'");
    }
    s->p++;
    return QDQ_OK;
}

static bool read_word(parser *s, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return false;
    s->p += n;
    return true;
}

static qdq_status read_value(parser *s, place where, int depth, qdq_tool_json **out)
{
    qdq_tool_json *v = qdq_arena_alloc(s->arena, sizeof *v);
    size_t n;

    *out = v;
    QDQ_NEED(v != NULL, s->err);
    if (s->p >= s->end)
        return wrong(s, "a value");
    if (*s->p == '{' || *s->p == '[') {
        v->kind = *s->p == '{' ? QDQ_TOOL_OBJECT : QDQ_TOOL_LIST;
        return read_members(s, v, *s->p == '{' ? '}' : ']', depth);
    }
    if (*s->p == '"') {
        v->kind = QDQ_TOOL_TEXT;
        return read_text(s, where, &v->text);
    }
    if ((n = qdq_tool_number(s->p, (size_t)(s->end - s->p), &v->number)) > 0) {
        v->kind = QDQ_TOOL_NUMBER;
        s->p += n;
        return QDQ_OK;
    }
    if (read_word(s, "null"))
        return QDQ_OK;
    v->kind = QDQ_TOOL_BOOL;
    if (read_word(s, "true"))
        v->number = 1;
    else if (!read_word(s, "false"))
        return wrong(s, "a value");
    return QDQ_OK;
}

qdq_status qdq_tool_json_parse(const char *text, size_t size, qdq_arena *arena,
                               const qdq_tool_json **out, qdq_error *err)
{
    parser s = {.text = text, .end = text + size, .p = text, .arena = arena, .err = err};
    qdq_tool_json *root = NULL;

    *out = NULL;
    s.p = qdq_tool_skip_space(s.p, s.end);
    QDQ_TRY(read_value(&s, AT_TOP, 0, &root));
    s.p = qdq_tool_skip_space(s.p, s.end);
    if (s.p != s.end)
        return wrong(&s, "nothing more");
    *out = root;
    return QDQ_OK;
}

/* --- members ---------------------------------------------------------------------------------- */

const qdq_tool_json *qdq_tool_json_get(const qdq_tool_json *object, const char *key)
{
    if (object == NULL || object->kind != QDQ_TOOL_OBJECT)
        return NULL;
    for (const qdq_tool_json *m = object->first; m != NULL; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

const char *qdq_tool_json_text(const qdq_tool_json *object, const char *key)
{
    const qdq_tool_json *m = qdq_tool_json_get(object, key);

    return m != NULL && m->kind == QDQ_TOOL_TEXT ? m->text : "";
}

double qdq_tool_json_number(const qdq_tool_json *object, const char *key)
{
    const qdq_tool_json *m = qdq_tool_json_get(object, key);

    return m != NULL && m->kind == QDQ_TOOL_NUMBER ? m->number : NAN;
}
