/* data.c - calibration and test data: finds out what a spec means, knows the model's inputs, owns
 * the buffers that samples are borrowed from. How samples are made is the sources' business
 * (data_npz.c, data_images.c, data_protos.c, data_random.c, data_callback.c). */
#include "quant/data/data_source.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/opts.h"
#include "base/vec.h"
#include "quant/data/quantized_inputs.h"

/* A sample is held in memory whole: what is larger is no sample but an error, or an attack. */
#define MAX_SAMPLE_BYTES ((size_t)2 << 30)

enum { MAX_NAMED_SKIPS = 20, MAX_FILES = 10000000 };

typedef QDQ_VEC(const char *) path_vec;

/* --- inputs ----------------------------------------------------------------------------------- */

const char *qdq_io_text(const qdq_io *io, qdq_arena *a)
{
    const char *elem = qdq_elem_name(io->elem);
    char *text = qdq_arena_printf(a, "%s %s", elem != NULL ? elem : "?",
                                  io->rank < 0 ? "of any shape" : "[");

    for (int i = 0; i < io->rank && text != NULL; i++) {
        const char *comma = i > 0 ? ", " : "";

        if (io->dim[i] >= 0)
            text = qdq_arena_printf(a, "%s%s%lld", text, comma, (long long)io->dim[i]);
        else
            text = qdq_arena_printf(a, "%s%s%s", text, comma,
                                    io->param[i] != NULL ? io->param[i] : "?");
    }
    if (io->rank >= 0 && text != NULL)
        text = qdq_arena_printf(a, "%s]", text);
    return text != NULL ? text : "?";
}

const char *qdq_data_type_text(qdq_data *d, qdq_elem elem, int rank, const int64_t *dim)
{
    qdq_io io = {.elem = elem, .rank = rank};

    memcpy(io.dim, dim, (size_t)rank * sizeof *dim);
    return qdq_io_text(&io, &d->arena);
}

qdq_status qdq_data_mismatch(qdq_data *d, size_t k, const char *found, const char *why,
                             qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT, "%s: it is %s, input '%s' is %s", why, found,
                    d->inputs[k].name, qdq_io_text(&d->inputs[k], &d->arena));
}

qdq_status qdq_data_mismatch_elem(qdq_data *d, size_t k, qdq_elem elem, const char *found,
                                  qdq_error *err)
{
    const qdq_elem want = d->inputs[k].elem;

    if (!qdq_elem_is_float(elem) || !qdq_elem_is_code(want))
        return qdq_data_mismatch(d, k, found, "wrong element type", err);
    return qdq_fail(
        err, QDQ_E_FORMAT,
        "wrong element type: it is %s, input '%s' is %s, and no DequantizeLinear with one constant "
        "scale reads it: expected an array of %s",
        found, d->inputs[k].name, qdq_io_text(&d->inputs[k], &d->arena), qdq_elem_name(want));
}

qdq_status qdq_data_surplus(qdq_data *d, const char *name, qdq_error *err)
{
    enum { MOST_NAMED = 8 };
    const char *text = "";

    for (size_t k = 0; k < d->n_inputs && k < MOST_NAMED && text != NULL; k++)
        text = qdq_arena_printf(&d->arena, "%s%s'%s'", text, k > 0 ? ", " : "", d->inputs[k].name);
    return qdq_fail(err, QDQ_E_FORMAT,
                    "array '%s' is not an input of the model, whose inputs are %s%s", name,
                    text != NULL ? text : "?", d->n_inputs > MOST_NAMED ? ", ..." : "");
}

int64_t qdq_io_batch(const qdq_io *io)
{
    return io->rank > 0 && io->dim[0] > 0 ? io->dim[0] : 1;
}

static qdq_status apply_input_shape(qdq_data *d, const qdq_input_shape *shape, qdq_error *err)
{
    qdq_io *io = NULL;

    for (size_t k = 0; k < d->n_inputs && io == NULL; k++)
        if (strcmp(d->inputs[k].name, shape->name) == 0)
            io = &d->inputs[k];
    if (io == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "a shape is given for '%s', which is not an input of the model",
                        shape->name);
    if (io->rank < 0) {
        io->rank = shape->rank;
        for (int i = 0; i < io->rank; i++)
            io->dim[i] = -1;
    }
    if (io->rank != shape->rank)
        return qdq_fail(err, QDQ_E_USAGE,
                        "the shape given for input '%s' has %d dimensions, the input is %s",
                        io->name, shape->rank, qdq_io_text(io, &d->arena));
    for (int i = 0; i < io->rank; i++) {
        if (shape->dim[i] < 0)
            continue;
        if (io->dim[i] >= 0 && io->dim[i] != shape->dim[i])
            return qdq_fail(
                err, QDQ_E_USAGE,
                "the shape given for input '%s' has %lld as dimension %d, the input is %s",
                io->name, (long long)shape->dim[i], i, qdq_io_text(io, &d->arena));
        io->dim[i] = shape->dim[i];
    }
    return QDQ_OK;
}

static bool has_symbol(const qdq_io *io, int axis)
{
    return io->param[axis] != NULL && io->param[axis][0] != '\0';
}

/* A symbol that is fixed in one input is fixed in all of them, as it is where the model runs. */
static void fix_symbols(qdq_data *d, const qdq_input_shape *shape)
{
    const qdq_io *from = NULL;

    for (size_t k = 0; k < d->n_inputs && from == NULL; k++)
        if (strcmp(d->inputs[k].name, shape->name) == 0)
            from = &d->inputs[k];
    for (size_t k = 0; k < d->n_inputs; k++)
        for (int i = 0; from != NULL && i < d->inputs[k].rank; i++)
            for (int j = 0; j < from->rank && d->inputs[k].dim[i] < 0; j++)
                if (from->dim[j] >= 0 && has_symbol(from, j) && has_symbol(&d->inputs[k], i) &&
                    strcmp(from->param[j], d->inputs[k].param[i]) == 0)
                    d->inputs[k].dim[i] = from->dim[j];
}

/* Copies: the model may be edited or freed while the data are in use. */
static qdq_status copy_model_inputs(qdq_data *d, const qdq_model *m, const qdq_data_opts *opts,
                                    qdq_error *err)
{
    d->n_inputs = qdq_model_input_count(m);
    if (d->n_inputs == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "the model has no inputs, so no data fit it");
    d->inputs = qdq_arena_array(&d->arena, d->n_inputs, sizeof *d->inputs);
    d->arrays = qdq_arena_array(&d->arena, d->n_inputs, sizeof *d->arrays);
    d->capacity = qdq_arena_array(&d->arena, d->n_inputs, sizeof *d->capacity);
    d->codes = qdq_arena_array(&d->arena, d->n_inputs, sizeof *d->codes);
    if (d->inputs == NULL || d->codes == NULL || d->arrays == NULL || d->capacity == NULL) {
        d->n_inputs = 0;
        return qdq_nomem(err);
    }
    for (size_t k = 0; k < d->n_inputs; k++) {
        qdq_io *io = &d->inputs[k];

        if (!qdq_model_input(m, k, io))
            return qdq_fail(err, QDQ_E_BUG, "input %zu of %zu is not there", k, d->n_inputs);
        QDQ_TRY(qdq_input_codes(m, io->name, &d->codes[k], err));
        io->name = qdq_arena_strdup(&d->arena, io->name);
        QDQ_NEED(io->name != NULL, err);
        for (int i = 0; i < io->rank; i++) {
            if (io->dim[i] >= 0 || io->param[i] == NULL)
                continue;
            io->param[i] = qdq_arena_strdup(&d->arena, io->param[i]);
            QDQ_NEED(io->param[i] != NULL, err);
        }
        d->arrays[k].name = io->name;
    }
    for (size_t s = 0; s < opts->n_shapes; s++)
        QDQ_TRY(apply_input_shape(d, &opts->shapes[s], err));
    for (size_t s = 0; s < opts->n_shapes; s++)
        fix_symbols(d, &opts->shapes[s]);
    return QDQ_OK;
}

/* --- buffers ---------------------------------------------------------------------------------- */

qdq_status qdq_data_reserve(qdq_data *d, size_t k, size_t bytes, qdq_error *err)
{
    if (bytes > MAX_SAMPLE_BYTES)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "a sample of %zu bytes for input '%s', expected at most %zu", bytes,
                        d->inputs[k].name, MAX_SAMPLE_BYTES);
    if (bytes <= d->capacity[k] && d->capacity[k] > 0)
        return QDQ_OK;
    void *data = malloc(bytes > 0 ? bytes : 1);
    QDQ_NEED(data != NULL, err);
    free(d->arrays[k].array.data);
    d->arrays[k].array.data = data;
    d->capacity[k] = bytes > 0 ? bytes : 1;
    return QDQ_OK;
}

qdq_status qdq_data_shape(qdq_data *d, size_t k, qdq_elem elem, int rank, const int64_t *dim,
                          qdq_error *err)
{
    qdq_array shaped = {.elem = elem, .rank = rank};

    for (int i = 0; i < rank; i++)
        shaped.dim[i] = dim[i];
    if (!qdq_elem_bytes(elem, qdq_array_count(&shaped), &shaped.bytes))
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "input '%s': no data can be made for %s",
                        d->inputs[k].name, qdq_io_text(&d->inputs[k], &d->arena));
    QDQ_TRY(qdq_data_reserve(d, k, shaped.bytes, err));
    shaped.data = d->arrays[k].array.data;
    d->arrays[k].array = shaped;
    return QDQ_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);

    return n > s && strcasecmp(name + n - s, suffix) == 0;
}

static bool is_array_file(const char *name)
{
    return has_suffix(name, ".npz") || has_suffix(name, ".npy");
}

static bool is_image_file(const char *name)
{
    return has_suffix(name, ".jpg") || has_suffix(name, ".jpeg") || has_suffix(name, ".png") ||
           has_suffix(name, ".bmp");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names in the folder, sorted: the order of a directory differs from machine to machine. */
static qdq_status list_data_folder(qdq_data *d, path_vec *names, qdq_error *err)
{
    DIR *dir = opendir(d->spec);
    qdq_status st = QDQ_OK;
    struct dirent *e;

    if (dir == NULL)
        return qdq_fail_errno(err, errno == ENOMEM ? QDQ_E_NOMEM : QDQ_E_IO, errno, "%s", d->spec);
    while (st == QDQ_OK && (errno = 0, e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        const char *name = qdq_arena_strdup(&d->arena, e->d_name);
        if (names->n >= MAX_FILES)
            st = qdq_fail(err, QDQ_E_UNSUPPORTED, "%s: more than %d files", d->spec, MAX_FILES);
        else if (name == NULL || !QDQ_PUSH(&d->arena, names, name))
            st = qdq_nomem(err);
    }
    if (st == QDQ_OK && errno != 0)
        st = qdq_fail_errno(err, QDQ_E_IO, errno, "%s", d->spec);
    closedir(dir);
    if (st == QDQ_OK && names->n > 1)
        qsort(names->at, names->n, sizeof *names->at, compare_names);
    return st;
}

/* What a folder's entries are, by name. The last one is for folders. */
typedef enum kind { KIND_ARRAYS, KIND_IMAGES, KIND_PROTOS, KIND_SETS, KIND_OTHER } kind;

static const char *const kind_names[KIND_OTHER] = {"arrays", "images", "input_K.pb",
                                                   "test_data_set_N"};

static kind kind_of_file(const char *name)
{
    if (is_array_file(name))
        return KIND_ARRAYS;
    if (is_image_file(name))
        return KIND_IMAGES;
    if (strncmp(name, "input_", 6) == 0 && has_suffix(name, ".pb"))
        return KIND_PROTOS;
    return strncmp(name, "test_data_set_", 14) == 0 ? KIND_SETS : KIND_OTHER;
}

/* What ONNX puts beside its test data is no error, nor is a note on where the data are from. */
static bool is_expected(const char *name)
{
    return (strncmp(name, "output_", 7) == 0 && has_suffix(name, ".pb")) ||
           strncasecmp(name, "README", 6) == 0 || strncasecmp(name, "LICENSE", 7) == 0;
}

/* A path that is not there fails by name later. */
static bool is_of_kind(const char *path, kind k)
{
    struct stat s;

    return stat(path, &s) != 0 || (k == KIND_SETS ? S_ISDIR(s.st_mode) : S_ISREG(s.st_mode));
}

#define EXPECTED_FILES "no .npz, .npy, .jpg, .jpeg, .png, .bmp or input_K.pb file"

/* Sorts the folder's entries into kinds, names what is none of them; *found is the one kind that is
 * there. */
static qdq_status sort_folder_entries(qdq_data *d, path_vec *lists, kind *found, qdq_error *err)
{
    path_vec names = {0};
    size_t skipped = 0;

    *found = KIND_OTHER;
    QDQ_TRY(list_data_folder(d, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        const char *path = qdq_arena_printf(&d->arena, "%s/%s", d->spec, names.at[i]);
        kind k = kind_of_file(names.at[i]);

        QDQ_NEED(path != NULL, err);
        if (k != KIND_OTHER && is_of_kind(path, k)) {
            QDQ_NEED(QDQ_PUSH(&d->arena, &lists[k], path), err);
        } else if (!is_expected(names.at[i]) && skipped++ < MAX_NAMED_SKIPS) {
            qdq_job_log(d->job, QDQ_LOG_WARNING, "%s: skipped: %s", path,
                        k == KIND_OTHER  ? EXPECTED_FILES
                        : k == KIND_SETS ? "not a folder"
                                         : "not a regular file");
        }
    }
    if (skipped > MAX_NAMED_SKIPS)
        qdq_job_log(d->job, QDQ_LOG_WARNING, "%s: %zu more files skipped", d->spec,
                    skipped - MAX_NAMED_SKIPS);
    for (int k = 0; k < KIND_OTHER; k++) {
        if (lists[k].n > 0 && *found != KIND_OTHER)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "%s: both %s ('%s') and %s ('%s'), expected one kind", d->spec,
                            kind_names[*found], lists[*found].at[0], kind_names[k], lists[k].at[0]);
        if (lists[k].n > 0)
            *found = (kind)k;
    }
    if (*found == KIND_OTHER)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: " EXPECTED_FILES " in this folder", d->spec);
    return QDQ_OK;
}

static void log_ignored_options(const qdq_data *d, const qdq_data_opts *opts)
{
    if (opts->image_height != 0 || opts->image_width != 0 || opts->n_mean != 0 ||
        opts->n_std != 0 || opts->layout != NULL || opts->channel_order != NULL)
        qdq_job_log(d->job, QDQ_LOG_WARNING,
                    "%s: these data are no images: size, mean, std, layout and channel order are "
                    "of no effect",
                    d->spec);
}

/* test_data_set_2 comes before test_data_set_10. */
static int compare_numbered_names(const void *a, const void *b)
{
    size_t n = strlen(*(const char *const *)a), m = strlen(*(const char *const *)b);

    return n != m ? (n > m) - (n < m) : compare_names(a, b);
}

static qdq_status open_data_folder(qdq_data *d, const qdq_data_opts *opts, qdq_error *err)
{
    path_vec lists[KIND_OTHER] = {{0}};
    kind found;

    QDQ_TRY(sort_folder_entries(d, lists, &found, err));
    const path_vec *list = &lists[found];
    if (found == KIND_IMAGES)
        return qdq_data_open_images(d, list->at, list->n, opts, err);
    log_ignored_options(d, opts);
    if (found == KIND_ARRAYS)
        return qdq_data_open_arrays(d, list->at, list->n, true, err);
    if (found == KIND_PROTOS)
        return qdq_data_open_protos(d, &d->spec, 1, true, err);
    qsort(list->at, list->n, sizeof *list->at, compare_numbered_names);
    return qdq_data_open_protos(d, list->at, list->n, true, err);
}

static qdq_status open_data_spec(qdq_data *d, const qdq_data_opts *opts, qdq_error *err)
{
    struct stat s;

    if (strncmp(d->spec, "random:", 7) == 0 || strcmp(d->spec, "random") == 0) {
        log_ignored_options(d, opts);
        return qdq_data_open_random(d, d->spec[6] == ':' ? d->spec + 7 : "", err);
    }
    if (stat(d->spec, &s) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s", d->spec);
    if (S_ISDIR(s.st_mode))
        return open_data_folder(d, opts, err);
    if (is_image_file(d->spec))
        return qdq_data_open_images(d, &d->spec, 1, opts, err);
    if (!is_array_file(d->spec) && !has_suffix(d->spec, ".pb"))
        return qdq_fail(
            err, QDQ_E_USAGE,
            "%s: data are a .npz, .npy, .pb or image file, a folder of those, or random:SEED",
            d->spec);
    log_ignored_options(d, opts);
    if (has_suffix(d->spec, ".pb"))
        return qdq_data_open_protos(d, &d->spec, 1, false, err);
    return qdq_data_open_arrays(d, &d->spec, 1, false, err);
}

/* --- the interface ---------------------------------------------------------------------------- */

/* What samples come from: the first that is not NULL; else the spec. */
typedef struct origin {
    const qdq_data_source *source;
    const qdq_named_array *arrays;
    size_t n_arrays;
} origin;

static qdq_status open_data_origin(qdq_data *d, const origin *from, const qdq_data_opts *opts,
                                   qdq_error *err)
{
    if (from->source == NULL && from->arrays == NULL)
        return open_data_spec(d, opts, err);
    log_ignored_options(d, opts);
    return from->source != NULL ? qdq_data_open_source(d, from->source, opts->temp_dir, err)
                                : qdq_data_open_memory(d, from->arrays, from->n_arrays, err);
}

static qdq_status open_data(qdq_data *d, const char *spec, const origin *from, const qdq_model *m,
                            const qdq_data_opts *opts, qdq_error *err)
{
    d->spec = qdq_arena_strdup(&d->arena, spec);
    QDQ_NEED(d->spec != NULL, err);
    if (opts->labels != NULL && !qdq_data_labels_are_apart(opts->labels)) {
        d->labels_key = qdq_arena_strdup(&d->arena, opts->labels);
        QDQ_NEED(d->labels_key != NULL, err);
    }
    if (opts->groups != NULL) {
        d->groups_key = qdq_arena_strdup(&d->arena, opts->groups);
        QDQ_NEED(d->groups_key != NULL, err);
    }
    QDQ_TRY(copy_model_inputs(d, m, opts, err));
    QDQ_TRY(qdq_data_add_states(d, m, opts, err));
    if (d->steps > 0 && opts->max_samples <= SIZE_MAX / d->steps)
        d->max_samples = opts->max_samples * d->steps;
    QDQ_TRY(open_data_origin(d, from, opts, err));
    if (opts->labels != NULL && d->labels_key == NULL)
        QDQ_TRY(qdq_data_open_labels(d, opts->labels, err));
    if (d->labels_key != NULL && d->labels == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "%s: labels '%s' can only come from .npz files", spec,
                        d->labels_key);
    QDQ_TRY(qdq_data_count_sequences(d, err));
    if (opts->max_samples > 0 && d->count > opts->max_samples)
        d->count = opts->max_samples;
    return qdq_data_find_units(d, err);
}

static qdq_status open_any_data(const char *spec, const origin *from, const qdq_model *m,
                                const qdq_data_opts *opts, qdq_data **out, qdq_error *err)
{
    qdq_data_opts own = QDQ_DATA_OPTS_INIT;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_data_opts", &own, sizeof own, opts, err));
    opts = &own;
    qdq_data *d = calloc(1, sizeof *d);
    QDQ_NEED(d != NULL, err);
    d->arena = (qdq_arena)QDQ_ARENA_INIT;
    d->job = opts->job;
    qdq_status st = open_data(d, spec, from, m, opts, err);
    return QDQ_HAND_OVER(d, st, out, qdq_data_close);
}

qdq_status qdq_data_open(const char *spec, const qdq_model *m, const qdq_data_opts *opts,
                         qdq_data **out, qdq_error *err)
{
    return open_any_data(spec, &(origin){.source = NULL}, m, opts, out, err);
}

qdq_status qdq_data_from_arrays(const qdq_named_array *arrays, size_t n, const qdq_model *m,
                                const qdq_data_opts *opts, qdq_data **out, qdq_error *err)
{
    static const qdq_named_array none;
    const origin from = {.arrays = n > 0 ? arrays : &none, .n_arrays = n};

    return open_any_data("arrays", &from, m, opts, out, err);
}

qdq_status qdq_data_from(const qdq_data_source *source, const qdq_model *m,
                         const qdq_data_opts *opts, qdq_data **out, qdq_error *err)
{
    qdq_data_source own = QDQ_DATA_SOURCE_INIT;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_data_source", &own, sizeof own, source, err));
    if (own.next == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "qdq_data_source: found no function `next`");
    return open_any_data(own.name != NULL ? own.name : "samples", &(origin){.source = &own}, m,
                         opts, out, err);
}

void qdq_data_close(qdq_data *d)
{
    if (d == NULL)
        return;
    if (d->close != NULL)
        d->close(d);
    for (size_t k = 0; k < d->n_inputs; k++)
        free(d->arrays[k].array.data);
    free(d->labels);
    free(d->groups);
    free(d->unit);
    qdq_arena_free(&d->arena);
    free(d);
}

size_t qdq_data_count(const qdq_data *d)
{
    return d->count;
}

qdq_status qdq_data_get(qdq_data *d, size_t i, const qdq_named_array **in, size_t *n,
                        qdq_error *err)
{
    return qdq_data_get_step(d, i, 0, in, n, err);
}

qdq_status qdq_data_get_step(qdq_data *d, size_t i, size_t step, const qdq_named_array **in,
                             size_t *n, qdq_error *err)
{
    *in = NULL;
    *n = 0;
    if (i >= d->count)
        return qdq_fail(err, QDQ_E_USAGE, "%s: sample %zu, there are %zu", d->spec, i, d->count);
    if (step >= d->steps)
        return qdq_fail(err, QDQ_E_USAGE, "%s: step %zu, there are %zu", d->spec, step, d->steps);
    const size_t at = d->order != NULL ? d->order[i] : i;
    qdq_status st = qdq_data_find_past(d, at * d->steps + step, err);
    if (st == QDQ_OK)
        st = d->get(d, at * d->steps + step, err);
    if (st == QDQ_OK)
        st = qdq_data_cut_masks(d, at * d->steps + step, err);
    if (st != QDQ_OK) {
        d->has_failed = true;
        return st;
    }
    *in = d->arrays;
    *n = d->n_inputs;
    return QDQ_OK;
}

bool qdq_data_has_failed(const qdq_data *d)
{
    return d != NULL && d->has_failed;
}

const int64_t *qdq_data_labels(const qdq_data *d, size_t i, size_t *n)
{
    *n = 0;
    if (d->labels == NULL || i >= d->count)
        return NULL;
    *n = d->labels_per_sample * d->steps;
    return d->labels + (d->order != NULL ? d->order[i] : i) * *n;
}

bool qdq_data_is_random(const qdq_data *d)
{
    return d->is_random;
}
