/* json.h - jansson with our errors and our layout. */
#ifndef QDQ_JSON_H
#define QDQ_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"

/* Parses text; `name` and line and column of an error go into the message. Duplicate keys are
 * refused. */
qdq_status qdq_json_parse(const char *text, size_t size, const char *name, json_t **out,
                          qdq_error *err);
qdq_status qdq_json_load(const char *path, json_t **out, qdq_error *err); /* at most 256 MiB */

/* Two-space indent, key order as inserted, reals with the fewest digits that read back the same,
 * newline at the end; freed with qdq_free(). Nested at most 64 deep. */
qdq_status qdq_json_dump(const json_t *j, char **text, qdq_error *err);

/* The same on one line, without a newline: {"a": 1, "b": [2, 3]}. False: nested too deeply. */
bool qdq_json_put_line(qdq_buf *b, const json_t *j);

/* A string; where it is no UTF-8, as names in files need not be, all bytes beyond ASCII become '?'.
 * NULL: out of memory. */
json_t *qdq_json_new_text(const char *text);

/* A real, or null where x is not finite, which JSON cannot say. NULL: out of memory. */
json_t *qdq_json_real(double x);

/* A real with the fewest digits that read back as the same float: 0.1, not 0.10000000149011612.
 * Reading it as a double and rounding that to float gives `x` again. NULL: out of memory, or not
 * finite. */
json_t *qdq_json_float(float x);

#endif /* QDQ_JSON_H */
