/* rules_slice.c - Slice that takes everything, two that are one, and several that cut a tensor into
 * its parts. Q/DQ: SAFE unless said otherwise: elements are taken or left, not changed. */

#include "base/fail.h"
#include "opt/rules/rule_layout.h"

/* What one axis loses: elements [start, end) stay; end may lie beyond. */
typedef struct cut {
    int64_t axis, start, end;
} cut;

typedef struct cuts {
    int n;
    cut at[QDQ_RULE_RANK];
} cuts;

/* Starts, ends, axes, steps: inputs from opset 10 on. */
static bool read_lists(const qdq_match *m, const qdq_node *n, qdq_rule_ints *start,
                       qdq_rule_ints *end, qdq_rule_ints *axes, qdq_rule_ints *step)
{
    bool there;

    if (!qdq_rule_ints_of(m, n, "starts", 1, 10, start, &there) || !there ||
        !qdq_rule_ints_of(m, n, "ends", 2, 10, end, &there) || !there || end->n != start->n ||
        !qdq_rule_ints_of(m, n, "axes", 3, 10, axes, &there))
        return false;
    for (int i = 0; !there && i < start->n; i++)
        axes->at[axes->n++] = i;
    step->n = 0;
    there = false;
    if (m->opset >= 10 && !qdq_rule_ints_of(m, n, "steps", 4, 10, step, &there))
        return false;
    for (int i = 0; !there && i < start->n; i++)
        step->at[step->n++] = 1;
    return axes->n == start->n && step->n == start->n;
}

/* A bound as one that counts from the front; false: it counts from an end that is not known. */
static bool from_front(int64_t *bound, qdq_dim d)
{
    if (*bound >= 0)
        return true;
    if (d.value < 0)
        return false;
    *bound = *bound < -d.value ? 0 : *bound + d.value;
    return true;
}

/* The Slice as cuts that are known, with steps of 1, each axis once. */
static bool read_cuts(const qdq_match *m, const qdq_node *n, cuts *out)
{
    const qdq_type *x = qdq_match_type(m, qdq_node_in(n, 0));
    int rank = x != NULL ? x->rank : -1;
    qdq_rule_ints start, end, axes, step;
    bool seen[QDQ_RULE_RANK] = {false};

    if (!read_lists(m, n, &start, &end, &axes, &step))
        return false;
    out->n = start.n;
    for (int i = 0; i < start.n; i++) {
        cut c = {axes.at[i] < 0 && rank >= 0 ? axes.at[i] + rank : axes.at[i], start.at[i],
                 end.at[i]};
        qdq_dim d = {-1, NULL};

        if (c.axis < 0 || c.axis >= (rank >= 0 ? rank : QDQ_RULE_RANK) || c.axis >= QDQ_RULE_RANK ||
            seen[c.axis] || step.at[i] != 1)
            return false;
        seen[c.axis] = true;
        if (rank >= 0)
            d = x->dim[c.axis];
        if (!from_front(&c.start, d) || !from_front(&c.end, d))
            return false;
        out->at[i] = c;
    }
    return true;
}

/* --- drop-noop-slice -------------------------------------------------------------------------- */

static const qdq_pat noop_pat[] = {{"y", QDQ_OP_SLICE, {"x", "s?", "e?", "a?", "t?"}, 0}};

/* Dims are below 2 to the power of 31: an end that far takes all. */
static bool takes_all(const cuts *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->at[i].start != 0 || c->at[i].end < INT32_MAX)
            return false;
    return true;
}

/* With steps of 1, as many elements are the same ones. */
static bool steps_are_one(const qdq_match *m)
{
    qdq_rule_ints step;
    bool there = false;

    if (m->opset < 10)
        return true;
    if (!qdq_rule_ints_of(m, m->root, "steps", 4, 10, &step, &there))
        return false;
    for (int i = 0; there && i < step.n; i++)
        if (step.at[i] != 1)
            return false;
    return true;
}

static const char *noop_check(const qdq_match *m)
{
    cuts c;

    if (read_cuts(m, m->root, &c) && takes_all(&c))
        return NULL;
    return steps_are_one(m) && qdq_match_same_type(m, qdq_match_value(m, "x"), m->root->out[0])
               ? NULL
               : qdq_not_this;
}

const qdq_rule qdq_rule_drop_noop_slice = {
    QDQ_RULE_PAT(noop_pat),
    .check = noop_check,
    .build = qdq_rule_become_x,
};

/* --- merge-slices: y = Slice(Slice(x))  =>  Slice(x) ------------------------------------------ */

static const qdq_pat merge_pat[] = {
    {"y", QDQ_OP_SLICE, {"t", "s?", "e?", "a?", "p?"}, 0},
    {"t", QDQ_OP_SLICE, {"x", "s1?", "e1?", "a1?", "p1?"}, QDQ_PAT_ONLY},
};

static int64_t add_up(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* The second cut of an axis counts from where the first one starts. */
static bool merge_cut(cuts *all, cut c)
{
    for (int i = 0; i < all->n; i++) {
        cut *first = &all->at[i];

        if (first->axis != c.axis)
            continue;
        c.end = add_up(first->start, c.end);
        first->start = add_up(first->start, c.start);
        first->end = c.end < first->end ? c.end : first->end;
        return true;
    }
    if (all->n == QDQ_RULE_RANK)
        return false;
    all->at[all->n++] = c;
    return true;
}

static const char *merge_check(const qdq_match *m)
{
    cuts second, *out = qdq_match_found(m, sizeof *out);

    if (!read_cuts(m, qdq_match_node(m, "t"), out) || !read_cuts(m, m->root, &second))
        return "what is taken is not known, or not with steps of 1";
    for (int i = 0; i < second.n; i++)
        if (!merge_cut(out, second.at[i]))
            return "too many axes";
    return NULL;
}

static qdq_status merge_build(qdq_match *m, qdq_error *err)
{
    const cuts *c = qdq_match_found(m, sizeof *c);
    qdq_rule_ints start, end, axes;

    start.n = end.n = axes.n = c->n;
    for (int i = 0; i < c->n; i++) {
        start.at[i] = c->at[i].start;
        end.at[i] = c->at[i].end;
        axes.at[i] = c->at[i].axis;
    }
    QDQ_TRY(qdq_match_recast(m, "Slice", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err));
    QDQ_TRY(qdq_rule_put_ints(m, m->root, "starts", 1, 10, &start, err));
    QDQ_TRY(qdq_rule_put_ints(m, m->root, "ends", 2, 10, &end, err));
    return qdq_rule_put_ints(m, m->root, "axes", 3, 10, &axes, err);
}

const qdq_rule qdq_rule_merge_slices = {
    QDQ_RULE_PAT(merge_pat),
    .check = merge_check,
    .build = merge_build,
};

/* --- split-slices: the Slices of x that together are all of it  =>  Split(x) --------------------
 *
 * The root is the one that starts at 0. The sizes are written down, so that uneven parts are no
 * matter and no opset is too old. Q/DQ: COND. Not beside quantization: engines want the same scale
 * on all outputs of a Split between Q and DQ. */

static const qdq_pat split_pat[] = {{"y", QDQ_OP_SLICE, {"x", "s?", "e?", "a?", "t?"}, 0}};

enum { MAX_READERS = 64 };

typedef struct parts {
    int64_t axis;
    int n;
    qdq_node *slice[QDQ_RULE_RANK];
    qdq_rule_ints size;
} parts;

static bool quantized_beside(const qdq_node *slice)
{
    const qdq_node *p = slice->in[0].value->producer;

    if (p != NULL && p->op == QDQ_OP_DEQUANTIZELINEAR)
        return true;
    QDQ_FOR_USES (u, slice->out[0])
        if (u->node->op == QDQ_OP_QUANTIZELINEAR)
            return true;
    return false;
}

/* Slices of the same axis only, that somebody reads, in the graph of the root. */
static bool is_part(const qdq_match *m, const qdq_node *n, int64_t axis, int64_t start, cut *out)
{
    cuts c;

    if (n->op != QDQ_OP_SLICE || n->graph != m->graph ||
        qdq_node_in(n, 0) != qdq_match_value(m, "x") || !qdq_node_is_read(n) ||
        !read_cuts(m, n, &c) || c.n != 1)
        return false;
    *out = c.at[0];
    return out->axis == axis && out->start == start && out->end > start;
}

static const char *split_check(const qdq_match *m)
{
    parts *p = qdq_match_found(m, sizeof *p);
    const qdq_value *x = qdq_match_value(m, "x");
    const qdq_type *type = qdq_match_type(m, x);
    cuts root;

    if (!read_cuts(m, m->root, &root) || root.n != 1 || root.at[0].start != 0 || type == NULL ||
        type->rank < 1 || type->dim[root.at[0].axis].value <= root.at[0].end ||
        root.at[0].end == 0 || x->n_use < 2)
        return qdq_not_this;
    if (x->n_use > MAX_READERS)
        return "too many others read what is cut";
    p->axis = root.at[0].axis;
    p->n = 0;
    for (int64_t at = 0, whole = type->dim[p->axis].value; at < whole;) {
        qdq_node *next = NULL;
        cut c = {0, 0, 0}, found = {0, 0, 0};

        QDQ_FOR_USES (u, x)
            if (next == NULL && (at > 0 || u->node == m->root) &&
                is_part(m, u->node, p->axis, at, &c)) {
                next = u->node;
                found = c;
            }
        if (next == NULL || p->n == QDQ_RULE_RANK)
            return "the parts do not make up the whole";
        if (quantized_beside(next))
            return "a part stands beside quantization";
        p->slice[p->n] = next;
        p->size.at[p->n++] = (found.end < whole ? found.end : whole) - at;
        at = found.end;
    }
    p->size.n = p->n;
    return NULL;
}

/* In front of all readers of x. */
static qdq_node *add_split(qdq_match *m, qdq_value *x, const parts *p)
{
    qdq_node *before =
        x->producer != NULL && x->graph == m->graph ? x->producer->next : m->graph->end.next;
    const char *names[QDQ_RULE_RANK];
    qdq_node *n;

    for (int i = 0; i < p->n; i++)
        if ((names[i] = qdq_graph_unique_name(m->graph, p->slice[i]->out[0]->name)) == NULL)
            return NULL;
    n = qdq_graph_add_node(m->graph, before == &m->graph->end ? NULL : before, "", "Split", "", 1,
                           (uint32_t)p->n, names);
    if (n == NULL || !qdq_node_set_int(n, "axis", p->axis))
        return NULL;
    qdq_node_set_in(n, 0, x);
    for (int i = 0; i < p->n; i++)
        if (!qdq_match_set_type(m, n->out[i], qdq_match_type(m, p->slice[i]->out[0])))
            return NULL;
    return n;
}

static qdq_status split_build(qdq_match *m, qdq_error *err)
{
    const parts *p = qdq_match_found(m, sizeof *p);
    qdq_node *split = add_split(m, qdq_match_value(m, "x"), p);

    QDQ_NEED(split != NULL, err);
    QDQ_TRY(qdq_rule_put_ints(m, split, "split", 1, 13, &p->size, err));
    for (int i = 0; i < p->n; i++)
        QDQ_NEED(qdq_opt_alias(p->slice[i], split->out[i]), err);
    qdq_match_touch(m, split);
    return QDQ_OK;
}

const qdq_rule qdq_rule_split_slices = {
    QDQ_RULE_PAT(split_pat),    .min_opset = 2,
    .needs_initializers = true, /* a Constant node would stand behind the Split */
    .check = split_check,       .build = split_build,
};
