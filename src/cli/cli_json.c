/* cli_json.c - jansson's layout of numbers, not that of our files. */
#include "cli/cli_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"

/* NULL: out of memory. */
static char *as_text(qdq_json_doc *d)
{
    json_t *root = qdq_json_take(d);
    /* 15 digits bring back the six of qdq_json_put_short() as they are; 17 would show how binary
     * numbers lie */
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

    json_decref(root);
    return text;
}

qdq_status cli_json_write(qdq_json_doc *d, const char *path, bool force, qdq_error *err)
{
    char *text = as_text(d);
    qdq_status st = QDQ_OK;

    QDQ_NEED(text != NULL, err);
    if (path == NULL) {
        puts(text);
    } else {
        size_t size = strlen(text);
        text[size] = '\n'; /* in place of the final zero, which a file does not need */
        st = qdq_write_file(path, force, text, size + 1, err);
    }
    free(text);
    return st;
}

qdq_status cli_json_print(qdq_json_doc *d, qdq_error *err)
{
    return cli_json_write(d, NULL, false, err);
}
