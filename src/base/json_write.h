/* json_write.h - builds a JSON document. The first failure sticks, as in base/buf.h: put member
 * after member without a check, and ask once, where the document is finished. A document is
 * returned whole or not at all.
 *
 *     qdq_json_doc d = {0};
 *     qdq_json_out o = qdq_json_object(&d), list = qdq_json_put_list(o, "names");
 *     qdq_json_put_text(list, NULL, "a");
 *     return qdq_json_finish(&d, &text, err); */
#ifndef QDQ_JSON_WRITE_H
#define QDQ_JSON_WRITE_H

#include "base/json.h"

typedef struct qdq_json_doc {
    json_t *root;
    /* out of memory */
    bool failed;
} qdq_json_doc;

/* An object or a list inside a document: a borrowed pointer to pass by value. */
typedef struct qdq_json_out {
    qdq_json_doc *doc;
    json_t *at;
} qdq_json_out;

/* The top of a new document. */
qdq_json_out qdq_json_object(qdq_json_doc *d);
qdq_json_out qdq_json_list(qdq_json_doc *d);

/* The top of one that was begun. */
qdq_json_out qdq_json_root(qdq_json_doc *d);

/* `key` NULL: at the end of a list. */
qdq_json_out qdq_json_put_object(qdq_json_out o, const char *key);
qdq_json_out qdq_json_put_list(qdq_json_out o, const char *key);

/* Bytes that are not UTF-8 become '?', as do all beyond ASCII then; NULL: null. */
void qdq_json_put_text(qdq_json_out o, const char *key, const char *text);
void qdq_json_put_some(qdq_json_out o, const char *key, const char *text); /* NULL or "": null */
void qdq_json_put_texts(qdq_json_out o, const char *key, const char *const *text, size_t n);
void qdq_json_put_int(qdq_json_out o, const char *key, int64_t x);
/* `known` false: null */
void qdq_json_put_known(qdq_json_out o, const char *key, bool known, int64_t x);
void qdq_json_put_size(qdq_json_out o, const char *key, uint64_t x); /* at most INT64_MAX */
void qdq_json_put_ints(qdq_json_out o, const char *key, const int64_t *x, size_t n);
void qdq_json_put_bool(qdq_json_out o, const char *key, bool x);
void qdq_json_put_null(qdq_json_out o, const char *key);
void qdq_json_put_real(qdq_json_out o, const char *key, double x); /* not finite: null */

/* With six significant digits. */
void qdq_json_put_short(qdq_json_out o, const char *key, double x);

/* Takes `value`; NULL: the document fails. */
void qdq_json_put(qdq_json_out o, const char *key, json_t *value);

/* The end: releases the document, which is empty again. */
qdq_status qdq_json_finish(qdq_json_doc *d, char **text, qdq_error *err); /* as qdq_json_dump() */
qdq_status qdq_json_write(qdq_json_doc *d, const char *path, bool force,
                          qdq_error *err);              /* a file */
void qdq_json_finish_line(qdq_json_doc *d, qdq_buf *b); /* as qdq_json_put_line(); or b->failed */
json_t *qdq_json_take(qdq_json_doc *d);                 /* NULL: out of memory */
void qdq_json_drop(qdq_json_doc *d);                    /* unfinished */

#endif /* QDQ_JSON_WRITE_H */
