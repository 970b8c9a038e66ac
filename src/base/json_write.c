/* json_write.c - builds documents of jansson's values. A container is attached to its parent when
 * it is made, so that nothing is left to be freed. */
#include "base/json_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"

static qdq_json_out start(qdq_json_doc *d, json_t *root)
{
    *d = (qdq_json_doc){root, root == NULL};
    return (qdq_json_out){d, root};
}

qdq_json_out qdq_json_object(qdq_json_doc *d)
{
    return start(d, json_object());
}

qdq_json_out qdq_json_list(qdq_json_doc *d)
{
    return start(d, json_array());
}

qdq_json_out qdq_json_root(qdq_json_doc *d)
{
    return (qdq_json_out){d, d->root};
}

void qdq_json_put(qdq_json_out o, const char *key, json_t *value)
{
    const int failed =
        key != NULL ? json_object_set_new(o.at, key, value) : json_array_append_new(o.at, value);

    if (failed != 0)
        o.doc->failed = true;
}

/* Of a value that the caller goes on with: a borrowed pointer, NULL where it is not in there. */
static qdq_json_out attach(qdq_json_out o, const char *key, json_t *value)
{
    const bool failed = o.doc->failed;

    o.doc->failed = false;
    qdq_json_put(o, key, value);
    qdq_json_out in = {o.doc, o.doc->failed ? NULL : value};
    o.doc->failed = o.doc->failed || failed;
    return in;
}

qdq_json_out qdq_json_put_object(qdq_json_out o, const char *key)
{
    return attach(o, key, json_object());
}

qdq_json_out qdq_json_put_list(qdq_json_out o, const char *key)
{
    return attach(o, key, json_array());
}

void qdq_json_put_text(qdq_json_out o, const char *key, const char *text)
{
    qdq_json_put(o, key, text != NULL ? qdq_json_new_text(text) : json_null());
}

void qdq_json_put_some(qdq_json_out o, const char *key, const char *text)
{
    qdq_json_put_text(o, key, text != NULL && text[0] != '\0' ? text : NULL);
}

void qdq_json_put_texts(qdq_json_out o, const char *key, const char *const *text, size_t n)
{
    qdq_json_out list = qdq_json_put_list(o, key);

    for (size_t i = 0; i < n; i++)
        qdq_json_put_text(list, NULL, text[i]);
}

void qdq_json_put_int(qdq_json_out o, const char *key, int64_t x)
{
    qdq_json_put(o, key, json_integer(x));
}

void qdq_json_put_known(qdq_json_out o, const char *key, bool known, int64_t x)
{
    qdq_json_put(o, key, known ? json_integer(x) : json_null());
}

void qdq_json_put_size(qdq_json_out o, const char *key, uint64_t x)
{
    qdq_json_put_int(o, key, x <= INT64_MAX ? (int64_t)x : INT64_MAX);
}

void qdq_json_put_ints(qdq_json_out o, const char *key, const int64_t *x, size_t n)
{
    qdq_json_out list = qdq_json_put_list(o, key);

    for (size_t i = 0; i < n; i++)
        qdq_json_put_int(list, NULL, x[i]);
}

void qdq_json_put_bool(qdq_json_out o, const char *key, bool x)
{
    qdq_json_put(o, key, json_boolean(x));
}

void qdq_json_put_null(qdq_json_out o, const char *key)
{
    qdq_json_put(o, key, json_null());
}

void qdq_json_put_real(qdq_json_out o, const char *key, double x)
{
    qdq_json_put(o, key, qdq_json_real(x));
}

void qdq_json_put_short(qdq_json_out o, const char *key, double x)
{
    char text[40];

    snprintf(text, sizeof text, "%.6g", x);
    qdq_json_put_real(o, key, isfinite(x) ? strtod(text, NULL) : x);
}

void qdq_json_drop(qdq_json_doc *d)
{
    json_decref(d->root);
    *d = (qdq_json_doc){0};
}

json_t *qdq_json_take(qdq_json_doc *d)
{
    json_t *root = d->failed ? NULL : json_incref(d->root);

    qdq_json_drop(d);
    return root;
}

qdq_status qdq_json_finish(qdq_json_doc *d, char **text, qdq_error *err)
{
    json_t *root = qdq_json_take(d);

    *text = NULL;
    qdq_status st = root != NULL ? qdq_json_dump(root, text, err) : qdq_nomem(err);
    json_decref(root);
    return st;
}

qdq_status qdq_json_write(qdq_json_doc *d, const char *path, bool force, qdq_error *err)
{
    char *text = NULL;

    QDQ_TRY(qdq_json_finish(d, &text, err));
    qdq_status st = qdq_write_file(path, force, text, strlen(text), err);
    qdq_free(text);
    return st;
}

void qdq_json_finish_line(qdq_json_doc *d, qdq_buf *b)
{
    json_t *root = qdq_json_take(d);

    if (root == NULL || !qdq_json_put_line(b, root))
        b->failed = true;
    json_decref(root);
}
