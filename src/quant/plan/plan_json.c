/* plan_json.c - plans as text, both ways (docs/plan.md). One entry a line, sorted: plans can be diffed. */
#include "quant/plan/plan.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_read.h"
#include "quant/plan/plan_times.h"

#define MAX_PLAN_BYTES ((size_t)1 << 30)

/* --- writing --------------------------------------------------------------------------------------------------- */

static const char *const weight_methods[] = {"absmax", "given", "clip", NULL};

/* A plan without one of its members would say something else: an incomplete object is none. */
static json_t *whole(json_t *o, bool complete)
{
    if (complete)
        return o;
    json_decref(o);
    return NULL;
}

static bool set(json_t *o, const char *key, json_t *value)
{
    return json_object_set_new(o, key, value) == 0;
}

static json_t *edge_list(const qdq_edges *edges)
{
    json_t *list = json_array();
    bool ok = true;

    for (size_t i = 0; i < edges->n && ok; i++) {
        json_t *edge = json_pack("[s, I]", edges->at[i].node, (json_int_t)edges->at[i].input);
        ok = json_array_append_new(list, edge) == 0;
    }
    return whole(list, ok);
}

static json_t *float_list(const float *numbers, size_t n)
{
    json_t *list = json_array();
    bool ok = true;

    for (size_t i = 0; i < n && ok; i++)
        ok = json_array_append_new(list, qdq_json_float(numbers[i])) == 0;
    return whole(list, ok);
}

static json_t *zero_point_list(const qdq_plan_weight *w)
{
    json_t *list = json_array();
    bool ok = true;

    for (size_t i = 0; i < w->n_scales && ok; i++)
        ok = json_array_append_new(list, json_integer(w->zero_points[i])) == 0;
    return whole(list, ok);
}

/* Members that say what most weights do not have: left out where they say nothing. */
static bool set_format(json_t *o, const qdq_plan_weight *w)
{
    bool ok = w->scales != NULL || !w->asymmetric || set(o, "symmetric", json_false());

    ok = ok && (w->scales != NULL || !w->reduced || set(o, "reduced", json_true()));
    ok = ok && (w->scales != NULL || !w->pow2 || set(o, "pow2", json_true()));
    ok = ok &&
         (w->store == QDQ_WEIGHT_AS_CODES || set(o, "store", json_string(qdq_weight_store_names[w->store])));
    return ok && (w->accuracy_level == 0 || set(o, "accuracy_level", json_integer(w->accuracy_level)));
}

static bool set_scales(json_t *o, const qdq_plan_weight *w)
{
    if (w->clip != NULL)
        return set(o, "clip_step", json_real(w->clip_step)) && set(o, "clip", json_string(w->clip));
    return w->scales == NULL || (set(o, "scales", float_list(w->scales, w->n_scales)) &&
                                 (w->zero_points == NULL || set(o, "zero_points", zero_point_list(w))));
}

static json_t *tensor_object(const qdq_plan_tensor *t)
{
    json_t *o = json_pack("{s:s}", "tensor", t->tensor);
    bool ok = t->all || set(o, "consumers", edge_list(&t->consumers));

    ok = ok && set(o, "type", json_string(qdq_elem_name(t->qparam.type)));
    ok = ok && set(o, "scale", qdq_json_float(t->qparam.scale));
    ok = ok && set(o, "zero_point", json_integer(t->qparam.zero_point));
    ok = ok && set(o, "rule", json_string(t->rule)) && set(o, "origin", json_string(t->origin));
    return whole(o, ok);
}

static json_t *weight_object(const qdq_plan_weight *w)
{
    json_t *o = json_pack("{s:s}", "tensor", w->tensor);
    bool ok = set(o, "consumers", edge_list(&w->consumers));

    ok = ok && set(o, "axis", w->axis < 0 ? json_null() : json_integer(w->axis));
    ok = ok && set(o, "type", json_string(qdq_elem_name(w->type))) && set_format(o, w);
    ok = ok && set(o, "method", json_string(weight_methods[w->scales != NULL ? 1 : w->clip != NULL ? 2 : 0]));
    ok = ok && set(o, "block", w->block == 0 ? json_null() : json_integer(w->block)) && set_scales(o, w);
    ok = ok && set(o, "rule", json_string(w->rule)) && set(o, "origin", json_string(w->origin));
    return whole(o, ok);
}

static json_t *scaling_object(const qdq_plan_scaling *c)
{
    json_t *o = json_pack("{s:s}", "tensor", c->tensor);
    bool ok = set(o, "consumers", edge_list(&c->consumers));

    ok = ok && (c->fold == NULL || set(o, "fold", json_string(c->fold)));
    return whole(o, ok && set(o, "scales", float_list(c->scales, c->n_scales)));
}

static json_t *bias_object(const qdq_plan_bias *b)
{
    return json_pack("{s:s, s:[s, I], s:s, s:s, s:s, s:s, s:s}", "tensor", b->tensor, "consumer",
                     b->consumer.node, (json_int_t)b->consumer.input, "type", "int32", "activation",
                     b->activation, "weight", b->weight, "rule", b->rule, "origin", b->origin);
}

static json_t *correction_object(const qdq_plan_correction *c)
{
    json_t *o = json_pack("{s:s, s:[s, I]}", "tensor", c->tensor, "consumer", c->consumer.node,
                          (json_int_t)c->consumer.input);

    return whole(o, set(o, "delta", float_list(c->delta, c->n_delta)));
}

static json_t *quantized_object(const qdq_plan_node *n)
{
    json_t *o = json_pack("{s:s, s:s}", "node", n->node, "op", n->op);

    return whole(o, !n->kept || set(o, "kept", json_true()));
}

static json_t *float_object(const qdq_plan_float *f)
{
    return json_pack("{s:s, s:s, s:s}", "node", f->node, "op", f->op, "reason", f->reason);
}

static json_t *rest_object(const qdq_plan_rest *r)
{
    json_t *keep = json_array(), *o = json_object();
    bool ok = true;

    for (size_t i = 0; i < r->keep.n && ok; i++)
        ok = json_array_append_new(keep, float_object(&r->keep.at[i])) == 0;
    ok = ok && set(o, "type", json_string(qdq_elem_name(r->type)));
    ok = ok && (!r->direct_io || set(o, "direct_io", json_true()));
    ok = ok && (!r->widened || set(o, "widened", json_true()));
    ok = set(o, "keep", keep) && ok; /* takes the list over, even if it fails */
    return whole(o, ok);
}

/* NULL: there was no memory to make it. */
static void put_json(qdq_buf *b, json_t *j)
{
    if (j == NULL || !qdq_json_put_line(b, j))
        b->failed = true;
    json_decref(j);
}

static void put_key(qdq_buf *b, const char *key, json_t *value)
{
    qdq_buf_printf(b, "  \"%s\": ", key);
    put_json(b, value);
    qdq_buf_puts(b, ",\n");
}

#define PUT_LIST(b, key, list, make)                                                                         \
    do {                                                                                                     \
        qdq_buf_printf((b), "  \"%s\": [", (key));                                                           \
        for (size_t i_ = 0; i_ < (list).n; i_++) {                                                           \
            qdq_buf_puts((b), i_ == 0 ? "\n    " : ",\n    ");                                               \
            put_json((b), make(&(list).at[i_]));                                                             \
        }                                                                                                    \
        qdq_buf_puts((b), (list).n > 0 ? "\n  ]" : "]");                                                     \
    } while (0)

/* Names in models are bytes, those in JSON are not. */
static bool is_utf8(const char *name)
{
    json_t *j = qdq_json_new_text(name);
    bool same = j == NULL || strcmp(json_string_value(j), name) == 0;

    json_decref(j);
    return same;
}

/* NULL: all are text. */
static const char *find_odd_name(const qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (!is_utf8(p->tensors.at[i].tensor))
            return p->tensors.at[i].tensor;
    for (size_t i = 0; i < p->weights.n; i++)
        if (!is_utf8(p->weights.at[i].tensor))
            return p->weights.at[i].tensor;
    for (size_t i = 0; i < p->quantized.n; i++)
        if (!is_utf8(p->quantized.at[i].node))
            return p->quantized.at[i].node;
    for (size_t i = 0; i < p->left_float.n; i++)
        if (!is_utf8(p->left_float.at[i].node))
            return p->left_float.at[i].node;
    return NULL;
}

static qdq_status explain(const qdq_plan *p, qdq_error *err)
{
    const char *name = find_odd_name(p);

    return name == NULL ? qdq_nomem(err)
                        : qdq_fail(err, QDQ_E_UNSUPPORTED,
                                   "'%s' is no UTF-8: a plan is JSON, which has no such names", name);
}

qdq_status qdq_plan_to_text(const qdq_plan *p, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(MAX_PLAN_BYTES);

    qdq_buf_puts(&b, "{\n");
    put_key(&b, "qdq_plan", json_integer(QDQ_PLAN_VERSION));
    put_key(&b, "model", json_string(p->model));
    put_key(&b, "target", json_string(p->target));
    if (p->cpu != NULL)
        put_key(&b, "cpu", json_string(p->cpu));
    put_key(&b, "created_by", json_string(p->created_by));
    put_key(&b, "clean", json_string(p->clean));
    put_key(&b, "opset", json_integer(p->opset));
    put_key(&b, "placement_only", json_boolean(p->placement_only));
    if (qdq_plan_has_rest(p))
        put_key(&b, "rest", rest_object(&p->rest));
    if (p->times.processor != NULL)
        qdq_plan_put_times(&b, &p->times);
    PUT_LIST(&b, "tensors", p->tensors, tensor_object);
    qdq_buf_puts(&b, ",\n");
    PUT_LIST(&b, "weights", p->weights, weight_object);
    qdq_buf_puts(&b, ",\n");
    if (p->scalings.n > 0) {
        PUT_LIST(&b, "scalings", p->scalings, scaling_object);
        qdq_buf_puts(&b, ",\n");
    }
    PUT_LIST(&b, "biases", p->biases, bias_object);
    qdq_buf_puts(&b, ",\n");
    if (p->corrections.n > 0) {
        PUT_LIST(&b, "corrections", p->corrections, correction_object);
        qdq_buf_puts(&b, ",\n");
    }
    PUT_LIST(&b, "quantized", p->quantized, quantized_object);
    qdq_buf_puts(&b, ",\n");
    PUT_LIST(&b, "left_float", p->left_float, float_object);
    qdq_buf_puts(&b, "\n}\n");
    *text = qdq_buf_take(&b);
    return *text != NULL ? QDQ_OK : explain(p, err);
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

static const char an_edge[] = "[node, input number]", some_edges[] = "a list of [node, input number]",
                  some_scales[] = "a list of numbers above 0", some_numbers[] = "a list of finite numbers";

static bool to_scale(const json_t *j, float *out)
{
    *out = (float)json_number_value(j); /* 0, if it is no number */
    return isfinite(*out) && *out > 0;
}

static qdq_elem read_type(const qdq_json_place *p)
{
    return qdq_elem_from_name(qdq_code_type_names[qdq_json_word(p, "type", qdq_code_type_names, -1)]);
}

static qdq_edge read_edge(const qdq_json_place *p, const char *key, const json_t *j, const char *expected)
{
    const json_t *node = json_array_get(j, 0), *input = json_array_get(j, 1);
    qdq_edge edge = {"", 0};

    if (json_array_size(j) != 2 || !json_is_string(node) || !json_is_integer(input) ||
        json_integer_value(input) < 0 || json_integer_value(input) > UINT16_MAX) {
        qdq_json_wrong(p, key, expected);
        return edge;
    }
    edge.node = qdq_arena_strdup(p->reader->arena, json_string_value(node));
    edge.input = (uint32_t)json_integer_value(input);
    if (edge.node == NULL)
        qdq_json_nomem(p);
    return edge;
}

static qdq_edges read_edges(const qdq_json_place *p)
{
    json_t *list = json_object_get(p->object, "consumers");
    qdq_edges edges = {0};

    if (json_array_size(list) == 0)
        qdq_json_wrong(p, "consumers", some_edges);
    for (size_t i = 0; i < json_array_size(list) && p->reader->status == QDQ_OK; i++) {
        qdq_edge edge = read_edge(p, "consumers", json_array_get(list, i), some_edges);

        if (!QDQ_PUSH(p->reader->arena, &edges, edge))
            qdq_json_nomem(p);
    }
    return edges;
}

static void read_tensor(qdq_plan *plan, const qdq_json_place *p)
{
    static const char *const keys[] = {"tensor",     "consumers", "type",   "scale",
                                       "zero_point", "rule",      "origin", NULL};
    qdq_plan_tensor t = {0};
    int32_t low = 0, high = 0; /* of float8 */

    qdq_json_known(p, keys);
    t.tensor = qdq_json_text(p, "tensor", NULL);
    t.all = !qdq_json_has(p, "consumers");
    if (!t.all)
        t.consumers = read_edges(p);
    t.qparam.type = read_type(p);
    if (!to_scale(json_object_get(p->object, "scale"), &t.qparam.scale))
        qdq_json_wrong(p, "scale", "a finite number above 0");
    qdq_elem_code_limits(t.qparam.type, &low, &high);
    t.qparam.zero_point = (int32_t)qdq_json_int(p, "zero_point", low, high, 0);
    t.rule = qdq_json_text(p, "rule", "");
    t.origin = qdq_json_text(p, "origin", "user");
    if (!QDQ_PUSH(&plan->arena, &plan->tensors, t))
        qdq_json_nomem(p);
}

static bool to_float(const json_t *j, float *out)
{
    *out = (float)json_number_value(j);
    return json_is_number(j) && isfinite(*out);
}

/* At least one, each as `to` has it. */
static void read_floats(const qdq_json_place *p, const char *key, bool (*to)(const json_t *, float *),
                        const char *expected, const float **out, size_t *n_out)
{
    json_t *list = json_object_get(p->object, key);
    size_t n = json_array_size(list);
    float *numbers = qdq_arena_array(p->reader->arena, n + 1, sizeof *numbers);

    if (numbers == NULL) {
        qdq_json_nomem(p);
        return;
    }
    if (n == 0)
        qdq_json_wrong(p, key, expected);
    for (size_t i = 0; i < n; i++)
        if (!to(json_array_get(list, i), &numbers[i]))
            qdq_json_wrong(p, key, expected);
    *out = numbers;
    *n_out = n;
}

static void read_scales(const qdq_json_place *p, const float **out, size_t *n_out)
{
    read_floats(p, "scales", to_scale, some_scales, out, n_out);
}

static void read_zero_points(const qdq_json_place *p, qdq_plan_weight *w)
{
    json_t *list = json_object_get(p->object, "zero_points");
    int32_t *zeros = qdq_arena_array(p->reader->arena, w->n_scales + 1, sizeof *zeros), low = 0, high = 0;

    if (zeros == NULL) {
        qdq_json_nomem(p);
        return;
    }
    if (json_array_size(list) != w->n_scales)
        qdq_json_wrong(p, "zero_points", "a list with a code for each scale");
    qdq_elem_code_limits(w->type, &low, &high);
    for (size_t i = 0; i < w->n_scales && p->reader->status == QDQ_OK; i++) {
        const json_t *j = json_array_get(list, i);

        if (!json_is_integer(j) || json_integer_value(j) < low || json_integer_value(j) > high)
            qdq_json_wrong(p, "zero_points", "codes of its type");
        else
            zeros[i] = (int32_t)json_integer_value(j);
    }
    w->zero_points = zeros;
}

static void read_clip(const qdq_json_place *p, qdq_plan_weight *w)
{
    w->clip = qdq_json_text(p, "clip", NULL);
    w->clip_step = qdq_json_number(p, "clip_step", 0.001, 0.5, 0.05);
    w->n_scales = strlen(w->clip);
    for (const char *c = w->clip; *c != '\0'; c++) {
        const char *at = strchr(QDQ_CLIP_LETTERS, *c);

        if (at == NULL || (double)(at - QDQ_CLIP_LETTERS) * w->clip_step >= 1)
            qdq_json_wrong(p, "clip", "letters, of fewer steps than take all of the range");
    }
}

/* The keys that only one way to get scales has. */
static void read_method(const qdq_json_place *p, qdq_plan_weight *w)
{
    int method = qdq_json_word(p, "method", weight_methods, 0);

    if (method == 1)
        read_scales(p, &w->scales, &w->n_scales);
    else if (qdq_json_has(p, "scales") || qdq_json_has(p, "zero_points"))
        qdq_json_wrong(p, "method", "'given', as there are scales");
    if (method == 1 && qdq_json_has(p, "zero_points"))
        read_zero_points(p, w);
    if (method == 2)
        read_clip(p, w);
    else if (qdq_json_has(p, "clip"))
        qdq_json_wrong(p, "method", "'clip', as there is that key");
}

static void read_weight(qdq_plan *plan, const qdq_json_place *p)
{
    static const char *const keys[] = {"tensor",  "consumers", "axis",        "type",           "symmetric",
                                       "reduced", "pow2",      "store",       "accuracy_level", "method",
                                       "block",   "scales",    "zero_points", "clip_step",      "clip",
                                       "rule",    "origin",    NULL};
    qdq_plan_weight w = {0};

    qdq_json_known(p, keys);
    w.tensor = qdq_json_text(p, "tensor", NULL);
    w.consumers = read_edges(p);
    w.type = read_type(p);
    w.asymmetric = qdq_json_has(p, "symmetric") && !qdq_json_bool(p, "symmetric");
    w.reduced = qdq_json_bool(p, "reduced");
    w.pow2 = qdq_json_bool(p, "pow2");
    w.store = (qdq_weight_store)qdq_json_word(p, "store", qdq_weight_store_names, 0);
    w.accuracy_level = (int)qdq_json_int(p, "accuracy_level", 0, 4, 0);
    w.axis = (int)qdq_json_int(p, "axis", 0, 64, -1);
    w.block = qdq_json_int(p, "block", 1, INT32_MAX, 0);
    if (w.block != 0 && w.axis < 0)
        qdq_json_wrong(p, "axis", "a number, as there are blocks");
    read_method(p, &w);
    w.rule = qdq_json_text(p, "rule", "");
    w.origin = qdq_json_text(p, "origin", "user");
    if (!QDQ_PUSH(&plan->arena, &plan->weights, w))
        qdq_json_nomem(p);
}

static void read_scaling(qdq_plan *plan, const qdq_json_place *p)
{
    static const char *const keys[] = {"tensor", "consumers", "fold", "scales", NULL};
    qdq_plan_scaling c = {0};

    qdq_json_known(p, keys);
    c.tensor = qdq_json_text(p, "tensor", NULL);
    c.consumers = read_edges(p);
    if (qdq_json_has(p, "fold"))
        c.fold = qdq_json_text(p, "fold", "");
    read_scales(p, &c.scales, &c.n_scales);
    if (!QDQ_PUSH(&plan->arena, &plan->scalings, c))
        qdq_json_nomem(p);
}

static void read_bias(qdq_plan *plan, const qdq_json_place *p)
{
    static const char *const keys[] = {"tensor", "consumer", "type",   "activation",
                                       "weight", "rule",     "origin", NULL};
    static const char *const types[] = {"int32", NULL};
    qdq_plan_bias b = {0};

    qdq_json_known(p, keys);
    b.tensor = qdq_json_text(p, "tensor", NULL);
    b.consumer = read_edge(p, "consumer", json_object_get(p->object, "consumer"), an_edge);
    qdq_json_word(p, "type", types, 0);
    b.activation = qdq_json_text(p, "activation", NULL);
    b.weight = qdq_json_text(p, "weight", NULL);
    b.rule = qdq_json_text(p, "rule", "");
    b.origin = qdq_json_text(p, "origin", "user");
    if (!QDQ_PUSH(&plan->arena, &plan->biases, b))
        qdq_json_nomem(p);
}

static void read_correction(qdq_plan *plan, const qdq_json_place *p)
{
    static const char *const keys[] = {"tensor", "consumer", "delta", NULL};
    qdq_plan_correction c = {0};

    qdq_json_known(p, keys);
    c.tensor = qdq_json_text(p, "tensor", NULL);
    c.consumer = read_edge(p, "consumer", json_object_get(p->object, "consumer"), an_edge);
    read_floats(p, "delta", to_float, some_numbers, &c.delta, &c.n_delta);
    if (!QDQ_PUSH(&plan->arena, &plan->corrections, c))
        qdq_json_nomem(p);
}

static void read_quantized(qdq_plan *plan, const qdq_json_place *p)
{
    static const char *const keys[] = {"node", "op", "kept", NULL};
    qdq_plan_node n = {0};

    qdq_json_known(p, keys);
    n.node = qdq_json_text(p, "node", NULL);
    n.op = qdq_json_text(p, "op", "");
    n.kept = qdq_json_bool(p, "kept");
    if (!QDQ_PUSH(&plan->arena, &plan->quantized, n))
        qdq_json_nomem(p);
}

static qdq_plan_float read_float(const qdq_json_place *p)
{
    static const char *const keys[] = {"node", "op", "reason", NULL};
    qdq_plan_float f = {0};

    qdq_json_known(p, keys);
    f.node = qdq_json_text(p, "node", NULL);
    f.op = qdq_json_text(p, "op", "");
    f.reason = qdq_json_text(p, "reason", "");
    return f;
}

static void read_rest(qdq_plan *plan, const qdq_json_place *top)
{
    static const char *const keys[] = {"type", "direct_io", "widened", "keep", NULL};
    static const char *const types[] = {"float", "float16", "bfloat16", NULL};
    qdq_json_place p, item;

    if (!qdq_json_member(top, "rest", &p))
        return;
    qdq_json_known(&p, keys);
    plan->rest.type = qdq_elem_from_name(types[qdq_json_word(&p, "type", types, -1)]);
    plan->rest.direct_io = qdq_json_bool(&p, "direct_io");
    plan->rest.widened = qdq_json_bool(&p, "widened");
    for (size_t i = 0; qdq_json_item(&p, "keep", i, &item); i++)
        if (!QDQ_PUSH(&plan->arena, &plan->rest.keep, read_float(&item)))
            qdq_json_nomem(&item);
}

static void read_cpu(qdq_plan *plan, const qdq_json_place *top)
{
    static const char *const cpus[] = {"avx2", "avx512", "vnni", "arm", NULL};

    if (qdq_json_has(top, "cpu"))
        plan->cpu = cpus[qdq_json_word(top, "cpu", cpus, 0)];
}

static qdq_status read_plan(qdq_plan *plan, json_t *root, const char *text, size_t size, qdq_error *err)
{
    static const char *const keys[] = {"qdq_plan",  "model",      "target",  "created_by", "clean",
                                       "opset",     "tensors",    "weights", "biases",     "placement_only",
                                       "quantized", "left_float", "rest",    "scalings",   "corrections",
                                       "times",     "cpu",        NULL};
    qdq_json_reader reader = {.arena = &plan->arena, .err = err, .text = text, .size = size};
    qdq_json_place top = qdq_json_top(&reader, root, "qdq_plan", QDQ_PLAN_VERSION), item;

    qdq_json_known(&top, keys);
    plan->model = qdq_json_text(&top, "model", "");
    plan->target = qdq_json_text(&top, "target", "");
    plan->created_by = qdq_json_text(&top, "created_by", "");
    read_cpu(plan, &top);
    plan->clean = qdq_json_text(&top, "clean", "");
    plan->opset = (int)qdq_json_int(&top, "opset", 0, 1000, 0);
    plan->placement_only = qdq_json_bool(&top, "placement_only");
    for (size_t i = 0; qdq_json_item(&top, "tensors", i, &item); i++)
        read_tensor(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "weights", i, &item); i++)
        read_weight(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "scalings", i, &item); i++)
        read_scaling(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "biases", i, &item); i++)
        read_bias(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "corrections", i, &item); i++)
        read_correction(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "quantized", i, &item); i++)
        read_quantized(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "left_float", i, &item); i++)
        if (!QDQ_PUSH(&plan->arena, &plan->left_float, read_float(&item)))
            qdq_json_nomem(&item);
    read_rest(plan, &top);
    qdq_plan_read_times(plan, &top);
    QDQ_TRY(reader.status);
    return qdq_plan_finish(plan) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_plan_parse(const char *text, size_t size, const char *name, qdq_plan **out, qdq_error *err)
{
    json_t *root = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_parse(text, size, name, &root, err));
    qdq_plan *p = qdq_plan_new();
    qdq_status st = p == NULL ? qdq_nomem(err) : read_plan(p, root, text, size, err);
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
