/* json_line.h - the line on which a member of a JSON document stands: jansson does not say it. */
#ifndef QDQ_JSON_LINE_H
#define QDQ_JSON_LINE_H

#include <stddef.h>

/* `path` leads to an object as qdq_json_place has it: "", "weight", "operators[3]", "a.b[0].c".
 * Gives the line (from 1) of its member `key`; where it has none, or `key` is NULL, the line on
 * which the object begins. 0: not found. The text is one that jansson has read. */
size_t qdq_json_line(const char *text, size_t size, const char *path, const char *key);

#endif /* QDQ_JSON_LINE_H */
