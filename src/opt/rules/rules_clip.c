/* rules_clip.c - bounds: Relu, Clip, Min and Max that follow each other are one Clip.
 *
 * Clip is min(max(x, lo), hi): where lo is above hi, it gives hi. Two of them are a Clip again,
 * with bounds that stay right when the ranges do not meet. Q/DQ: SAFE and wanted: an engine takes
 * one Relu or Clip between a layer and Q, and rules_qdq.c takes out the last one; NEVER-ACROSS. */
#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "opt/rules/rule_bounds.h"

static const double exact = 9007199254740992.0; /* 2 to the power of 53 */

/* The constant has one element that doubles hold. */
static bool read_number(const qdq_tensor *t, double *x)
{
    return t != NULL && t->elem != QDQ_UINT64 && qdq_tensor_scalar(t, x) && !isnan(*x) &&
           (fabs(*x) <= exact || !qdq_elem_is_int(t->elem));
}

/* A bound of Clip as an input: left out, or such a constant; not of two types. */
static bool read_bound(const qdq_value *v, double *x, qdq_elem *elem)
{
    if (v == NULL)
        return true;
    if (!read_number(qdq_value_const(v), x) ||
        (*elem != QDQ_UNDEFINED && *elem != qdq_value_const(v)->elem))
        return false;
    *elem = qdq_value_const(v)->elem;
    return true;
}

/* Writes x as one element; false where the type has no such value. */
static bool put_bound(qdq_elem elem, double x, void *data)
{
    if (!qdq_elem_is_int(elem))
        return qdq_elem_is_float(elem) && qdq_elem_put_float(elem, data, 0, x);
    return fabs(x) <= exact && x == trunc(x) && qdq_elem_put_int(elem, data, 0, (int64_t)x);
}

/* Models may bound strings by Relu, and one type by constants of another. */
static bool can_hold(const qdq_bounds *b)
{
    unsigned char data[16] = {0};

    return (isinf(b->lo) || put_bound(b->elem, b->lo, data)) &&
           (isinf(b->hi) || put_bound(b->elem, b->hi, data));
}

bool qdq_rule_bounds(const qdq_match *m, const qdq_node *n, qdq_bounds *b)
{
    *b = (qdq_bounds){-INFINITY, INFINITY, QDQ_UNDEFINED};
    if (n->op == QDQ_OP_RELU) {
        b->lo = 0;
        return true;
    }
    if (m->opset >= 11)
        return read_bound(qdq_node_in(n, 1), &b->lo, &b->elem) &&
               read_bound(qdq_node_in(n, 2), &b->hi, &b->elem);
    b->lo = (double)qdq_node_float(n, "min", -FLT_MAX);
    b->hi = (double)qdq_node_float(n, "max", FLT_MAX);
    return m->opset >= 6 && !isnan(b->lo) && !isnan(b->hi);
}

/* --- writing them ----------------------------------------------------------------------------- */

static qdq_value *add_bound(qdq_match *m, double x, qdq_elem elem, const char *base)
{
    void *data;
    qdq_tensor *t = qdq_tensor_new(m->graph->model, elem, 0, NULL, &data);

    if (t == NULL || !put_bound(elem, x, data))
        return NULL;
    return qdq_match_add_const(m, base, t);
}

/* A scalar with this number that one of the nodes has as a bound already. */
static qdq_value *find_bound(const qdq_node *const *nodes, size_t n, double x)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 1; k < nodes[i]->n_in; k++) {
            const qdq_tensor *t = qdq_value_const(nodes[i]->in[k].value);
            double y;

            if (t != NULL && t->rank == 0 && qdq_tensor_scalar(t, &y) && y == x &&
                signbit(y) == signbit(x))
                return nodes[i]->in[k].value;
        }
    return NULL;
}

/* As a new constant, or as one that a node of the match has already. */
static qdq_value *get_bound(qdq_match *m, double x, qdq_elem elem, const char *base)
{
    const qdq_node *nodes[] = {m->root, qdq_match_node(m, "t")};
    qdq_value *v = find_bound(nodes, QDQ_COUNT(nodes), x);

    return v != NULL ? v : add_bound(m, x, elem, base);
}

/* The root becomes Clip(x, lo, hi), with the bounds that were found. */
static qdq_status become_clip(qdq_match *m, qdq_error *err)
{
    const qdq_bounds *b = qdq_match_found(m, sizeof *b);
    qdq_value *in[3] = {qdq_match_value(m, "x"), NULL, NULL};
    const double bound[3] = {0, b->lo, b->hi};

    for (int i = 1; m->opset >= 11 && i < 3; i++)
        if (!isinf(bound[i]) &&
            (in[i] = get_bound(m, bound[i], b->elem, i == 1 ? "min" : "max")) == NULL)
            return qdq_nomem(err);
    QDQ_TRY(qdq_match_recast(m, "Clip", 3, in, err));
    if (m->opset < 11 && (!qdq_node_set_float(m->root, "min", (float)b->lo) ||
                          !qdq_node_set_float(m->root, "max", (float)b->hi)))
        return qdq_nomem(err);
    return QDQ_OK;
}

/* --- merge-clips: Clip(Clip(x)), Clip(Relu(x)), Relu(Clip(x))  =>  Clip(x) -------------------- */

static const qdq_pat merge_pat[] = {
    {"y", QDQ_OP_CLIP, {"t", "lo?", "hi?"}, 0},
    {"t", QDQ_OP_CLIP, {"x", "lo1?", "hi1?"}, QDQ_PAT_ONLY},
    {"y", QDQ_OP_CLIP, {"t", "lo?", "hi?"}, 0},
    {"t", QDQ_OP_RELU, {"x"}, QDQ_PAT_ONLY},
    {"y", QDQ_OP_RELU, {"t"}, 0},
    {"t", QDQ_OP_CLIP, {"x", "lo1?", "hi1?"}, QDQ_PAT_ONLY},
};

/* A Clip bounds by the largest finite number where a bound is left out: infinity does not pass. */
static bool leaves_out(const qdq_node *n, uint32_t i)
{
    return n->op == QDQ_OP_CLIP && qdq_node_in(n, i) == NULL;
}

/* What comes out of the second for what the first lets through. An infinite bound is left out,
 * which is right where one of them did that (attributes of old opsets are always there). */
static bool passes_infinity(const qdq_match *m, const qdq_bounds *b)
{
    const qdq_node *first = qdq_match_node(m, "t");

    return (isinf(b->lo) && !leaves_out(first, 1) && !leaves_out(m->root, 1)) ||
           (isinf(b->hi) && !leaves_out(first, 2) && !leaves_out(m->root, 2));
}

static const char *merge_check(const qdq_match *m)
{
    qdq_bounds first, second, *b = qdq_match_found(m, sizeof *b);

    if (!qdq_rule_bounds(m, qdq_match_node(m, "t"), &first) ||
        !qdq_rule_bounds(m, m->root, &second))
        return "a bound is not a constant number";
    b->lo = fmin(fmax(first.lo, second.lo), second.hi);
    b->hi = fmin(fmax(first.hi, second.lo), second.hi);
    b->lo = fmin(b->lo, b->hi);
    if (first.elem != QDQ_UNDEFINED && second.elem != QDQ_UNDEFINED && first.elem != second.elem)
        return "the bounds have different types";
    b->elem = first.elem != QDQ_UNDEFINED ? first.elem : second.elem;
    if (b->elem == QDQ_UNDEFINED)
        b->elem = m->opset < 11 ? QDQ_FLOAT : qdq_match_elem(m, qdq_match_value(m, "x"));
    if (b->elem == QDQ_UNDEFINED)
        return "the element type is not known";
    if (b->lo == INFINITY || b->hi == -INFINITY || (m->opset >= 11 && passes_infinity(m, b)))
        return "a bound is infinite";
    if (qdq_elem_is_int(b->elem) && m->opset < 12)
        return "Clip of integers needs opset 12";
    return can_hold(b) ? NULL : "the element type cannot hold the bounds";
}

const qdq_rule qdq_rule_merge_clips = {
    QDQ_RULE_PAT(merge_pat),
    .min_opset = 6,
    .check = merge_check,
    .build = become_clip,
};

/* --- min-max-to-clip: Max(Min(x, hi), lo), Min(Max(x, lo), hi)  =>  Clip(x, lo, hi) -------------
 *
 * Constants have one element and no more dims than x, because Clip does not broadcast; several of
 * them count as the tightest. Max outside gives lo where lo is above hi, and Clip hi: such bounds
 * stay. What has one bound stays a Max or Min, because infinity passes them, and no Clip that
 * leaves out a bound. */

static const qdq_pat min_max_pat[] = {
    {"y", QDQ_OP_MAX, {"t", "#c"}, QDQ_PAT_COMMUTES},
    {"t", QDQ_OP_MIN, {"x", "#d"}, QDQ_PAT_COMMUTES | QDQ_PAT_ONLY},
    {"y", QDQ_OP_MIN, {"t", "#c"}, QDQ_PAT_COMMUTES},
    {"t", QDQ_OP_MAX, {"x", "#d"}, QDQ_PAT_COMMUTES | QDQ_PAT_ONLY},
    {"y", QDQ_OP_MAX, {"t", "#c"}, QDQ_PAT_COMMUTES},
    {"t", QDQ_OP_MAX, {"x", "#d"}, QDQ_PAT_COMMUTES | QDQ_PAT_ONLY},
    {"y", QDQ_OP_MIN, {"t", "#c"}, QDQ_PAT_COMMUTES},
    {"t", QDQ_OP_MIN, {"x", "#d"}, QDQ_PAT_COMMUTES | QDQ_PAT_ONLY},
};

/* Both constants as bounds. */
static const char *min_max_check(const qdq_match *m)
{
    qdq_bounds *b = qdq_match_found(m, sizeof *b);
    const qdq_tensor *c = qdq_match_const(m, "c"), *d = qdq_match_const(m, "d");
    bool outer_max = m->root->op == QDQ_OP_MAX,
         inner_max = qdq_match_node(m, "t")->op == QDQ_OP_MAX;
    double outer, inner;

    *b = (qdq_bounds){-INFINITY, INFINITY, c->elem};
    if (!read_number(c, &outer) || !read_number(d, &inner))
        return "a bound is not a constant number";
    if (!qdq_match_broadcasts_into(m, c, qdq_match_value(m, "x")) ||
        !qdq_match_broadcasts_into(m, d, qdq_match_value(m, "x")))
        return "a bound may change the shape of what it bounds";
    if (outer_max && inner_max)
        b->lo = fmax(outer, inner);
    else if (!outer_max && !inner_max)
        b->hi = fmin(outer, inner);
    else {
        b->lo = outer_max ? outer : inner;
        b->hi = outer_max ? inner : outer;
        if (outer_max && b->lo > b->hi)
            return "the lower bound is above the upper one";
    }
    if (b->lo == INFINITY || b->hi == -INFINITY || (isinf(b->lo) && isinf(b->hi)))
        /* of none, nothing is left to bound; of the others, all is one number */
        return "a bound is infinite";
    return c->elem == d->elem && can_hold(b) ? NULL : "the bounds have different types";
}

static qdq_status min_max_build(qdq_match *m, qdq_error *err)
{
    const qdq_bounds *b = qdq_match_found(m, sizeof *b);
    qdq_value *in[2] = {qdq_match_value(m, "x"), NULL};
    bool has_lo = !isinf(b->lo);

    if (has_lo && !isinf(b->hi))
        return become_clip(m, err);
    in[1] = has_lo ? get_bound(m, b->lo, b->elem, "min") : get_bound(m, b->hi, b->elem, "max");
    return in[1] != NULL ? qdq_match_recast(m, has_lo ? "Max" : "Min", 2, in, err) : qdq_nomem(err);
}

const qdq_rule qdq_rule_min_max_to_clip = {
    QDQ_RULE_PAT(min_max_pat),
    .min_opset = 12, /* for integers, too */
    .check = min_max_check,
    .build = min_max_build,
};
