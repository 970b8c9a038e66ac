/* json_read.c - the members of JSON objects, typed. Knows no document, only what all of them
 * need. */
#include "base/json_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/json_line.h"
#include "base/words.h"

enum { WORDS_SIZE = 600 }; /* room for a list of words in a message */

/* --- errors ----------------------------------------------------------------------------------- */

void qdq_json_nomem(const qdq_json_place *p)
{
    if (p->reader->status == QDQ_OK)
        p->reader->status = qdq_nomem(p->reader->err);
}

/* "line 7: " in front of what is in err: of the key, or of the object where it is missing. */
static void fail_at(const qdq_json_place *p, const char *key)
{
    qdq_json_reader *r = p->reader;
    size_t line = r->text != NULL ? qdq_json_line(r->text, r->size, p->path, key) : 0;

    r->status = QDQ_E_FORMAT;
    if (line > 0)
        r->status = qdq_within(r->err, QDQ_E_FORMAT, "line %zu", line);
}

void qdq_json_fail(const qdq_json_place *p, const char *fmt, ...)
{
    qdq_json_reader *r = p->reader;
    char text[sizeof r->err->text];
    va_list ap;

    if (r->status != QDQ_OK)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    qdq_fail(r->err, QDQ_E_FORMAT, "%s: %s", p->path[0] != '\0' ? p->path : "top level", text);
    fail_at(p, NULL);
}

void qdq_json_wrong(const qdq_json_place *p, const char *key, const char *expected)
{
    qdq_json_reader *r = p->reader;

    if (r->status != QDQ_OK)
        return;
    qdq_fail(r->err, QDQ_E_FORMAT, "%s%skey '%s': expected %s", p->path,
             p->path[0] != '\0' ? ", " : "", key, expected);
    fail_at(p, key);
}

/* "'a', 'b' or 'c'", cut where the room ends. */
static const char *list_words(const char *const *words, char text[WORDS_SIZE])
{
    text[0] = '\0';
    for (size_t i = 0; words[i] != NULL; i++)
        qdq_text_add(text, WORDS_SIZE, "%s'%s'",
                     i == 0                 ? ""
                     : words[i + 1] == NULL ? " or "
                                            : ", ",
                     words[i]);
    return text;
}

/* --- members ---------------------------------------------------------------------------------- */

/* NULL: absent, or there was an error before. */
static json_t *find_key(const qdq_json_place *p, const char *key)
{
    json_t *j = p->reader->status == QDQ_OK ? json_object_get(p->object, key) : NULL;

    return json_is_null(j) ? NULL : j;
}

static const char *copy_text(const qdq_json_place *p, const char *text)
{
    const char *s = qdq_arena_strdup(p->reader->arena, text);

    if (s == NULL)
        qdq_json_nomem(p);
    return s != NULL ? s : "";
}

bool qdq_json_has(const qdq_json_place *p, const char *key)
{
    return find_key(p, key) != NULL;
}

void qdq_json_known(const qdq_json_place *p, const char *const *keys)
{
    char list[WORDS_SIZE];
    const char *key;
    json_t *value;

    json_object_foreach(p->object, key, value)
    {
        if (!qdq_word_is_in(key, keys) && p->reader->status == QDQ_OK) {
            qdq_fail(p->reader->err, QDQ_E_FORMAT, "%s: unknown key '%s', expected %s",
                     p->path[0] != '\0' ? p->path : "top level", key, list_words(keys, list));
            fail_at(p, key);
        }
    }
}

const char *qdq_json_text(const qdq_json_place *p, const char *key, const char *fallback)
{
    json_t *j = find_key(p, key);

    if (json_is_string(j))
        return copy_text(p, json_string_value(j));
    if (j != NULL || fallback == NULL)
        qdq_json_wrong(p, key, "a string");
    return fallback != NULL ? fallback : "";
}

int qdq_json_word(const qdq_json_place *p, const char *key, const char *const *words, int fallback)
{
    json_t *j = find_key(p, key);
    char list[WORDS_SIZE];

    if (json_is_string(j))
        for (int i = 0; words[i] != NULL; i++)
            if (strcmp(json_string_value(j), words[i]) == 0)
                return i;
    if (j != NULL || fallback < 0)
        qdq_json_wrong(p, key, list_words(words, list));
    return fallback < 0 ? 0 : fallback;
}

int64_t qdq_json_int(const qdq_json_place *p, const char *key, int64_t low, int64_t high,
                     int64_t fallback)
{
    json_t *j = find_key(p, key);
    char want[100];

    if (j == NULL)
        return fallback;
    if (json_is_integer(j) && json_integer_value(j) >= low && json_integer_value(j) <= high)
        return json_integer_value(j);
    if (high == INT64_MAX)
        snprintf(want, sizeof want, "a whole number of at least %" PRId64, low);
    else
        snprintf(want, sizeof want, "a whole number from %" PRId64 " to %" PRId64, low, high);
    qdq_json_wrong(p, key, want);
    return fallback;
}

double qdq_json_number(const qdq_json_place *p, const char *key, double low, double high,
                       double fallback)
{
    json_t *j = find_key(p, key);
    char want[100];

    if (j == NULL)
        return fallback;
    if (json_is_number(j) && json_number_value(j) >= low && json_number_value(j) <= high)
        return json_number_value(j);
    if (isfinite(low) && isfinite(high))
        snprintf(want, sizeof want, "a number from %g to %g", low, high);
    else if (isfinite(low))
        snprintf(want, sizeof want, "a number of at least %g", low);
    else
        snprintf(want, sizeof want, "a number");
    qdq_json_wrong(p, key, want);
    return fallback;
}

bool qdq_json_bool(const qdq_json_place *p, const char *key)
{
    json_t *j = find_key(p, key);

    if (j != NULL && !json_is_boolean(j))
        qdq_json_wrong(p, key, "true or false");
    return json_is_true(j);
}

const char *const *qdq_json_texts(const qdq_json_place *p, const char *key)
{
    json_t *j = find_key(p, key);
    size_t n = json_array_size(j);

    if (j == NULL)
        return NULL;
    const char **list = qdq_arena_array(p->reader->arena, n + 1, sizeof *list);
    if (list == NULL) {
        qdq_json_nomem(p);
        return NULL;
    }
    if (!json_is_array(j))
        qdq_json_wrong(p, key, "a list of strings");
    for (size_t i = 0; i < n; i++) {
        if (!json_is_string(json_array_get(j, i))) {
            qdq_json_wrong(p, key, "a list of strings");
            return NULL;
        }
        list[i] = copy_text(p, json_string_value(json_array_get(j, i)));
    }
    return list;
}

/* --- places ----------------------------------------------------------------------------------- */

qdq_json_place qdq_json_top(qdq_json_reader *r, json_t *root, const char *format, int version)
{
    json_t *j = json_object_get(root, format); /* NULL, if the root is no object */

    if (j == NULL)
        r->status = qdq_fail(r->err, QDQ_E_FORMAT, "expected an object with the key '%s'", format);
    else if (!json_is_integer(j))
        r->status = qdq_fail(r->err, QDQ_E_FORMAT,
                             "key '%s': expected %d, the version of the format", format, version);
    else if (json_integer_value(j) != version)
        r->status =
            qdq_fail(r->err, QDQ_E_UNSUPPORTED,
                     "key '%s': version %" JSON_INTEGER_FORMAT " of the format, expected %d",
                     format, json_integer_value(j), version);
    return (qdq_json_place){r, root, ""};
}

/* Goes to `object`, whose path was printed just now. */
static bool enter(const qdq_json_place *p, json_t *object, const char *path, qdq_json_place *out)
{
    *out = (qdq_json_place){p->reader, object, path};
    if (path == NULL)
        qdq_json_nomem(p);
    return path != NULL;
}

bool qdq_json_member(const qdq_json_place *p, const char *key, qdq_json_place *out)
{
    json_t *j = find_key(p, key);
    const char *dot = p->path[0] != '\0' ? "." : "";

    if (j == NULL)
        return false;
    if (!json_is_object(j)) {
        qdq_json_wrong(p, key, "an object");
        return false;
    }
    return enter(p, j, qdq_arena_printf(p->reader->arena, "%s%s%s", p->path, dot, key), out);
}

bool qdq_json_item(const qdq_json_place *p, const char *key, size_t i, qdq_json_place *out)
{
    json_t *list = find_key(p, key), *j = json_array_get(list, i);
    const char *dot = p->path[0] != '\0' ? "." : "";

    if (list != NULL && !json_is_array(list))
        qdq_json_wrong(p, key, "a list of objects");
    if (j == NULL)
        return false;
    if (!enter(p, j, qdq_arena_printf(p->reader->arena, "%s%s%s[%zu]", p->path, dot, key, i), out))
        return false;
    if (json_is_object(j))
        return true;
    qdq_json_fail(out, "expected an object");
    return false;
}
