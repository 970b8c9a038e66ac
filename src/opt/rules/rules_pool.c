/* rules_pool.c - MaxPool(Relu(Conv(x)))  =>  Relu(MaxPool(Conv(x))), for a first Conv that is
 * faster in float than in 8 bits.
 *
 * The largest of what Relu lets pass is what Relu lets pass of the largest, so the numbers are the
 * same, and Relu has less to do. Engines put a Q that stands behind a MaxPool in front of it and
 * then pool codes one channel after the other, many times slower than floats. They do not push it
 * past the Relu, which goes into the Q instead: so pooling stays float, and the Conv can. Where the
 * Conv is better off in 8 bits, nothing is gained, and a Relu between Conv and MaxPool fuses: hence
 * the limits, which are those of the rule `first-conv-short-sums` of the target ort-cpu
 * (docs/decisions.md).
 *
 * Q/DQ: NEVER-ACROSS. */
#include "base/fail.h"
#include "opt/rules/rule.h"

enum { SUM_MAX = 27, OUT_CHANNELS_MAX = 64 };

/* With ceil_mode the last window may see padding alone and give minus infinity, which Relu would
 * make 0: does it begin inside the plane, along every axis? */
static bool sees_values(const qdq_match *m, const qdq_node *pool)
{
    const qdq_type *in = qdq_match_type(m, qdq_node_in(pool, 0)),
                   *out = qdq_match_type(m, pool->out[0]);
    const int64_t *stride, *pad;
    size_t n_stride, n_pad;

    if (qdq_node_int(pool, "ceil_mode", 0) == 0)
        return true;
    if (in == NULL || out == NULL || in->rank < 3 || out->rank != in->rank ||
        qdq_node_attr(pool, "auto_pad") != NULL)
        return false;
    const size_t axes = (size_t)in->rank - 2;
    bool has_stride = qdq_node_ints(pool, "strides", &stride, &n_stride) && n_stride == axes;
    bool has_pad = qdq_node_ints(pool, "pads", &pad, &n_pad) && n_pad == 2 * axes;
    for (size_t i = 0; i < axes; i++) {
        int64_t size = in->dim[i + 2].value, steps = out->dim[i + 2].value - 1;
        int64_t step = has_stride ? stride[i] : 1, before = has_pad ? pad[i] : 0;

        if (size < 0 || steps < 0 || step <= 0 || before < 0 || size > INT64_MAX - before ||
            steps > (size - 1 + before) / step)
            return false;
    }
    return true;
}

static const char *check_pool_relu(const qdq_match *m)
{
    const qdq_node *pool = m->root, *relu = qdq_match_node(m, "r"), *conv = qdq_match_node(m, "c");
    const qdq_tensor *w = qdq_match_const(m, "w");

    if (pool->n_out != 1 || relu->n_out != 1 || conv->n_out != 1)
        return "the MaxPool gives indices";
    if (!qdq_match_value(m, "x")->is_input)
        return qdq_not_this;
    if (qdq_match_elem(m, relu->out[0]) != QDQ_FLOAT)
        return "the element type is not float";
    if (w->rank < 3 || w->dim[0] <= 0 || w->dim[0] > OUT_CHANNELS_MAX ||
        w->count / w->dim[0] > SUM_MAX)
        return "the Conv has more than 64 output channels or sums of more than 27 products";
    return sees_values(m, pool) ? NULL : "ceil_mode may give windows that see padding alone";
}

static qdq_status build_pool_relu(qdq_match *m, qdq_error *err)
{
    qdq_value *c = qdq_match_value(m, "c"), *pooled;
    qdq_node *relu = m->root, *pool = qdq_match_add(m, "MaxPool", 1, &c, relu->out[0]->type);

    QDQ_NEED(pool != NULL && qdq_node_set_attrs_of(pool, relu), err);
    pooled = pool->out[0];
    QDQ_TRY(qdq_match_recast(m, "Relu", 1, &pooled, err));
    qdq_match_touch(m, m->root);
    return QDQ_OK;
}

static const qdq_pat pool_relu[] = {
    {"y", QDQ_OP_MAXPOOL, {"r"}, 0},
    {"r", QDQ_OP_RELU, {"c"}, QDQ_PAT_ONLY},
    {"c", QDQ_OP_CONV, {"x", "#w", "b?"}, QDQ_PAT_ONLY},
};

const qdq_rule qdq_rule_pool_before_relu = {QDQ_RULE_PAT(pool_relu), .check = check_pool_relu,
                                            .build = build_pool_relu};
