/* rules_pad.c - padding: said in numbers, and done by the layer that reads it. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "opt/rules/rule_layout.h"

/* --- explicit-pads: auto_pad of Conv, ConvInteger, MaxPool and AveragePool  =>  pads ------------
 *
 * SAME_*: as many elements come out as strides go into what comes in; what that takes in padding is
 * split in halves, the larger one behind (UPPER) or in front (LOWER). The kernel counts with its
 * dilation. Q/DQ: SAFE, no value changes. */

static const qdq_pat explicit_pat[] = {
    {"y", QDQ_OP_CONV, {"x", "w", "b?"}, 0},
    {"y", QDQ_OP_CONVINTEGER, {"x", "w", "xz?", "wz?"}, 0},
    {"y", QDQ_OP_MAXPOOL, {"x"}, 0},
    {"y", QDQ_OP_AVERAGEPOOL, {"x"}, 0},
};

enum { SPATIAL = QDQ_RULE_RANK / 2 };

/* The window of a Conv or pool. */
typedef struct window {
    /* spatial axes */
    int n;
    int64_t kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL], pad[2 * SPATIAL];
} window;

/* A list of n numbers that is an attribute; without it all are `fallback`. */
static bool read_list(const qdq_node *n, const char *name, int count, int64_t fallback,
                      int64_t least, int64_t *out)
{
    const int64_t *ints;
    size_t have;
    bool there = qdq_node_ints(n, name, &ints, &have);

    if (!there && qdq_node_attr(n, name) != NULL)
        return false;
    if (there && have != (size_t)count)
        return false;
    for (int i = 0; i < count; i++) {
        out[i] = there ? ints[i] : fallback;
        if (out[i] < least || out[i] > INT32_MAX)
            return false;
    }
    return true;
}

static bool read_kernel(const qdq_match *m, const qdq_node *n, window *w)
{
    const qdq_type *weight = qdq_match_type(m, qdq_node_in(n, 1));

    if (qdq_node_attr(n, "kernel_shape") != NULL)
        return read_list(n, "kernel_shape", w->n, 0, 1, w->kernel);
    if (weight == NULL || weight->rank != w->n + 2)
        return false;
    for (int i = 0; i < w->n; i++)
        if ((w->kernel[i] = weight->dim[i + 2].value) < 1)
            return false;
    return true;
}

/* What comes in has the rank and nothing is out of bounds. */
static bool read_window(const qdq_match *m, const qdq_node *n, const qdq_value *x, window *w)
{
    int rank = qdq_match_rank(m, x);

    if (rank < 3 || rank > SPATIAL + 2)
        return false;
    w->n = rank - 2;
    return read_kernel(m, n, w) && read_list(n, "strides", w->n, 1, 1, w->stride) &&
           read_list(n, "dilations", w->n, 1, 1, w->dilation) &&
           read_list(n, "pads", 2 * w->n, 0, 0, w->pad);
}

static const char *same_pads(const qdq_match *m, bool upper, window *w)
{
    const qdq_type *x = qdq_match_type(m, qdq_match_value(m, "x"));

    for (int i = 0; i < w->n; i++) {
        int64_t in = x->dim[i + 2].value, reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        int64_t out, total;

        if (in < 1 || in > INT32_MAX)
            return "the padding depends on a size that is not known";
        out = (in + w->stride[i] - 1) / w->stride[i];
        total = (out - 1) * w->stride[i] + reach - in;
        if (total <
            /* a step over elements that no window sees: ONNX Runtime starts in the middle of
             * them */
            -1)
            return "the padding would be negative";
        total = total < 0 ? 0 : total;
        w->pad[i] = upper ? total / 2 : total - total / 2;
        w->pad[i + w->n] = total - w->pad[i];
    }
    return NULL;
}

/* The pads in numbers. */
static const char *explicit_check(const qdq_match *m)
{
    window *w = qdq_match_found(m, sizeof *w);
    const qdq_node *n = m->root;
    bool upper = qdq_node_string_is(n, "auto_pad", "SAME_UPPER", "NOTSET");

    w->n = 0;
    if (qdq_node_string_is(n, "auto_pad", "NOTSET", "NOTSET"))
        return qdq_not_this;
    if (qdq_node_int(n, "ceil_mode", 0) != 0)
        return "a pool that rounds up counts otherwise with padding in numbers";
    if (qdq_node_string_is(n, "auto_pad", "VALID", "NOTSET"))
        return NULL; /* none at all */
    if (!read_window(m, n, qdq_match_value(m, "x"), w))
        return "the window is not known";
    if (!upper && !qdq_node_string_is(n, "auto_pad", "SAME_LOWER", "NOTSET"))
        return "auto_pad has no value that is known";
    for (int i = 0; n->op != QDQ_OP_CONV && n->op != QDQ_OP_CONVINTEGER && i < w->n; i++)
        if (w->dilation[i] != 1) /* ONNX Runtime pads such a pool as if it were not dilated */
            return "engines do not agree on what a dilated pool pads";
    return same_pads(m, upper, w);
}

static qdq_status explicit_build(qdq_match *m, qdq_error *err)
{
    const window *w = qdq_match_found(m, sizeof *w);

    qdq_node_remove_attr(m->root, "auto_pad");
    qdq_node_remove_attr(m->root, "pads");
    if (w->n > 0 && !qdq_node_set_ints(m->root, "pads", w->pad, 2 * (size_t)w->n))
        return qdq_nomem(err);
    return QDQ_OK;
}

const qdq_rule qdq_rule_explicit_pads = {
    QDQ_RULE_PAT(explicit_pat),
    .check = explicit_check,
    .build = explicit_build,
};

/* --- merge-pads: y = Conv(Pad(x))  =>  Conv(x) with more pads; the same for ConvInteger and pools
 *
 * The Pad must put in what the layer itself would: 0 for Conv, the zero point of x for ConvInteger,
 * what is below all else for MaxPool; AveragePool then counts what is padded. Q/DQ: Conv SAFE: the
 * padded 0 is the real value 0, as integer kernels pad. ConvInteger COND, as said. */

static const qdq_pat merge_pat[] = {
    {"y", QDQ_OP_CONV, {"t", "w", "b?"}, 0},
    {"t", QDQ_OP_PAD, {"x", "p?", "#v?", "a?"}, 0},
    {"y", QDQ_OP_CONVINTEGER, {"t", "w", "xz?", "wz?"}, 0},
    {"t", QDQ_OP_PAD, {"x", "p?", "#v?", "a?"}, 0},
    {"y", QDQ_OP_MAXPOOL, {"t"}, 0},
    {"t", QDQ_OP_PAD, {"x", "p?", "#v?", "a?"}, 0},
    {"y", QDQ_OP_AVERAGEPOOL, {"t"}, 0},
    {"t", QDQ_OP_PAD, {"x", "p?", "#v?", "a?"}, 0},
};

/* What the Pad puts in. */
static bool pad_value(const qdq_match *m, double *v)
{
    *v = 0;
    if (m->opset < 11) {
        *v = (double)qdq_node_float(qdq_match_node(m, "t"), "value", 0);
        return true;
    }
    return qdq_match_value(m, "v") == NULL || qdq_match_scalar(m, "v", v);
}

/* What the zero point of x is; 0 if there is none. */
static bool zero_point(const qdq_match *m, double *z)
{
    const qdq_value *v = qdq_match_value(m, "xz");

    *z = 0;
    return v == NULL || (qdq_value_const(v) != NULL && qdq_tensor_scalar(qdq_value_const(v), z));
}

/* What is below all that MaxPool sees: minus infinity, or 0 behind a Relu. */
static bool is_lowest(const qdq_match *m, double value)
{
    const qdq_node *p = qdq_match_value(m, "x")->producer;

    return value == -INFINITY || (value == 0 && p != NULL && p->op == QDQ_OP_RELU);
}

/* Every window of a pool must see something of x, and no one must ask where the greatest was. */
static const char *pool_pads_equal(const qdq_match *m, const window *w)
{
    const qdq_value *places = qdq_node_out(m->root, 1);

    if (places != NULL && (places->n_use > 0 || places->n_output > 0))
        return "places are counted with the padding";
    for (int i = 0; i < w->n; i++)
        if (w->dilation[i] != 1)
            return "the window has holes";
    for (int i = 0; m->root->op == QDQ_OP_AVERAGEPOOL && i < 2 * w->n; i++)
        if (w->pad[i] != 0 && qdq_node_int(m->root, "count_include_pad", 0) == 0)
            return "the pool leaves its own padding out of the average";
    return m->opset >= 7 ? NULL : "AveragePool counts padding from opset 7 on";
}

/* NULL: the layer pads with the same. */
static const char *pads_equal(const qdq_match *m, const window *w)
{
    const qdq_node *n = m->root;
    double value, zero;
    bool equal;

    if (!qdq_node_string_is(qdq_match_node(m, "t"), "mode", "constant", "constant"))
        return "the Pad does not pad with a constant";
    if (!pad_value(m, &value))
        return "what the Pad puts in is not known";
    if (n->op == QDQ_OP_CONVINTEGER && !zero_point(m, &zero))
        return "the zero point is not known";
    equal = n->op == QDQ_OP_MAXPOOL ? is_lowest(m, value)
                                    : value == (n->op == QDQ_OP_CONVINTEGER ? zero : 0);
    if (!equal)
        return "the Pad puts in something else than the layer does";
    return n->op == QDQ_OP_MAXPOOL || n->op == QDQ_OP_AVERAGEPOOL ? pool_pads_equal(m, w) : NULL;
}

/* Begins and ends of all axes. */
static const char *read_pads(const qdq_match *m, int rank, int64_t begin[QDQ_RULE_RANK],
                             int64_t end[QDQ_RULE_RANK])
{
    const qdq_node *pad = qdq_match_node(m, "t");
    qdq_rule_ints list, axes;
    bool there, has_axes = false;

    memset(begin, 0, QDQ_RULE_RANK * sizeof *begin);
    memset(end, 0, QDQ_RULE_RANK * sizeof *end);
    if (!qdq_rule_ints_of(m, pad, m->opset >= 2 ? "pads" : "paddings", 1, 11, &list, &there) ||
        !there)
        return "how much is padded is not known";
    if (!qdq_rule_ints_of(m, pad, "axes", 3, 18, &axes, &has_axes))
        return "where is padded is not known";
    for (int i = 0; !has_axes && i < rank; i++)
        axes.at[axes.n++] = i;
    if (list.n != 2 * axes.n)
        return "how much is padded is not known";
    for (int i = 0; i < axes.n; i++) {
        int64_t axis = axes.at[i] + (axes.at[i] < 0 ? rank : 0);

        if (axis < 0 || axis >= rank || list.at[i] < 0 || list.at[i + axes.n] < 0 ||
            list.at[i] > INT32_MAX || list.at[i + axes.n] > INT32_MAX)
            return "the Pad cuts off";
        begin[axis] += list.at[i];
        end[axis] += list.at[i + axes.n];
    }
    return begin[0] + end[0] + begin[1] + end[1] == 0 ? NULL : "batch or channels are padded";
}

/* The pads of both. */
static const char *merge_check(const qdq_match *m)
{
    window *w = qdq_match_found(m, sizeof *w);
    int64_t begin[QDQ_RULE_RANK], end[QDQ_RULE_RANK];
    const char *why;

    if (!read_window(m, m->root, qdq_match_value(m, "x"), w))
        return "the window is not known";
    if (!qdq_node_string_is(m->root, "auto_pad", "NOTSET", "NOTSET"))
        return "the layer pads by itself";
    if (qdq_node_int(m->root, "ceil_mode", 0) != 0)
        return "a pool that rounds up counts otherwise with more padding";
    why = pads_equal(m, w);
    if (why == NULL)
        why = read_pads(m, w->n + 2, begin, end);
    if (why != NULL)
        return why;
    for (int i = 0; i < w->n; i++) {
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;

        w->pad[i] += begin[i + 2];
        w->pad[i + w->n] += end[i + 2];
        if (m->root->op != QDQ_OP_CONV && m->root->op != QDQ_OP_CONVINTEGER &&
            (w->pad[i] >= reach || w->pad[i + w->n] >= reach))
            return "the window would see nothing but padding";
    }
    return NULL;
}

static qdq_status merge_build(qdq_match *m, qdq_error *err)
{
    const window *w = qdq_match_found(m, sizeof *w);

    if ((m->root->op == QDQ_OP_AVERAGEPOOL && !qdq_node_set_int(m->root, "count_include_pad", 1)) ||
        !qdq_node_set_ints(m->root, "pads", w->pad, 2 * (size_t)w->n))
        return qdq_nomem(err);
    return qdq_rule_read_x(m, err);
}

const qdq_rule qdq_rule_merge_pads = {
    QDQ_RULE_PAT(merge_pat),
    .check = merge_check,
    .build = merge_build,
};
