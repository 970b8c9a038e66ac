/* rules_qdq.c - the only rules that touch quantization (the list of what is allowed:
 * docs/optimizer.md). They take out what certainly changes no code and no value: a round trip
 * through float, bounds that the codes have anyway. */
#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "ir/qdq_node.h"
#include "opt/rules/rule_bounds.h"
#include "opt/rules/rule_layout.h"
#include "target/qparam.h"

/* A scale by which a code that is multiplied and divided again comes back: differences of codes
 * have at most 17 bits, float has 24, and nothing overflows or goes below what has all of them. */
static bool comes_back(const qdq_params *p)
{
    if (p->scale_elem != QDQ_FLOAT)
        return false;
    for (int64_t i = 0; i < p->count; i++)
        if (!(p->scale[i] >= FLT_MIN && p->scale[i] <= FLT_MAX / 131072))
            return false;
    return true;
}

/* --- collapse-requantize: Q(DQ(q, s, z), s, z)  =>  q -------------------------------------------
 *
 * Q3 and, with two pairs in a row, Q4 of the list: the round trip is exact for codes of at most 16
 * bits. */

static const qdq_pat collapse_pat[] = {
    {"y", QDQ_OP_QUANTIZELINEAR, {"d", "s", "z?"}, 0},
    {"d", QDQ_OP_DEQUANTIZELINEAR, {"x", "s1", "z1?"}, 0},
};

/* Rank and dims of what is quantized, without data: what the axis of several scales counts in.
 * NULL: not proven. */
static const qdq_tensor *shape_of(const qdq_match *m, const qdq_value *v, qdq_tensor *shell,
                                  int64_t dim[QDQ_RULE_RANK])
{
    const qdq_type *t = qdq_match_type(m, v);

    if (t == NULL || t->rank < 0 || t->rank > QDQ_RULE_RANK)
        return NULL;
    for (int i = 0; i < t->rank; i++)
        if ((dim[i] = t->dim[i].value) < 0)
            return NULL;
    *shell = (qdq_tensor){.name = "", .elem = t->elem, .rank = t->rank, .dim = dim};
    return shell;
}

static const char *same_params(const qdq_match *m, qdq_arena *scratch)
{
    const qdq_value *x = qdq_match_value(m, "x");
    const char *why_q = NULL, *why_dq = NULL;
    int64_t dim[QDQ_RULE_RANK];
    int32_t lowest, highest;
    qdq_params q, dq;
    qdq_tensor shell;
    const qdq_tensor *shape = shape_of(m, x, &shell, dim);

    if (qdq_params_read(m->root, shape, scratch, &q, &why_q, NULL) != QDQ_OK ||
        qdq_params_read(qdq_match_node(m, "d"), shape, scratch, &dq, &why_dq, NULL) != QDQ_OK)
        return qdq_match_nomem(m);
    if (why_q != NULL || why_dq != NULL)
        return why_q != NULL ? why_q : why_dq;
    dq.codes = qdq_match_elem(m, x);
    if (!qdq_params_equal(&q, &dq))
        return "the scales, zero points or types differ";
    if (!qdq_elem_code_limits(q.codes, &lowest, &highest) || !comes_back(&q) ||
        qdq_node_int(qdq_match_node(m, "d"), "output_dtype", QDQ_FLOAT) != QDQ_FLOAT ||
        qdq_node_int(m->root, "precision", QDQ_FLOAT) != QDQ_FLOAT)
        return "codes of this type or scale do not come back exactly";
    return NULL;
}

static const char *collapse_check(const qdq_match *m)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *why = same_params(m, &scratch);

    qdq_arena_free(&scratch);
    return why;
}

const qdq_rule qdq_rule_collapse_requantize = {
    QDQ_RULE_PAT(collapse_pat),
    .check = collapse_check,
    .build = qdq_rule_become_x,
};

/* --- drop-bounds-before-quantize: Q(Relu(x)), Q(Clip(x))  =>  Q(x) ------------------------------
 *
 * Q5 of the list: where the codes end at the bounds, or before them. The same test as ONNX
 * Runtime's own: bounds that quantize to the last code or beyond it. */

static const qdq_pat bounds_pat[] = {
    {"y", QDQ_OP_QUANTIZELINEAR, {"t", "s", "z?"}, 0},
    {"t", QDQ_OP_RELU, {"x"}, QDQ_PAT_ONLY},
    {"y", QDQ_OP_QUANTIZELINEAR, {"t", "s", "z?"}, 0},
    {"t", QDQ_OP_CLIP, {"x", "lo?", "hi?"}, QDQ_PAT_ONLY},
};

/* With every scale and zero point, no value that the bounds take away has a code of its own. */
static const char *codes_end_there(const qdq_params *p, const qdq_bounds *b)
{
    int32_t lowest, highest;

    if (!qdq_elem_code_limits(p->codes, &lowest, &highest) || !p->positive ||
        p->scale_elem != QDQ_FLOAT)
        return "the codes are of a type with rules of its own";
    for (int64_t i = 0; i < p->count; i++) {
        double zero = qdq_params_zero(p, i);

        /* infinite ones need no case of their own: the code of -infinity is the lowest, or below
         * it */
        if (rint((double)((float)b->lo / p->scale[i])) + zero > lowest ||
            rint((double)((float)b->hi / p->scale[i])) + zero < highest)
            return "there are codes beyond the bounds";
    }
    return NULL;
}

static const char *bounds_check(const qdq_match *m)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *why = NULL;
    int64_t dim[QDQ_RULE_RANK];
    qdq_tensor shell;
    qdq_params p;
    qdq_bounds b;

    if (!qdq_rule_bounds(m, qdq_match_node(m, "t"), &b) || !(b.lo <= b.hi))
        return "the bounds are not constant numbers";
    if (qdq_params_read(m->root, shape_of(m, qdq_match_value(m, "x"), &shell, dim), &scratch, &p,
                        &why, NULL) != QDQ_OK)
        why = qdq_match_nomem(m);
    if (why == NULL)
        why = codes_end_there(&p, &b);
    qdq_arena_free(&scratch);
    return why;
}

const qdq_rule qdq_rule_drop_bounds_before_quantize = {
    QDQ_RULE_PAT(bounds_pat),
    .check = bounds_check,
    .build = qdq_rule_read_x,
};

/* --- layout-before-dequantize: Transpose(DQ(const))  =>  DQ(Transpose(const)) -------------------
 *
 * Q2 of the list, also for Reshape, Flatten, Squeeze and Unsqueeze: the weight stays integer, the
 * layout becomes a matter of constants, which folding computes, and DQ stands where the engine
 * looks for it. Per-axis scales follow their axis; a reshape must leave that axis, and its place
 * among the elements, as it is. */

static const qdq_pat layout_pat[] = {
    {"y", QDQ_OP_TRANSPOSE, {"d"}, 0},
    {"d", QDQ_OP_DEQUANTIZELINEAR, {"#q", "s", "z?"}, QDQ_PAT_ONLY},
    {"y", QDQ_OP_RESHAPE, {"d", "#shape"}, 0},
    {"d", QDQ_OP_DEQUANTIZELINEAR, {"#q", "s", "z?"}, QDQ_PAT_ONLY},
    {"y", QDQ_OP_FLATTEN, {"d"}, 0},
    {"d", QDQ_OP_DEQUANTIZELINEAR, {"#q", "s", "z?"}, QDQ_PAT_ONLY},
    {"y", QDQ_OP_SQUEEZE, {"d", "#axes?"}, 0},
    {"d", QDQ_OP_DEQUANTIZELINEAR, {"#q", "s", "z?"}, QDQ_PAT_ONLY},
    {"y", QDQ_OP_UNSQUEEZE, {"d", "#axes?"}, 0},
    {"d", QDQ_OP_DEQUANTIZELINEAR, {"#q", "s", "z?"}, QDQ_PAT_ONLY},
};

/* The axis of y along which the scales of q's axis lie; -1: there is none. */
static int64_t axis_after_reshape(const qdq_tensor *q, const qdq_type *y, int64_t axis)
{
    int64_t before = 1, seen = 1;

    for (int64_t i = 0; i < axis; i++)
        before *= q->dim[i];
    for (int i = 0; i < y->rank; i++) {
        if (y->dim[i].value < 0)
            return -1;
        if (seen == before && y->dim[i].value == q->dim[axis])
            return i;
        seen *= y->dim[i].value;
    }
    return -1;
}

/* Where the scales' axis goes; found: -1, there is one scale for all. */
static const char *layout_check(const qdq_match *m)
{
    int64_t *axis = qdq_match_found(m, sizeof *axis);
    const qdq_tensor *q = qdq_match_const(m, "q");
    const qdq_type *s = qdq_match_type(m, qdq_match_value(m, "s")),
                   *y = qdq_match_type(m, m->root->out[0]);
    qdq_rule_ints perm;
    int64_t old = qdq_node_int(qdq_match_node(m, "d"), "axis", 1);

    *axis = -1;
    if (s == NULL || s->rank < 0)
        return "the rank of the scale is not known";
    if (qdq_node_int(qdq_match_node(m, "d"), "block_size", 0) != 0 || s->rank > 1)
        return "the scales are blocked";
    if (s->rank == 0 || s->dim[0].value == 1)
        return NULL;
    old += old < 0 ? q->rank : 0;
    if (old < 0 || old >= q->rank)
        return "the axis of the scales is not one of the tensor";
    if (m->root->op != QDQ_OP_TRANSPOSE)
        *axis = y != NULL && q->count > 0 ? axis_after_reshape(q, y, old) : -1;
    else if (qdq_rule_perm(m, m->root, &perm))
        for (int i = 0; i < perm.n; i++)
            if (perm.at[i] == old)
                *axis = i;
    return *axis >= 0 ? NULL : "the axis of the scales does not survive";
}

/* The layout node goes on in front, as a copy: what it computed, the root computes now, as a
 * DequantizeLinear. */
static qdq_node *copy_in_front(qdq_match *m, qdq_value *q)
{
    const qdq_node *y = m->root;
    qdq_value *in[2] = {q, qdq_node_in(y, 1)};
    const qdq_type *type = qdq_match_type(m, y->out[0]);
    qdq_type codes = type != NULL ? *type : (qdq_type){.kind = QDQ_TYPE_TENSOR, .rank = -1};
    qdq_node *copy;

    codes.elem = qdq_value_const(q)->elem;
    copy = qdq_match_add(m, y->type, y->n_in > 1 ? 2 : 1, in, &codes);
    return copy != NULL && qdq_node_set_attrs_of(copy, y) ? copy : NULL;
}

/* Takes over what the old DequantizeLinear had. */
static qdq_status become_dequantize(qdq_match *m, qdq_value *codes, int64_t axis, qdq_error *err)
{
    const qdq_node *d = qdq_match_node(m, "d");
    qdq_value *in[3] = {codes, qdq_match_value(m, "s"), qdq_match_value(m, "z")};

    QDQ_TRY(qdq_match_recast(m, "DequantizeLinear", 3, in, err));
    QDQ_NEED(qdq_node_set_attrs_of(m->root, d), err);
    if (axis < 0) /* it means nothing, and may be none of the new tensor's */
        qdq_node_remove_attr(m->root, "axis");
    else if (!qdq_node_set_int(m->root, "axis", axis))
        return qdq_nomem(err);
    return QDQ_OK;
}

static qdq_status layout_build(qdq_match *m, qdq_error *err)
{
    const int64_t *axis = qdq_match_found(m, sizeof *axis);
    qdq_node *copy = copy_in_front(m, qdq_match_value(m, "q"));

    return copy != NULL ? become_dequantize(m, copy->out[0], *axis, err) : qdq_nomem(err);
}

const qdq_rule qdq_rule_layout_before_dequantize = {
    QDQ_RULE_PAT(layout_pat),
    .min_opset = 10,
    .check = layout_check,
    .build = layout_build,
};
