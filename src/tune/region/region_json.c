/* region_json.c - regions for programs. docs/autotune.md documents the keys. */
#include "base/fail.h"
#include "base/json.h"
#include "tune/region/region_print.h"

static bool put(json_t *o, const char *key, json_t *value)
{
    return json_object_set_new(o, key, value) == 0;
}

static json_t *node_names(const qdq_node *const *at, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < n; i++) {
        qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
        qdq_region_put_name(&b, at[i]);
        bool ok = !b.failed && json_array_append_new(list, qdq_json_new_text(b.data)) == 0;
        qdq_buf_free(&b);
        if (!ok) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *value_names(const qdq_value *const *at, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < n; i++)
        if (json_array_append_new(list, qdq_json_new_text(at[i]->name)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *region_ids(const qdq_region_list *regions)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < regions->n; i++)
        if (json_array_append_new(list, json_integer(regions->at[i]->id)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *region_json(const qdq_region *r)
{
    json_t *o = json_object();

    if (o != NULL && put(o, "id", json_integer(r->id)) &&
        put(o, "type", json_string(r->type == QDQ_REGION_LEAF ? "leaf" : "composite")) &&
        put(o, "level", json_integer(r->depth)) &&
        put(o, "parent", r->parent != NULL ? json_integer(r->parent->id) : json_null()) &&
        put(o, "children", region_ids(&r->children)) &&
        put(o, "path", r->path != NULL ? qdq_json_new_text(r->path) : json_null()) &&
        put(o, "pattern", json_integer(r->pattern)) &&
        put(o, "nodes", node_names(r->nodes.at, r->nodes.n)) &&
        put(o, "total_nodes", json_integer((json_int_t)r->n_total)) &&
        put(o, "inputs", value_names(r->inputs.at, r->inputs.n)) &&
        put(o, "outputs", value_names(r->outputs.at, r->outputs.n)))
        return o;
    json_decref(o);
    return NULL;
}

static json_t *regions_json(const qdq_region_view *v)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < v->r->all.n; i++)
        if (v->shown[i] && json_array_append_new(list, region_json(v->r->all.at[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *pattern_json(const qdq_pattern *p)
{
    json_t *o = json_object(), *ids = json_array();
    bool ok = o != NULL && ids != NULL;

    for (size_t i = 0; ok && i < p->n_instances; i++)
        ok = json_array_append_new(ids, json_integer(p->instance[i].region->id)) == 0;
    ok = ok && put(o, "signature", qdq_json_new_text(p->signature)) &&
         put(o, "hash", json_string(p->hash)) &&
         put(o, "nodes", json_integer((json_int_t)p->instance[0].region->n_total)) &&
         json_object_set(o, "instances", ids) == 0;
    json_decref(ids);
    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *patterns_json(const qdq_region_view *v)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < v->p->n; i++)
        if (json_array_append_new(list, pattern_json(&v->p->pattern[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *sizes_json(const qdq_region_view *v)
{
    json_t *list = json_array();

    for (size_t n = 1; list != NULL && n <= v->most_nodes; n++) {
        if (v->leaves_of[n] == 0)
            continue;
        json_t *o =
            json_pack("{s:I, s:I}", "nodes", (json_int_t)n, "leaves", (json_int_t)v->leaves_of[n]);
        if (json_array_append_new(list, o) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

qdq_status qdq_region_print_json(const qdq_region_view *v, char **text, qdq_error *err)
{
    const qdq_regions *r = v->r;
    json_t *o = json_object();
    bool ok =
        o != NULL &&
        put(o, "builder", json_string(r->builder == QDQ_REGIONS_NAMES ? "names" : "structure")) &&
        put(o, "named_share", json_real(r->named_share)) &&
        put(o, "nodes", json_integer((json_int_t)r->n_nodes)) &&
        put(o, "covered_nodes", json_integer((json_int_t)r->n_covered)) &&
        put(o, "hidden_regions", json_integer((json_int_t)(r->all.n - v->n_shown))) &&
        put(o, "regions", regions_json(v)) && put(o, "patterns", patterns_json(v)) &&
        put(o, "leaf_sizes", sizes_json(v));
    qdq_status st = ok ? qdq_json_dump(o, text, err) : qdq_nomem(err);

    json_decref(o);
    return st;
}
