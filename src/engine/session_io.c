/* session_io.c - fills a session's inputs and outputs from the model's graph. */
#include "engine/session_io.h"

#include "base/fail.h"

static qdq_status describe(qdq_session *s, const qdq_value *v, qdq_io *io, qdq_error *err)
{
    const qdq_type *t = v->type;

    *io = (qdq_io){.name = qdq_arena_strdup(&s->arena, v->name), .rank = -1};
    QDQ_NEED(io->name != NULL, err);
    if (t == NULL || t->kind != QDQ_TYPE_TENSOR)
        return QDQ_OK;
    io->elem = t->elem;
    if (t->rank > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s' has rank %d: expected at most %d",
                        v->name, t->rank, QDQ_MAX_RANK);
    io->rank = t->rank;
    for (int a = 0; a < t->rank; a++) {
        io->dim[a] = t->dim[a].value;
        if (t->dim[a].value >= 0 || t->dim[a].param == NULL)
            continue;
        io->param[a] = qdq_arena_strdup(&s->arena, t->dim[a].param);
        QDQ_NEED(io->param[a] != NULL, err);
    }
    return QDQ_OK;
}

qdq_status qdq_session_describe(qdq_session *s, const qdq_graph *g, qdq_error *err)
{
    s->in = qdq_arena_array(&s->arena, g->inputs.n + 1, sizeof *s->in);
    s->out = qdq_arena_array(&s->arena, g->outputs.n + 1, sizeof *s->out);
    QDQ_NEED(s->in != NULL && s->out != NULL, err);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->init == NULL)
            QDQ_TRY(describe(s, g->inputs.at[i], &s->in[s->n_in++], err));
    for (size_t i = 0; i < g->outputs.n; i++)
        QDQ_TRY(describe(s, g->outputs.at[i], &s->out[s->n_out++], err));
    return QDQ_OK;
}

qdq_status qdq_session_describe_model(qdq_session *s, const qdq_model *m, qdq_error *err)
{
    qdq_model *copy = NULL;

    QDQ_TRY(qdq_model_clone(m, &copy, err));
    qdq_status st = qdq_model_infer_shapes(copy, err);
    if (st == QDQ_OK)
        st = qdq_session_describe(s, copy->graph, err);
    qdq_model_free(copy);
    return st;
}
