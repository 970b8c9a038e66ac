/* plan_read.c - plans from text (docs/plan.md). */
#include "quant/plan/plan.h"

#include <math.h>
#include <nettle/base64.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_read.h"
#include "quant/plan/plan_times.h"

static const char an_edge[] = "[node, input number]",
                  some_edges[] = "a list of [node, input number]",
                  some_scales[] = "a list of numbers above 0",
                  some_numbers[] = "a list of finite numbers";

#define KEEP(p, list, entry)                                                                       \
    do {                                                                                           \
        if (!QDQ_PUSH((p)->reader->arena, (list), (entry)))                                        \
            qdq_json_nomem(p);                                                                     \
    } while (0)

static bool to_scale(const json_t *j, float *out)
{
    *out = (float)json_number_value(j); /* 0, if it is no number */
    return isfinite(*out) && *out > 0;
}

static qdq_elem read_type(const qdq_json_place *p)
{
    return qdq_elem_from_name(
        qdq_code_type_names[qdq_json_word(p, "type", qdq_code_type_names, -1)]);
}

static qdq_edge read_edge(const qdq_json_place *p, const char *key, const json_t *j,
                          const char *expected)
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

        KEEP(p, &edges, edge);
    }
    return edges;
}

static void read_tensor(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_plan_tensor t = {0};
    int32_t low = 0, high = 0; /* of float8 */

    QDQ_JSON_KNOWN(p, "tensor", "consumers", "type", "scale", "zero_point", "rule", "origin");
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
    KEEP(p, &plan->tensors, t);
}

static bool to_float(const json_t *j, float *out)
{
    *out = (float)json_number_value(j);
    return json_is_number(j) && isfinite(*out);
}

/* At least one, each as `to` has it; NULL: out of memory. */
static const float *read_floats(const qdq_json_place *p, const char *key,
                                bool (*to)(const json_t *, float *), const char *expected,
                                size_t *n_out)
{
    json_t *list = json_object_get(p->object, key);
    size_t n = json_array_size(list);
    float *numbers = qdq_arena_array(p->reader->arena, n + 1, sizeof *numbers);

    *n_out = numbers != NULL ? n : 0;
    if (numbers == NULL) {
        qdq_json_nomem(p);
        return NULL;
    }
    if (n == 0)
        qdq_json_wrong(p, key, expected);
    for (size_t i = 0; i < n; i++)
        if (!to(json_array_get(list, i), &numbers[i]))
            qdq_json_wrong(p, key, expected);
    return numbers;
}

static const float *read_scales(const qdq_json_place *p, size_t *n_out)
{
    return read_floats(p, "scales", to_scale, some_scales, n_out);
}

static void read_zero_points(const qdq_json_place *p, qdq_plan_weight *w)
{
    json_t *list = json_object_get(p->object, "zero_points");
    int32_t *zeros = qdq_arena_array(p->reader->arena, w->n_scales + 1, sizeof *zeros), low = 0,
            high = 0;

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

/* Their number is known where the weight is. */
static void read_codes(const qdq_json_place *p, qdq_plan_weight *w)
{
    const char *text = qdq_json_text(p, "codes", "");
    const size_t length = strlen(text);
    uint8_t *codes = qdq_arena_alloc(p->reader->arena, BASE64_DECODE_LENGTH(length) + 1);
    struct base64_decode_ctx decode;

    if (codes == NULL) {
        qdq_json_nomem(p);
        return;
    }
    w->codes = codes;
    w->codes_size = BASE64_DECODE_LENGTH(length);
    base64_decode_init(&decode);
    if (length == 0 || !base64_decode_update(&decode, &w->codes_size, codes, length, text) ||
        !base64_decode_final(&decode))
        qdq_json_wrong(p, "codes", "bytes in base64");
}

/* The keys that only one way to get scales has. */
static void read_method(const qdq_json_place *p, qdq_plan_weight *w)
{
    int method = qdq_json_word(p, "method", qdq_plan_weight_methods, 0);

    if (method == 1)
        w->scales = read_scales(p, &w->n_scales);
    else if (qdq_json_has(p, "scales") || qdq_json_has(p, "zero_points"))
        qdq_json_wrong(p, "method", "'given', as there are scales");
    if (method == 1 && qdq_json_has(p, "zero_points"))
        read_zero_points(p, w);
    if (method == 1 && qdq_json_has(p, "codes"))
        read_codes(p, w);
    else if (qdq_json_has(p, "codes"))
        qdq_json_wrong(p, "method", "'given', as there are codes");
    if (method == 2)
        read_clip(p, w);
    else if (qdq_json_has(p, "clip"))
        qdq_json_wrong(p, "method", "'clip', as there is that key");
}

static void read_weight(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_plan_weight w = {0};

    QDQ_JSON_KNOWN(p, "tensor", "consumers", "axis", "type", "symmetric", "reduced", "pairs",
                   "pow2", "store", "accuracy_level", "method", "block", "scales", "zero_points",
                   "clip_step", "clip", "codes", "rule", "origin");
    w.tensor = qdq_json_text(p, "tensor", NULL);
    w.consumers = read_edges(p);
    w.type = read_type(p);
    w.asymmetric = qdq_json_has(p, "symmetric") && !qdq_json_bool(p, "symmetric");
    w.reduced = qdq_json_bool(p, "reduced");
    w.pow2 = qdq_json_bool(p, "pow2");
    w.pairs = qdq_json_bool(p, "pairs");
    w.store = (qdq_weight_store)qdq_json_word(p, "store", qdq_weight_store_names, 0);
    w.accuracy_level = (int)qdq_json_int(p, "accuracy_level", 0, 4, 0);
    w.axis = (int)qdq_json_int(p, "axis", 0, 64, -1);
    w.block = qdq_json_int(p, "block", 1, INT32_MAX, 0);
    if (w.block != 0 && w.axis < 0)
        qdq_json_wrong(p, "axis", "a number, as there are blocks");
    if (w.pairs && (w.type != QDQ_INT8 || w.asymmetric || w.reduced || w.axis < 0))
        qdq_json_wrong(p, "pairs", "false: it is for symmetric int8 with an axis, not 'reduced'");
    read_method(p, &w);
    w.rule = qdq_json_text(p, "rule", "");
    w.origin = qdq_json_text(p, "origin", "user");
    KEEP(p, &plan->weights, w);
}

static void read_scaling(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_plan_scaling c = {0};

    QDQ_JSON_KNOWN(p, "tensor", "consumers", "fold", "scales");
    c.tensor = qdq_json_text(p, "tensor", NULL);
    c.consumers = read_edges(p);
    if (qdq_json_has(p, "fold"))
        c.fold = qdq_json_text(p, "fold", "");
    c.scales = read_scales(p, &c.n_scales);
    KEEP(p, &plan->scalings, c);
}

static void read_smoothing(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_plan_smoothing s = {0};

    QDQ_JSON_KNOWN(p, "tensor", "smoothed", "scales");
    s.tensor = qdq_json_text(p, "tensor", NULL);
    s.smoothed = qdq_json_text(p, "smoothed", NULL);
    s.scales = read_scales(p, &s.n_scales);
    KEEP(p, &plan->smoothings, s);
}

static void read_channels(qdq_plan *plan, const qdq_json_place *p)
{
    static const char numbers[] = "a list of ascending channels";
    const json_t *list = json_object_get(p->object, "channels");
    qdq_plan_channels c = {.n_channels = json_array_size(list)};
    int64_t *channels = qdq_arena_array(p->reader->arena, c.n_channels + 1, sizeof *channels);

    QDQ_JSON_KNOWN(p, "tensor", "consumers", "channels");
    c.tensor = qdq_json_text(p, "tensor", NULL);
    c.consumers = read_edges(p);
    if (channels == NULL) {
        qdq_json_nomem(p);
        return;
    }
    if (c.n_channels == 0 || c.consumers.n == 0)
        qdq_json_wrong(p, c.n_channels == 0 ? "channels" : "consumers",
                       c.n_channels == 0 ? numbers : an_edge);
    for (size_t i = 0; i < c.n_channels && p->reader->status == QDQ_OK; i++) {
        const json_t *j = json_array_get(list, i);

        channels[i] = json_is_integer(j) ? json_integer_value(j) : -1;
        if (channels[i] < 0 || (i > 0 && channels[i] <= channels[i - 1]))
            qdq_json_wrong(p, "channels", numbers);
    }
    c.channels = channels;
    KEEP(p, &plan->float_channels, c);
}

static void read_bias(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_plan_bias b = {0};

    QDQ_JSON_KNOWN(p, "tensor", "consumer", "type", "activation", "weight", "rule", "origin");
    b.tensor = qdq_json_text(p, "tensor", NULL);
    b.consumer = read_edge(p, "consumer", json_object_get(p->object, "consumer"), an_edge);
    QDQ_JSON_WORD(p, "type", 0, "int32");
    b.activation = qdq_json_text(p, "activation", NULL);
    b.weight = qdq_json_text(p, "weight", NULL);
    b.rule = qdq_json_text(p, "rule", "");
    b.origin = qdq_json_text(p, "origin", "user");
    KEEP(p, &plan->biases, b);
}

static void read_correction(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_plan_correction c = {0};

    QDQ_JSON_KNOWN(p, "tensor", "consumer", "delta");
    c.tensor = qdq_json_text(p, "tensor", NULL);
    c.consumer = read_edge(p, "consumer", json_object_get(p->object, "consumer"), an_edge);
    c.delta = read_floats(p, "delta", to_float, some_numbers, &c.n_delta);
    KEEP(p, &plan->corrections, c);
}

static void read_quantized(qdq_plan *plan, const qdq_json_place *p)
{
    qdq_plan_node n = {0};

    QDQ_JSON_KNOWN(p, "node", "op", "kept");
    n.node = qdq_json_text(p, "node", NULL);
    n.op = qdq_json_text(p, "op", "");
    n.preserved = qdq_json_bool(p, "kept");
    KEEP(p, &plan->quantized, n);
}

static qdq_plan_float read_float(const qdq_json_place *p)
{
    qdq_plan_float f = {0};

    QDQ_JSON_KNOWN(p, "node", "op", "reason");
    f.node = qdq_json_text(p, "node", NULL);
    f.op = qdq_json_text(p, "op", "");
    f.reason = qdq_json_text(p, "reason", "");
    return f;
}

static void read_rest(qdq_plan *plan, const qdq_json_place *top)
{
    static const char *const types[] = {"float", "float16", "bfloat16", NULL};
    qdq_json_place p, item;

    if (!qdq_json_member(top, "rest", &p))
        return;
    QDQ_JSON_KNOWN(&p, "type", "direct_io", "widened", "keep");
    plan->half.type = qdq_elem_from_name(types[qdq_json_word(&p, "type", types, -1)]);
    plan->half.direct_io = qdq_json_bool(&p, "direct_io");
    plan->half.widened = qdq_json_bool(&p, "widened");
    for (size_t i = 0; qdq_json_item(&p, "keep", i, &item); i++)
        KEEP(&item, &plan->half.keep, read_float(&item));
}

static void read_cpu(qdq_plan *plan, const qdq_json_place *top)
{
    static const char *const cpus[] = {"avx2", "avx512", "vnni", "arm", NULL};

    if (qdq_json_has(top, "cpu"))
        plan->cpu = cpus[qdq_json_word(top, "cpu", cpus, 0)];
}

static qdq_status read_plan(qdq_plan *plan, json_t *root, const char *text, size_t size,
                            qdq_error *err)
{
    qdq_json_reader reader = {.arena = &plan->arena, .err = err, .text = text, .size = size};
    qdq_json_place top = qdq_json_top(&reader, root, "qdq_plan", QDQ_PLAN_VERSION), item;

    QDQ_JSON_KNOWN(&top, "qdq_plan", "model", "target", "created_by", "clean", "opset", "tensors",
                   "weights", "biases", "placement_only", "quantized", "left_float", "rest",
                   "scalings", "corrections", "times", "cpu", "target_sha256", "float_channels",
                   "smoothings");
    plan->model = qdq_json_text(&top, "model", "");
    plan->target = qdq_json_text(&top, "target", "");
    if (qdq_json_has(&top, "target_sha256"))
        plan->target_sha256 = qdq_json_text(&top, "target_sha256", "");
    plan->created_by = qdq_json_text(&top, "created_by", "");
    read_cpu(plan, &top);
    plan->clean = qdq_json_text(&top, "clean", "");
    plan->opset = (int)qdq_json_int(&top, "opset", 0, 1000, 0);
    plan->placement_only = qdq_json_bool(&top, "placement_only");
    for (size_t i = 0; qdq_json_item(&top, "tensors", i, &item); i++)
        read_tensor(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "weights", i, &item); i++)
        read_weight(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "smoothings", i, &item); i++)
        read_smoothing(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "scalings", i, &item); i++)
        read_scaling(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "float_channels", i, &item); i++)
        read_channels(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "biases", i, &item); i++)
        read_bias(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "corrections", i, &item); i++)
        read_correction(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "quantized", i, &item); i++)
        read_quantized(plan, &item);
    for (size_t i = 0; qdq_json_item(&top, "left_float", i, &item); i++)
        KEEP(&item, &plan->left_float, read_float(&item));
    read_rest(plan, &top);
    qdq_plan_read_times(plan, &top);
    QDQ_TRY(reader.status);
    return qdq_allocated(qdq_plan_finish(plan), err);
}

qdq_status qdq_plan_parse(const char *text, size_t size, const char *name, qdq_plan **out,
                          qdq_error *err)
{
    json_t *root = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_parse(text, size, name, &root, err));
    qdq_plan *p = qdq_plan_new();
    qdq_status st = p == NULL ? qdq_nomem(err) : read_plan(p, root, text, size, err);
    json_decref(root);
    if (st != QDQ_OK)
        st = qdq_within(err, st, "%s", name);
    return QDQ_HAND_OVER(p, st, out, qdq_plan_free);
}

qdq_status qdq_plan_load(const char *path, qdq_plan **out, qdq_error *err)
{
    char *text = NULL;
    size_t size = 0;

    *out = NULL;
    QDQ_TRY(qdq_read_file(path, QDQ_PLAN_MAX_BYTES, &text, &size, err));
    qdq_status st = qdq_plan_parse(text, size, path, out, err);
    qdq_free(text);
    return st;
}
