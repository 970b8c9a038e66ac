/* data_callback.c - samples that the caller's functions produce (qdq_data_source). Samples come in
 * one order only: to go back, a source is rewound; one that cannot be rewound is read back from a
 * spool, to which each sample goes before the next one is asked for. */
#include "quant/data/data_source.h"

#include <string.h>

#include "base/fail.h"
#include "quant/data/spool.h"

#define NO_SAMPLE SIZE_MAX

typedef struct callback_source {
    qdq_data_source from;
    const char *temp_dir;
    /* number of the sample that from.next() returns next */
    size_t next;
    /* sample whose arrays are in the buffers; or NO_SAMPLE */
    size_t current;
    /* NULL: it can be rewound, or one sample was read yet */
    qdq_spool *spool;
    qdq_array *shapes;
    /* for each input, 1 + its array in the sample at hand */
    size_t *by;
    /* labels that were read, all of them in the first pass */
    size_t n_labels;
    /* of a sample, with its error */
    qdq_status failure;
    qdq_error why;
} callback_source;

/* --- one sample ------------------------------------------------------------------------------- */

/* The place of an array: an input, or n_inputs for labels. */
static qdq_status find_input_or_labels(qdq_data *d, const char *name, size_t *k, qdq_error *err)
{
    if (d->labels_key != NULL && name != NULL && strcmp(name, d->labels_key) == 0) {
        *k = d->n_inputs;
        return QDQ_OK;
    }
    if (d->n_inputs == 1 && (name == NULL || name[0] == '\0')) {
        *k = 0;
        return QDQ_OK;
    }
    for (*k = 0; *k < d->n_inputs; ++*k)
        if (name != NULL && strcmp(name, d->inputs[*k].name) == 0)
            return QDQ_OK;
    return qdq_data_surplus(d, name != NULL ? name : "", err);
}

/* One array for each input, and for the labels. */
static qdq_status assign_arrays(qdq_data *d, const qdq_named_array *in, size_t n, qdq_error *err)
{
    callback_source *s = d->source;

    memset(s->by, 0, (d->n_inputs + 1) * sizeof *s->by);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        QDQ_TRY(find_input_or_labels(d, in[i].name, &k, err));
        if (s->by[k] != 0)
            return qdq_fail(err, QDQ_E_FORMAT, "two arrays are named '%s'",
                            in[i].name != NULL ? in[i].name : "");
        s->by[k] = i + 1;
        const qdq_status st = qdq_data_check_array(&in[i].array, err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "array '%s'", in[i].name != NULL ? in[i].name : "");
    }
    for (size_t k = 0; k < d->n_inputs; k++) {
        d->is_missing[k] = s->by[k] == 0;
        if (d->is_missing[k] && qdq_data_is_plain(d, k))
            return qdq_fail(err, QDQ_E_FORMAT, "no array for input '%s'", d->inputs[k].name);
    }
    if (d->labels_key != NULL && s->by[d->n_inputs] == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "no labels '%s'", d->labels_key);
    return QDQ_OK;
}

/* A sample of a batch of 1 may come without the batch. */
static qdq_array add_batch_axis(const qdq_data *d, size_t k, const qdq_array *a)
{
    const qdq_io *io = &d->inputs[k];
    qdq_array out = *a;

    if (io->rank < 1 || a->rank != io->rank - 1 || qdq_io_batch(io) != 1)
        return out;
    out.rank = io->rank;
    out.dim[0] = 1;
    memcpy(out.dim + 1, a->dim, (size_t)a->rank * sizeof *a->dim);
    return out;
}

/* Labels of a sample whose batch is the first dim of its first input. */
static qdq_status append_callback_labels(qdq_data *d, const qdq_array *labels,
                                         const qdq_array *first, qdq_error *err)
{
    callback_source *s = d->source;
    const int64_t items = first->rank > 0 ? first->dim[0] : 1;

    if (!qdq_data_is_label(labels->elem) || qdq_array_count(labels) != items)
        return qdq_fail(
            err, QDQ_E_FORMAT, "labels '%s' are %s, expected integers [%lld]", d->labels_key,
            qdq_data_type_text(d, labels->elem, labels->rank, labels->dim), (long long)items);
    if (s->n_labels > 0 && (size_t)items != d->labels_per_sample)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%lld labels '%s', expected %zu as in the samples before", (long long)items,
                        d->labels_key, d->labels_per_sample);
    QDQ_TRY(qdq_data_copy_labels(d, labels->elem, labels->data, s->n_labels, (size_t)items, err));
    d->labels_per_sample = (size_t)items;
    s->n_labels += (size_t)items;
    return QDQ_OK;
}

/* `copy`: into the buffers; else only looked at. */
static qdq_status accept_sample(qdq_data *d, const qdq_named_array *in, size_t n, bool copy,
                                qdq_error *err)
{
    callback_source *s = d->source;
    qdq_array first = {.rank = 0};
    bool has_first = false;

    QDQ_TRY(assign_arrays(d, in, n, err));
    for (size_t k = 0; k < d->n_inputs; k++) {
        if (d->is_missing[k])
            continue;
        const qdq_array a = add_batch_axis(d, k, &in[s->by[k] - 1].array);

        QDQ_TRY(qdq_data_check_fit(d, k, &a, err));
        const qdq_status st = copy ? qdq_data_copy(d, k, &a, err) : QDQ_OK;
        if (st != QDQ_OK)
            return qdq_within(err, st, "input '%s'", d->inputs[k].name);
        if (!has_first && qdq_data_is_plain(d, k))
            first = a;
        has_first |= qdq_data_is_plain(d, k);
    }
    if (copy)
        QDQ_TRY(qdq_data_fill_missing(d, s->next, err));
    /* later passes have the same labels */
    if (d->labels_key != NULL && s->n_labels == s->next * d->labels_per_sample)
        return append_callback_labels(d, &in[s->by[d->n_inputs] - 1].array, &first, err);
    return QDQ_OK;
}

/* --- the source in its order ------------------------------------------------------------------ */

/* What the caller's function says is passed on as it is; that it says nothing is said here. With
 * QDQ_E_GOAL searches end when their time is up: from a function it is a misuse. */
static qdq_status callback_failed(const qdq_data *d, const char *function, qdq_status st,
                                  qdq_error *err)
{
    st = st == QDQ_E_GOAL ? QDQ_E_USAGE : st;
    if (err != NULL)
        err->code = st;
    if (err == NULL || err->text[0] != '\0')
        return st;
    return qdq_fail(err, st, "%s: the function `%s` failed", d->spec, function);
}

/* Before the buffers get another sample; a source of one sample needs no file. */
static qdq_status spool_current_sample(qdq_data *d, qdq_error *err)
{
    callback_source *s = d->source;

    if (s->from.rewind != NULL || s->current == NO_SAMPLE ||
        (s->spool != NULL && s->current < qdq_spool_count(s->spool)))
        return QDQ_OK;
    if (s->spool == NULL)
        QDQ_TRY(qdq_spool_open(s->temp_dir, d->n_inputs, &s->spool, err));
    return qdq_spool_add(s->spool, d->arrays, err);
}

/* The next sample; *ended: there is none. */
static qdq_status pull_next_sample(qdq_data *d, bool copy, bool *ended, qdq_error *err)
{
    callback_source *s = d->source;
    const qdq_named_array *in = NULL;
    size_t n = 0;

    QDQ_TRY(qdq_job_poll(d->job, err));
    QDQ_TRY(spool_current_sample(d, err));
    if (copy)
        s->current = NO_SAMPLE;
    if (err != NULL)
        *err = (qdq_error)QDQ_ERROR_INIT;
    qdq_status st = s->from.next(s->from.ctx, &in, &n, err);
    if (st != QDQ_OK)
        return callback_failed(d, "next", st, err);
    *ended = in == NULL || n == 0;
    if (*ended)
        return QDQ_OK;
    st = accept_sample(d, in, n, copy, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "%s: sample %zu", d->spec, s->next);
    if (copy)
        s->current = s->next;
    s->next++;
    return QDQ_OK;
}

static qdq_status rewind_source(qdq_data *d, qdq_error *err)
{
    callback_source *s = d->source;

    if (err != NULL)
        *err = (qdq_error)QDQ_ERROR_INIT;
    const qdq_status st = s->from.rewind(s->from.ctx, err);
    if (st != QDQ_OK)
        return callback_failed(d, "rewind", st, err);
    s->next = 0;
    return QDQ_OK;
}

static qdq_status read_spooled_sample(qdq_data *d, size_t i, qdq_error *err)
{
    callback_source *s = d->source;

    QDQ_TRY(spool_current_sample(d, err));
    s->current = NO_SAMPLE;
    QDQ_TRY(qdq_spool_begin(s->spool, i, s->shapes, err));
    for (size_t k = 0; k < d->n_inputs; k++) {
        const qdq_array *a = &s->shapes[k];

        QDQ_TRY(qdq_data_shape(d, k, a->elem, a->rank, a->dim, err));
        QDQ_TRY(qdq_spool_read(s->spool, d->arrays[k].array.data, a->bytes, err));
    }
    s->current = i;
    return QDQ_OK;
}

/* --- any sample ------------------------------------------------------------------------------- */

static qdq_status seek_sample(qdq_data *d, size_t i, qdq_error *err)
{
    callback_source *s = d->source;
    bool ended = false;

    if (i < s->next && s->from.rewind == NULL)
        return read_spooled_sample(d, i, err);
    if (i < s->next)
        QDQ_TRY(rewind_source(d, err));
    while (s->next <= i && !ended)
        QDQ_TRY(pull_next_sample(d, s->next == i || s->from.rewind == NULL, &ended, err));
    return ended ? qdq_fail(err, QDQ_E_FORMAT, "%s: ended after %zu samples, expected %zu", d->spec,
                            s->next, d->count)
                 : QDQ_OK;
}

/* After a failure the source may be anywhere: its error stays. */
static qdq_status get_callback_sample(qdq_data *d, size_t i, qdq_error *err)
{
    callback_source *s = d->source;

    if (s->failure == QDQ_OK && i == s->current)
        return QDQ_OK;
    if (s->failure == QDQ_OK)
        s->failure = seek_sample(d, i, &s->why);
    if (s->failure != QDQ_OK && err != NULL)
        *err = s->why;
    return s->failure;
}

static void close_callback_source(qdq_data *d)
{
    qdq_spool_close(((callback_source *)d->source)->spool);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The first pass, where nothing is known of the source, or labels are wanted. */
static qdq_status read_first_pass(qdq_data *d, qdq_error *err)
{
    callback_source *s = d->source;
    const size_t most = d->max_samples > 0 ? d->max_samples : SIZE_MAX;
    bool ended = false;

    while (!ended && s->next < most) {
        QDQ_TRY(pull_next_sample(d, s->from.rewind == NULL || s->next == 0, &ended, err));
        qdq_job_progress(d->job, "samples", s->next, d->count);
    }
    d->count = s->next;
    return QDQ_OK;
}

qdq_status qdq_data_open_source(qdq_data *d, const qdq_data_source *source, const char *temp_dir,
                                qdq_error *err)
{
    callback_source *s = qdq_arena_alloc(&d->arena, sizeof *s);

    QDQ_NEED(s != NULL, err);
    *s = (callback_source){.from = *source, .current = NO_SAMPLE, .failure = QDQ_OK};
    d->source = s;
    d->get = get_callback_sample;
    d->close = close_callback_source;
    s->shapes = qdq_arena_array(&d->arena, d->n_inputs, sizeof *s->shapes);
    s->by = qdq_arena_array(&d->arena, d->n_inputs + 1, sizeof *s->by);
    if (temp_dir != NULL)
        s->temp_dir = qdq_arena_strdup(&d->arena, temp_dir);
    if (s->shapes == NULL || s->by == NULL || (temp_dir != NULL && s->temp_dir == NULL))
        return qdq_nomem(err);
    d->count = source->count;
    if (d->max_samples > 0 && d->count > d->max_samples)
        d->count = d->max_samples;
    const size_t expected = d->count;
    if (expected == 0 || d->labels_key != NULL)
        QDQ_TRY(read_first_pass(d, err));
    else
        QDQ_TRY(seek_sample(d, 0, err));
    if (d->count == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: no samples, expected at least one", d->spec);
    if (d->count < expected)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: ended after %zu samples, expected %zu", d->spec,
                        d->count, expected);
    return QDQ_OK;
}
