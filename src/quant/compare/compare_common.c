/* compare_common.c - what two models have in common that can be compared. */
#include "quant/compare/compare_state.h"

#include <string.h>

#include "base/fail.h"
#include "ir/ir.h"
#include "quant/compare/deciders.h"

static bool has_output(const qdq_model *m, const char *name)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    return v != NULL && v->n_output > 0;
}

/* Values that decide the shape of an output, where both models have them and the engine shows
 * them. */
static qdq_status add_inner(qdq_comparing *c, const qdq_deciders *d, qdq_error *err)
{
    const bool can = (qdq_engine_get_info(c->engine)->capabilities & QDQ_CAN_EXPOSE) != 0;

    for (size_t i = 0; can && i < d->names.n; i++) {
        qdq_compared v = {.is_inner = true};

        if (qdq_graph_find(c->model[1]->graph, d->names.at[i]) == NULL ||
            has_output(c->model[0], d->names.at[i]))
            continue;
        v.name = qdq_arena_strdup(&c->arena, d->names.at[i]);
        QDQ_NEED(v.name != NULL && QDQ_PUSH(&c->arena, &c->outputs, v) &&
                     QDQ_PUSH(&c->arena, &c->expose, v.name),
                 err);
        qdq_job_log(c->opts.job, QDQ_LOG_INFO,
                    "'%s' decides the shape of an output, and is compared", v.name);
    }
    return qdq_allocated(c->expose.n == 0 || QDQ_PUSH(&c->arena, &c->expose, NULL), err);
}

static qdq_status find_inner(qdq_comparing *c, qdq_error *err)
{
    qdq_deciders d;
    size_t k = 0; /* outputs are in the order of the first model */
    qdq_io io;

    qdq_status st = qdq_deciders_find(c->model[0], c->opts.job, &d, err);
    for (size_t i = 0; st == QDQ_OK && k < c->outputs.n && qdq_model_output(c->model[0], i, &io);
         i++)
        if (strcmp(c->outputs.at[k].name, io.name) == 0)
            c->outputs.at[k++].follows = d.follows[i];
    if (st == QDQ_OK)
        st = add_inner(c, &d, err);
    qdq_deciders_free(&d);
    return st;
}

qdq_status qdq_comparing_find_outputs(qdq_comparing *c, qdq_error *err)
{
    qdq_io a;

    for (size_t i = 0; qdq_model_output(c->model[0], i, &a); i++) {
        if (!has_output(c->model[1], a.name))
            qdq_job_log(c->opts.job, QDQ_LOG_WARNING,
                        "output '%s' of the first model is not in the second: left out", a.name);
        else if (!QDQ_PUSH(&c->arena, &c->outputs, ((qdq_compared){.name = a.name})))
            return qdq_nomem(err);
    }
    if (c->outputs.n == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "the two models have no output in common");
    c->outputs.at[0].sums.top1.is_asked = c->opts.scores;
    QDQ_TRY(find_inner(c, err));
    for (size_t k = 0; k < c->outputs.n; k++)
        QDQ_NEED(qdq_map_set_ptr(&c->by_name, c->outputs.at[k].name, &c->outputs.at[k]), err);
    const size_t runs = (c->end - c->first) * qdq_data_steps(c->data);
    return c->reference_outputs != NULL
               ? qdq_reference_outputs_begin(c->reference_outputs, runs * c->outputs.n, err)
               : QDQ_OK;
}

qdq_status qdq_comparing_need_states(const qdq_comparing *c, const qdq_model *b, qdq_error *err)
{
    for (size_t i = 0; i < c->states[1].n; i++)
        if (!has_output(b, c->states[1].states[i].output))
            return qdq_fail(err, QDQ_E_FORMAT,
                            "second model: found no output '%s', expected the state of input '%s'",
                            c->states[1].states[i].output, c->states[1].states[i].input);
    return QDQ_OK;
}

qdq_status qdq_comparing_need_outputs(const qdq_comparing *c, const qdq_model *b, qdq_error *err)
{
    for (size_t k = 0; k < c->outputs.n; k++)
        if (c->outputs.at[k].is_inner ? qdq_graph_find(b->graph, c->outputs.at[k].name) == NULL
                                      : !has_output(b, c->outputs.at[k].name))
            return qdq_fail(err, QDQ_E_FORMAT,
                            "second model: found no output '%s', which the one before it has",
                            c->outputs.at[k].name);
    return QDQ_OK;
}
