/* rules_sequence.c - sequences that exporters make and take apart again: Split, and plain values.
 * Engines run sequences one by one and copy them; nothing fuses across them. Q/DQ: SAFE, tensors
 * are passed on as they are. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

enum { MAX_PARTS = 64 };

/* --- pick-from-sequence: SequenceAt(SequenceConstruct(a, b, ...), i)  =>  b ------------------- */

static const qdq_pat pick_pat[] = {
    {"y", QDQ_OP_SEQUENCEAT, {"s", "#i"}, 0},
    {"s", QDQ_OP_SEQUENCECONSTRUCT, {"a?"}, QDQ_PAT_MORE},
};

/* The place that a constant index says, of n; -1: none. */
static int64_t place_of(const qdq_tensor *index, uint32_t n)
{
    double i;

    if (!qdq_elem_is_int(index->elem) || !qdq_tensor_scalar(index, &i) || i < -(double)n ||
        i >= (double)n)
        return -1;
    return i < 0 ? (int64_t)i + n : (int64_t)i;
}

static const char *pick_check(const qdq_match *m)
{
    const qdq_node *s = qdq_match_node(m, "s");
    int64_t i = place_of(qdq_match_const(m, "i"), s->n_in);
    qdq_value **picked = qdq_match_found(m, sizeof *picked);

    *picked = i >= 0 ? qdq_node_in(s, (uint32_t)i) : NULL;
    return *picked != NULL ? NULL : "the sequence has no such place";
}

const qdq_rule qdq_rule_pick_from_sequence = {
    QDQ_RULE_PAT(pick_pat),
    .check = pick_check,
    .build = qdq_rule_become_found,
};

/* --- concat-sequence: ConcatFromSequence(SequenceConstruct(a, b))  =>  Concat(a, b) -------------
 *
 * With new_axis, every part gets the dim first. */

static const qdq_pat concat_pat[] = {
    {"y", QDQ_OP_CONCATFROMSEQUENCE, {"s"}, 0},
    {"s", QDQ_OP_SEQUENCECONSTRUCT, {"a?"}, QDQ_PAT_MORE},
};

static const char *concat_check(const qdq_match *m)
{
    const qdq_node *s = qdq_match_node(m, "s");
    const qdq_attr *axis = qdq_node_attr(m->root, "axis");

    if (axis == NULL || axis->type != QDQ_ATTR_INT || axis->ref != NULL)
        return "the axis is not known";
    if (s->n_in == 0 || s->n_in > MAX_PARTS)
        return "too many parts, or none";
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i].value == NULL)
            return "a part is left out";
    return NULL;
}

/* v through `op`, Squeeze or Unsqueeze, at one axis. */
static qdq_value *change_dim(qdq_match *m, const char *op, qdq_value *v, int64_t axis,
                             qdq_error *err)
{
    qdq_rule_ints axes = {1, {axis}};
    qdq_node *n = qdq_match_add(m, op, 1, &v, NULL);

    return n != NULL && qdq_rule_put_ints(m, n, "axes", 1, 13, &axes, err) == QDQ_OK ? n->out[0]
                                                                                     : NULL;
}

static qdq_status concat_build(qdq_match *m, qdq_error *err)
{
    const qdq_node *s = qdq_match_node(m, "s");
    int64_t axis = qdq_node_int(m->root, "axis", 0);
    bool new_axis = qdq_node_int(m->root, "new_axis", 0) != 0;
    qdq_value *part[MAX_PARTS];

    for (uint32_t i = 0; i < s->n_in; i++) {
        part[i] = new_axis ? change_dim(m, "Unsqueeze", s->in[i].value, axis, err) : s->in[i].value;
        QDQ_NEED(part[i] != NULL, err);
    }
    QDQ_TRY(qdq_match_recast(m, "Concat", s->n_in, part, err));
    return qdq_node_set_int(m->root, "axis", axis) ? QDQ_OK : qdq_nomem(err);
}

const qdq_rule qdq_rule_concat_sequence = {
    QDQ_RULE_PAT(concat_pat),
    .min_opset = 11,
    .check = concat_check,
    .build = concat_build,
};

/* --- split-sequence: SplitToSequence(x)  =>  SequenceConstruct(Split(x)) ------------------------
 *
 * Where the parts are known, and every reader picks one or joins them, so that the other two rules
 * can go on. Sizes are written down: the last part may be smaller, and old opsets know nothing
 * else. */

static const qdq_pat split_pat[] = {{"y", QDQ_OP_SPLITTOSEQUENCE, {"x", "#n?"}, 0}};

typedef struct parts {
    int64_t axis;
    int n;
    int64_t size[MAX_PARTS];
    /* parts of 1 that lose the dim */
    bool squeeze;
} parts;

static bool all_readers_understand(const qdq_value *v)
{
    QDQ_FOR_USES (u, v) {
        const qdq_value *index = qdq_node_in(u->node, 1);

        if (u->node->op == QDQ_OP_CONCATFROMSEQUENCE)
            continue;
        if (u->node->op != QDQ_OP_SEQUENCEAT || index == NULL || qdq_value_const(index) == NULL)
            return false;
    }
    return v->n_output == 0;
}

/* Parts of one size; the last has what is left. */
static const char *equal_parts(int64_t whole, int64_t size, parts *p)
{
    if (whole < 1 || size < 1)
        return "the size that is split is not known";
    if ((whole - 1) / size >= MAX_PARTS)
        return "too many parts";
    for (int64_t at = 0; at < whole; at += p->size[p->n - 1])
        p->size[p->n++] = whole - at < size ? whole - at : size;
    return NULL;
}

static const char *listed_parts(const qdq_match *m, int64_t whole, parts *p)
{
    int64_t sum = 0;
    size_t n;
    bool ok = qdq_match_const(m, "n")->rank == 1 &&
              qdq_match_ints(m, "n", MAX_PARTS, p->size, &n) && n >= 1;

    p->n = ok ? (int)n : 0;
    for (int i = 0; ok && i < p->n; i++) {
        ok = p->size[i] >= 0 && p->size[i] <= INT32_MAX;
        sum += ok ? p->size[i] : 0;
    }
    return ok && (whole < 0 || sum == whole) ? NULL : "the sizes of the parts do not fit";
}

static const char *split_check(const qdq_match *m)
{
    parts *p = qdq_match_found(m, sizeof *p);
    const qdq_type *x = qdq_match_type(m, qdq_match_value(m, "x"));
    const qdq_tensor *list = qdq_match_const(m, "n");
    int64_t whole, size = 1;
    double number = 1;

    *p = (parts){.axis = qdq_node_int(m->root, "axis", 0)};
    if (!all_readers_understand(m->root->out[0]))
        return "the sequence is read as a whole";
    if (x == NULL || x->rank < 1 || p->axis < -x->rank || p->axis >= x->rank)
        return "the axis is not known";
    p->axis += p->axis < 0 ? x->rank : 0;
    whole = x->dim[p->axis].value;
    p->squeeze = list == NULL && qdq_node_int(m->root, "keepdims", 1) == 0;
    if (list != NULL && list->rank != 0)
        return listed_parts(m, whole, p);
    if (list != NULL && qdq_elem_is_int(list->elem) && qdq_tensor_scalar(list, &number))
        size = number >= 1 && number <= INT32_MAX ? (int64_t)number : 0;
    return equal_parts(whole, size, p);
}

static qdq_node *add_split(qdq_match *m, const parts *p)
{
    const char *names[MAX_PARTS];
    int64_t count = p->n;
    qdq_value *sizes;
    qdq_node *n;

    for (int i = 0; i < p->n; i++)
        if ((names[i] = qdq_graph_unique_name(m->graph, m->root->out[0]->name)) == NULL)
            return NULL;
    n = qdq_graph_add_node(m->graph, m->root, "", "Split", "", m->opset < 13 ? 1 : 2,
                           (uint32_t)p->n, names);
    if (n == NULL || !qdq_node_set_int(n, "axis", p->axis))
        return NULL;
    qdq_node_set_in(n, 0, qdq_match_value(m, "x"));
    if (m->opset < 13)
        return qdq_node_set_ints(n, "split", p->size, (size_t)p->n) ? n : NULL;
    sizes =
        qdq_match_add_const(m, "split", qdq_tensor_of_ints(m->graph->model, 1, &count, p->size));
    if (sizes == NULL)
        return NULL;
    qdq_node_set_in(n, 1, sizes);
    return n;
}

/* What the parts are: dims of x, but for one. */
static bool type_parts(qdq_match *m, const qdq_node *split, const parts *p)
{
    const qdq_type *x = qdq_match_type(m, qdq_match_value(m, "x"));
    qdq_type part = *x;
    qdq_dim dim[QDQ_RULE_RANK];

    if (x->rank > QDQ_RULE_RANK)
        return true;
    for (int i = 0; i < x->rank; i++)
        dim[i] = x->dim[i];
    part.dim = dim;
    for (int i = 0; i < p->n; i++) {
        dim[p->axis] = (qdq_dim){p->size[i], NULL};
        if (!qdq_match_set_type(m, split->out[i], &part))
            return false;
    }
    return true;
}

static qdq_status split_build(qdq_match *m, qdq_error *err)
{
    const parts *p = qdq_match_found(m, sizeof *p);
    qdq_node *split = add_split(m, p);
    qdq_value *part[MAX_PARTS];

    QDQ_NEED(split != NULL && type_parts(m, split, p), err);
    for (int i = 0; i < p->n; i++) {
        part[i] =
            p->squeeze ? change_dim(m, "Squeeze", split->out[i], p->axis, err) : split->out[i];
        QDQ_NEED(part[i] != NULL, err);
    }
    return qdq_match_recast(m, "SequenceConstruct", (uint32_t)p->n, part, err);
}

const qdq_rule qdq_rule_split_sequence = {
    QDQ_RULE_PAT(split_pat),
    .min_opset = 11,
    .check = split_check,
    .build = split_build,
};
