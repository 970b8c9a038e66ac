/* layer_file.c - writes and reads files of layers. */
#include "engine/layer_file.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/vec.h"
#include "engine/engine_layer.h"

static const char format[] = "qdq_layers";

/* --- reading ---------------------------------------------------------------------------------- */

/* Our writers begin with it; texts of trtexec have it nowhere near. */
bool qdq_layer_file_is(const char *text, size_t size)
{
    enum { NEAR = 200 };
    static const char key[] = "\"qdq_layers\"";

    return memmem(text, size < NEAR ? size : NEAR, key, sizeof key - 1) != NULL;
}

static qdq_layer read_layer(const qdq_json_place *p)
{
    qdq_layer g = {.layer = qdq_json_text(p, "layer", NULL),
                   .op = qdq_json_text(p, "kernel", ""),
                   .in_type = qdq_json_text(p, "in", ""),
                   .out_type = qdq_json_text(p, "out", ""),
                   .median_us = NAN,
                   .conversion = qdq_json_bool(p, "conversion"),
                   .node = qdq_json_texts(p, "nodes"),
                   .tensor = qdq_json_text(p, "tensor", ""),
                   .source = QDQ_LAYER_NONE};

    if (qdq_json_has(p, "us"))
        g.median_us = qdq_json_number(p, "us", 0, 1e15, 0);
    if (qdq_json_has(p, "by"))
        g.source =
            QDQ_JSON_WORD(p, "by", 0, "slice", "exact") == 0 ? QDQ_LAYER_SLICE : QDQ_LAYER_EXACT;
    while (g.node != NULL && g.node[g.n_nodes] != NULL)
        g.n_nodes++;
    return g;
}

static qdq_status read_layers(qdq_json_reader *r, json_t *root, qdq_layer **out, size_t *n,
                              qdq_error *err)
{
    qdq_json_place top = qdq_json_top(r, root, format, 1), at;
    QDQ_VEC(qdq_layer) layers = {0};

    for (size_t i = 0; qdq_json_item(&top, "layers", i, &at); i++)
        QDQ_NEED(QDQ_PUSH(r->arena, &layers, read_layer(&at)), err);
    if (r->status != QDQ_OK)
        return r->status;
    QDQ_TRY(qdq_layers_pack(layers.at, layers.n, out, err));
    *n = layers.n;
    return QDQ_OK;
}

qdq_status qdq_layer_file_parse(const char *text, size_t size, const char *name, qdq_layer **out,
                                size_t *n, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_json_reader r = {.arena = &arena, .err = err, .text = text, .size = size};
    json_t *root = NULL;

    *out = NULL;
    *n = 0;
    qdq_status st = qdq_json_parse(text, size, name, &root, err);
    if (st == QDQ_OK) {
        st = read_layers(&r, root, out, n, err);
        if (st != QDQ_OK)
            qdq_within(err, st, "%s", name);
    }
    json_decref(root);
    qdq_arena_free(&arena);
    return st;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_layer(qdq_json_out o, const qdq_layer *g)
{
    qdq_json_put_text(o, "layer", g->layer);
    qdq_json_put_text(o, "kernel", g->op);
    qdq_json_put_some(o, "in", g->in_type);
    qdq_json_put_some(o, "out", g->out_type);
    qdq_json_put_real(o, "us", g->median_us);
    qdq_json_put_bool(o, "conversion", g->conversion);
    qdq_json_put_text(o, "by",
                      g->source == QDQ_LAYER_NONE    ? NULL
                      : g->source == QDQ_LAYER_SLICE ? "slice"
                                                     : "exact");
    qdq_json_put_texts(o, "nodes", g->node, g->n_nodes);
    if (g->tensor != NULL && g->tensor[0] != '\0')
        qdq_json_put_text(o, "tensor", g->tensor);
}

qdq_status qdq_layer_file_write(const char *path, const qdq_layer *g, size_t n,
                                const qdq_engine_info *info, const char *fingerprint,
                                qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out root = qdq_json_object(&doc);

    qdq_json_put_int(root, format, 1);
    qdq_json_put_text(root, "engine", info->name);
    qdq_json_put_text(root, "engine_version", info->version);
    qdq_json_put_text(root, "device", info->device);
    qdq_json_put_some(root, "fingerprint", fingerprint);
    qdq_json_out layers = qdq_json_put_list(root, "layers");
    for (size_t i = 0; i < n; i++)
        put_layer(qdq_json_put_object(layers, NULL), &g[i]);
    return qdq_json_write(&doc, path, true, err);
}

qdq_status qdq_layers_write(const char *path, const qdq_layer *g, size_t n,
                            const qdq_engine_info *info, qdq_error *err)
{
    return qdq_layer_file_write(path, g, n, info, NULL, err);
}

/* --- whose it is ------------------------------------------------------------------------------ */

qdq_status qdq_layer_file_is_of(const char *path, const char *fingerprint, bool *is, qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;
    json_t *root;
    qdq_status st = qdq_json_load(path, &root, &why);

    *is = false;
    if (st != QDQ_OK)
        return st == QDQ_E_NOMEM ? qdq_nomem(err) : QDQ_OK;
    const char *text = json_string_value(json_object_get(root, "fingerprint"));
    *is = json_object_get(root, format) != NULL && text != NULL && strcmp(text, fingerprint) == 0;
    json_decref(root);
    return QDQ_OK;
}
