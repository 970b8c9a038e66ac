/* tune_samples.c - the samples that candidates are timed and compared on, for the process that runs
 * the engine. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/data/npz_write.h"
#include "tune/accuracy/accuracy.h"

enum { SAMPLES = 4 };

typedef struct stacked {
    /* by input */
    qdq_named_array *array;
    size_t n;
} stacked;

static void stacked_free(stacked *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->array[i].array.data);
    free(s->array);
}

/* Puts a sample behind those that are there: along the first axis, where readers cut it again. */
static qdq_status stack_sample(stacked *s, const qdq_named_array *in, size_t n, qdq_error *err)
{
    if (s->array == NULL) {
        s->array = calloc(n + 1, sizeof *s->array);
        QDQ_NEED(s->array != NULL, err);
        s->n = n;
    }
    for (size_t i = 0; i < n; i++) {
        qdq_named_array *to = &s->array[i];
        size_t before = to->array.bytes;
        unsigned char *data = realloc(to->array.data, before + in[i].array.bytes + 1);
        QDQ_NEED(data != NULL, err);
        memcpy(data + before, in[i].array.data, in[i].array.bytes);
        int64_t rows = before > 0 ? to->array.dim[0] : 0;
        *to = in[i];
        to->array.data = data;
        to->array.bytes += before;
        if (to->array.rank > 0)
            to->array.dim[0] += rows;
    }
    return QDQ_OK;
}

static bool can_be_stacked(const qdq_named_array *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (in[i].array.rank == 0)
            return false;
    return true;
}

/* Of the evaluation samples, if there are any of their own: calibration has not seen it. */
static qdq_status gather_samples(qdq_tune_state *t, stacked *s, qdq_error *err)
{
    qdq_compare_opts o;
    qdq_data *data;

    QDQ_TRY(qdq_tune_evaluation_data(t, &data, &o, err));
    const size_t all = qdq_data_count(data), first = o.first < all ? o.first : 0,
                 count = o.count > 0 && o.count < all - first ? o.count : all - first;
    for (size_t k = 0; k < SAMPLES && k < count; k++) {
        const qdq_named_array *in;
        size_t n;
        QDQ_TRY(qdq_data_get(data, first + k, &in, &n, err));
        QDQ_TRY(stack_sample(s, in, n, err));
        if (!can_be_stacked(in, n))
            break;
    }
    return QDQ_OK;
}

qdq_status qdq_tune_samples(qdq_tune_state *t, const char **path, qdq_error *err)
{
    stacked s = {0};
    char *file;

    *path = NULL;
    if (t->task.data == NULL && t->opts->goal->eval == NULL)
        return QDQ_OK;
    file = qdq_arena_printf(&t->arena, "%s/samples.npz", qdq_tempdir_path(t->tools.work));
    qdq_status st = file != NULL ? gather_samples(t, &s, err) : qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_npz_write(file, s.array, s.n, err);
    stacked_free(&s);
    if (st == QDQ_E_UNSUPPORTED && !qdq_tune_caller_failed(t)) {
        qdq_job_log(t->job, QDQ_LOG_WARNING, "measured on random input: %s",
                    err != NULL ? err->text : "");
        return QDQ_OK;
    }
    if (st == QDQ_OK)
        *path = file;
    return st;
}

qdq_status qdq_tune_sample_shapes(qdq_tune_state *t, const qdq_input_shape **out, size_t *n_out,
                                  qdq_error *err)
{
    qdq_compare_opts evaluating;
    const qdq_named_array *in;
    qdq_data *data;
    size_t n;

    QDQ_TRY(qdq_tune_evaluation_data(t, &data, &evaluating, err));
    QDQ_TRY(qdq_data_get(data, evaluating.first, &in, &n, err));
    qdq_input_shape *s = qdq_arena_array(&t->arena, n + 1, sizeof *s);
    QDQ_NEED(s != NULL, err);
    for (size_t i = 0; i < n; i++) {
        s[i] = (qdq_input_shape){.name = qdq_arena_strdup(&t->arena, in[i].name),
                                 .rank = in[i].array.rank};
        QDQ_NEED(s[i].name != NULL, err);
        memcpy(s[i].dim, in[i].array.dim, sizeof s[i].dim);
    }
    *out = s;
    *n_out = n;
    return QDQ_OK;
}
