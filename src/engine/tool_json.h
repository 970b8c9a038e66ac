/* tool_json.h - JSON as tools write it that know no better: raw control bytes and unescaped quotes
 * inside texts, nan and inf, names that are no UTF-8. For what other programs print, never for
 * files of our own (base/json.h is strict). */
#ifndef QDQ_TOOL_JSON_H
#define QDQ_TOOL_JSON_H

#include <stddef.h>

#include "base/arena.h"

typedef enum qdq_tool_kind {
    QDQ_TOOL_NULL,
    QDQ_TOOL_BOOL,
    QDQ_TOOL_NUMBER,
    QDQ_TOOL_TEXT,
    QDQ_TOOL_LIST,
    QDQ_TOOL_OBJECT
} qdq_tool_kind;

typedef struct qdq_tool_json {
    qdq_tool_kind kind;
    /* NAN, INFINITY: as written; of a bool 0 or 1 */
    double number;
    /* bytes, ends with NUL; a NUL inside has become '?' */
    const char *text;
    /* in an object; else NULL */
    const char *key;
    /* of a list or an object */
    struct qdq_tool_json *first, *last;
    struct qdq_tool_json *next;
    /* members */
    size_t n;
} qdq_tool_json;

/* QDQ_E_FORMAT says the line, what was found and what was expected. *out lives in the arena. */
qdq_status qdq_tool_json_parse(const char *text, size_t size, qdq_arena *arena,
                               const qdq_tool_json **out, qdq_error *err);

/* The member of an object; NULL: there is none, or it is no object. */
const qdq_tool_json *qdq_tool_json_get(const qdq_tool_json *object, const char *key);
/* "": no text there */
const char *qdq_tool_json_text(const qdq_tool_json *object, const char *key);
/* NAN: no number there */
double qdq_tool_json_number(const qdq_tool_json *object, const char *key);

/* A number at the beginning of s, whatever the locale, nan and inf as well; returns how many bytes
 * it has, 0: none. */
size_t qdq_tool_number(const char *s, size_t size, double *x);

/* p behind white space. */
const char *qdq_tool_skip_space(const char *p, const char *end);

#endif /* QDQ_TOOL_JSON_H */
