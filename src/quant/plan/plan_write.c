/* plan_write.c - plans as text (docs/plan.md). One entry a line, sorted: plans can be diffed. */
#include "quant/plan/plan.h"

#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_write.h"
#include "quant/plan/plan_times.h"

const char *const qdq_plan_weight_methods[] = {"absmax", "given", "clip", NULL};

/* Names of a model are bytes; those that are no UTF-8 fail, since '?' would name another tensor. */
static void put_name(qdq_json_out o, const char *key, const char *name)
{
    qdq_json_put(o, key, json_string(name));
}

static void put_edge(qdq_json_out o, const char *key, const qdq_edge *e)
{
    const qdq_json_out pair = qdq_json_put_list(o, key);

    put_name(pair, NULL, e->node);
    qdq_json_put_int(pair, NULL, e->input);
}

static void put_consumers(qdq_json_out o, const qdq_edges *edges)
{
    const qdq_json_out list = qdq_json_put_list(o, "consumers");

    for (size_t i = 0; i < edges->n; i++)
        put_edge(list, NULL, &edges->at[i]);
}

static void put_floats(qdq_json_out o, const char *key, const float *numbers, size_t n)
{
    const qdq_json_out list = qdq_json_put_list(o, key);

    for (size_t i = 0; i < n; i++)
        qdq_json_put(list, NULL, qdq_json_float(numbers[i]));
}

static void put_origin(qdq_json_out o, const char *rule, const char *origin)
{
    put_name(o, "rule", rule);
    put_name(o, "origin", origin);
}

static void put_tensor(qdq_json_out o, const qdq_plan_tensor *t)
{
    put_name(o, "tensor", t->tensor);
    if (!t->all)
        put_consumers(o, &t->consumers);
    put_name(o, "type", qdq_elem_name(t->qparam.type));
    qdq_json_put(o, "scale", qdq_json_float(t->qparam.scale));
    qdq_json_put_int(o, "zero_point", t->qparam.zero_point);
    put_origin(o, t->rule, t->origin);
}

/* Members that say what most weights do not have: left out where they say nothing. */
static void put_format(qdq_json_out o, const qdq_plan_weight *w)
{
    if (w->scales == NULL && w->asymmetric)
        qdq_json_put_bool(o, "symmetric", false);
    if (w->scales == NULL && w->reduced)
        qdq_json_put_bool(o, "reduced", true);
    if (w->scales == NULL && w->pairs)
        qdq_json_put_bool(o, "pairs", true);
    if (w->scales == NULL && w->pow2)
        qdq_json_put_bool(o, "pow2", true);
    if (w->store != QDQ_WEIGHT_AS_CODES)
        put_name(o, "store", qdq_weight_store_names[w->store]);
    if (w->accuracy_level != 0)
        qdq_json_put_int(o, "accuracy_level", w->accuracy_level);
}

/* In base64 (RFC 4648). */
static void put_codes(qdq_json_out o, const qdq_plan_weight *w)
{
    const size_t size = BASE64_ENCODE_RAW_LENGTH(w->codes_size);
    char *text = malloc(size + 1);

    if (text != NULL) {
        base64_encode_raw(text, w->codes_size, w->codes);
        text[size] = '\0';
    }
    qdq_json_put(o, "codes", text != NULL ? json_stringn_nocheck(text, size) : NULL);
    free(text);
}

static void put_scales(qdq_json_out o, const qdq_plan_weight *w)
{
    if (w->clip != NULL) {
        qdq_json_put_real(o, "clip_step", w->clip_step);
        put_name(o, "clip", w->clip);
    } else if (w->scales != NULL) {
        put_floats(o, "scales", w->scales, w->n_scales);
        if (w->zero_points == NULL)
            return;
        const qdq_json_out zeros = qdq_json_put_list(o, "zero_points");
        for (size_t i = 0; i < w->n_scales; i++)
            qdq_json_put_int(zeros, NULL, w->zero_points[i]);
    }
}

static void put_weight(qdq_json_out o, const qdq_plan_weight *w)
{
    const int method = w->scales != NULL ? 1 : w->clip != NULL ? 2 : 0;

    put_name(o, "tensor", w->tensor);
    put_consumers(o, &w->consumers);
    qdq_json_put_known(o, "axis", w->axis >= 0, w->axis);
    put_name(o, "type", qdq_elem_name(w->type));
    put_format(o, w);
    put_name(o, "method", qdq_plan_weight_methods[method]);
    qdq_json_put_known(o, "block", w->block != 0, w->block);
    put_scales(o, w);
    if (w->codes != NULL)
        put_codes(o, w);
    put_origin(o, w->rule, w->origin);
}

static void put_scaling(qdq_json_out o, const qdq_plan_scaling *c)
{
    put_name(o, "tensor", c->tensor);
    put_consumers(o, &c->consumers);
    if (c->fold != NULL)
        put_name(o, "fold", c->fold);
    put_floats(o, "scales", c->scales, c->n_scales);
}

static void put_smoothing(qdq_json_out o, const qdq_plan_smoothing *s)
{
    put_name(o, "tensor", s->tensor);
    put_name(o, "smoothed", s->smoothed);
    put_floats(o, "scales", s->scales, s->n_scales);
}

static void put_channels(qdq_json_out o, const qdq_plan_channels *c)
{
    put_name(o, "tensor", c->tensor);
    put_consumers(o, &c->consumers);
    const qdq_json_out list = qdq_json_put_list(o, "channels");
    for (size_t i = 0; i < c->n_channels; i++)
        qdq_json_put_int(list, NULL, c->channels[i]);
}

static void put_bias(qdq_json_out o, const qdq_plan_bias *b)
{
    put_name(o, "tensor", b->tensor);
    put_edge(o, "consumer", &b->consumer);
    put_name(o, "type", "int32");
    put_name(o, "activation", b->activation);
    put_name(o, "weight", b->weight);
    put_origin(o, b->rule, b->origin);
}

static void put_correction(qdq_json_out o, const qdq_plan_correction *c)
{
    put_name(o, "tensor", c->tensor);
    put_edge(o, "consumer", &c->consumer);
    put_floats(o, "delta", c->delta, c->n_delta);
}

static void put_quantized(qdq_json_out o, const qdq_plan_node *n)
{
    put_name(o, "node", n->node);
    put_name(o, "op", n->op);
    if (n->preserved)
        qdq_json_put_bool(o, "kept", true);
}

static void put_float(qdq_json_out o, const qdq_plan_float *f)
{
    put_name(o, "node", f->node);
    put_name(o, "op", f->op);
    put_name(o, "reason", f->reason);
}

static void put_rest(qdq_buf *b, const qdq_plan_half *r)
{
    qdq_json_doc d;
    const qdq_json_out o = qdq_json_object(&d);

    put_name(o, "type", qdq_elem_name(r->type));
    if (r->direct_io)
        qdq_json_put_bool(o, "direct_io", true);
    if (r->widened)
        qdq_json_put_bool(o, "widened", true);
    const qdq_json_out keep = qdq_json_put_list(o, "keep");
    for (size_t i = 0; i < r->keep.n; i++)
        put_float(qdq_json_put_object(keep, NULL), &r->keep.at[i]);
    qdq_buf_puts(b, "  \"rest\": ");
    qdq_json_finish_line(&d, b);
    qdq_buf_puts(b, ",\n");
}

static void put_key(qdq_buf *b, const char *key, json_t *value)
{
    qdq_buf_printf(b, "  \"%s\": ", key);
    qdq_plan_put_json(b, value);
    qdq_buf_puts(b, ",\n");
}

#define PUT_LIST(b, key, list, put, end)                                                           \
    do {                                                                                           \
        qdq_buf_printf((b), "  \"%s\": [", (key));                                                 \
        for (size_t i_ = 0; i_ < (list).n; i_++) {                                                 \
            qdq_json_doc d_;                                                                       \
                                                                                                   \
            qdq_buf_puts((b), i_ == 0 ? "\n    " : ",\n    ");                                     \
            put(qdq_json_object(&d_), &(list).at[i_]);                                             \
            qdq_json_finish_line(&d_, (b));                                                        \
        }                                                                                          \
        qdq_buf_puts((b), (list).n > 0 ? "\n  ]" : "]");                                           \
        qdq_buf_puts((b), (end));                                                                  \
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

static qdq_status explain_failure(const qdq_plan *p, qdq_error *err)
{
    const char *name = find_odd_name(p);

    return name == NULL
               ? qdq_nomem(err)
               : qdq_fail(err, QDQ_E_UNSUPPORTED,
                          "'%s' is no UTF-8: a plan is JSON, which has no such names", name);
}

qdq_status qdq_plan_to_text(const qdq_plan *p, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_PLAN_MAX_BYTES);

    qdq_buf_puts(&b, "{\n");
    put_key(&b, "qdq_plan", json_integer(QDQ_PLAN_VERSION));
    put_key(&b, "model", json_string(p->model));
    put_key(&b, "target", json_string(p->target));
    if (p->target_sha256 != NULL)
        put_key(&b, "target_sha256", json_string(p->target_sha256));
    if (p->cpu != NULL)
        put_key(&b, "cpu", json_string(p->cpu));
    put_key(&b, "created_by", json_string(p->created_by));
    put_key(&b, "clean", json_string(p->clean));
    put_key(&b, "opset", json_integer(p->opset));
    put_key(&b, "placement_only", json_boolean(p->placement_only));
    if (qdq_plan_has_half(p))
        put_rest(&b, &p->half);
    if (p->times.processor != NULL)
        qdq_plan_put_times(&b, &p->times);
    if (p->smoothings.n > 0)
        PUT_LIST(&b, "smoothings", p->smoothings, put_smoothing, ",\n");
    PUT_LIST(&b, "tensors", p->tensors, put_tensor, ",\n");
    PUT_LIST(&b, "weights", p->weights, put_weight, ",\n");
    if (p->scalings.n > 0)
        PUT_LIST(&b, "scalings", p->scalings, put_scaling, ",\n");
    if (p->float_channels.n > 0)
        PUT_LIST(&b, "float_channels", p->float_channels, put_channels, ",\n");
    PUT_LIST(&b, "biases", p->biases, put_bias, ",\n");
    if (p->corrections.n > 0)
        PUT_LIST(&b, "corrections", p->corrections, put_correction, ",\n");
    PUT_LIST(&b, "quantized", p->quantized, put_quantized, ",\n");
    PUT_LIST(&b, "left_float", p->left_float, put_float, "\n}\n");
    *text = qdq_buf_take(&b);
    return *text != NULL ? QDQ_OK : explain_failure(p, err);
}

qdq_status qdq_plan_save(const qdq_plan *p, const char *path, bool allow_overwrite, qdq_error *err)
{
    char *text = NULL;

    QDQ_TRY(qdq_plan_to_text(p, &text, err));
    qdq_status st = qdq_write_file(path, allow_overwrite, text, strlen(text), err);
    qdq_free(text);
    return st;
}
