/* json.c - jansson with our errors. Jansson limits its own recursion (2048 levels). */
#include "base/json.h"

#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"

enum { FILE_MAX = 256 * 1024 * 1024 };

/* Both codes that jansson gives for malformed text would be one to us; memory is another matter. */
static qdq_status parse_failed(const char *name, const json_error_t *at, qdq_error *err)
{
    if (json_error_code(at) == json_error_out_of_memory)
        return qdq_nomem(err);
    if (at->line < 1)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: not JSON: %s", name, at->text);
    return qdq_fail(err, QDQ_E_FORMAT, "%s: line %d column %d: not JSON: %s", name, at->line, at->column,
                    at->text);
}

qdq_status qdq_json_parse(const char *text, size_t size, const char *name, json_t **out, qdq_error *err)
{
    json_error_t at;

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

static int append(const char *text, size_t size, void *ctx)
{
    qdq_buf *b = ctx;

    qdq_buf_append(b, text, size);
    return b->failed ? -1 : 0;
}

qdq_status qdq_json_dump(const json_t *j, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    *text = NULL;
    if (json_dump_callback(j, append, &b, JSON_INDENT(2) | JSON_ENCODE_ANY) != 0 && !b.failed) {
        qdq_buf_free(&b);
        return qdq_fail(err, QDQ_E_BUG, "json: a value cannot be written: cycle, or text that is not UTF-8");
    }
    qdq_buf_putc(&b, '\n');
    *text = qdq_buf_take(&b);
    return *text == NULL ? qdq_nomem(err) : QDQ_OK;
}
