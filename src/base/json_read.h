/* json_read.h - the members of JSON objects, typed, and every error with its place:
 * "operators[3], key 'kind': expected 'linear' or 'joint'".
 *
 * The first error sticks: from then on each function gives a harmless value and each walk ends.
 * So a document is read without a check after every member, and the reader's status is asked once,
 * at the end. Texts and lists are copied into the reader's arena, and outlive the document. A
 * member that is null counts as absent. */
#ifndef QDQ_JSON_READ_H
#define QDQ_JSON_READ_H

#include "base/arena.h"
#include "base/json.h"
#include "base/words.h"

typedef struct qdq_json_reader {
    qdq_arena *arena;
    qdq_error *err;
    /* of the first error */
    qdq_status status;
    /* NULL, or what the document was read from: then an error has its line */
    const char *text;
    size_t size;
} qdq_json_reader;

/* One object, and where it stands. */
typedef struct qdq_json_place {
    qdq_json_reader *reader;
    json_t *object;
    /* "" at the top */
    const char *path;
} qdq_json_place;

/* The top of a document: an object with the key `format`, which is the number `version`. */
qdq_json_place qdq_json_top(qdq_json_reader *r, json_t *root, const char *format, int version);

/* Refuses keys that are not in the list, so that a misspelt one is found. Lists of words end with
 * NULL. */
void qdq_json_known(const qdq_json_place *p, const char *const *keys);
#define QDQ_JSON_KNOWN(p, ...) qdq_json_known(p, QDQ_WORDS(__VA_ARGS__))
bool qdq_json_has(const qdq_json_place *p, const char *key);

/* An absent member gives the fallback; where there cannot be one (NULL, -1), the member is
 * needed. */
/* never NULL */
const char *qdq_json_text(const qdq_json_place *p, const char *key, const char *fallback);
int qdq_json_word(const qdq_json_place *p, const char *key, const char *const *words, int fallback);
#define QDQ_JSON_WORD(p, key, fallback, ...) qdq_json_word(p, key, QDQ_WORDS(__VA_ARGS__), fallback)
int64_t qdq_json_int(const qdq_json_place *p, const char *key, int64_t low, int64_t high,
                     int64_t fallback);
double qdq_json_number(const qdq_json_place *p, const char *key, double low, double high,
                       double fallback);
bool qdq_json_bool(const qdq_json_place *p, const char *key); /* absent: false */

/* A list of strings, which ends with NULL; absent: NULL. */
const char *const *qdq_json_texts(const qdq_json_place *p, const char *key);

/* Goes into a member that is an object; false: absent, or an error. */
bool qdq_json_member(const qdq_json_place *p, const char *key, qdq_json_place *out);

/* Goes into the i-th object of a list: for (size_t i = 0; qdq_json_item(p, "nodes", i, &node); i++)
 * ... */
bool qdq_json_item(const qdq_json_place *p, const char *key, size_t i, qdq_json_place *out);

/* Mistakes that only the caller can see. Nothing happens after the first. */
void qdq_json_wrong(const qdq_json_place *p, const char *key,
                    const char *expected); /* "..., key 'k': expected " */
void qdq_json_fail(const qdq_json_place *p, const char *fmt, ...) QDQ_PRINTF(2, 3);
void qdq_json_nomem(const qdq_json_place *p);

#endif /* QDQ_JSON_READ_H */
