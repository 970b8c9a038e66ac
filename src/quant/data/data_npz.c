/* data_npz.c - arrays as data: a .npz file, a .npy file, a folder of them, or arrays in memory. One
 * file is open at a time and one sample is read at a time; between samples only headers and labels
 * are held. */
#include "quant/data/data_source.h"

#include <string.h>

#include "base/fail.h"
#include "quant/data/npz.h"

enum { MAX_NAMES = 8 };

/* How one input takes its samples from the open file. */
typedef struct binding {
    /* in the file */
    size_t array;
    /* in the file: the input's, or a wider one */
    qdq_elem elem;
    /* in the file */
    size_t sample_bytes;
    /* an array for an input without dimensions: every sample is the same */
    bool constant;
    /* [sequences, steps, ...]: a sample is a step */
    bool has_time;
    /* then: of a sequence */
    size_t steps;
    int64_t batch;
    /* of a sample */
    int rank;
    int64_t dim[QDQ_MAX_RANK];
} binding;

typedef struct array_file {
    const char *path;
    /* samples */
    size_t first, count;
} array_file;

typedef struct array_source {
    array_file *files;
    size_t n_files;
    bool folder;
    /* then npz is open for good, as the only file */
    bool in_memory;
    /* in bindings; other arrays have one value for each sequence */
    bool has_time;
    /* notes and warnings are given once, not each time a file is opened again */
    bool opening;
    bool told_wide;
    /* the file that is open */
    size_t current;
    /* NULL: none */
    qdq_npz *npz;
    binding *bindings;
    size_t n_label;
} array_source;

/* --- arrays find their inputs ----------------------------------------------------------------- */

static const char *header_text(qdq_data *d, const qdq_npy *a)
{
    return qdq_data_type_text(d, a->elem, a->rank, a->dim);
}

/* "'a', 'b'": the arrays in a file, or "none". */
static const char *names_text(qdq_data *d, const qdq_npz *z)
{
    const char *text = qdq_npz_count(z) > 0 ? "" : "none";

    for (size_t i = 0; i < qdq_npz_count(z) && text != NULL; i++) {
        if (i == MAX_NAMES) {
            text = qdq_arena_printf(&d->arena, "%s, ... (%zu in all)", text, qdq_npz_count(z));
            break;
        }
        text = qdq_arena_printf(&d->arena, "%s%s'%s'", text, i > 0 ? ", " : "", qdq_npz_name(z, i));
    }
    return text != NULL ? text : "?";
}

static bool find_array_by_name(const qdq_npz *z, const char *name, size_t *array)
{
    for (*array = 0; *array < qdq_npz_count(z); ++*array)
        if (strcmp(qdq_npz_name(z, *array), name) == 0)
            return true;
    return false;
}

/* Of labels or groups. */
static bool is_key(const qdq_data *d, const char *name)
{
    return (d->labels_key != NULL && strcmp(name, d->labels_key) == 0) ||
           (d->groups_key != NULL && strcmp(name, d->groups_key) == 0);
}

/* By name; where there is one input and one array that is no label, they belong together. A state
 * or a mask that has none is missing. */
static qdq_status find_input_array(qdq_data *d, const qdq_npz *z, size_t k, size_t *array,
                                   qdq_error *err)
{
    size_t others = 0, other = 0;

    d->is_missing[k] = !find_array_by_name(z, d->inputs[k].name, array) && !qdq_data_is_plain(d, k);
    if (d->is_missing[k] || *array < qdq_npz_count(z))
        return QDQ_OK;
    for (size_t i = 0; i < qdq_npz_count(z); i++) {
        if (!is_key(d, qdq_npz_name(z, i))) {
            others++;
            other = i;
        }
    }
    *array = other;
    if (d->n_inputs - d->n_states - d->n_masks == 1 && others == 1)
        return QDQ_OK;
    if (((const array_source *)d->source)->in_memory)
        return qdq_fail(err, QDQ_E_FORMAT, "no array for input '%s'; there are: %s",
                        d->inputs[k].name, names_text(d, z));
    if (qdq_npz_count(z) == 1 && qdq_npz_name(z, 0)[0] == '\0')
        return qdq_fail(err, QDQ_E_FORMAT,
                        "one array, but the model has %zu inputs ('%s', '%s'%s): expected a .npz",
                        d->n_inputs, d->inputs[0].name, d->inputs[1].name,
                        d->n_inputs > 2 ? ", ..." : "");
    return qdq_fail(err, QDQ_E_FORMAT, "no array for input '%s'; arrays in the file: %s",
                    d->inputs[k].name, names_text(d, z));
}

/* A file may be for several models; who puts arrays together means all of them. */
static qdq_status check_unused_arrays(qdq_data *d, const array_source *s, qdq_error *err)
{
    for (size_t i = 0; i < qdq_npz_count(s->npz); i++) {
        const char *name = qdq_npz_name(s->npz, i);
        bool used = is_key(d, name);

        for (size_t k = 0; k < d->n_inputs; k++)
            used |= !d->is_missing[k] && s->bindings[k].array == i;
        if (!used && s->in_memory)
            return qdq_data_surplus(d, name, err);
        if (!used)
            qdq_job_log(d->job, QDQ_LOG_INFO,
                        "%s: array '%s' is not an input of the model, left out",
                        s->files[s->current].path, name);
    }
    return QDQ_OK;
}

static qdq_status fail_mismatch(qdq_data *d, size_t k, const qdq_npy *a, const char *why,
                                qdq_error *err)
{
    return qdq_data_mismatch(d, k, header_text(d, a), why, err);
}

/* The shape of a sample: dims of the array from `axis` on, behind a batch if it has none. */
static qdq_status fit_shape(qdq_data *d, size_t k, const qdq_npy *a, int axis, binding *b,
                            qdq_error *err)
{
    const qdq_io *io = &d->inputs[k];

    b->rank = 0;
    if (io->rank != 0 && a->rank - axis != io->rank)
        b->dim[b->rank++] = b->batch;
    for (int i = axis; i < a->rank; i++) {
        if (io->rank >= 0 && io->dim[b->rank] >= 0 && io->dim[b->rank] != a->dim[i])
            return fail_mismatch(d, k, a, "wrong shape", err);
        b->dim[b->rank++] = a->dim[i];
    }
    return QDQ_OK;
}

/* [sequences, steps, shape of a run], where a batch of 1 may be left out. */
static bool has_time_axis(const qdq_data *d, size_t k, const qdq_npy *a, int64_t batch)
{
    const int rank = d->inputs[k].rank;

    return d->n_states > 0 && rank >= 0 &&
           (a->rank == rank + 2 || (rank > 0 && batch == 1 && a->rank == rank + 1));
}

static qdq_status fit_sequences(qdq_data *d, size_t k, const qdq_npy *a, binding *b,
                                size_t *samples, qdq_error *err)
{
    const array_source *s = d->source;

    if (d->is_state[k])
        return fail_mismatch(d, k, a, "a state with a time axis", err);
    if (d->steps > 0 && !s->has_time)
        return fail_mismatch(d, k, a, "a time axis and a number of steps", err);
    b->has_time = true;
    b->steps = (size_t)a->dim[1];
    b->sample_bytes = a->bytes / (size_t)a->dim[0] / b->steps;
    *samples = (size_t)a->dim[0];
    return fit_shape(d, k, a, 2, b, err);
}

/* Fits the array to the input: *samples is how many the file has, with a time axis how many
 * sequences, *rest how many batch items are left over. */
static qdq_status fit_array(qdq_data *d, size_t k, const qdq_npy *a, binding *b, size_t *samples,
                            size_t *rest, qdq_error *err)
{
    const array_source *s = d->source;
    const qdq_io *io = &d->inputs[k];
    int axis = 1; /* dims of the array that belong to a sample begin here */

    *rest = 0;
    b->elem = a->elem;
    b->batch = qdq_io_batch(io);
    b->has_time = false;
    if (!qdq_data_elem_fits(d, k, a->elem))
        return qdq_data_mismatch_elem(d, k, a->elem, header_text(d, a), err);
    b->constant = io->rank == 0 && a->rank == 0;
    if (has_time_axis(d, k, a, b->batch) && !d->is_state[k] && (a->dim[0] == 0 || a->dim[1] == 0))
        return fail_mismatch(d, k, a, a->dim[0] == 0 ? "no sequences" : "sequences of no steps",
                             err);
    if (has_time_axis(d, k, a, b->batch) && (a->count > 0 || !d->is_state[k]))
        return fit_sequences(d, k, a, b, samples, err);
    if (s->folder && io->rank > 0 && a->rank == io->rank - 1 && b->batch == 1)
        axis = 0; /* one file, one sample, saved without the batch */
    else if (!b->constant && a->rank != (io->rank > 0 ? io->rank : io->rank == 0 ? 1 : a->rank))
        return fail_mismatch(d, k, a, "wrong number of dimensions", err);
    else if (!b->constant && a->rank == 0)
        return fail_mismatch(d, k, a, "no dimension that counts samples", err);
    if (a->count == 0 && (io->rank < 0 || (axis == 1 && a->dim[0] == 0)))
        return fail_mismatch(d, k, a, "empty array", err);
    QDQ_TRY(fit_shape(d, k, a, axis, b, err));
    if (b->constant || axis == 0) {
        *samples = b->constant ? SIZE_MAX : 1;
        b->sample_bytes = a->bytes;
        return QDQ_OK;
    }
    if (a->dim[0] < b->batch)
        return fail_mismatch(d, k, a, "less than one batch", err);
    *samples = (size_t)(a->dim[0] / b->batch);
    *rest = (size_t)(a->dim[0] % b->batch);
    b->sample_bytes = a->bytes / (size_t)a->dim[0] * (size_t)b->batch;
    return QDQ_OK;
}

static qdq_status bind_input(qdq_data *d, size_t k, size_t *samples, size_t *rest, qdq_error *err)
{
    array_source *s = d->source;
    binding *b = &s->bindings[k];
    const qdq_npy *a;

    QDQ_TRY(find_input_array(d, s->npz, k, &b->array, err));
    if (d->is_missing[k]) {
        *samples = SIZE_MAX;
        return QDQ_OK;
    }
    QDQ_TRY(qdq_npz_header(s->npz, b->array, &a, err));
    qdq_status st = fit_array(d, k, a, b, samples, rest, err);
    const char *name = qdq_npz_name(s->npz, b->array);
    if (st != QDQ_OK)
        return name[0] == '\0' ? st : qdq_within(err, st, "array '%s'", name);
    if (a->elem != d->inputs[k].elem && !s->told_wide) {
        s->told_wide = true;
        qdq_job_log(d->job, QDQ_LOG_INFO, "%s: %s is %s to %s for input '%s'",
                    s->files[s->current].path, qdq_elem_name(a->elem),
                    d->codes[k].type != QDQ_UNDEFINED ? "quantized" : "rounded",
                    qdq_elem_name(d->inputs[k].elem), d->inputs[k].name);
    }
    return QDQ_OK;
}

/* All arrays with a time axis have one number of steps, in all files; *samples, so far sequences,
 * becomes runs. */
static qdq_status agree_on_steps(qdq_data *d, size_t *samples, qdq_error *err)
{
    array_source *s = d->source;
    bool has_time = false;

    for (size_t k = 0; k < d->n_inputs; k++) {
        const binding *b = &s->bindings[k];

        if (d->is_missing[k] || !b->has_time)
            continue;
        d->steps = d->steps == 0 ? b->steps : d->steps;
        if (b->steps != d->steps)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "%zu steps for input '%s', expected %zu as in the arrays before",
                            b->steps, d->inputs[k].name, d->steps);
        has_time = true;
    }
    if (s->current > 0 && has_time != s->has_time)
        return qdq_fail(err, QDQ_E_FORMAT, "found %s time axis, expected %s as in the files before",
                        has_time ? "a" : "no", has_time ? "none" : "one");
    s->has_time = has_time;
    *samples *= has_time ? d->steps : 1;
    return QDQ_OK;
}

/* All inputs of the open file; *samples is what they agree on. */
static qdq_status bind_inputs(qdq_data *d, size_t *samples, qdq_error *err)
{
    array_source *s = d->source;
    size_t decided_by = 0, left = 0;

    *samples = SIZE_MAX;
    for (size_t k = 0; k < d->n_inputs; k++) {
        size_t n = 0, rest = 0;

        QDQ_TRY(bind_input(d, k, &n, &rest, err));
        if (n == SIZE_MAX)
            continue;
        if (*samples != SIZE_MAX && n != *samples)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "%zu samples for input '%s', but %zu for input '%s': where the first "
                            "dimension is not a batch, --shape says how long a sample is",
                            n, d->inputs[k].name, *samples, d->inputs[decided_by].name);
        *samples = n;
        decided_by = k;
        left = rest > left ? rest : left;
    }
    if (*samples == SIZE_MAX)
        *samples = 1;
    if (left > 0 && s->opening)
        qdq_job_log(d->job, QDQ_LOG_WARNING,
                    "%s: the last %zu do not fill a batch of %lld, left out",
                    s->files[s->current].path, left, (long long)s->bindings[decided_by].batch);
    return d->n_states > 0 ? agree_on_steps(d, samples, err) : QDQ_OK;
}

/* --- labels ----------------------------------------------------------------------------------- */

/* The first input that is neither a state nor a mask: labels are for its rows. */
static const binding *labelled(const qdq_data *d)
{
    const array_source *s = d->source;
    size_t k = 0;

    while (k + 1 < d->n_inputs && !qdq_data_is_plain(d, k))
        k++;
    return &s->bindings[k];
}

/* Labels of the open file, behind those of the files before. With a time axis there is one for each
 * step. */
static qdq_status append_file_labels(qdq_data *d, size_t samples, qdq_error *err)
{
    array_source *s = d->source;
    const binding *b = labelled(d);
    const qdq_npy *a, *x;
    size_t array;

    if (!s->in_memory && qdq_npz_count(s->npz) == 1 && qdq_npz_name(s->npz, 0)[0] == '\0')
        return qdq_fail(err, QDQ_E_USAGE, "labels '%s' can only come from .npz files",
                        d->labels_key);
    if (!find_array_by_name(s->npz, d->labels_key, &array))
        return qdq_fail(err, QDQ_E_FORMAT, "no labels '%s'; %s: %s", d->labels_key,
                        s->in_memory ? "there are" : "arrays in the file", names_text(d, s->npz));
    QDQ_TRY(qdq_npz_header(s->npz, array, &a, err));
    QDQ_TRY(qdq_npz_header(s->npz, b->array, &x, err));
    int64_t items = b->constant || x->rank == b->rank - 1 ? 1 : x->dim[0];
    if (s->has_time)
        items = (int64_t)samples * b->batch;
    if (!qdq_data_is_label(a->elem) || a->rank < 1 || a->count != items ||
        (!s->has_time && a->count != a->dim[0]))
        return qdq_fail(err, QDQ_E_FORMAT, "labels '%s' are %s, expected integers [%lld]",
                        d->labels_key, header_text(d, a), (long long)items);
    QDQ_TRY(qdq_data_add_labels(d, s->npz, array, s->n_label, samples * (size_t)b->batch, err));
    d->labels_per_sample = (size_t)b->batch;
    s->n_label += samples * (size_t)b->batch;
    return QDQ_OK;
}

/* Groups of the open file: one for each item of a sample, of a time axis one for each sequence. */
static qdq_status append_file_groups(qdq_data *d, size_t samples, qdq_error *err)
{
    array_source *s = d->source;
    const binding *b = labelled(d);
    const qdq_npy *a, *x;
    size_t array;

    if (!find_array_by_name(s->npz, d->groups_key, &array))
        return qdq_fail(err, QDQ_E_FORMAT, "no groups '%s'; %s: %s", d->groups_key,
                        s->in_memory ? "there are" : "arrays in the file", names_text(d, s->npz));
    QDQ_TRY(qdq_npz_header(s->npz, array, &a, err));
    QDQ_TRY(qdq_npz_header(s->npz, b->array, &x, err));
    int64_t items = b->constant || x->rank == b->rank - 1 ? 1 : x->dim[0];
    if (s->has_time)
        items = (int64_t)(samples / d->steps);
    if (!qdq_data_is_label(a->elem) || a->rank != 1 || a->count != items)
        return qdq_fail(err, QDQ_E_FORMAT, "groups '%s' are %s, expected integers [%lld]",
                        d->groups_key, header_text(d, a), (long long)items);
    const size_t n = s->has_time ? (size_t)items : samples * (size_t)b->batch;
    return qdq_data_add_groups(d, s->npz, array, samples, n, err);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Finds the inputs, and the first time the labels, in s->npz, which is closed where that fails. */
static qdq_status bind_file(qdq_data *d, size_t f, size_t *samples, qdq_error *err)
{
    array_source *s = d->source;
    qdq_arena_mark mark = qdq_arena_get_mark(&d->arena); /* what messages are made of */

    qdq_status st = bind_inputs(d, samples, err);
    if (st == QDQ_OK && s->opening && d->labels_key != NULL)
        st = append_file_labels(d, *samples, err);
    if (st == QDQ_OK && s->opening && d->groups_key != NULL)
        st = append_file_groups(d, *samples, err);
    if (st == QDQ_OK && s->opening)
        st = check_unused_arrays(d, s, err);
    qdq_arena_reset(&d->arena, mark);
    if (st == QDQ_OK)
        return st;
    qdq_npz_close(s->npz);
    s->npz = NULL;
    return qdq_within(err, st, "%s", s->files[f].path);
}

static qdq_status open_array_file(qdq_data *d, size_t f, size_t *samples, qdq_error *err)
{
    array_source *s = d->source;

    *samples = 0;
    qdq_npz_close(s->npz);
    s->npz = NULL;
    s->current = f;
    QDQ_TRY(qdq_npz_open(s->files[f].path, &s->npz, err)); /* names the file itself */
    return bind_file(d, f, samples, err);
}

/* The file that has sample i. */
static size_t find_file_of_sample(const array_source *s, size_t i)
{
    size_t low = 0, high = s->n_files;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (s->files[middle].first <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* --- samples ---------------------------------------------------------------------------------- */

static qdq_status read_input_slice(qdq_data *d, size_t k, size_t index, qdq_error *err)
{
    array_source *s = d->source;
    const binding *b = &s->bindings[k];
    qdq_array *a = &d->arrays[k].array;

    if (s->has_time && !b->has_time)
        index /= d->steps;
    QDQ_TRY(qdq_data_reserve(d, k, b->sample_bytes, err));
    QDQ_TRY(qdq_data_shape(d, k, d->inputs[k].elem, b->rank, b->dim, err));
    QDQ_TRY(qdq_npz_read(s->npz, b->array, b->constant ? 0 : index * b->sample_bytes, a->data,
                         b->sample_bytes, err));
    return qdq_data_finish(d, k, b->elem, err);
}

static qdq_status get_array_sample(qdq_data *d, size_t i, qdq_error *err)
{
    array_source *s = d->source;
    size_t f = find_file_of_sample(s, i), samples = 0;

    if (s->npz == NULL || s->current != f)
        QDQ_TRY(open_array_file(d, f, &samples, err));
    for (size_t k = 0; k < d->n_inputs; k++) {
        qdq_status st =
            d->is_missing[k] ? QDQ_OK : read_input_slice(d, k, i - s->files[f].first, err);

        if (st != QDQ_OK)
            return qdq_within(err, st, "%s: input '%s', sample %zu", s->files[f].path,
                              d->inputs[k].name, i);
    }
    qdq_npz_rest(s->npz); /* what was read is copied */
    return qdq_data_fill_missing(d, i, err);
}

static void close_arrays(qdq_data *d)
{
    qdq_npz_close(((array_source *)d->source)->npz);
}

static qdq_status begin_array_source(qdq_data *d, size_t n_files, array_source **out,
                                     qdq_error *err)
{
    array_source *s = qdq_arena_alloc(&d->arena, sizeof *s);

    QDQ_NEED(s != NULL, err);
    *s = (array_source){.n_files = n_files, .opening = true};
    d->source = s;
    d->get = get_array_sample;
    d->close = close_arrays;
    s->files = qdq_arena_array(&d->arena, n_files, sizeof *s->files);
    s->bindings = qdq_arena_array(&d->arena, d->n_inputs, sizeof *s->bindings);
    *out = s;
    return s->files != NULL && s->bindings != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_data_open_arrays(qdq_data *d, const char *const *paths, size_t n_paths, bool folder,
                                qdq_error *err)
{
    array_source *s;

    QDQ_TRY(begin_array_source(d, n_paths, &s, err));
    s->folder = folder;
    for (size_t f = 0; f < n_paths; f++) {
        QDQ_TRY(qdq_job_poll(d->job, err));
        s->files[f].path = paths[f];
        s->files[f].first = d->count;
        QDQ_TRY(qdq_data_begin_file(d, err));
        QDQ_TRY(open_array_file(d, f, &s->files[f].count, err));
        d->count += s->files[f].count;
    }
    s->opening = false;
    return QDQ_OK;
}

qdq_status qdq_data_open_memory(qdq_data *d, const qdq_named_array *arrays, size_t n,
                                qdq_error *err)
{
    array_source *s;

    QDQ_TRY(begin_array_source(d, 1, &s, err));
    s->in_memory = true;
    s->files[0].path = d->spec;
    for (size_t i = 0; i < n; i++) {
        const qdq_status st = qdq_data_check_array(&arrays[i].array, err);

        if (st != QDQ_OK)
            return qdq_within(err, st, "%s: array '%s'", d->spec,
                              arrays[i].name != NULL ? arrays[i].name : "");
    }
    const qdq_status st = qdq_npz_open_arrays(arrays, n, &s->npz, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "%s", d->spec);
    QDQ_TRY(bind_file(d, 0, &d->count, err));
    s->opening = false;
    return QDQ_OK;
}
