/* rules_scatter.c - caches that are written in place, in operators that older kernels have. Q/DQ:
 * SAFE, integers alone are computed, and the cache and its update are moved as they are. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

/* --- lower-tensorscatter: TensorScatter(x, u, w)  =>  ScatterElements(x, places, u) -------------
 *
 * Element k of the update, along the axis, goes to place w + k of its own batch (ONNX,
 * TensorScatter-24); with mode "circular" modulo the length of the cache. */

static const qdq_pat pat[] = {{"y", QDQ_OP_TENSORSCATTER, {"x", "u", "w?"}, 0}};

typedef struct scatter {
    int rank, axis;
} scatter;

static const char *check(const qdq_match *m)
{
    scatter *s = qdq_match_found(m, sizeof *s);
    const int64_t axis = qdq_node_int(m->root, "axis", -2);

    s->rank = qdq_match_rank(m, qdq_match_value(m, "x"));
    if (s->rank < 0 || s->rank > QDQ_RULE_RANK || axis < -s->rank || axis >= s->rank)
        return "the axis is not known";
    s->axis = (int)(axis < 0 ? axis + s->rank : axis);
    return s->axis != 0 ? NULL : "the axis is that of the batch";
}

/* The length of v along the axis, as a tensor of one element. */
static qdq_value *add_length(qdq_match *m, qdq_value *v, int axis)
{
    qdq_value *length = qdq_match_add_value(m, "Shape", 1, &v, NULL);

    return length != NULL && qdq_node_set_int(length->producer, "start", axis) &&
                   qdq_node_set_int(length->producer, "end", axis + 1)
               ? length
               : NULL;
}

/* 0, 1, 2, ... for each element of the update along the axis */
static qdq_value *add_count(qdq_match *m, int axis)
{
    const int64_t zero = 0, one = 1;
    qdq_model *model = m->graph->model;
    qdq_value *length = add_length(m, qdq_match_value(m, "u"), axis);

    return qdq_match_add_value(
        m, "Range", 3,
        (qdq_value *[]){qdq_match_add_const(m, "start", qdq_tensor_of_ints(model, 0, NULL, &zero)),
                        qdq_match_add_value(m, "Squeeze", 1, &length, NULL),
                        qdq_match_add_const(m, "step", qdq_tensor_of_ints(model, 0, NULL, &one))},
        NULL);
}

static qdq_value *add_unsqueeze(qdq_match *m, qdq_value *v, size_t n, const int64_t *axes)
{
    return n == 0 ? v
                  : qdq_match_add_value(m, "Unsqueeze", 2,
                                        (qdq_value *[]){v, qdq_match_add_ints(m, "axes", n, axes)},
                                        NULL);
}

static qdq_value *add_places(qdq_match *m, const scatter *s)
{
    qdq_value *u = qdq_match_value(m, "u"), *w = qdq_match_value(m, "w");
    qdq_value *places = add_count(m, s->axis);
    int64_t axes[QDQ_RULE_RANK];
    size_t n = 0;

    for (int i = 0; i < s->rank; i++)
        if (i != s->axis && (w == NULL || i != 0))
            axes[n++] = i;
    if (w != NULL)
        places = qdq_match_add_value(
            m, "Add", 2, (qdq_value *[]){add_unsqueeze(m, w, 1, (const int64_t[]){1}), places},
            NULL);
    if (qdq_node_string_is(m->root, "mode", "circular", "linear"))
        places = qdq_match_add_value(
            m, "Mod", 2, (qdq_value *[]){places, add_length(m, qdq_match_value(m, "x"), s->axis)},
            NULL);
    return qdq_match_add_value(m, "Expand", 2,
                               (qdq_value *[]){add_unsqueeze(m, places, n, axes),
                                               qdq_match_add_value(m, "Shape", 1, &u, NULL)},
                               NULL);
}

static qdq_status build(qdq_match *m, qdq_error *err)
{
    const scatter *s = qdq_match_found(m, sizeof *s);
    qdq_value *places = add_places(m, s);

    QDQ_NEED(places != NULL, err);
    QDQ_TRY(qdq_match_recast(
        m, "ScatterElements", 3,
        (qdq_value *[]){qdq_match_value(m, "x"), places, qdq_match_value(m, "u")}, err));
    return qdq_node_set_int(m->root, "axis", s->axis) ? QDQ_OK : qdq_nomem(err);
}

const qdq_rule qdq_rule_lower_tensorscatter = {
    QDQ_RULE_PAT(pat),
    .check = check,
    .build = build,
};
