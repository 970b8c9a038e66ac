/* cli_json.h - results as JSON, with one sticky failure flag instead of a check after every key. */
#ifndef QDQ_CLI_JSON_H
#define QDQ_CLI_JSON_H

#include <jansson.h>

#include "qdq/status.h"

typedef struct cli_json {
    bool failed; /* out of memory */
} cli_json;

/* NULL is allowed as a value: it makes j fail. The value belongs to the container from here on. */
void cli_json_set(cli_json *j, json_t *object, const char *key, json_t *value);
void cli_json_add(cli_json *j, json_t *array, json_t *value);

/* A string; bytes that are no UTF-8 become '?'. */
json_t *cli_json_text(const char *text);

/* A number with six digits that count; null for NaN and infinity. */
json_t *cli_json_real(double v);

/* Writes `root` to a file, and releases it. */
qdq_status cli_json_write(const cli_json *j, json_t *root, const char *path, bool force,
                          qdq_error *err);

/* Prints and releases `root`. */
qdq_status cli_json_print(cli_json *j, json_t *root, qdq_error *err);

#endif /* QDQ_CLI_JSON_H */
