/* data_masks.c - inputs that are as long as a cache and what is new together, as attention masks:
 * how long that is at each step, by the shapes of the other inputs. */
#include "quant/data/data_source.h"

#include <string.h>

#include "base/fail.h"
#include "ir/ir.h"

/* --- which they are --------------------------------------------------------------------------- */

static bool has_plain_dim(const qdq_data *d, const char *name)
{
    for (size_t k = 0; k < d->n_inputs; k++)
        for (int i = 0; i < d->inputs[k].rank && qdq_data_is_plain(d, k); i++)
            if (d->inputs[k].param[i] != NULL && strcmp(d->inputs[k].param[i], name) == 0)
                return true;
    return false;
}

/* The first open dim of a state whose name is its own. */
static bool find_cache(qdq_data *d)
{
    for (size_t k = 0; k < d->n_inputs; k++) {
        const qdq_io *io = &d->inputs[k];

        for (int i = 0; i < io->rank && d->is_state[k]; i++) {
            const char *name = io->param[i];

            if (io->dim[i] >= 0 || (name != NULL && name[0] != '\0' && has_plain_dim(d, name)))
                continue;
            d->grows = k;
            d->grows_along = i;
            return true;
        }
    }
    return false;
}

static qdq_status add_mask(qdq_data *d, const char *name, qdq_error *err)
{
    size_t k = 0;

    while (k < d->n_inputs && strcmp(d->inputs[k].name, name) != 0)
        k++;
    if (k == d->n_inputs)
        return qdq_fail(err, QDQ_E_USAGE, "the model has no input '%s'", name);
    if (!qdq_data_is_plain(d, k))
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' is %s", name,
                        d->is_state[k] ? "a state" : "a mask already");
    const qdq_io *io = &d->inputs[k];
    if (io->rank < 1 || io->dim[io->rank - 1] >= 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "input '%s' is %s, expected a last dimension that is open", name,
                        qdq_io_text(io, &d->arena));
    d->is_mask[k] = true;
    d->n_masks++;
    return QDQ_OK;
}

qdq_status qdq_data_add_masks(qdq_data *d, const qdq_data_opts *opts, qdq_error *err)
{
    for (size_t i = 0; opts->masks != NULL && opts->masks[i] != NULL; i++) {
        const char *name = opts->masks[i];
        qdq_status st = add_mask(d, name, err);

        if (st == QDQ_OK && d->n_states == 0)
            st = qdq_fail(err, QDQ_E_USAGE, "found no states, expected a cache");
        if (st != QDQ_OK)
            return qdq_within(err, st, "mask '%s'", name);
    }
    if (d->n_masks == 0 || find_cache(d))
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE,
                    "mask '%s': no state has an open dimension of its own, expected a cache that "
                    "grows",
                    opts->masks[0]);
}

/* --- how long they are ------------------------------------------------------------------------ */

static size_t step_of(const qdq_data *d, size_t run)
{
    return d->steps > 0 ? run % d->steps : 0;
}

/* Items that each step adds to the cache. */
static int64_t count_new(const qdq_data *d)
{
    for (size_t k = 0; k < d->n_inputs; k++)
        if (qdq_data_is_plain(d, k))
            return d->arrays[k].array.rank > 1 ? d->arrays[k].array.dim[1] : 1;
    return 1;
}

/* The other arrays of the run are there. */
static int64_t length_at(qdq_data *d, size_t run)
{
    const size_t step = step_of(d, run);

    if (step == 0) {
        d->past = d->arrays[d->grows].array.dim[d->grows_along];
        d->past_of = run + 1;
    }
    return d->past + (int64_t)(step + 1) * count_new(d);
}

qdq_status qdq_data_find_past(qdq_data *d, size_t run, qdq_error *err)
{
    const size_t first = run - step_of(d, run);

    if (d->n_masks == 0 || first == run || d->past_of == first + 1)
        return QDQ_OK;
    QDQ_TRY(d->get(d, first, err));
    (void)length_at(d, first);
    return QDQ_OK;
}

/* --- what they are ---------------------------------------------------------------------------- */

static bool fill_ones(qdq_array *a)
{
    const int64_t n = qdq_array_count(a);

    for (int64_t i = 0; i < n; i++)
        if (qdq_elem_is_int(a->elem) || a->elem == QDQ_BOOL
                ? !qdq_elem_put_int(a->elem, a->data, i, 1)
                : !qdq_elem_put_float(a->elem, a->data, i, 1))
            return false;
    return true;
}

qdq_status qdq_data_fill_masks(qdq_data *d, size_t run, qdq_error *err)
{
    if (d->n_masks == 0)
        return QDQ_OK;
    const int64_t length = length_at(d, run);
    for (size_t k = 0; k < d->n_inputs; k++) {
        const qdq_io *io = &d->inputs[k];
        int64_t dim[QDQ_MAX_RANK] = {0};

        if (!d->is_mask[k] || !d->is_missing[k])
            continue;
        for (int i = 0; i < io->rank; i++) {
            const int64_t shared = qdq_data_shared_dim(d, io, i);

            dim[i] = io->dim[i] >= 0 ? io->dim[i] : shared >= 0 ? shared : 1;
        }
        dim[io->rank - 1] = length;
        QDQ_TRY(qdq_data_shape(d, k, io->elem, io->rank, dim, err));
        if (!fill_ones(&d->arrays[k].array))
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "mask '%s': no ones can be made for %s",
                            io->name, qdq_io_text(io, &d->arena));
    }
    return QDQ_OK;
}

/* Rows get shorter where they are. */
static void cut_rows(qdq_array *a, int64_t length)
{
    const int64_t have = a->dim[a->rank - 1];
    const size_t from = a->bytes / (size_t)qdq_array_count(a) * (size_t)have,
                 to = from / (size_t)have * (size_t)length, rows = a->bytes / from;
    char *data = a->data;

    for (size_t i = 1; i < rows; i++)
        memmove(data + i * to, data + i * from, to);
    a->dim[a->rank - 1] = length;
    a->bytes = rows * to;
}

qdq_status qdq_data_cut_masks(qdq_data *d, size_t run, qdq_error *err)
{
    if (d->n_masks == 0)
        return QDQ_OK;
    const int64_t length = length_at(d, run);
    for (size_t k = 0; k < d->n_inputs; k++) {
        qdq_array *a = &d->arrays[k].array;

        if (!d->is_mask[k])
            continue;
        const int64_t have = a->dim[a->rank - 1];
        if (have < length)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "%s: sample %zu, step %zu: mask '%s' has length %lld, expected at "
                            "least %lld for the cache and what is new",
                            d->spec, run / d->steps, step_of(d, run), d->inputs[k].name,
                            (long long)have, (long long)length);
        if (have > length && qdq_array_count(a) > 0)
            cut_rows(a, length);
    }
    return QDQ_OK;
}
