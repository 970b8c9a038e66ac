/* tune_samples.c - the samples that candidates are timed and compared on, for the process that runs
 * the engine. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/data/npz_write.h"
#include "target/target.h"
#include "tune/accuracy/accuracy.h"

enum { SAMPLES = 4, LOOKED_AT = 64 };

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
        const int64_t rows = to->array.data != NULL ? to->array.dim[0] : 0;
        *to = in[i];
        to->array.data = data;
        to->array.bytes += before;
        if (to->array.rank > 0)
            to->array.dim[0] += rows;
    }
    return QDQ_OK;
}

/* Next to those that are there: no scalars, and equal but for the first axis. */
static bool can_be_stacked(const stacked *s, const qdq_named_array *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const qdq_array *a = &in[i].array, *first = &s->array[i].array;

        if (a->rank == 0 || a->rank != first->rank ||
            memcmp(a->dim + 1, first->dim + 1, (size_t)(a->rank - 1) * sizeof *a->dim) != 0)
            return false;
    }
    return true;
}

/* Of the evaluation samples, if there are any of their own: calibration has not seen it. *first:
 * the typical one, whose lengths all have that candidates are timed on; *end is behind the last. */
static qdq_status find_samples(qdq_tune_state *t, qdq_data **data, size_t *first, size_t *end,
                               qdq_error *err)
{
    qdq_compare_opts o;

    QDQ_TRY(qdq_tune_evaluation_data(t, data, &o, err));
    const size_t all = qdq_data_count(*data), from = o.first < all ? o.first : 0,
                 count = o.count > 0 && o.count < all - from ? o.count : all - from;
    *end = from + count;
    return qdq_data_find_typical(*data, from, count, first, err);
}

static qdq_status gather_samples(qdq_tune_state *t, stacked *s, qdq_error *err)
{
    size_t first, end, taken = 0;
    qdq_data *data;

    QDQ_TRY(find_samples(t, &data, &first, &end, err));
    for (size_t k = first; k < end && k < first + LOOKED_AT && taken < SAMPLES; k++) {
        const qdq_named_array *in;
        size_t n;

        QDQ_TRY(qdq_data_get(data, k, &in, &n, err));
        if (taken > 0 && !can_be_stacked(s, in, n))
            continue;
        QDQ_TRY(stack_sample(s, in, n, err));
        taken++;
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
    const qdq_named_array *in;
    qdq_data *data;
    size_t n, first, end;

    QDQ_TRY(find_samples(t, &data, &first, &end, err));
    QDQ_TRY(qdq_data_get(data, first, &in, &n, err));
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
