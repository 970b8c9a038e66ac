/* rules_shape.c - operators that give the same elements another shape: Reshape, Flatten, Squeeze,
 * Unsqueeze, Expand, Tile. Q/DQ: SAFE, all of them: codes and real values are moved, not changed,
 * and the shape that a per-axis DequantizeLinear sees stays the same. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

enum { WALK = 16 };

/* --- drop-noop-shape: a shape that is there already ---------------------------------------------
 *
 * The input of a row of Reshape, Flatten, Squeeze and Unsqueeze, or any value between them, has the
 * shape that comes out: then it is what comes out. Also Expand and Tile that repeat nothing. */

static const qdq_pat noop_pat[] = {
    {"y", QDQ_OP_RESHAPE, {"x", "s"}, 0},  {"y", QDQ_OP_FLATTEN, {"x"}, 0},
    {"y", QDQ_OP_SQUEEZE, {"x", "a?"}, 0}, {"y", QDQ_OP_UNSQUEEZE, {"x", "a?"}, 0},
    {"y", QDQ_OP_EXPAND, {"x", "s"}, 0},   {"y", QDQ_OP_TILE, {"x", "s"}, 0},
};

/* Squeeze takes out what Unsqueeze put in, or the other way round: no types are needed for that. */
static bool undoes(const qdq_match *m, const qdq_node *n, const qdq_node *before)
{
    qdq_rule_ints a, b;
    bool has_a, has_b;

    if (!((n->op == QDQ_OP_SQUEEZE && before->op == QDQ_OP_UNSQUEEZE) ||
          (n->op == QDQ_OP_UNSQUEEZE && before->op == QDQ_OP_SQUEEZE)))
        return false;
    if (!qdq_rule_ints_of(m, n, "axes", 1, 13, &a, &has_a) ||
        !qdq_rule_ints_of(m, before, "axes", 1, 13, &b, &has_b) || !has_a || !has_b || a.n != b.n)
        return false;
    for (int i = 0; i < a.n; i++)
        if (a.at[i] != b.at[i])
            return false;
    return true;
}

/* The value that has what comes out of the root; NULL: none. */
static qdq_value *same_before(const qdq_match *m)
{
    const qdq_value *y = m->root->out[0];
    qdq_value *x = qdq_match_value(m, "x");
    const qdq_node *n = m->root;

    for (int i = 0; i < WALK; i++) {
        const qdq_node *before = x->producer;

        if (qdq_match_same_type(m, x, y))
            return x;
        if (!qdq_rule_is_reshape(n->op) || before == NULL || !qdq_rule_is_reshape(before->op) ||
            qdq_node_in(before, 0) == NULL)
            return NULL;
        if (i == 0 && undoes(m, n, before))
            return qdq_node_in(before, 0);
        n = before;
        x = qdq_node_in(before, 0);
    }
    return NULL;
}

static const char *noop_check(const qdq_match *m)
{
    qdq_value **same = qdq_match_found(m, sizeof *same);

    *same = same_before(m);
    return *same != NULL ? NULL : qdq_not_this;
}

const qdq_rule qdq_rule_drop_noop_shape = {
    QDQ_RULE_PAT(noop_pat),
    .check = noop_check,
    .build = qdq_rule_become_found,
};

/* --- merge-reshapes: y = Reshape(Reshape(x, a), b)  =>  Reshape(x, b) ---------------------------
 *
 * The first may be Flatten, Squeeze or Unsqueeze as well. A 0 in b copies a dim of what is between:
 * it is replaced by what that dim is. If nothing is proven of it, it can be -1 where that is free
 * and nothing else is open. */

static const qdq_pat merge_pat[] = {{"y", QDQ_OP_RESHAPE, {"t", "#b"}, 0}};

static bool copies(const qdq_match *m)
{
    return m->opset < 14 || qdq_node_int(m->root, "allowzero", 0) == 0;
}

/* The dim at place i is the same in x and in what is between. */
static bool same_dim(const qdq_type *x, const qdq_type *t, int i)
{
    return x != NULL && t != NULL && i < x->rank && i < t->rank &&
           qdq_dim_same(x->dim[i], t->dim[i]);
}

/* What a Reshape gets instead of its shape; n -1: it keeps it. */
static qdq_status put_shape(qdq_match *m, const char *name, qdq_error *err)
{
    const qdq_rule_ints *s = qdq_match_found(m, sizeof *s);
    qdq_value *shape;

    if (s->n < 0)
        return QDQ_OK;
    shape = qdq_match_add_ints(m, qdq_match_value(m, name)->name, (size_t)s->n, s->at);
    QDQ_NEED(shape != NULL, err);
    qdq_node_set_in(m->root, 1, shape);
    return QDQ_OK;
}

/* The shape without zeros that stand for dims between. */
static const char *merge_check(const qdq_match *m)
{
    const qdq_value *between = qdq_match_value(m, "t");
    const qdq_node *before = between->producer;
    qdq_rule_ints *s = qdq_match_found(m, sizeof *s);
    int zeros = 0, open = 0, last = 0;
    bool changed = false;
    size_t n;

    if (before == NULL || !qdq_rule_is_reshape(before->op) || qdq_node_in(before, 0) == NULL)
        return qdq_not_this;
    const qdq_type *t = qdq_match_type(m, between);
    const qdq_type *x = qdq_match_type(m, qdq_node_in(before, 0));
    if (!qdq_match_ints(m, "b", QDQ_RULE_RANK, s->at, &n))
        return "the shape is too long";
    s->n = (int)n;
    for (int i = 0; i < s->n; i++) {
        open += s->at[i] < 0;
        if (s->at[i] != 0 || !copies(m) || same_dim(x, t, i))
            continue;
        if (t != NULL && i < t->rank && t->dim[i].value > 0) {
            s->at[i] = t->dim[i].value;
            changed = true;
            continue;
        }
        zeros++;
        last = i;
    }
    if (zeros == 0) {
        s->n = changed ? s->n : -1;
        return NULL;
    }
    for (int i = 0; i < s->n; i++)
        if (i != last && s->at[i] == 0) /* a copied dim beside it: -1 fails where that is 0 */
            open++;
    if (zeros > 1 || open > 0)
        return "the shape copies dims of what is between";
    s->at[last] = -1;
    return NULL;
}

static qdq_status merge_build(qdq_match *m, qdq_error *err)
{
    QDQ_TRY(put_shape(m, "b", err));
    qdq_node_set_in(m->root, 0, qdq_node_in(qdq_match_value(m, "t")->producer, 0));
    return QDQ_OK;
}

const qdq_rule qdq_rule_merge_reshapes = {
    QDQ_RULE_PAT(merge_pat),
    .min_opset = 5, /* below, the shape is an attribute */
    .check = merge_check,
    .build = merge_build,
};

/* --- materialize-reshape: y = Reshape(x, computed shape)  =>  Reshape(x, constant) --------------
 *
 * Of the elements of the shape all are known but for one, which becomes -1: the others are
 * positive, so that it is what is left of x, whatever the element is (a dim; 0, that is a copied
 * dim; -1). Or what is not known are dims of x that stay at their place: 0, which copies them. They
 * are so by their symbol, or because the graph takes them from the Shape of x itself, as exporters
 * write it where a sum with a slice of positions has left no symbol. */

static const qdq_pat materialize_pat[] = {{"y", QDQ_OP_RESHAPE, {"x", "s"}, 0}};

/* The one element that is not known becomes -1. */
static bool leave_one_open(const qdq_type *x, const qdq_fact_elem *e, bool copied_zeros,
                           qdq_rule_ints *s)
{
    int open = 0;

    for (int i = 0; i < s->n; i++) {
        s->at[i] = e[i].known ? e[i].value : -1;
        if (s->at[i] == 0 && copied_zeros && x != NULL && i < x->rank && x->dim[i].value > 0)
            s->at[i] = x->dim[i].value;
        if (s->at[i] == 0 || s->at[i] < -1)
            return false;
        open += s->at[i] == -1;
    }
    return open <= 1;
}

/* Is `part`, one element, dim i of x, taken from Shape(x)? */
static bool is_dim_of(const qdq_value *part, const qdq_value *x, int i)
{
    const qdq_node *n = part != NULL ? part->producer : NULL;
    double at = -1;

    if (n != NULL && n->op == QDQ_OP_UNSQUEEZE)
        n = qdq_node_in(n, 0) != NULL ? qdq_node_in(n, 0)->producer : NULL;
    const qdq_value *shape = n != NULL && n->op == QDQ_OP_GATHER ? qdq_node_in(n, 0) : NULL;
    const qdq_tensor *index = shape != NULL ? qdq_node_const(n, 1) : NULL;
    const qdq_node *of = shape != NULL ? shape->producer : NULL;

    return index != NULL && index->count == 1 && qdq_tensor_scalar(index, &at) && at == (double)i &&
           qdq_node_int(n, "axis", 0) == 0 && of != NULL && of->op == QDQ_OP_SHAPE &&
           qdq_node_int(of, "start", 0) == 0 && qdq_node_attr(of, "end") == NULL &&
           qdq_node_in(of, 0) == x;
}

/* Of the elements of the shape, a Concat: which are dims of x at their place. */
static void find_own_dims(const qdq_match *m, int n, bool *own)
{
    const qdq_node *concat = qdq_match_value(m, "s")->producer;
    int at = 0;

    if (concat == NULL || concat->op != QDQ_OP_CONCAT)
        return;
    for (uint32_t k = 0; k < concat->n_in; k++) {
        const qdq_value *part = qdq_node_in(concat, k);
        const qdq_type *t = part != NULL ? qdq_match_type(m, part) : NULL;
        const int64_t count = t != NULL && t->rank == 1 ? t->dim[0].value : -1;

        if (count < 0 || count > n - at)
            return;
        if (count == 1)
            own[at] = is_dim_of(part, qdq_match_value(m, "x"), at);
        at += (int)count;
    }
}

static bool copy_dims(const qdq_type *x, const qdq_fact_elem *e, const bool *own, qdq_rule_ints *s)
{
    for (int i = 0; i < s->n; i++) {
        s->at[i] = e[i].known ? e[i].value : 0;
        if (!e[i].known && !own[i] &&
            (e[i].symbol == NULL || x == NULL || i >= x->rank || x->dim[i].value >= 0 ||
             x->dim[i].param != e[i].symbol))
            return false;
    }
    return true;
}

static const char *materialize_check(const qdq_match *m)
{
    qdq_rule_ints *s = qdq_match_found(m, sizeof *s);
    const qdq_type *x = qdq_match_type(m, qdq_match_value(m, "x"));
    qdq_fact_elem e[QDQ_RULE_RANK];
    bool own[QDQ_RULE_RANK] = {false};
    int rank, n_known = 0;

    if (qdq_match_const(m, "s") != NULL ||
        !qdq_facts_elems(m->facts, qdq_match_value(m, "s"), QDQ_RULE_RANK, &rank, &s->n, e) ||
        rank != 1)
        return qdq_not_this;
    for (int i = 0; i < s->n; i++)
        n_known += e[i].known;
    find_own_dims(m, s->n, own);
    if (n_known == s->n || leave_one_open(x, e, copies(m), s) ||
        (copies(m) && copy_dims(x, e, own, s))) {
        for (int i = 0; i < s->n && n_known == s->n; i++)
            s->at[i] = e[i].value;
        return NULL;
    }
    return "more than one dim of the shape is not known";
}

static qdq_status materialize_build(qdq_match *m, qdq_error *err)
{
    return put_shape(m, "s", err);
}

const qdq_rule qdq_rule_materialize_reshape = {
    QDQ_RULE_PAT(materialize_pat),
    .min_opset = 5,
    .check = materialize_check,
    .build = materialize_build,
};

/* --- merge-unsqueezes: y = Unsqueeze(Unsqueeze(x))  =>  Unsqueeze(x); the same for Squeeze ---- */

static const qdq_pat unsqueeze_pat[] = {
    {"y", QDQ_OP_UNSQUEEZE, {"t", "b?"}, 0},
    {"t", QDQ_OP_UNSQUEEZE, {"x", "a?"}, 0},
    {"y", QDQ_OP_SQUEEZE, {"t", "b?"}, 0},
    {"t", QDQ_OP_SQUEEZE, {"x", "a?"}, 0},
};

/* Axis i of what is left when the axes `taken` are gone, as an axis of the whole. */
static int64_t place_among(const qdq_rule_ints *taken, int64_t i)
{
    for (int k = 0; k < taken->n && taken->at[k] <= i; k++)
        i++;
    return i;
}

/* Both steps as one: all axes of the larger tensor. Of Unsqueeze that is y, of Squeeze x. */
static const char *unsqueeze_check(const qdq_match *m)
{
    qdq_rule_ints *out = qdq_match_found(m, sizeof *out);
    bool grows = m->root->op == QDQ_OP_UNSQUEEZE, has_a, has_b;
    int x = qdq_match_rank(m, qdq_match_value(m, "x")),
        t = qdq_match_rank(m, qdq_match_value(m, "t"));
    int y = qdq_match_rank(m, m->root->out[0]);
    qdq_rule_ints inner, outer;

    if (!qdq_rule_axes(m, qdq_match_node(m, "t"), 13, grows ? t : x, grows ? &inner : &outer,
                       &has_a) ||
        !qdq_rule_axes(m, m->root, 13, grows ? y : t, grows ? &outer : &inner, &has_b) || !has_a ||
        !has_b || inner.n + outer.n > QDQ_RULE_RANK)
        return "the axes are not known";
    *out = outer;
    for (int i = 0; i < inner.n; i++) {
        int64_t axis = place_among(&outer, inner.at[i]);
        int k = out->n++;

        for (; k > 0 && out->at[k - 1] > axis; k--)
            out->at[k] = out->at[k - 1];
        out->at[k] = axis;
    }
    return NULL;
}

static qdq_status unsqueeze_build(qdq_match *m, qdq_error *err)
{
    const qdq_rule_ints *axes = qdq_match_found(m, sizeof *axes);

    qdq_node_set_in(m->root, 0, qdq_match_value(m, "x"));
    return qdq_rule_put_ints(m, m->root, "axes", 1, 13, axes, err);
}

const qdq_rule qdq_rule_merge_unsqueezes = {
    QDQ_RULE_PAT(unsqueeze_pat),
    .check = unsqueeze_check,
    .build = unsqueeze_build,
};

/* --- drop-expand: y = Add(Expand(x), z)  =>  Add(x, z) ------------------------------------------
 *
 * Where broadcasting x and z gives the same shape. For all operators that broadcast both operands.
 */

#define EXPANDED(OP)                                                                               \
    {"y", OP, {"t", "z"}, QDQ_PAT_COMMUTES},                                                       \
    {                                                                                              \
        "t", QDQ_OP_EXPAND, {"x", "s"}, 0                                                          \
    }

static const qdq_pat expand_pat[] = {
    EXPANDED(QDQ_OP_ADD),         EXPANDED(QDQ_OP_SUB),       EXPANDED(QDQ_OP_MUL),
    EXPANDED(QDQ_OP_DIV),         EXPANDED(QDQ_OP_POW),       EXPANDED(QDQ_OP_MOD),
    EXPANDED(QDQ_OP_MAX),         EXPANDED(QDQ_OP_MIN),       EXPANDED(QDQ_OP_MEAN),
    EXPANDED(QDQ_OP_SUM),         EXPANDED(QDQ_OP_AND),       EXPANDED(QDQ_OP_OR),
    EXPANDED(QDQ_OP_XOR),         EXPANDED(QDQ_OP_EQUAL),     EXPANDED(QDQ_OP_LESS),
    EXPANDED(QDQ_OP_LESSOREQUAL), EXPANDED(QDQ_OP_GREATER),   EXPANDED(QDQ_OP_GREATEROREQUAL),
    EXPANDED(QDQ_OP_BITWISEAND),  EXPANDED(QDQ_OP_BITWISEOR), EXPANDED(QDQ_OP_BITWISEXOR)};

static qdq_dim dim_from_end(const qdq_type *t, int i)
{
    return i <= t->rank ? t->dim[t->rank - i] : (qdq_dim){1, NULL};
}

/* Proven: x and z broadcast to y, knowing that z and something that x was expanded to do. */
static bool broadcasts_to(const qdq_type *x, const qdq_type *z, const qdq_type *y)
{
    if (x == NULL || z == NULL || y == NULL || x->rank < 0 || z->rank < 0 ||
        y->rank != (x->rank > z->rank ? x->rank : z->rank))
        return false;
    for (int i = 1; i <= y->rank; i++) {
        qdq_dim a = dim_from_end(x, i), b = dim_from_end(z, i), to = dim_from_end(y, i);

        if (!qdq_dim_same(a, to) && (a.value != 1 || !qdq_dim_same(b, to)))
            return false;
    }
    return true;
}

static const char *expand_check(const qdq_match *m)
{
    return broadcasts_to(qdq_match_type(m, qdq_match_value(m, "x")),
                         qdq_match_type(m, qdq_match_value(m, "z")),
                         qdq_match_type(m, m->root->out[0]))
               ? NULL
               : "without the Expand it may have another shape";
}

/* The input that is expanded: the other one may read the Expand as well. */
static qdq_status expand_build(qdq_match *m, qdq_error *err)
{
    qdq_value *t = qdq_match_value(m, "t");

    (void)err;
    qdq_node_set_in(m->root, qdq_node_in(m->root, 0) == t ? 0 : 1, qdq_match_value(m, "x"));
    return QDQ_OK;
}

const qdq_rule qdq_rule_drop_expand = {
    QDQ_RULE_PAT(expand_pat),
    .min_opset = 8,
    .check = expand_check,
    .build = expand_build,
};
