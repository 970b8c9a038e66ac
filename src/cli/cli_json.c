/* cli_json.c - values that jansson would refuse or print badly, and printing. */
#include "cli/cli_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json.h"

void cli_json_set(cli_json *j, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        j->failed = true;
}

void cli_json_add(cli_json *j, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        j->failed = true;
}

json_t *cli_json_text(const char *text)
{
    return qdq_json_new_text(text);
}

json_t *cli_json_real(double v)
{
    char text[40];

    if (!isfinite(v))
        return json_null();
    snprintf(text, sizeof text, "%.6g", v);
    return json_real(strtod(text, NULL));
}

/* Releases `root`; NULL: out of memory. */
static char *as_text(const cli_json *j, json_t *root)
{
    /* 15 digits bring back the six of cli_json_real() as they are; 17 would show how binary numbers
     * lie */
    char *text = j->failed ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

    json_decref(root);
    return text;
}

qdq_status cli_json_write(const cli_json *j, json_t *root, const char *path, bool force,
                          qdq_error *err)
{
    char *text = as_text(j, root);

    if (text == NULL)
        return qdq_nomem(err);
    size_t size = strlen(text);
    text[size] = '\n'; /* in place of the final zero, which a file does not need */
    qdq_status st = qdq_write_file(path, force, text, size + 1, err);
    free(text);
    return st;
}

qdq_status cli_json_print(cli_json *j, json_t *root, qdq_error *err)
{
    char *text = as_text(j, root);

    if (text == NULL)
        return qdq_nomem(err);
    puts(text);
    free(text);
    return QDQ_OK;
}
