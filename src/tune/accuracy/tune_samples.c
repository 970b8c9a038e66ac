/* tune_samples.c - the samples that candidates are timed and compared on, for the process that runs
 * the engine. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/compare/step_inputs.h"
#include "quant/data/npz_write.h"
#include "tune/accuracy/accuracy.h"

enum { SAMPLES = 4, LOOKED_AT = 64 };

typedef struct stacked {
    /* by input */
    qdq_named_array *array;
    size_t n;
    size_t n_samples;
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
    s->n_samples++;
    for (size_t i = 0; i < n; i++) {
        qdq_named_array *to = &s->array[i];
        size_t before = to->array.bytes;
        unsigned char *data = realloc(to->array.data, before + in[i].array.bytes + 1);
        QDQ_NEED(data != NULL, err);
        memcpy(data + before, in[i].array.data, in[i].array.bytes);
        int64_t rows = s->n_samples > 1 ? to->array.dim[0] : 0;
        *to = in[i];
        to->array.data = data;
        to->array.bytes += before;
        if (to->array.rank > 0)
            to->array.dim[0] += rows;
    }
    return QDQ_OK;
}

/* Next to those that are there: no scalars, and of their shapes. */
static bool can_be_stacked(const stacked *s, const qdq_named_array *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const qdq_array *a = &in[i].array, *first = &s->array[i].array;

        if (a->rank == 0 || a->rank != first->rank ||
            a->dim[0] * (int64_t)s->n_samples != first->dim[0] ||
            memcmp(a->dim + 1, first->dim + 1, (size_t)(a->rank - 1) * sizeof *a->dim) != 0)
            return false;
    }
    return true;
}

size_t qdq_tune_steps(const qdq_tune_state *t, size_t *timed)
{
    const qdq_data *d = t->opts->goal->eval != NULL ? t->opts->goal->eval : t->task.data;
    size_t n = 0;

    *timed = 0;
    if (d == NULL || qdq_data_states(d, &n) == NULL || n == 0)
        return 0;
    *timed = qdq_step_to_time(d);
    return qdq_data_steps(d);
}

/* What is timed of an evaluation sample: of a sequence the step in its middle. */
static qdq_step_request request_of(const qdq_tune_state *t, qdq_data *data, size_t sample,
                                   const qdq_session_opts *opts)
{
    return (qdq_step_request){.engine = t->tools.engine,
                              .m = t->task.m,
                              .of = t->task.m,
                              .opts = opts,
                              .data = data,
                              .sample = sample,
                              .step = qdq_step_to_time(data),
                              .job = t->job};
}

static qdq_session_opts session_opts(const qdq_tune_state *t)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;

    so.threads = t->task.quantize.threads;
    so.shapes = t->task.quantize.shapes;
    so.n_shapes = t->task.quantize.n_shapes;
    return so;
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

static qdq_status gather_samples(qdq_tune_state *t, stacked *s, qdq_arena *memory, qdq_error *err)
{
    const qdq_session_opts so = session_opts(t);
    size_t first, end;
    qdq_data *data;
    bool stack = true;

    QDQ_TRY(find_samples(t, &data, &first, &end, err));
    for (size_t k = first; stack && k < end && k < first + LOOKED_AT && s->n_samples < SAMPLES;
         k++) {
        const qdq_step_request at = request_of(t, data, k, &so);
        const qdq_arena_mark mark = qdq_arena_get_mark(memory);
        const qdq_named_array *in;
        size_t n;

        QDQ_TRY(qdq_step_inputs(&at, memory, &in, &n, err));
        if (s->n_samples == 0 || can_be_stacked(s, in, n))
            QDQ_TRY(stack_sample(s, in, n, err));
        stack = k > first || can_be_stacked(s, in, n);
        qdq_arena_reset(memory, mark);
    }
    return QDQ_OK;
}

qdq_status qdq_tune_samples(qdq_tune_state *t, const char **path, size_t *n, qdq_error *err)
{
    qdq_arena memory = QDQ_ARENA_INIT;
    stacked s = {.n = 0};
    char *file;

    *path = NULL;
    *n = 0;
    if (t->task.data == NULL && t->opts->goal->eval == NULL)
        return QDQ_OK;
    file = qdq_arena_printf(&t->arena, "%s/samples.npz", qdq_tempdir_path(t->tools.work));
    qdq_status st = file != NULL ? gather_samples(t, &s, &memory, err) : qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_npz_write(file, s.array, s.n, err);
    stacked_free(&s);
    qdq_arena_free(&memory);
    if (st == QDQ_E_UNSUPPORTED && !qdq_tune_caller_failed(t)) {
        qdq_job_log(t->job, QDQ_LOG_WARNING, "measured on random input: %s",
                    err != NULL ? err->text : "");
        return QDQ_OK;
    }
    if (st == QDQ_OK) {
        *path = file;
        *n = s.n_samples;
    }
    return st;
}

static qdq_status copy_shapes(qdq_tune_state *t, const qdq_named_array *in, size_t n,
                              qdq_error *err)
{
    qdq_input_shape *s = qdq_arena_array(&t->arena, n + 1, sizeof *s);

    QDQ_NEED(s != NULL, err);
    for (size_t i = 0; i < n; i++) {
        s[i] = (qdq_input_shape){.name = qdq_arena_strdup(&t->arena, in[i].name),
                                 .rank = in[i].array.rank};
        QDQ_NEED(s[i].name != NULL, err);
        memcpy(s[i].dim, in[i].array.dim, sizeof s[i].dim);
    }
    t->task.sample_shapes = s;
    t->task.n_sample_shapes = n;
    return QDQ_OK;
}

/* Once: steps are run for it. */
static qdq_status find_sample_shapes(qdq_tune_state *t, qdq_error *err)
{
    const qdq_session_opts so = session_opts(t);
    const qdq_named_array *in;
    size_t n, first, end;
    qdq_data *data;

    QDQ_TRY(find_samples(t, &data, &first, &end, err));
    const qdq_step_request at = request_of(t, data, first, &so);
    QDQ_TRY(qdq_steps_grow(&at, &t->task.steps_grow, err));
    t->task.knows_shapes = true;
    if (t->task.steps_grow)
        return QDQ_OK;
    QDQ_TRY(qdq_data_get(data, first, &in, &n, err));
    return copy_shapes(t, in, n, err);
}

qdq_status qdq_tune_sample_shapes(qdq_tune_state *t, const qdq_input_shape **out, size_t *n_out,
                                  qdq_error *err)
{
    if (!t->task.knows_shapes)
        QDQ_TRY(find_sample_shapes(t, err));
    *out = t->task.sample_shapes;
    *n_out = t->task.n_sample_shapes;
    return QDQ_OK;
}
