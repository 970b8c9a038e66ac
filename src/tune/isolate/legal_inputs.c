/* legal_inputs.c - does a group run on random numbers? An integer is followed through nodes that
 * move it or compute with it, to whoever takes it for an index or a shape. */
#include "tune/isolate/legal_inputs.h"

#include "base/fail.h"
#include "engine/layer_nodes.h"

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
    qdq_error *err;
} checker;

static qdq_status refuse_input(checker *c, const char *input, const char *why, const qdq_node *n)
{
    *c->why = n == NULL ? qdq_arena_printf(c->arena, "%s: '%s'", why, input)
                        : qdq_arena_printf(c->arena, "%s: '%s', for '%s'", why, input,
                                           qdq_node_label(n, &c->scratch));
    return qdq_allocated(*c->why != NULL, c->err);
}

/* --- what integers mean ----------------------------------------------------------------------- */

/* Inputs, bit by bit, that say where, how many or how large; and divisors. */
static uint32_t shape_inputs(const qdq_node *n)
{
    static const struct {
        qdq_op op;
        uint32_t inputs;
    } rows[] = {
        {QDQ_OP_CONSTANTOFSHAPE, 1}, {QDQ_OP_CUMSUM, 2},   {QDQ_OP_DIV, 2},
        {QDQ_OP_EXPAND, 2},          {QDQ_OP_LOOP, 1},     {QDQ_OP_MOD, 2},
        {QDQ_OP_ONEHOT, 2},          {QDQ_OP_PAD, 10},     {QDQ_OP_RANGE, 7},
        {QDQ_OP_REDUCESUM, 2},       {QDQ_OP_RESHAPE, 2},  {QDQ_OP_RESIZE, 14},
        {QDQ_OP_REVERSESEQUENCE, 2}, {QDQ_OP_SLICE, 30},   {QDQ_OP_SPLIT, 2},
        {QDQ_OP_SQUEEZE, 2},         {QDQ_OP_TILE, 2},     {QDQ_OP_TOPK, 2},
        {QDQ_OP_UNSQUEEZE, 2},       {QDQ_OP_UPSAMPLE, 2},
    };

    for (size_t i = 0; i < QDQ_COUNT(rows); i++)
        if (rows[i].op == n->op)
            return rows[i].inputs;
    return 0;
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

static bool is_integer(const qdq_value *v)
{
    return v != NULL && v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR &&
           v->type->elem != QDQ_BOOL && qdq_elem_is_int(v->type->elem);
}

/* --- where they go ---------------------------------------------------------------------------- */

static bool follow_value(checker *c, const qdq_value *v, bool computed)
{
    if (!is_integer(v) || v->graph != c->graph || c->seen[2 * v->id + computed])
        return true;
    c->seen[2 * v->id + computed] = true;
    return QDQ_PUSH(&c->scratch, &c->work, ((integers){v, computed}));
}

/* Positions, counts and answers are not what came in. */
static bool follow_outputs(checker *c, const qdq_node *n, bool computed)
{
    const bool calculates = QDQ_OP_IS_IN(n->op, QDQ_OP_ADD, QDQ_OP_SUB, QDQ_OP_MUL, QDQ_OP_SUM,
                                         QDQ_OP_NEG, QDQ_OP_POW, QDQ_OP_REDUCESUM, QDQ_OP_CUMSUM);

    if (!calculates && !qdq_layer_is_movement(n) &&
        !QDQ_OP_IS_IN(n->op, QDQ_OP_CAST, QDQ_OP_EXPAND, QDQ_OP_TILE, QDQ_OP_GATHER, QDQ_OP_WHERE))
        return true;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!follow_value(c, n->out[i], computed || calculates))
            return false;
    return true;
}

static qdq_status check_use(checker *c, const char *input, const integers *x, const qdq_use *u)
{
    const qdq_node *n = u->node;

    if (n->graph != c->graph || n->op == QDQ_OP_UNKNOWN)
        return refuse_input(c, input, "unknown which integers are legal", n);
    if (u->index < 32 && (shape_inputs(n) >> u->index & 1) != 0)
        return refuse_input(c, input, "0 and 1 are not the shape that an integer input stands for",
                            n);
    if (is_index(n, u->index) && (x->computed || !may_be_indexed(n)))
        return refuse_input(c, input, "random indices may be outside", n);
    return qdq_allocated(follow_outputs(c, n, x->computed), c->err);
}

static qdq_status check_integers(checker *c, const qdq_value *input)
{
    QDQ_NEED(follow_value(c, input, false), c->err);
    while (c->work.n > 0) {
        const integers x = c->work.at[--c->work.n];
        for (const qdq_use *u = x.value->first; u != NULL && (*c->why)[0] == '\0'; u = u->next)
            QDQ_TRY(check_use(c, input->name, &x, u));
    }
    return QDQ_OK;
}

/* --- all inputs ------------------------------------------------------------------------------- */

static bool has_random_numbers(qdq_elem e)
{
    return qdq_elem_is_int(e) || e == QDQ_FLOAT || e == QDQ_DOUBLE || e == QDQ_FLOAT16 ||
           e == QDQ_BFLOAT16;
}

static qdq_status check_input(checker *c, const qdq_group_input *in)
{
    const qdq_value *v = qdq_graph_find(c->graph, in->name);

    if (v == NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR)
        return refuse_input(c, in->name, "an input is no tensor", NULL);
    if (!has_random_numbers(v->type->elem))
        return refuse_input(c, in->name, "there are no random numbers of the type of an input",
                            NULL);
    for (int d = 0; d < in->dims.rank; d++)
        if (in->dims.dim[QDQ_SHAPE_OPT][d] < 0)
            return refuse_input(c, in->name, "the usual shape of an input is not known", NULL);
    return check_integers(c, v);
}

static qdq_status check_inputs(checker *c, const qdq_group_model *g)
{
    c->seen = qdq_arena_array(&c->scratch, 2 * c->graph->values.n + 2, sizeof *c->seen);
    QDQ_NEED(c->seen != NULL, c->err);
    for (uint32_t i = 0; i < g->n_inputs && (*c->why)[0] == '\0'; i++)
        QDQ_TRY(check_input(c, &g->input[i]));
    return QDQ_OK;
}

qdq_status qdq_legal_inputs(const qdq_group_model *g, qdq_arena *arena, const char **why,
                            qdq_error *err)
{
    checker c = {.graph = g->model->graph, .arena = arena, .why = why, .err = err};

    *why = "";
    qdq_status st = check_inputs(&c, g);
    qdq_arena_free(&c.scratch);
    return st;
}
