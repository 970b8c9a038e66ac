/* remote_groups.c - rows of layers, written and read back. */
#include "engine/remote/remote_groups.h"

#include <math.h>

#include "base/fail.h"
#include "base/words.h"
#include "engine/engine_layer.h"
#include "engine/remote/remote_message.h"

enum {
    LAYER,
    OP,
    IN_TYPE,
    OUT_TYPE,
    TEXTS,
    US = TEXTS,
    CONVERSION,
    SOURCE,
    NODES,
    TENSOR,
    RUNS,
    ROW
};

/* --- there ------------------------------------------------------------------------------------ */

static void put_row(qdq_json_out row, const qdq_layer *g)
{
    qdq_remote_put_text(row, NULL, g->layer);
    qdq_remote_put_text(row, NULL, g->op);
    qdq_remote_put_text(row, NULL, qdq_text_or_empty(g->in_type));
    qdq_remote_put_text(row, NULL, qdq_text_or_empty(g->out_type));
    qdq_json_put_real(row, NULL, g->median_us);
    qdq_json_put_bool(row, NULL, g->conversion);
    qdq_json_put_int(row, NULL, g->source);
    qdq_json_out nodes = qdq_json_put_list(row, NULL);
    for (size_t i = 0; i < g->n_nodes; i++)
        qdq_remote_put_text(nodes, NULL, g->node[i]);
    qdq_remote_put_text(row, NULL, qdq_text_or_empty(g->tensor));
    qdq_json_put_int(row, NULL, g->runs);
}

json_t *qdq_remote_groups_json(const qdq_layer *g, size_t n)
{
    qdq_json_doc doc = {0};
    qdq_json_out list = qdq_json_list(&doc);

    for (size_t i = 0; i < n; i++)
        put_row(qdq_json_put_list(list, NULL), &g[i]);
    return qdq_json_take(&doc);
}

/* --- and back --------------------------------------------------------------------------------- */

static bool are_texts(const json_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!json_is_string(json_array_get(list, i)))
            return false;
    return true;
}

static bool is_time(const json_t *us)
{
    return json_is_null(us) || (json_is_number(us) && json_number_value(us) >= 0);
}

static bool is_count(const json_t *n)
{
    return json_is_integer(n) && json_integer_value(n) >= 0 && json_integer_value(n) <= UINT32_MAX;
}

static bool is_row(const json_t *row)
{
    const json_t *us = json_array_get(row, US), *source = json_array_get(row, SOURCE),
                 *nodes = json_array_get(row, NODES);

    /* none in what older versions stored */
    const json_t *tensor = json_array_get(row, TENSOR), *runs = json_array_get(row, RUNS);

    return json_array_size(row) <= ROW && (runs == NULL || is_count(runs)) &&
           (tensor == NULL || json_is_string(tensor)) && are_texts(row, TEXTS) && is_time(us) &&
           json_is_boolean(json_array_get(row, CONVERSION)) && json_is_integer(source) &&
           json_integer_value(source) >= QDQ_LAYER_NONE &&
           json_integer_value(source) <= QDQ_LAYER_EXACT && json_is_array(nodes) &&
           are_texts(nodes, json_array_size(nodes));
}

typedef struct reading {
    qdq_arena scratch;
    bool failed;
} reading;

static const char *read_text(reading *r, const json_t *text)
{
    const char *bytes = qdq_remote_bytes(&r->scratch, json_string_value(text));

    r->failed = r->failed || bytes == NULL;
    return bytes;
}

static qdq_layer read_row(reading *r, const json_t *row)
{
    const json_t *us = json_array_get(row, US), *nodes = json_array_get(row, NODES),
                 *tensor = json_array_get(row, TENSOR);
    const char **node = qdq_arena_array(&r->scratch, json_array_size(nodes) + 1, sizeof *node);

    r->failed = r->failed || node == NULL;
    for (size_t i = 0; i < json_array_size(nodes) && !r->failed; i++)
        node[i] = read_text(r, json_array_get(nodes, i));
    return (qdq_layer){.layer = read_text(r, json_array_get(row, LAYER)),
                       .op = read_text(r, json_array_get(row, OP)),
                       .in_type = read_text(r, json_array_get(row, IN_TYPE)),
                       .out_type = read_text(r, json_array_get(row, OUT_TYPE)),
                       .median_us = json_is_null(us) ? NAN : json_number_value(us),
                       .runs = (unsigned)json_integer_value(json_array_get(row, RUNS)),
                       .conversion = json_is_true(json_array_get(row, CONVERSION)),
                       .source = (qdq_layer_source)json_integer_value(json_array_get(row, SOURCE)),
                       .node = node,
                       .n_nodes = json_array_size(nodes),
                       .tensor = tensor != NULL ? read_text(r, tensor) : ""};
}

static qdq_status check_groups(const json_t *list, qdq_error *err)
{
    if (!json_is_array(list))
        return qdq_fail(err, QDQ_E_FORMAT, "layers: expected a list");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!is_row(json_array_get(list, i)))
            return qdq_fail(
                err, QDQ_E_FORMAT,
                "layers: entry %zu: expected [layer, op, in_type, out_type, us, conversion, "
                "source, nodes, tensor, runs]",
                i);
    return QDQ_OK;
}

qdq_status qdq_remote_groups_read(const json_t *list, qdq_layer **out, size_t *n, qdq_error *err)
{
    const size_t count = json_array_size(list);
    reading r = {.scratch = QDQ_ARENA_INIT};

    *out = NULL;
    *n = 0;
    QDQ_TRY(check_groups(list, err));
    qdq_layer *g = qdq_arena_array(&r.scratch, count + 1, sizeof *g);
    r.failed = g == NULL;
    for (size_t i = 0; i < count && !r.failed; i++)
        g[i] = read_row(&r, json_array_get(list, i));
    const qdq_status st = r.failed ? qdq_nomem(err) : qdq_layers_pack(g, count, out, err);
    *n = st == QDQ_OK ? count : 0;
    qdq_arena_free(&r.scratch);
    return st;
}
