/* region_json.c - regions for programs. docs/autotune.md documents the keys. */
#include "base/json_write.h"
#include "tune/region/region_print.h"

static void put_nodes(qdq_json_out o, const qdq_node *const *at, size_t n)
{
    qdq_json_out list = qdq_json_put_list(o, "nodes");

    for (size_t i = 0; i < n; i++) {
        qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
        qdq_region_put_name(&b, at[i]);
        o.doc->failed = o.doc->failed || b.failed;
        qdq_json_put_text(list, NULL, b.failed ? NULL : b.data);
        qdq_buf_free(&b);
    }
}

static void put_values(qdq_json_out o, const char *key, const qdq_value *const *at, size_t n)
{
    qdq_json_out list = qdq_json_put_list(o, key);

    for (size_t i = 0; i < n; i++)
        qdq_json_put_text(list, NULL, at[i]->name);
}

static void put_region(qdq_json_out regions, const qdq_region *r)
{
    qdq_json_out o = qdq_json_put_object(regions, NULL), list;

    qdq_json_put_int(o, "id", r->id);
    qdq_json_put_text(o, "type", r->type == QDQ_REGION_LEAF ? "leaf" : "composite");
    qdq_json_put_int(o, "level", r->depth);
    if (r->parent != NULL)
        qdq_json_put_int(o, "parent", r->parent->id);
    else
        qdq_json_put_null(o, "parent");
    list = qdq_json_put_list(o, "children");
    for (size_t i = 0; i < r->children.n; i++)
        qdq_json_put_int(list, NULL, r->children.at[i]->id);
    qdq_json_put_text(o, "path", r->path);
    qdq_json_put_int(o, "pattern", r->pattern);
    put_nodes(o, r->nodes.at, r->nodes.n);
    qdq_json_put_size(o, "total_nodes", r->n_total);
    put_values(o, "inputs", r->inputs.at, r->inputs.n);
    put_values(o, "outputs", r->outputs.at, r->outputs.n);
}

static void put_pattern(qdq_json_out patterns, const qdq_pattern *p)
{
    qdq_json_out o = qdq_json_put_object(patterns, NULL), list;

    qdq_json_put_text(o, "signature", p->signature);
    qdq_json_put_text(o, "hash", p->hash);
    qdq_json_put_size(o, "nodes", p->instance[0].region->n_total);
    list = qdq_json_put_list(o, "instances");
    for (size_t i = 0; i < p->n_instances; i++)
        qdq_json_put_int(list, NULL, p->instance[i].region->id);
}

static void put_sizes(qdq_json_out o, const qdq_region_view *v)
{
    qdq_json_out list = qdq_json_put_list(o, "leaf_sizes"), one;

    for (size_t n = 1; n <= v->most_nodes; n++) {
        if (v->leaves_of[n] == 0)
            continue;
        one = qdq_json_put_object(list, NULL);
        qdq_json_put_size(one, "nodes", n);
        qdq_json_put_size(one, "leaves", v->leaves_of[n]);
    }
}

qdq_status qdq_region_print_json(const qdq_region_view *v, char **text, qdq_error *err)
{
    const qdq_regions *r = v->r;
    qdq_json_doc d = {0};
    qdq_json_out o = qdq_json_object(&d), list;

    qdq_json_put_text(o, "builder", r->builder == QDQ_REGIONS_NAMES ? "names" : "structure");
    qdq_json_put_real(o, "named_share", r->named_share);
    qdq_json_put_size(o, "nodes", r->n_nodes);
    qdq_json_put_size(o, "covered_nodes", r->n_covered);
    qdq_json_put_size(o, "hidden_regions", r->all.n - v->n_shown);
    list = qdq_json_put_list(o, "regions");
    for (size_t i = 0; i < r->all.n; i++)
        if (v->shown[i])
            put_region(list, r->all.at[i]);
    list = qdq_json_put_list(o, "patterns");
    for (size_t i = 0; i < v->p->n; i++)
        put_pattern(list, &v->p->pattern[i]);
    put_sizes(o, v);
    return qdq_json_finish(&d, text, err);
}
