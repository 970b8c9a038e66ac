/* plan_json.c - plans as text, both ways (docs/plan.md). One entry a line, sorted: plans can be diffed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/json.h"
#include "quant/plan.h"

#define MAX_PLAN_BYTES ((size_t)1 << 30)

/* --- writing --------------------------------------------------------------------------------------------------- */

static json_t *edge_list(const qdq_edges *edges)
{
    json_t *list = json_array();

    for (size_t i = 0; i < edges->n; i++)
        json_array_append_new(list, json_pack("[s, I]", edges->at[i].node, (json_int_t)edges->at[i].input));
    return list;
}

static json_t *tensor_object(const qdq_plan_tensor *t)
{
    json_t *o = json_pack("{s:s}", "tensor", t->tensor);

    if (!t->all)
        json_object_set_new(o, "consumers", edge_list(&t->consumers));
    json_object_set_new(o, "type", json_string(qdq_elem_name(t->qparam.type)));
    json_object_set_new(o, "scale", json_real((double)t->qparam.scale));
    json_object_set_new(o, "zero_point", json_integer(t->qparam.zero_point));
    json_object_set_new(o, "rule", json_string(t->rule));
    json_object_set_new(o, "origin", json_string(t->origin));
    return o;
}

static json_t *weight_object(const qdq_plan_weight *w)
{
    json_t *o = json_pack("{s:s}", "tensor", w->tensor);

    json_object_set_new(o, "consumers", edge_list(&w->consumers));
    json_object_set_new(o, "axis", w->axis < 0 ? json_null() : json_integer(w->axis));
    json_object_set_new(o, "type", json_string(qdq_elem_name(w->type)));
    json_object_set_new(o, "method", json_string(w->scales != NULL ? "given" : "absmax"));
    json_object_set_new(o, "block", json_null());
    if (w->scales != NULL) {
        json_t *list = json_array();

        for (size_t i = 0; i < w->n_scales; i++)
            json_array_append_new(list, json_real((double)w->scales[i]));
        json_object_set_new(o, "scales", list);
    }
    json_object_set_new(o, "rule", json_string(w->rule));
    json_object_set_new(o, "origin", json_string(w->origin));
    return o;
}

static json_t *bias_object(const qdq_plan_bias *b)
{
    return json_pack("{s:s, s:[s, I], s:s, s:s, s:s, s:s, s:s}", "tensor", b->tensor, "consumer",
                     b->consumer.node, (json_int_t)b->consumer.input, "type", "int32", "activation",
                     b->activation, "weight", b->weight, "rule", b->rule, "origin", b->origin);
}

/* One entry on a line of its own. */
static void put_line(qdq_buf *b, json_t *entry, bool first)
{
    char *text = entry != NULL ? json_dumps(entry, JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII) : NULL;

    if (text == NULL)
        b->failed = true;
    else
        qdq_buf_printf(b, "%s\n    %s", first ? "" : ",", text);
    free(text);
    json_decref(entry);
}

static void put_key(qdq_buf *b, const char *key, json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

    if (text == NULL)
        b->failed = true;
    else
        qdq_buf_printf(b, "  \"%s\": %s,\n", key, text);
    free(text);
    json_decref(value);
}

#define PUT_LIST(b, key, list, make)                                                                         \
    do {                                                                                                     \
        qdq_buf_printf((b), "  \"%s\": [", (key));                                                           \
        for (size_t i_ = 0; i_ < (list).n; i_++)                                                             \
            put_line((b), make(&(list).at[i_]), i_ == 0);                                                    \
        qdq_buf_puts((b), (list).n > 0 ? "\n  ]" : "]");                                                     \
    } while (0)

static json_t *quantized_object(const qdq_plan_node *n)
{
    return json_pack("{s:s, s:s}", "node", n->node, "op", n->op);
}

static json_t *float_object(const qdq_plan_float *f)
{
    return json_pack("{s:s, s:s, s:s}", "node", f->node, "op", f->op, "reason", f->reason);
}

qdq_status qdq_plan_to_text(const qdq_plan *p, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(MAX_PLAN_BYTES);

    qdq_buf_puts(&b, "{\n");
    put_key(&b, "qdq_plan", json_integer(QDQ_PLAN_VERSION));
    put_key(&b, "model", json_string(p->model));
    put_key(&b, "target", json_string(p->target));
    put_key(&b, "created_by", json_string(p->created_by));
    put_key(&b, "clean", json_string(p->clean));
    put_key(&b, "opset", json_integer(p->opset));
    put_key(&b, "placement_only", json_boolean(p->placement_only));
    PUT_LIST(&b, "tensors", p->tensors, tensor_object);
    qdq_buf_puts(&b, ",\n");
    PUT_LIST(&b, "weights", p->weights, weight_object);
    qdq_buf_puts(&b, ",\n");
    PUT_LIST(&b, "biases", p->biases, bias_object);
    qdq_buf_puts(&b, ",\n");
    PUT_LIST(&b, "quantized", p->quantized, quantized_object);
    qdq_buf_puts(&b, ",\n");
    PUT_LIST(&b, "left_float", p->left_float, float_object);
    qdq_buf_puts(&b, "\n}\n");
    *text = qdq_buf_take(&b);
    return *text != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_plan_save(const qdq_plan *p, const char *path, bool allow_overwrite, qdq_error *err)
{
    char *text = NULL;

    QDQ_TRY(qdq_plan_to_text(p, &text, err));
    qdq_status st = qdq_write_file(path, allow_overwrite, text, strlen(text), err);
    qdq_free(text);
    return st;
}

/* --- reading --------------------------------------------------------------------------------------------------- */

/* Where we are, for messages: "tensors[3]". */
typedef struct reader {
    qdq_plan *plan;
    json_t *object;
    char path[48];
    qdq_error *err;
} reader;

static qdq_status wrong(const reader *r, const char *key, const char *want)
{
    return qdq_fail(r->err, QDQ_E_FORMAT, "%s%skey '%s': expected %s", r->path, r->path[0] ? ", " : "", key,
                    want);
}

static qdq_status get_text(const reader *r, const char *key, const char *fallback, const char **out)
{
    json_t *j = json_object_get(r->object, key);

    if (j == NULL && fallback != NULL) {
        *out = fallback;
        return QDQ_OK;
    }
    if (!json_is_string(j))
        return wrong(r, key, "a string");
    *out = qdq_arena_strdup(&r->plan->arena, json_string_value(j));
    return *out != NULL ? QDQ_OK : qdq_nomem(r->err);
}

static qdq_status get_number(const reader *r, const char *key, int64_t low, int64_t high, int64_t fallback,
                             int64_t *out)
{
    json_t *j = json_object_get(r->object, key);

    *out = fallback;
    if (j == NULL || json_is_null(j))
        return QDQ_OK;
    if (!json_is_integer(j) || json_integer_value(j) < low || json_integer_value(j) > high)
        return wrong(r, key, "a whole number in range");
    *out = json_integer_value(j);
    return QDQ_OK;
}

static qdq_status get_type(const reader *r, qdq_elem *out)
{
    const char *name;
    int32_t low, high;

    QDQ_TRY(get_text(r, "type", NULL, &name));
    *out = qdq_elem_from_name(name);
    if (!qdq_elem_code_limits(*out, &low, &high) || qdq_elem_bits(*out) < 8)
        return wrong(r, "type", "int8, uint8, int16 or uint16");
    return QDQ_OK;
}

static bool to_scale(const json_t *j, float *out)
{
    double scale = json_is_number(j) ? json_number_value(j) : 0;

    *out = (float)scale;
    return isfinite(*out) && *out > 0;
}

static qdq_status read_edge(const reader *r, const char *key, const json_t *j, qdq_edge *out)
{
    const json_t *node = json_array_get(j, 0), *input = json_array_get(j, 1);

    if (!json_is_array(j) || json_array_size(j) != 2 || !json_is_string(node) || !json_is_integer(input) ||
        json_integer_value(input) < 0 || json_integer_value(input) > UINT16_MAX)
        return wrong(r, key, "[node, input number]");
    out->node = qdq_arena_strdup(&r->plan->arena, json_string_value(node));
    out->input = (uint32_t)json_integer_value(input);
    return out->node != NULL ? QDQ_OK : qdq_nomem(r->err);
}

static qdq_status read_edges(const reader *r, bool *absent, qdq_edges *out)
{
    json_t *list = json_object_get(r->object, "consumers");

    *absent = list == NULL;
    if (list == NULL)
        return QDQ_OK;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return wrong(r, "consumers", "a list of [node, input number]");
    for (size_t i = 0; i < json_array_size(list); i++) {
        qdq_edge edge;

        QDQ_TRY(read_edge(r, "consumers", json_array_get(list, i), &edge));
        if (!QDQ_PUSH(&r->plan->arena, out, edge))
            return qdq_nomem(r->err);
    }
    return QDQ_OK;
}

static qdq_status read_tensor(const reader *r)
{
    qdq_plan_tensor t = {0};
    int64_t zero_point;
    int32_t low, high;

    QDQ_TRY(get_text(r, "tensor", NULL, &t.tensor));
    QDQ_TRY(read_edges(r, &t.all, &t.consumers));
    QDQ_TRY(get_type(r, &t.qparam.type));
    qdq_elem_code_limits(t.qparam.type, &low, &high);
    if (!to_scale(json_object_get(r->object, "scale"), &t.qparam.scale))
        return wrong(r, "scale", "a finite number above 0");
    QDQ_TRY(get_number(r, "zero_point", low, high, 0, &zero_point));
    t.qparam.zero_point = (int32_t)zero_point;
    QDQ_TRY(get_text(r, "rule", "", &t.rule));
    QDQ_TRY(get_text(r, "origin", "user", &t.origin));
    return QDQ_PUSH(&r->plan->arena, &r->plan->tensors, t) ? QDQ_OK : qdq_nomem(r->err);
}

static qdq_status read_scales(const reader *r, qdq_plan_weight *w)
{
    json_t *list = json_object_get(r->object, "scales");

    if (!json_is_array(list) || json_array_size(list) == 0)
        return wrong(r, "scales", "a list of numbers above 0");
    float *scales = qdq_arena_array(&r->plan->arena, json_array_size(list), sizeof *scales);
    if (scales == NULL)
        return qdq_nomem(r->err);
    w->n_scales = json_array_size(list);
    w->scales = scales;
    for (size_t i = 0; i < w->n_scales; i++)
        if (!to_scale(json_array_get(list, i), &scales[i]))
            return wrong(r, "scales", "a list of numbers above 0");
    return QDQ_OK;
}

static qdq_status read_weight(const reader *r)
{
    qdq_plan_weight w = {0};
    const char *method;
    bool absent;
    int64_t axis;

    QDQ_TRY(get_text(r, "tensor", NULL, &w.tensor));
    QDQ_TRY(read_edges(r, &absent, &w.consumers));
    if (absent)
        return wrong(r, "consumers", "a list of [node, input number]");
    QDQ_TRY(get_type(r, &w.type));
    if (w.type != QDQ_INT8)
        return wrong(r, "type", "int8, the only weight type this version writes");
    QDQ_TRY(get_number(r, "axis", 0, 64, -1, &axis));
    w.axis = (int)axis;
    if (json_object_get(r->object, "block") != NULL && !json_is_null(json_object_get(r->object, "block")))
        return wrong(r, "block", "null: blocked weights are not implemented");
    QDQ_TRY(get_text(r, "method", "absmax", &method));
    if (strcmp(method, "given") == 0)
        QDQ_TRY(read_scales(r, &w));
    else if (strcmp(method, "absmax") != 0)
        return wrong(r, "method", "'absmax' or 'given'");
    QDQ_TRY(get_text(r, "rule", "", &w.rule));
    QDQ_TRY(get_text(r, "origin", "user", &w.origin));
    return QDQ_PUSH(&r->plan->arena, &r->plan->weights, w) ? QDQ_OK : qdq_nomem(r->err);
}

static qdq_status read_bias(const reader *r)
{
    qdq_plan_bias b = {0};

    QDQ_TRY(get_text(r, "tensor", NULL, &b.tensor));
    QDQ_TRY(read_edge(r, "consumer", json_object_get(r->object, "consumer"), &b.consumer));
    QDQ_TRY(get_text(r, "activation", NULL, &b.activation));
    QDQ_TRY(get_text(r, "weight", NULL, &b.weight));
    QDQ_TRY(get_text(r, "rule", "", &b.rule));
    QDQ_TRY(get_text(r, "origin", "user", &b.origin));
    return QDQ_PUSH(&r->plan->arena, &r->plan->biases, b) ? QDQ_OK : qdq_nomem(r->err);
}

static qdq_status read_quantized(const reader *r)
{
    qdq_plan_node n = {0};

    QDQ_TRY(get_text(r, "node", NULL, &n.node));
    QDQ_TRY(get_text(r, "op", "", &n.op));
    return QDQ_PUSH(&r->plan->arena, &r->plan->quantized, n) ? QDQ_OK : qdq_nomem(r->err);
}

static qdq_status read_float(const reader *r)
{
    qdq_plan_float f = {0};

    QDQ_TRY(get_text(r, "node", NULL, &f.node));
    QDQ_TRY(get_text(r, "op", "", &f.op));
    QDQ_TRY(get_text(r, "reason", "", &f.reason));
    return QDQ_PUSH(&r->plan->arena, &r->plan->left_float, f) ? QDQ_OK : qdq_nomem(r->err);
}

static qdq_status read_list(const reader *top, const char *key, qdq_status (*read)(const reader *))
{
    json_t *list = json_object_get(top->object, key);

    if (list == NULL)
        return QDQ_OK;
    if (!json_is_array(list))
        return wrong(top, key, "a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        reader r = {top->plan, json_array_get(list, i), "", top->err};

        snprintf(r.path, sizeof r.path, "%s[%zu]", key, i);
        if (!json_is_object(r.object))
            return qdq_fail(r.err, QDQ_E_FORMAT, "%s: expected an object", r.path);
        QDQ_TRY(read(&r));
    }
    return QDQ_OK;
}

static qdq_status read_plan(qdq_plan *p, json_t *root, qdq_error *err)
{
    reader r = {p, root, "", err};
    int64_t version, opset;

    if (!json_is_object(root) || json_object_get(root, "qdq_plan") == NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "expected an object with the key 'qdq_plan'");
    QDQ_TRY(get_number(&r, "qdq_plan", 0, INT32_MAX, 0, &version));
    if (version != QDQ_PLAN_VERSION)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "plan version %d: this qdq reads version %d", (int)version,
                        QDQ_PLAN_VERSION);
    QDQ_TRY(get_text(&r, "model", "", &p->model));
    QDQ_TRY(get_text(&r, "target", "", &p->target));
    QDQ_TRY(get_text(&r, "created_by", "", &p->created_by));
    QDQ_TRY(get_text(&r, "clean", "", &p->clean));
    QDQ_TRY(get_number(&r, "opset", 0, 1000, 0, &opset));
    p->opset = (int)opset;
    p->placement_only = json_is_true(json_object_get(root, "placement_only"));
    QDQ_TRY(read_list(&r, "tensors", read_tensor));
    QDQ_TRY(read_list(&r, "weights", read_weight));
    QDQ_TRY(read_list(&r, "biases", read_bias));
    QDQ_TRY(read_list(&r, "quantized", read_quantized));
    QDQ_TRY(read_list(&r, "left_float", read_float));
    return qdq_plan_finish(p) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_plan_parse(const char *text, size_t size, const char *name, qdq_plan **out, qdq_error *err)
{
    json_t *root = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_parse(text, size, name, &root, err));
    qdq_plan *p = qdq_plan_new();
    qdq_status st = p == NULL ? qdq_nomem(err) : read_plan(p, root, err);
    json_decref(root);
    if (st != QDQ_OK) {
        qdq_plan_free(p);
        return qdq_within(err, st, "%s", name);
    }
    *out = p;
    return QDQ_OK;
}

qdq_status qdq_plan_load(const char *path, qdq_plan **out, qdq_error *err)
{
    char *text = NULL;
    size_t size = 0;

    *out = NULL;
    QDQ_TRY(qdq_read_file(path, MAX_PLAN_BYTES, &text, &size, err));
    qdq_status st = qdq_plan_parse(text, size, path, out, err);
    qdq_free(text);
    return st;
}
