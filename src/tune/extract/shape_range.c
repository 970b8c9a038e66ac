/* shape_range.c - shapes for the least, the usual and the greatest inputs: three concrete passes of
 * shape inference. */
#include "tune/extract/shape_range.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "ir/shape.h"

static qdq_status infer_with(const qdq_model *m, const qdq_input_shape *shapes, size_t n,
                             qdq_model **out, qdq_error *err)
{
    QDQ_TRY(qdq_model_clone(m, out, err));
    if (n > 0)
        return qdq_model_set_shapes(*out, shapes, n, err);
    return qdq_model_infer(*out, NULL, err);
}

/* An input without an end of its own has the usual shape there. */
static qdq_status infer_end(const qdq_model *m, const qdq_shape_range_opts *o, int end,
                            qdq_model **out, qdq_error *err)
{
    const qdq_input_shape *usual = o->shapes[QDQ_SHAPE_OPT], *of = o->shapes[end];
    const size_t n_usual = o->n[QDQ_SHAPE_OPT], n_of = o->n[end];
    qdq_input_shape *all = calloc(n_usual + n_of + 1, sizeof *all);
    size_t n = 0;

    QDQ_NEED(all != NULL, err);
    for (size_t i = 0; i < n_of; i++)
        all[n++] = of[i];
    for (size_t i = 0; i < n_usual; i++) {
        size_t k = 0;
        while (k < n_of && strcmp(of[k].name, usual[i].name) != 0)
            k++;
        if (k == n_of)
            all[n++] = usual[i];
    }
    qdq_status st = infer_with(m, all, n, out, err);
    free(all);
    return st;
}

static qdq_status open_all(qdq_shape_range *r, const qdq_model *m, const qdq_shape_range_opts *o,
                           qdq_error *err)
{
    if (o->n[QDQ_SHAPE_OPT] == 0 && (o->n[QDQ_SHAPE_MIN] > 0 || o->n[QDQ_SHAPE_MAX] > 0))
        return qdq_fail(err, QDQ_E_USAGE,
                        "found a least or greatest shape, expected the usual one with it");
    r->has_shapes = o->n[QDQ_SHAPE_OPT] > 0;
    QDQ_TRY(infer_with(m, o->shapes[QDQ_SHAPE_OPT], o->n[QDQ_SHAPE_OPT], &r->model[QDQ_SHAPE_OPT],
                       err));
    QDQ_TRY(infer_end(m, o, QDQ_SHAPE_MIN, &r->model[QDQ_SHAPE_MIN], err));
    QDQ_TRY(infer_end(m, o, QDQ_SHAPE_MAX, &r->model[QDQ_SHAPE_MAX], err));
    return qdq_facts_open(r->model[QDQ_SHAPE_OPT], NULL, &r->facts, err);
}

qdq_status qdq_shape_range_open(const qdq_model *m, const qdq_shape_range_opts *opts,
                                qdq_shape_range **out, qdq_error *err)
{
    static const qdq_shape_range_opts none = {0};

    *out = calloc(1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    qdq_status st = open_all(*out, m, opts != NULL ? opts : &none, err);
    return QDQ_HAND_OVER(*out, st, out, qdq_shape_range_close);
}

void qdq_shape_range_close(qdq_shape_range *r)
{
    if (r == NULL)
        return;
    qdq_facts_close(r->facts);
    for (int i = 0; i < QDQ_SHAPE_RANGE; i++)
        qdq_model_free(r->model[i]);
    free(r);
}

/* --- usual shapes ----------------------------------------------------------------------------- */

static const qdq_input_shape *shape_of(const char *input, const qdq_input_shape *given, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(given[i].name, input) == 0)
            return &given[i];
    return NULL;
}

/* 1 if nothing says otherwise. */
static int64_t usual_dim(const qdq_graph *g, qdq_dim dim, const qdq_input_shape *given, size_t n)
{
    if (dim.value >= 0)
        return dim.value;
    for (size_t i = 0; i < n && dim.param != NULL; i++) {
        const qdq_value *v = qdq_graph_find(g, given[i].name);
        for (int d = 0; v != NULL && v->type != NULL && d < v->type->rank && d < given[i].rank; d++)
            if (qdq_dim_same(v->type->dim[d], dim))
                return given[i].dim[d];
    }
    return 1;
}

qdq_status qdq_usual_shapes(const qdq_model *m, const qdq_input_shape *given, size_t n,
                            qdq_arena *arena, qdq_input_shape **out, size_t *n_out, qdq_error *err)
{
    const qdq_graph *g = m->graph;

    *n_out = 0;
    *out = qdq_arena_array(arena, g->inputs.n + 1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_value *v = g->inputs.at[i];
        const qdq_input_shape *known = shape_of(v->name, given, n);
        int64_t fixed[QDQ_MAX_RANK];
        int rank;
        if (known != NULL) {
            (*out)[(*n_out)++] = *known;
            continue;
        }
        if (v->init != NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR ||
            v->type->rank < 0 || v->type->rank > QDQ_MAX_RANK ||
            qdq_value_static_shape(v, &rank, fixed, QDQ_MAX_RANK))
            continue;
        qdq_input_shape *shape = &(*out)[(*n_out)++];
        *shape = (qdq_input_shape){.name = v->name, .rank = v->type->rank};
        for (int d = 0; d < v->type->rank; d++)
            shape->dim[d] = usual_dim(g, v->type->dim[d], given, n);
    }
    return QDQ_OK;
}

/* --- shapes of values ------------------------------------------------------------------------- */

static void sort_dim(qdq_dims_range *out, int d)
{
    int64_t *min = &out->dim[QDQ_SHAPE_MIN][d], *max = &out->dim[QDQ_SHAPE_MAX][d];
    const int64_t opt = out->dim[QDQ_SHAPE_OPT][d];

    if (*min < 0 || *max < 0 || opt < 0)
        return;
    if (*min > *max) {
        int64_t less = *max;
        *max = *min;
        *min = less;
    }
    *min = *min < opt ? *min : opt;
    *max = *max > opt ? *max : opt;
    out->dynamic |= *min != *max;
}

bool qdq_shape_range_of(const qdq_shape_range *r, const qdq_value *v, qdq_dims_range *out)
{
    *out = (qdq_dims_range){.rank = -1};
    for (int i = 0; i < QDQ_SHAPE_RANGE; i++) {
        const qdq_value *at = qdq_graph_find(r->model[i]->graph, v->name);
        const qdq_type *t = at != NULL ? at->type : NULL;
        if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->rank < 0 || t->rank > QDQ_MAX_RANK ||
            (i > 0 && t->rank != out->rank))
            return false;
        out->rank = t->rank;
        for (int d = 0; d < t->rank; d++)
            out->dim[i][d] = t->dim[d].value;
    }
    for (int d = 0; d < out->rank; d++)
        sort_dim(out, d);
    return true;
}

const qdq_tensor *qdq_shape_range_tensor(const qdq_shape_range *r, const qdq_value *v,
                                         qdq_status *st)
{
    const qdq_value *at = qdq_graph_find(r->model[QDQ_SHAPE_OPT]->graph, v->name);

    *st = QDQ_OK;
    if (at == NULL)
        return NULL;
    const qdq_tensor *t = qdq_value_const(at);
    return t != NULL ? t : qdq_facts_tensor(r->facts, at, st);
}
