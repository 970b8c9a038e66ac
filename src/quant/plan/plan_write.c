/* plan_write.c - plans as text (docs/plan.md). One entry a line, sorted: plans can be diffed. */
#include "quant/plan/plan.h"

#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_read.h"
#include "quant/plan/plan_times.h"

const char *const qdq_plan_weight_methods[] = {"absmax", "given", "clip", NULL};

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
    ok = ok && (w->store == QDQ_WEIGHT_AS_CODES ||
                set(o, "store", json_string(qdq_weight_store_names[w->store])));
    return ok &&
           (w->accuracy_level == 0 || set(o, "accuracy_level", json_integer(w->accuracy_level)));
}

static bool set_scales(json_t *o, const qdq_plan_weight *w)
{
    if (w->clip != NULL)
        return set(o, "clip_step", json_real(w->clip_step)) && set(o, "clip", json_string(w->clip));
    return w->scales == NULL ||
           (set(o, "scales", float_list(w->scales, w->n_scales)) &&
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
    ok = ok && set(o, "method",
                   json_string(qdq_plan_weight_methods[w->scales != NULL ? 1
                                                       : w->clip != NULL ? 2
                                                                         : 0]));
    ok = ok && set(o, "block", w->block == 0 ? json_null() : json_integer(w->block)) &&
         set_scales(o, w);
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

#define PUT_LIST(b, key, list, make)                                                               \
    do {                                                                                           \
        qdq_buf_printf((b), "  \"%s\": [", (key));                                                 \
        for (size_t i_ = 0; i_ < (list).n; i_++) {                                                 \
            qdq_buf_puts((b), i_ == 0 ? "\n    " : ",\n    ");                                     \
            put_json((b), make(&(list).at[i_]));                                                   \
        }                                                                                          \
        qdq_buf_puts((b), (list).n > 0 ? "\n  ]" : "]");                                           \
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
