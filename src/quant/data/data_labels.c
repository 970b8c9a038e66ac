/* data_labels.c - labels: integers of an array beside the samples, or of a file of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/data/data_source.h"
#include "quant/data/npz.h"

enum { MAX_LABELS = 1 << 27 };

static bool read_label(qdq_elem elem, const unsigned char *data, size_t i, int64_t *label)
{
    switch ((int)elem) {
#define CASE(enumerator, type)                                                                     \
    case enumerator: {                                                                             \
        type x;                                                                                    \
        memcpy(&x, data + i * sizeof x, sizeof x);                                                 \
        *label = (int64_t)x;                                                                       \
        return true;                                                                               \
    }
        CASE(QDQ_INT8, int8_t)
        CASE(QDQ_UINT8, uint8_t)
        CASE(QDQ_INT16, int16_t)
        CASE(QDQ_UINT16, uint16_t)
        CASE(QDQ_INT32, int32_t)
        CASE(QDQ_UINT32, uint32_t)
        CASE(QDQ_INT64, int64_t)
        CASE(QDQ_UINT64, uint64_t)
#undef CASE
    default: /* the one place where any other type is the same error */
        return false;
    }
}

bool qdq_data_is_label(qdq_elem elem)
{
    int64_t unused;

    return read_label(elem, (const unsigned char[8]){0}, 0, &unused);
}

static qdq_status reserve_labels(qdq_data *d, size_t have, size_t n, qdq_error *err)
{
    if (n > MAX_LABELS - have)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "more than %d labels", MAX_LABELS);
    int64_t *grown = realloc(d->labels, (have + n) * sizeof *grown);
    QDQ_NEED(grown != NULL, err);
    d->labels = grown;
    return QDQ_OK;
}

qdq_status qdq_data_copy_labels(qdq_data *d, qdq_elem elem, const void *data, size_t have, size_t n,
                                qdq_error *err)
{
    QDQ_TRY(reserve_labels(d, have, n, err));
    for (size_t i = 0; i < n; i++)
        read_label(elem, data, i, &d->labels[have + i]);
    return QDQ_OK;
}

qdq_status qdq_data_read_integers(qdq_npz *z, size_t array, size_t n, int64_t *to, qdq_error *err)
{
    unsigned char piece[4096];
    const qdq_npy *a;

    QDQ_TRY(qdq_npz_header(z, array, &a, err));
    for (size_t done = 0; done < n;) {
        size_t now = sizeof piece / a->elem_size;

        if (now > n - done)
            now = n - done;
        QDQ_TRY(qdq_npz_read(z, array, done * a->elem_size, piece, now * a->elem_size, err));
        for (size_t i = 0; i < now; i++)
            read_label(a->elem, piece, i, &to[done + i]);
        done += now;
    }
    return QDQ_OK;
}

qdq_status qdq_data_add_labels(qdq_data *d, qdq_npz *z, size_t array, size_t have, size_t n,
                               qdq_error *err)
{
    QDQ_TRY(reserve_labels(d, have, n, err));
    return qdq_data_read_integers(z, array, n, d->labels + have, err);
}

/* --- do they fit? ----------------------------------------------------------------------------- */

qdq_status qdq_data_check_classes(const int64_t *labels, size_t n, size_t sample,
                                  const char *output, int64_t classes, qdq_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (labels[i] < 0 || labels[i] >= classes)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "sample %zu: its label is %lld, expected 0 to %lld as output '%s' has "
                            "%lld classes",
                            sample, (long long)labels[i], (long long)classes - 1, output,
                            (long long)classes);
    return QDQ_OK;
}

qdq_status qdq_data_check_labels(const qdq_data *d, const qdq_model *m, qdq_error *err)
{
    const int64_t *labels;
    size_t n;
    qdq_io io;

    if (d == NULL || !qdq_model_output(m, 0, &io) || io.rank < 1 || io.dim[io.rank - 1] < 2)
        return QDQ_OK;
    for (size_t i = 0; i < d->count && (labels = qdq_data_labels(d, i, &n)) != NULL; i++)
        QDQ_TRY(qdq_data_check_classes(labels, n, i, io.name, io.dim[io.rank - 1], err));
    return QDQ_OK;
}

/* --- a file of their own ---------------------------------------------------------------------- */

/* Splits "FILE.npz:KEY"; *key is NULL for a .npy. False: it is the key of an array beside the
 * samples. */
static bool split_labels_spec(const char *spec, size_t *file, const char **key)
{
    const char *npz = strstr(spec, ".npz:");
    size_t n = strlen(spec);

    *key = npz != NULL ? npz + 5 : NULL;
    *file = npz != NULL ? (size_t)(npz + 4 - spec) : n;
    return npz != NULL || (n > 4 && strcmp(spec + n - 4, ".npy") == 0);
}

bool qdq_data_labels_are_apart(const char *spec)
{
    const char *key;
    size_t file;

    return split_labels_spec(spec, &file, &key);
}

/* As many as the samples; those of a batch that is not full are left out, as it is. */
static qdq_status read_labels_array(qdq_data *d, qdq_npz *z, const char *key, qdq_error *err)
{
    size_t batch, array = 0, first = 0;
    const qdq_npy *a;

    while (first + 1 < d->n_inputs && !qdq_data_is_plain(d, first))
        first++;
    batch = (size_t)qdq_io_batch(&d->inputs[first]);
    const size_t want = d->count * batch;
    while (key != NULL && array < qdq_npz_count(z) && strcmp(qdq_npz_name(z, array), key) != 0)
        array++;
    if (array >= qdq_npz_count(z) || (key == NULL && qdq_npz_count(z) != 1))
        return qdq_fail(err, QDQ_E_FORMAT, "no labels '%s' among %zu arrays",
                        key != NULL ? key : "", qdq_npz_count(z));
    QDQ_TRY(qdq_npz_header(z, array, &a, err));
    if (!qdq_data_is_label(a->elem) || a->rank < 1 || a->count != a->dim[0] ||
        (size_t)a->count < want || (size_t)a->count >= want + batch)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "labels are %s, expected integers [%zu], one for each of %s",
                        qdq_data_type_text(d, a->elem, a->rank, a->dim), want, d->spec);
    d->labels_per_sample = batch;
    return qdq_data_add_labels(d, z, array, 0, want, err);
}

qdq_status qdq_data_open_labels(qdq_data *d, const char *spec, qdq_error *err)
{
    const char *key;
    size_t size;
    qdq_npz *z = NULL;

    split_labels_spec(spec, &size, &key);
    const char *path = qdq_arena_strndup(&d->arena, spec, size);
    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_npz_open(path, &z, err)); /* names the file itself */
    qdq_status st = read_labels_array(d, z, key, err);
    qdq_npz_close(z);
    return st == QDQ_OK ? st : qdq_within(err, st, "%s", path);
}
