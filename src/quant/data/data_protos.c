/* data_protos.c - ONNX's test data as samples: folders with one TensorProto for each input,
 * input_0.pb and so on. A folder is one run of the model, its batch included. Files are mapped for
 * a sample, and not held. */
#include "quant/data/data_source.h"

#include <string.h>

#include "base/fail.h"
#include "ir/ir.h"
#include "onnx/onnx_io.h"

typedef struct proto_source {
    /* folders; or, if `folder` is not set, one file */
    const char *const *paths;
    bool folder;
    /* for each input, 1 + the file that gave it in the set that is read */
    size_t *by;
} proto_source;

static qdq_status copy_proto_values(qdq_data *d, size_t k, const qdq_tensor *t, qdq_array *a,
                                    qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span data;

    qdq_status st = qdq_tensor_data(t, &scratch, &data, err);
    if (st == QDQ_OK) {
        a->data = (void *)(uintptr_t)data.data;
        a->bytes = data.size;
        st = qdq_data_copy(d, k, a, err);
    }
    qdq_arena_free(&scratch);
    return st;
}

/* The input that file f is for: that of the tensor's name, or, for names that the model does not
 * know, the f-th. */
static qdq_status find_proto_input(qdq_data *d, const qdq_tensor *t, size_t f, size_t *input,
                                   qdq_error *err)
{
    size_t *by = ((proto_source *)d->source)->by;
    size_t k = 0;

    while (k < d->n_inputs && strcmp(d->inputs[k].name, t->name) != 0)
        k++;
    *input = k = k < d->n_inputs ? k : f;
    if (by[k] != 0)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "a second tensor for input '%s', input_%zu.pb has the first",
                        d->inputs[k].name, by[k] - 1);
    by[k] = f + 1;
    return QDQ_OK;
}

static qdq_status read_proto_file(qdq_data *d, const char *path, size_t f, bool copy,
                                  qdq_error *err)
{
    const qdq_tensor *t;
    qdq_model *holder;
    size_t k = f;

    QDQ_TRY(qdq_onnx_read_tensor(path, &holder, &t, err)); /* names the file itself */
    qdq_array a = {.elem = t->elem, .rank = t->rank};
    qdq_status st = find_proto_input(d, t, f, &k, err);
    for (int i = 0; i < t->rank; i++) /* the reader refused more than QDQ_MAX_RANK */
        a.dim[i] = t->dim[i];
    if (st == QDQ_OK)
        st = qdq_data_check_fit(d, k, &a, err);
    if (st == QDQ_OK && copy) {
        st = copy_proto_values(d, k, t, &a, err);
        if (st != QDQ_OK)
            st = qdq_within(err, st, "input '%s'", d->inputs[k].name);
    }
    qdq_model_free(holder);
    return st == QDQ_OK ? st : qdq_within(err, st, "%s", path);
}

/* As many files as the model has inputs, each for another one: so every input gets its tensor. */
static qdq_status read_proto_set(qdq_data *d, size_t set, bool copy, qdq_error *err)
{
    proto_source *s = d->source;
    qdq_arena_mark mark = qdq_arena_get_mark(&d->arena); /* paths, and what messages are made of */
    qdq_status st = QDQ_OK;

    memset(s->by, 0, d->n_inputs * sizeof *s->by);
    for (size_t f = 0; f < d->n_inputs && st == QDQ_OK; f++) {
        const char *path = s->folder
                               ? qdq_arena_printf(&d->arena, "%s/input_%zu.pb", s->paths[set], f)
                               : s->paths[set];

        st = path != NULL ? read_proto_file(d, path, f, copy, err) : qdq_nomem(err);
    }
    qdq_arena_reset(&d->arena, mark);
    return st;
}

static qdq_status get_proto_sample(qdq_data *d, size_t i, qdq_error *err)
{
    return read_proto_set(d, i, true, err);
}

qdq_status qdq_data_open_protos(qdq_data *d, const char *const *paths, size_t n_paths, bool folder,
                                qdq_error *err)
{
    proto_source *s = qdq_arena_alloc(&d->arena, sizeof *s);

    QDQ_NEED(s != NULL, err);
    *s = (proto_source){paths, folder, qdq_arena_array(&d->arena, d->n_inputs, sizeof *s->by)};
    QDQ_NEED(s->by != NULL, err);
    if (!folder && d->n_inputs != 1)
        return qdq_fail(
            err, QDQ_E_FORMAT,
            "%s: one tensor, but the model has %zu inputs: expected a folder with input_0.pb to "
            "input_%zu.pb",
            paths[0], d->n_inputs, d->n_inputs - 1);
    d->source = s;
    d->get = get_proto_sample;
    for (; d->count < n_paths; d->count++) {
        QDQ_TRY(qdq_job_poll(d->job, err));
        QDQ_TRY(read_proto_set(d, d->count, false, err));
    }
    return QDQ_OK;
}
