/* model.c - models as containers: birth, interned text, what they hold, death. Copies are in
 * clone.c. */
#include "base/fail.h"
#include "ir/edit.h"
#include "ir/name.h"
#include "ir/use.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

qdq_model *qdq_model_new(void)
{
    qdq_model *m = calloc(1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->ir_version = 9;
    m->producer_name = m->producer_version = m->path = "";
    m->graph = qdq_graph_new(m, NULL, "graph");
    if (m->graph == NULL) {
        qdq_model_free(m);
        return NULL;
    }
    return m;
}

void qdq_model_free(qdq_model *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->graphs.n; i++)
        qdq_map_free(&m->graphs.at[i]->by_name);
    for (size_t i = 0; i < m->mappings.n; i++)
        qdq_mapping_unref(m->mappings.at[i]);
    qdq_map_free(&m->names);
    qdq_map_free(&m->held);
    qdq_arena_free(&m->arena);
    free(m);
}

const char *qdq_intern_n(qdq_model *m, const char *s, size_t n)
{
    bool is_new;
    qdq_map_value *place = n >= UINT32_MAX ? NULL : qdq_map_put_n(&m->names, s, n, &is_new);
    qdq_name *name;

    if (place == NULL)
        return NULL;
    if (!is_new)
        return ((qdq_name *)place->ptr)->text;
    name = qdq_arena_alloc(&m->arena, sizeof *name + n + 1);
    if (name == NULL) {
        qdq_map_remove_n(&m->names, s, n); /* it refers to the caller's text */
        return NULL;
    }
    memcpy(name->text, s, n);
    name->size = (uint32_t)n;
    place->ptr = name;
    qdq_map_set_key(place, name->text);
    return name->text;
}

const char *qdq_intern(qdq_model *m, const char *s)
{
    return qdq_intern_n(m, s, strlen(s));
}

bool qdq_model_hold(qdq_model *m, qdq_mapping *map)
{
    bool is_new;

    /* Space first: a mapping that is freed must not stay known by its address, which the next one
     * may have. */
    if (!QDQ_RESERVE(&m->arena, &m->mappings) ||
        qdq_map_put_int(&m->held, (uint64_t)(uintptr_t)map, &is_new) == NULL) {
        qdq_mapping_unref(map);
        return false;
    }
    if (is_new)
        m->mappings.at[m->mappings.n++] = map;
    else
        qdq_mapping_unref(map);
    return true;
}

qdq_status qdq_model_set_opset_version(qdq_model *m, const char *domain, int64_t version,
                                       qdq_error *err)
{
    qdq_opset set = {qdq_intern(m, domain), version, {NULL, 0}};

    QDQ_NEED(set.domain != NULL, err);
    for (size_t i = 0; i < m->opsets.n; i++)
        if (m->opsets.at[i].domain == set.domain) {
            m->opsets.at[i].version = version;
            m->edits++;
            return QDQ_OK;
        }
    m->edits++;
    return QDQ_PUSH(&m->arena, &m->opsets, set) ? QDQ_OK : qdq_nomem(err);
}

bool qdq_model_add_opset(qdq_model *m, qdq_function *f, const char *domain, int64_t version)
{
    qdq_opset set = {qdq_intern(m, domain), version, {NULL, 0}};

    m->edits++;
    return set.domain != NULL && (f != NULL ? QDQ_PUSH(&m->arena, &f->opsets, set)
                                            : QDQ_PUSH(&m->arena, &m->opsets, set));
}

void qdq_model_remove_opset(qdq_model *m, qdq_function *f, size_t i)
{
    qdq_opset *at = f != NULL ? f->opsets.at : m->opsets.at;
    size_t *n = f != NULL ? &f->opsets.n : &m->opsets.n;

    assert(i < *n);
    --*n;
    memmove(&at[i], &at[i + 1], (*n - i) * sizeof *at);
    m->edits++;
}

void qdq_model_remove_function(qdq_model *m, size_t i)
{
    assert(i < m->functions.n);
    qdq_graph_kill(m->functions.at[i]->body);
    QDQ_REMOVE_AT(&m->functions, i);
    m->edits++;
}

qdq_status qdq_model_set_prop(qdq_model *m, const char *key, const char *value, qdq_error *err)
{
    qdq_prop prop = {qdq_intern(m, key), qdq_arena_strdup(&m->arena, value)};

    QDQ_NEED(prop.key != NULL && prop.value != NULL, err);
    m->edits++;
    for (size_t i = 0; i < m->props.n; i++)
        if (m->props.at[i].key == prop.key) {
            m->props.at[i] = prop;
            return QDQ_OK;
        }
    return QDQ_PUSH(&m->arena, &m->props, prop) ? QDQ_OK : qdq_nomem(err);
}

qdq_graph *qdq_graph_new(qdq_model *m, qdq_node *owner, const char *name)
{
    qdq_graph *g = qdq_arena_alloc(&m->arena, sizeof *g);

    if (g == NULL || (g->name = qdq_intern(m, name)) == NULL)
        return NULL;
    g->model = m;
    g->owner = owner;
    g->index = (uint32_t)m->graphs.n;
    g->end.prev = g->end.next = &g->end;
    g->end.graph = g;
    return QDQ_PUSH(&m->arena, &m->graphs, g) ? g : NULL;
}
