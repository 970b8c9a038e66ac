/* json.c - jansson with our errors. Jansson limits its own recursion (2048 levels). */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"

enum { FILE_MAX = 256 * 1024 * 1024, DEPTH_MAX = 64 };

static qdq_status parse_failed(const char *name, const json_error_t *at, qdq_error *err)
{
    if (json_error_code(at) == json_error_out_of_memory || at->text[0] == '\0')
        return qdq_nomem(err);
    if (at->line < 1)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: not JSON: %s", name, at->text);
    return qdq_fail(err, QDQ_E_FORMAT, "%s: line %d column %d: not JSON: %s", name, at->line,
                    at->column, at->text);
}

/* Jansson calls some lack of memory an error in the text, or nothing at all. So a failure is the
 * text's only if it happens again while there is memory. */
static bool is_memory_left(size_t size)
{
    void *volatile p = malloc(size); /* volatile: a pair of malloc and free is optimized away */

    free(p);
    return p != NULL;
}

qdq_status qdq_json_parse(const char *text, size_t size, const char *name, json_t **out,
                          qdq_error *err)
{
    const char *nul = size > 0 ? memchr(text, '\0', size) : NULL;
    json_error_t at;

    *out = NULL;
    /* Jansson passes over it behind a number; as a string the text would end there */
    if (nul != NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: byte %zu: not JSON: a NUL byte", name,
                        (size_t)(nul - text));
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &at);
    if (*out != NULL)
        return QDQ_OK;
    QDQ_NEED(is_memory_left(size + (1 << 20)), err);
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &at);
    return *out == NULL ? parse_failed(name, &at, err) : QDQ_OK;
}

qdq_status qdq_json_load(const char *path, json_t **out, qdq_error *err)
{
    char *text = NULL;
    size_t size = 0;

    *out = NULL;
    QDQ_TRY(qdq_read_file(path, FILE_MAX, &text, &size, err));
    qdq_status st = qdq_json_parse(text, size, strcmp(path, "-") == 0 ? "<stdin>" : path, out, err);
    qdq_free(text);
    return st;
}

/* --- print ------------------------------------------------------------------------------------ */

/* Not jansson's printer: that writes 0.1 as 0.10000000000000001, and a plan is read by people. */

static void put_string(qdq_buf *b, const char *text, size_t size)
{
    qdq_buf_putc(b, '"');
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '"' || c == '\\')
            qdq_buf_printf(b, "\\%c", c);
        else if (c == '\n')
            qdq_buf_puts(b, "\\n");
        else if (c == '\t')
            qdq_buf_puts(b, "\\t");
        else if ((unsigned char)c < 0x20)
            qdq_buf_printf(b, "\\u%04x", (unsigned)c);
        else
            qdq_buf_putc(b, c);
    }
    qdq_buf_putc(b, '"');
}

/* The program around us may have set a locale with a decimal comma. */
static void use_decimal_point(char *number)
{
    number += strcspn(number, "0123456789");
    number += strspn(number, "0123456789");
    if (*number != '\0' && *number != 'e')
        *number = '.';
}

/* The fewest digits that read back as the same number. Seventeen always do. */
static void put_real(qdq_buf *b, double x)
{
    char number[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, x);
        if (strtod(number, NULL) == x)
            break;
    }
    use_decimal_point(number);
    qdq_buf_puts(b, number);
    if (strpbrk(number, ".e") == NULL) /* stays a real when it is read */
        qdq_buf_puts(b, ".0");
}

typedef struct printer {
    qdq_buf *b;
    bool one_line;
} printer;

/* Behind a bracket or a comma. */
static void put_break(const printer *p, int depth, bool comma)
{
    if (comma)
        qdq_buf_putc(p->b, ',');
    if (!p->one_line)
        qdq_buf_printf(p->b, "\n%*s", depth * 2, "");
    else if (comma)
        qdq_buf_putc(p->b, ' ');
}

static bool put_value(const printer *p, const json_t *j, int depth);

static bool put_array(const printer *p, const json_t *j, int depth)
{
    size_t n = json_array_size(j);

    qdq_buf_putc(p->b, '[');
    for (size_t i = 0; i < n; i++) {
        put_break(p, depth + 1, i != 0);
        if (!put_value(p, json_array_get(j, i), depth + 1))
            return false;
    }
    if (n != 0)
        put_break(p, depth, false);
    qdq_buf_putc(p->b, ']');
    return true;
}

static bool put_object(const printer *p, json_t *j, int depth)
{
    void *first = json_object_iter(j);

    qdq_buf_putc(p->b, '{');
    for (void *it = first; it != NULL; it = json_object_iter_next(j, it)) {
        const char *key = json_object_iter_key(it);
        put_break(p, depth + 1, it != first);
        put_string(p->b, key, strlen(key));
        qdq_buf_puts(p->b, ": ");
        if (!put_value(p, json_object_iter_value(it), depth + 1))
            return false;
    }
    if (first != NULL)
        put_break(p, depth, false);
    qdq_buf_putc(p->b, '}');
    return true;
}

/* False: nested too deeply. Lack of memory is noted in the buffer. */
static bool put_value(const printer *p, const json_t *j, int depth)
{
    if (depth > DEPTH_MAX)
        return false;
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        /* iterating changes nothing, but has no const */
        return put_object(p, (json_t *)(uintptr_t)j, depth);
    case JSON_ARRAY:
        return put_array(p, j, depth);
    case JSON_STRING:
        put_string(p->b, json_string_value(j), json_string_length(j));
        return true;
    case JSON_INTEGER:
        qdq_buf_printf(p->b, "%" JSON_INTEGER_FORMAT, json_integer_value(j));
        return true;
    case JSON_REAL:
        put_real(p->b, json_real_value(j));
        return true;
    case JSON_TRUE:
        qdq_buf_puts(p->b, "true");
        return true;
    case JSON_FALSE:
        qdq_buf_puts(p->b, "false");
        return true;
    case JSON_NULL:
        qdq_buf_puts(p->b, "null");
        return true;
    }
    return false;
}

bool qdq_json_put_line(qdq_buf *b, const json_t *j)
{
    printer p = {b, true};

    return put_value(&p, j, 0);
}

qdq_status qdq_json_dump(const json_t *j, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    printer p = {&b, false};

    *text = NULL;
    if (!put_value(&p, j, 0)) {
        qdq_buf_free(&b);
        return qdq_fail(err, QDQ_E_BUG, "json to be written is nested deeper than %d", DEPTH_MAX);
    }
    qdq_buf_putc(&b, '\n');
    *text = qdq_buf_take(&b);
    return *text == NULL ? qdq_nomem(err) : QDQ_OK;
}

json_t *qdq_json_new_text(const char *text)
{
    json_t *j = json_string(text);
    const size_t size = strlen(text);
    char *copy = j == NULL ? malloc(size + 1) : NULL;

    if (copy == NULL)
        return j;
    for (size_t i = 0; i <= size; i++)
        copy[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    j = json_string(copy);
    free(copy);
    return j;
}

json_t *qdq_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *qdq_json_float(float x)
{
    char number[40];

    for (int digits = 6; digits <= 9; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, (double)x);
        if ((float)strtod(number, NULL) == x)
            break;
    }
    return json_real(strtod(number, NULL));
}
