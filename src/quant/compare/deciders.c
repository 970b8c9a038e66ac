/* deciders.c - finds the values that decide the shape of an output. A value is needed for its shape
 * or for its elements; which of its inputs a node then needs is the table below. */
#include "quant/compare/deciders.h"

#include <string.h>

#include "base/fail.h"
#include "base/vec.h"
#include "ir/shape.h"

typedef enum question { SHAPE, ELEMENTS, N_QUESTION } question;

/* What the shape of a node's result depends on: of its inputs, elements[k] those of which the
 * elements count, shape those of which the shape does. Bit k is input k. */
typedef struct sink {
    qdq_op op;
    uint32_t elements, shape;
} sink;

enum { ALL = 0xff };

static const sink sinks[] = {
    {QDQ_OP_CONSTANTOFSHAPE, 1, 0},
    {QDQ_OP_EXPAND, 2, 1},
    {QDQ_OP_LOOP, 3, ALL & ~3},
    {QDQ_OP_NONMAXSUPPRESSION, ALL, 0},
    {QDQ_OP_NONZERO, 1, 1},
    {QDQ_OP_ONEHOT, 2, 1},
    {QDQ_OP_PAD, ALL & ~5, 1},
    {QDQ_OP_RANGE, ALL, 0},
    {QDQ_OP_RESHAPE, 2, 1},
    {QDQ_OP_RESIZE, ALL & ~1, 1},
    {QDQ_OP_SCATTERELEMENTS, 0, 1},
    {QDQ_OP_SCATTERND, 0, 1},
    {QDQ_OP_SHAPE, 0, 0},
    {QDQ_OP_SIZE, 0, 0},
    {QDQ_OP_SLICE, ALL & ~1, 1},
    {QDQ_OP_TILE, 2, 1},
    {QDQ_OP_TOPK, 2, 1},
    {QDQ_OP_UPSAMPLE, 2, 1},
};

static const sink *find_sink(qdq_op op)
{
    for (size_t i = 0; i < QDQ_COUNT(sinks); i++)
        if (sinks[i].op == op)
            return &sinks[i];
    return NULL;
}

uint32_t qdq_deciding_inputs(qdq_op op)
{
    const sink *s = find_sink(op);

    return s != NULL ? s->elements : 0;
}

/* Results of these say no more than what they read. */
static bool passes(const qdq_node *n)
{
    return QDQ_OP_IS_IN(n->op, QDQ_OP_CLIP, QDQ_OP_CUMSUM, QDQ_OP_FLATTEN, QDQ_OP_GATHER,
                        QDQ_OP_IDENTITY, QDQ_OP_REDUCEMAX, QDQ_OP_REDUCEMEAN, QDQ_OP_REDUCEMIN,
                        QDQ_OP_REDUCESUM, QDQ_OP_RESHAPE, QDQ_OP_SLICE, QDQ_OP_SQUEEZE,
                        QDQ_OP_TRANSPOSE, QDQ_OP_UNSQUEEZE);
}

typedef struct asked {
    const qdq_value *value;
    question about;
} asked;

typedef struct finding {
    const qdq_graph *graph;
    qdq_arena arena;
    /* by value id: 1 << question */
    unsigned char *seen;
    /* by value id: of has_input() */
    bool *visited;
    /* by value id */
    bool *decides;
    QDQ_VEC(asked) open;
    QDQ_VEC(const qdq_value *) stack;
    size_t n_values;
} finding;

static bool is_float(const qdq_value *v)
{
    return qdq_elem_is_float(qdq_value_elem(v));
}

/* Made by a node of the main graph, and no constant. */
static bool is_computed(const finding *f, const qdq_value *v)
{
    return v != NULL && v->graph == f->graph && v->producer != NULL && qdq_value_const(v) == NULL;
}

/* Do elements of v depend on those of an input? Shape arithmetic in floats does not. */
static qdq_status has_input(finding *f, const qdq_value *v, bool *found, qdq_error *err)
{
    memset(f->visited, 0, f->n_values * sizeof *f->visited);
    f->stack.n = 0;
    *found = false;
    QDQ_NEED(QDQ_PUSH(&f->arena, &f->stack, v), err);
    while (f->stack.n > 0 && !*found) {
        const qdq_node *n = f->stack.at[--f->stack.n]->producer;

        for (uint32_t i = 0; n->op != QDQ_OP_SHAPE && n->op != QDQ_OP_SIZE && i < n->n_in; i++) {
            const qdq_value *x = n->in[i].value;

            if (x == NULL || x->graph != f->graph || qdq_value_const(x) != NULL ||
                f->visited[x->id])
                continue;
            f->visited[x->id] = true;
            if (x->producer == NULL)
                *found = true;
            else if (!QDQ_PUSH(&f->arena, &f->stack, x))
                return qdq_nomem(err);
        }
    }
    return QDQ_OK;
}

/* A float value whose elements decide a shape: what was added up or cut to make it, if it was. */
static qdq_status note_decider(finding *f, const qdq_value *v, bool *any, qdq_error *err)
{
    bool real;

    QDQ_TRY(has_input(f, v, &real, err));
    if (!real)
        return QDQ_OK;
    while (passes(v->producer) && is_computed(f, v->producer->in[0].value) &&
           is_float(v->producer->in[0].value))
        v = v->producer->in[0].value;
    f->decides[v->id] = true;
    *any = true;
    return QDQ_OK;
}

static qdq_status ask_about(finding *f, const qdq_value *v, question about, qdq_error *err)
{
    if (!is_computed(f, v) || (f->seen[v->id] & (1 << about)) != 0)
        return QDQ_OK;
    f->seen[v->id] |= (unsigned char)(1 << about);
    return qdq_allocated(QDQ_PUSH(&f->arena, &f->open, ((asked){v, about})), err);
}

static qdq_status answer_question(finding *f, asked a, bool *any, qdq_error *err)
{
    const qdq_node *n = a.value->producer;
    const sink *s = find_sink(n->op);

    if (a.about == ELEMENTS && is_float(a.value))
        return note_decider(f, a.value, any, err);
    for (uint32_t i = 0; i < n->n_in; i++) {
        const uint32_t bit = i < 8 ? 1u << i : 1u << 7;
        bool elements = a.about == ELEMENTS, shape = a.about == SHAPE;

        if (elements && (n->op == QDQ_OP_SHAPE || n->op == QDQ_OP_SIZE)) {
            elements = false;
            shape = true;
        } else if (shape && s != NULL) {
            elements = (s->elements & bit) != 0;
            shape = (s->shape & bit) != 0;
        }
        if (elements)
            QDQ_TRY(ask_about(f, n->in[i].value, ELEMENTS, err));
        if (shape)
            QDQ_TRY(ask_about(f, n->in[i].value, SHAPE, err));
    }
    return QDQ_OK;
}

static bool is_static(const qdq_value *v)
{
    if (v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR || v->type->rank < 0)
        return false;
    for (int i = 0; i < v->type->rank; i++)
        if (v->type->dim[i].value < 0)
            return false;
    return true;
}

static qdq_status find_all(finding *f, bool *follows, qdq_error *err)
{
    for (size_t i = 0; i < f->graph->outputs.n; i++) {
        const qdq_value *v = f->graph->outputs.at[i];

        memset(f->seen, 0, f->n_values);
        f->open.n = 0;
        if (!is_static(v))
            QDQ_TRY(ask_about(f, v, SHAPE, err));
        while (f->open.n > 0)
            QDQ_TRY(answer_question(f, f->open.at[--f->open.n], &follows[i], err));
    }
    return QDQ_OK;
}

static qdq_status find_in(const qdq_model *m, qdq_deciders *out, qdq_error *err)
{
    finding f = {.graph = m->graph, .n_values = m->graph->values.n + 1};

    out->follows = qdq_arena_array(&out->arena, m->graph->outputs.n + 1, sizeof *out->follows);
    f.seen = qdq_arena_array(&f.arena, f.n_values, sizeof *f.seen);
    f.visited = qdq_arena_array(&f.arena, f.n_values, sizeof *f.visited);
    f.decides = qdq_arena_array(&f.arena, f.n_values, sizeof *f.decides);
    qdq_status st = out->follows != NULL && f.seen != NULL && f.visited != NULL && f.decides != NULL
                        ? find_all(&f, out->follows, err)
                        : qdq_nomem(err);
    QDQ_FOR_NODES (n, m->graph)
        for (uint32_t i = 0; st == QDQ_OK && i < n->n_out; i++) {
            const qdq_value *v = n->out[i];
            const char *name =
                v != NULL && f.decides[v->id] ? qdq_arena_strdup(&out->arena, v->name) : NULL;

            if (v != NULL && f.decides[v->id] &&
                (name == NULL || !QDQ_PUSH(&out->arena, &out->names, name)))
                st = qdq_nomem(err);
        }
    qdq_arena_free(&f.arena);
    return st;
}

qdq_status qdq_deciders_find(const qdq_model *m, const qdq_job *job, qdq_deciders *out,
                             qdq_error *err)
{
    qdq_model *copy;

    *out = (qdq_deciders){.arena = QDQ_ARENA_INIT};
    QDQ_TRY(qdq_model_clone_typed(m, job, &copy, err));
    qdq_status st = find_in(copy, out, err);
    qdq_model_free(copy);
    return st;
}

void qdq_deciders_free(qdq_deciders *d)
{
    qdq_arena_free(&d->arena);
}
