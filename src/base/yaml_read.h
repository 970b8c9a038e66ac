/* yaml_read.h - one YAML document as a tree that remembers where everything stood. Takes what
 * configurations are made of: maps, lists and scalars, nested at most 64 deep. Anchors, aliases,
 * tags, several documents and keys that come twice are refused: they hide what is meant, or make
 * small files large. */
#ifndef QDQ_YAML_READ_H
#define QDQ_YAML_READ_H

#include "base/arena.h"

typedef enum qdq_yaml_kind { QDQ_YAML_SCALAR, QDQ_YAML_LIST, QDQ_YAML_MAP } qdq_yaml_kind;

typedef struct qdq_yaml {
    qdq_yaml_kind kind;
    /* from 1 */
    size_t line, column;
    /* of a scalar, without NUL inside; else "" */
    const char *text;
    /* a scalar without quotes: may mean true, null or a number */
    bool plain;
    /* of a member of a map; else NULL */
    const char *key;
    size_t key_line, key_column;
    /* members in their order */
    const struct qdq_yaml *first, *next;
} qdq_yaml;

/* *out: the document's top, NULL if the text holds none. An error is QDQ_E_FORMAT:
 * "NAME:LINE:COLUMN: ...". */
qdq_status qdq_yaml_parse(const char *text, size_t size, const char *name, qdq_arena *arena,
                          const qdq_yaml **out, qdq_error *err);

const char *qdq_yaml_kind_name(qdq_yaml_kind kind); /* "a map" */

/* The member of a map, or NULL: it has none of that name, or is no map. */
const qdq_yaml *qdq_yaml_get(const qdq_yaml *map, const char *key);

/* null, ~ or nothing, without quotes; also a node that is not there. */
bool qdq_yaml_is_null(const qdq_yaml *n);

#endif /* QDQ_YAML_READ_H */
