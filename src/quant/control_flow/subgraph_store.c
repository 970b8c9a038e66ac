/* subgraph_store.c - a data source whose samples are in memory. Samples may share arrays: what a
 * Loop captures is the same in every iteration. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/vec.h"
#include "quant/control_flow/subgraph_data.h"
#include "quant/data/data_source.h"

typedef struct store {
    QDQ_VEC(const qdq_array *) samples;
    size_t bytes;
} store;

static qdq_status get_sample(qdq_data *d, size_t i, qdq_error *err)
{
    const store *s = d->source;

    (void)err;
    for (size_t k = 0; k < d->n_inputs; k++)
        d->arrays[k].array = s->samples.at[i][k];
    return QDQ_OK;
}

/* What was borrowed is the arena's. */
static void close_store(qdq_data *d)
{
    for (size_t k = 0; k < d->n_inputs; k++)
        d->arrays[k].array.data = NULL;
}

static qdq_status copy_inputs(qdq_data *d, const qdq_model *m, qdq_error *err)
{
    size_t n = qdq_model_input_count(m);

    d->inputs = qdq_arena_array(&d->arena, n + 1, sizeof *d->inputs);
    d->arrays = qdq_arena_array(&d->arena, n + 1, sizeof *d->arrays);
    d->capacity = qdq_arena_array(&d->arena, n + 1, sizeof *d->capacity);
    d->source = qdq_arena_alloc(&d->arena, sizeof(store));
    d->spec = "";
    QDQ_NEED(d->inputs != NULL && d->arrays != NULL && d->capacity != NULL && d->source != NULL,
             err);
    *(store *)d->source = (store){{NULL, 0, 0}, 0};
    for (; d->n_inputs < n; d->n_inputs++) {
        qdq_io *io = &d->inputs[d->n_inputs];

        if (!qdq_model_input(m, d->n_inputs, io))
            return qdq_fail(err, QDQ_E_BUG, "input %zu of %zu is not there", d->n_inputs, n);
        io->name = qdq_arena_strdup(&d->arena, io->name);
        QDQ_NEED(io->name != NULL, err);
        for (int i = 0; i < io->rank; i++)
            io->param[i] = NULL;
        d->arrays[d->n_inputs].name = io->name;
    }
    return QDQ_OK;
}

qdq_status qdq_store_open(const qdq_model *m, qdq_data **out, qdq_error *err)
{
    qdq_data *d = calloc(1, sizeof *d);

    *out = NULL;
    QDQ_NEED(d != NULL, err);
    d->steps = 1;
    d->get = get_sample;
    d->close = close_store;
    qdq_status st = copy_inputs(d, m, err);
    return QDQ_HAND_OVER(d, st, out, qdq_data_close);
}

qdq_status qdq_store_keep(qdq_data *d, const qdq_array *a, qdq_array *out, qdq_error *err)
{
    store *s = d->source;

    *out = *a;
    out->data = qdq_arena_alloc(&d->arena, a->bytes + 1);
    QDQ_NEED(out->data != NULL, err);
    if (a->bytes > 0)
        memcpy(out->data, a->data, a->bytes);
    s->bytes += a->bytes;
    return QDQ_OK;
}

qdq_status qdq_store_add(qdq_data *d, const qdq_array *arrays, qdq_error *err)
{
    store *s = d->source;
    qdq_array *sample = qdq_arena_array(&d->arena, d->n_inputs + 1, sizeof *sample);

    QDQ_NEED(sample != NULL, err);
    memcpy(sample, arrays, d->n_inputs * sizeof *sample);
    QDQ_NEED(QDQ_PUSH(&d->arena, &s->samples, sample), err);
    d->count = s->samples.n;
    return QDQ_OK;
}

size_t qdq_store_bytes(const qdq_data *d)
{
    return ((const store *)d->source)->bytes;
}
