/* legal_inputs.c - does a group run on random numbers? An integer is followed through nodes that
 * move it or compute with it, to whoever takes it for an index or a shape. */
#include "tune/isolate/legal_inputs.h"

#include "base/fail.h"
#include "engine/layer_nodes.h"
#include "quant/compare/deciders.h"

/* An integer tensor: 0 and 1 as they came in, or what was computed from them. */
typedef struct integers {
    const qdq_value *value;
    bool computed;
} integers;

typedef struct checker {
    const qdq_graph *graph;
    qdq_arena *arena;
    qdq_arena scratch;
    const char **why;
    /* by value id and whether it was computed */
    bool *seen;
    QDQ_VEC(integers) work;
} checker;

/* False: no memory. */
static bool refuse_input(checker *c, const char *input, const char *why, const qdq_node *n)
{
    *c->why = n == NULL ? qdq_arena_printf(c->arena, "%s: '%s'", why, input)
                        : qdq_arena_printf(c->arena, "%s: '%s', for '%s'", why, input,
                                           qdq_node_label(n, &c->scratch));
    return *c->why != NULL;
}

/* --- what integers mean ----------------------------------------------------------------------- */

/* Does the input say where, how many or how large? Or divide? */
static bool is_shape(const qdq_node *n, uint32_t input)
{
    const bool second =
        QDQ_OP_IS_IN(n->op, QDQ_OP_CUMSUM, QDQ_OP_DIV, QDQ_OP_MOD, QDQ_OP_REDUCESUM,
                     QDQ_OP_REVERSESEQUENCE, QDQ_OP_SPLIT, QDQ_OP_SQUEEZE, QDQ_OP_UNSQUEEZE);

    return (second && input == 1) || (input < 32 && (qdq_deciding_inputs(n->op) >> input & 1) != 0);
}

static bool is_index(const qdq_node *n, uint32_t input)
{
    return input == 1 && QDQ_OP_IS_IN(n->op, QDQ_OP_GATHER, QDQ_OP_GATHERELEMENTS, QDQ_OP_GATHERND,
                                      QDQ_OP_SCATTERELEMENTS, QDQ_OP_SCATTERND);
}

/* Has the first input two elements wherever an index may point? */
static bool may_be_indexed(const qdq_node *n)
{
    const qdq_value *data = qdq_node_in(n, 0);
    const bool along_axis = n->op != QDQ_OP_GATHERND && n->op != QDQ_OP_SCATTERND;
    const qdq_tensor *known = data != NULL ? qdq_value_const(data) : NULL;
    const qdq_type *t = data != NULL ? data->type : NULL;
    const int rank = known != NULL                             ? known->rank
                     : t != NULL && t->kind == QDQ_TYPE_TENSOR ? t->rank
                                                               : -1;
    int64_t axis = qdq_node_int(n, "axis", 0);

    axis += axis < 0 ? rank : 0;
    for (int d = 0; d < rank; d++)
        if ((!along_axis || d == axis) && (known != NULL ? known->dim[d] : t->dim[d].value) < 2)
            return false;
    return rank > 0;
}

/* --- where they go ---------------------------------------------------------------------------- */

static bool follow_value(checker *c, const qdq_value *v, bool computed)
{
    if (v == NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR ||
        v->type->elem == QDQ_BOOL || !qdq_elem_is_int(v->type->elem) || v->graph != c->graph ||
        c->seen[2 * v->id + computed])
        return true;
    c->seen[2 * v->id + computed] = true;
    return QDQ_PUSH(&c->scratch, &c->work, ((integers){v, computed}));
}

/* Positions, counts and answers are not what came in. */
static bool follow_outputs(checker *c, const qdq_node *n, bool computed)
{
    const bool calculates = QDQ_OP_IS_IN(n->op, QDQ_OP_ADD, QDQ_OP_SUB, QDQ_OP_MUL, QDQ_OP_SUM,
                                         QDQ_OP_NEG, QDQ_OP_POW, QDQ_OP_REDUCESUM, QDQ_OP_CUMSUM);
    const bool passes =
        calculates || qdq_layer_is_movement(n) ||
        QDQ_OP_IS_IN(n->op, QDQ_OP_CAST, QDQ_OP_EXPAND, QDQ_OP_TILE, QDQ_OP_GATHER, QDQ_OP_WHERE);
    bool good = true;

    for (uint32_t i = 0; passes && i < n->n_out; i++)
        good = follow_value(c, n->out[i], computed || calculates) && good;
    return good;
}

static bool check_use(checker *c, const char *input, const integers *x, const qdq_use *u)
{
    const qdq_node *n = u->node;

    if (n->graph != c->graph || n->op == QDQ_OP_UNKNOWN)
        return refuse_input(c, input, "unknown which integers are legal", n);
    if (is_shape(n, u->index))
        return refuse_input(c, input, "0 and 1 are not the shape that an integer input stands for",
                            n);
    if (is_index(n, u->index) && (x->computed || !may_be_indexed(n)))
        return refuse_input(c, input, "random indices may be outside", n);
    return follow_outputs(c, n, x->computed);
}

/* --- all inputs ------------------------------------------------------------------------------- */

static bool check_input(checker *c, const qdq_group_input *in)
{
    const qdq_value *v = qdq_graph_find(c->graph, in->name);
    bool good;

    if (v == NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR)
        return refuse_input(c, in->name, "an input is not a tensor", NULL);
    const qdq_elem e = v->type->elem;
    if (!qdq_elem_is_int(e) && e != QDQ_FLOAT && e != QDQ_DOUBLE && !qdq_elem_is_half(e))
        return refuse_input(c, in->name, "there are no random numbers of the type of an input",
                            NULL);
    for (int d = 0; d < in->dims.rank; d++)
        if (in->dims.dim[QDQ_SHAPE_OPT][d] < 0)
            return refuse_input(c, in->name, "the usual shape of an input is not known", NULL);
    good = follow_value(c, v, false);
    while (good && c->work.n > 0) {
        const integers x = c->work.at[--c->work.n];
        for (const qdq_use *u = x.value->first; good && u != NULL && (*c->why)[0] == '\0';
             u = u->next)
            good = check_use(c, in->name, &x, u);
    }
    return good;
}

qdq_status qdq_legal_inputs(const qdq_group_model *g, qdq_arena *arena, const char **why,
                            qdq_error *err)
{
    checker c = {.graph = g->model->graph, .arena = arena, .why = why};
    bool good;

    *why = "";
    c.seen = qdq_arena_array(&c.scratch, 2 * c.graph->values.n + 2, sizeof *c.seen);
    good = c.seen != NULL;
    for (uint32_t i = 0; good && i < g->n_inputs && (*why)[0] == '\0'; i++)
        good = check_input(&c, &g->input[i]);
    qdq_arena_free(&c.scratch);
    return qdq_allocated(good, err);
}
