/* yaml_read.c - builds the tree from libyaml's events, with a stack of the containers that are
 * open. */
#include "base/yaml_read.h"

#include <string.h>
#include <yaml.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/words.h"

#define DEPTH_MAX 64

typedef struct level {
    qdq_yaml *container;
    /* member added last */
    qdq_yaml *last;
    /* of a map, those that it has */
    qdq_map keys;
    /* read, its value comes next; NULL: none */
    const char *key;
    size_t key_line, key_column;
} level;

typedef struct reader {
    yaml_parser_t parser;
    const char *name;
    qdq_arena *arena;
    qdq_error *err;
    level open[DEPTH_MAX];
    int depth;
    qdq_yaml *top;
    /* the document has ended */
    bool done;
} reader;

const char *qdq_yaml_kind_name(qdq_yaml_kind kind)
{
    switch (kind) {
    case QDQ_YAML_SCALAR:
        return "a value";
    case QDQ_YAML_LIST:
        return "a list";
    case QDQ_YAML_MAP:
        return "a map";
    }
    return "";
}

const qdq_yaml *qdq_yaml_get(const qdq_yaml *map, const char *key)
{
    for (const qdq_yaml *n = map != NULL && map->kind == QDQ_YAML_MAP ? map->first : NULL;
         n != NULL; n = n->next)
        if (strcmp(n->key, key) == 0)
            return n;
    return NULL;
}

bool qdq_yaml_is_null(const qdq_yaml *n)
{
    return n == NULL || (n->plain && QDQ_WORD_IS_IN(n->text, "", "~", "null", "Null", "NULL"));
}

static qdq_status refuse(const reader *r, const yaml_mark_t *at, const char *what)
{
    return qdq_fail(r->err, QDQ_E_FORMAT, "%s:%zu:%zu: %s", r->name, at->line + 1, at->column + 1,
                    what);
}

static qdq_status syntax_error(const reader *r)
{
    const yaml_parser_t *p = &r->parser;

    if (p->error == YAML_MEMORY_ERROR)
        return qdq_nomem(r->err);
    if (p->error == YAML_READER_ERROR)
        return qdq_fail(r->err, QDQ_E_FORMAT, "%s: byte %zu: not YAML: %s", r->name,
                        p->problem_offset, p->problem != NULL ? p->problem : "unreadable");
    return qdq_fail(r->err, QDQ_E_FORMAT, "%s:%zu:%zu: not YAML: %s", r->name,
                    p->problem_mark.line + 1, p->problem_mark.column + 1,
                    p->problem != NULL ? p->problem : "error");
}

/* --- nodes ------------------------------------------------------------------------------------ */

static qdq_status add_key(reader *r, level *l, const yaml_event_t *e, const char *text)
{
    bool is_new = false;

    QDQ_NEED(qdq_map_put(&l->keys, text, &is_new) != NULL, r->err);
    if (!is_new)
        return qdq_fail(r->err, QDQ_E_FORMAT, "%s:%zu:%zu: key '%s' comes twice", r->name,
                        e->start_mark.line + 1, e->start_mark.column + 1, text);
    l->key = text;
    l->key_line = e->start_mark.line + 1;
    l->key_column = e->start_mark.column + 1;
    return QDQ_OK;
}

/* A value: the top, an item of a list, or what stands behind a key. */
static qdq_status add_node(reader *r, const yaml_event_t *e, qdq_yaml_kind kind, const char *text,
                           bool plain, qdq_yaml **out)
{
    level *l = r->depth > 0 ? &r->open[r->depth - 1] : NULL;
    qdq_yaml *n = qdq_arena_alloc(r->arena, sizeof *n);

    QDQ_NEED(n != NULL, r->err);
    *n = (qdq_yaml){.kind = kind,
                    .line = e->start_mark.line + 1,
                    .column = e->start_mark.column + 1,
                    .text = text,
                    .plain = plain};
    *out = n;
    if (l == NULL) {
        r->top = n;
        return QDQ_OK;
    }
    if (l->container->kind == QDQ_YAML_MAP) {
        if (l->key == NULL)
            return refuse(r, &e->start_mark, "found a key that is not text, expected a name");
        n->key = l->key;
        n->key_line = l->key_line;
        n->key_column = l->key_column;
        l->key = NULL;
    }
    if (l->last == NULL)
        l->container->first = n;
    else
        l->last->next = n;
    l->last = n;
    return QDQ_OK;
}

static qdq_status add_scalar(reader *r, const yaml_event_t *e)
{
    const char *value = (const char *)e->data.scalar.value;
    level *l = r->depth > 0 ? &r->open[r->depth - 1] : NULL;
    qdq_yaml *n;

    if (e->data.scalar.anchor != NULL)
        return refuse(r, &e->start_mark, "found an anchor, expected none");
    if (e->data.scalar.tag != NULL)
        return refuse(r, &e->start_mark, "found a tag, expected none");
    if (memchr(value, '\0', e->data.scalar.length) != NULL)
        return refuse(r, &e->start_mark, "found a NUL inside a value");
    const char *text = qdq_arena_strndup(r->arena, value, e->data.scalar.length);
    QDQ_NEED(text != NULL, r->err);
    if (l != NULL && l->container->kind == QDQ_YAML_MAP && l->key == NULL)
        return add_key(r, l, e, text);
    return add_node(r, e, QDQ_YAML_SCALAR, text, e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
                    &n);
}

static qdq_status open_container(reader *r, const yaml_event_t *e, qdq_yaml_kind kind)
{
    bool map = kind == QDQ_YAML_MAP;
    qdq_yaml *n;

    if ((map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor) != NULL)
        return refuse(r, &e->start_mark, "found an anchor, expected none");
    if ((map ? e->data.mapping_start.tag : e->data.sequence_start.tag) != NULL)
        return refuse(r, &e->start_mark, "found a tag, expected none");
    if (r->depth == DEPTH_MAX)
        return refuse(r, &e->start_mark, "nested more than 64 deep");
    QDQ_TRY(add_node(r, e, kind, "", false, &n));
    r->open[r->depth++] = (level){.container = n, .keys = QDQ_MAP_INIT};
    return QDQ_OK;
}

static void close_container(reader *r)
{
    qdq_map_free(&r->open[--r->depth].keys);
}

/* --- events ----------------------------------------------------------------------------------- */

static qdq_status take_event(reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
        return QDQ_OK;
    case YAML_STREAM_END_EVENT:
        r->done = true;
        return QDQ_OK;
    case YAML_DOCUMENT_START_EVENT:
        return r->top == NULL ? QDQ_OK
                              : refuse(r, &e->start_mark, "found a second document, expected one");
    case YAML_DOCUMENT_END_EVENT:
        return QDQ_OK;
    case YAML_ALIAS_EVENT:
        return refuse(r, &e->start_mark, "found an alias, expected none");
    case YAML_SCALAR_EVENT:
        return add_scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(r, e, QDQ_YAML_LIST);
    case YAML_MAPPING_START_EVENT:
        return open_container(r, e, QDQ_YAML_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_container(r);
        return QDQ_OK;
    }
    return QDQ_OK;
}

static qdq_status read_all(reader *r)
{
    while (!r->done) {
        yaml_event_t e;

        if (!yaml_parser_parse(&r->parser, &e))
            return syntax_error(r);
        qdq_status st = take_event(r, &e);
        yaml_event_delete(&e);
        QDQ_TRY(st);
    }
    return QDQ_OK;
}

qdq_status qdq_yaml_parse(const char *text, size_t size, const char *name, qdq_arena *arena,
                          const qdq_yaml **out, qdq_error *err)
{
    reader r = {.name = name, .arena = arena, .err = err};

    *out = NULL;
    QDQ_NEED(yaml_parser_initialize(&r.parser), err);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    qdq_status st = read_all(&r);
    while (r.depth > 0)
        close_container(&r);
    yaml_parser_delete(&r.parser);
    if (st == QDQ_OK)
        *out = r.top;
    return st;
}
