/* data_sameness.c - samples that show nothing of a model: all equal, or one value everywhere. Reads
 * only until that is ruled out, which is after two samples of most data. */
#include <string.h>
#include <xxhash.h>

#include "base/elem_info.h"
#include "base/fail.h"
#include "quant/data/data_source.h"

/* Of one input, over the samples read so far. */
typedef struct seen_input {
    /* of the bytes of the first sample */
    XXH64_hash_t first;
    /* the first element */
    unsigned char value[8];
    bool has_one_value;
} seen_input;

static bool has_value_everywhere(const qdq_array *a, const unsigned char *value, size_t width)
{
    const unsigned char *data = a->data;

    for (size_t at = 0; at < a->bytes; at += width)
        if (memcmp(data + at, value, width) != 0)
            return false;
    return true;
}

/* False: the sample is another one than the first. */
static bool see_sample(qdq_data *d, size_t i, seen_input *seen)
{
    bool is_first = true;

    for (size_t k = 0; k < d->n_inputs; k++) {
        const qdq_array *a = &d->arrays[k].array;
        const size_t width = qdq_elem_bits(a->elem) / 8;
        const XXH64_hash_t hash = XXH3_64bits(a->data, a->bytes);

        if (i == 0) {
            seen[k].first = hash;
            seen[k].has_one_value = width > 0 && width <= sizeof seen->value && a->bytes >= width;
            if (seen[k].has_one_value)
                memcpy(seen[k].value, a->data, width);
        }
        is_first = is_first && hash == seen[k].first;
        seen[k].has_one_value =
            seen[k].has_one_value && has_value_everywhere(a, seen[k].value, width);
    }
    return is_first;
}

/* One number for each sample is no tensor that scales are made for: a rate, a flag. */
static bool is_flat(const qdq_data *d, size_t k, const seen_input *seen)
{
    return seen[k].has_one_value && qdq_data_is_plain(d, k) &&
           qdq_elem_is_float(d->inputs[k].elem) && qdq_array_count(&d->arrays[k].array) > 1;
}

static size_t find_flat(const qdq_data *d, const seen_input *seen)
{
    size_t k = 0;

    while (k < d->n_inputs && !is_flat(d, k, seen))
        k++;
    return k;
}

/* Inputs that have one value, states and masks: what those have is seen in runs alone. */
static size_t count_values(const qdq_data *d, const seen_input *seen)
{
    size_t n = 0;

    for (size_t k = 0; k < d->n_inputs; k++)
        n += seen[k].has_one_value || !qdq_data_is_plain(d, k);
    return n;
}

static size_t count_runs(const qdq_data *d)
{
    return d->count * d->steps;
}

/* One number in all is too little to be blamed. */
static bool is_flat_everywhere(const qdq_data *d, const seen_input *seen)
{
    int64_t elements = 0;

    for (size_t k = 0; k < d->n_inputs; k++)
        elements += qdq_array_count(&d->arrays[k].array);
    return count_values(d, seen) == d->n_inputs && (elements > 1 || count_runs(d) > 1);
}

static qdq_status name_sameness(qdq_data *d, bool are_equal, const seen_input *seen, qdq_error *err)
{
    const size_t flat = find_flat(d, seen);

    if (d->n_inputs > 1 && is_flat_everywhere(d, seen))
        d->sameness = "every input has one value in all samples";
    else if (flat < d->n_inputs)
        d->sameness = qdq_arena_printf(&d->arena, "input '%s' has one value in all samples",
                                       d->inputs[flat].name);
    else if (are_equal && count_runs(d) > 1)
        d->sameness = qdq_arena_printf(&d->arena, "all %zu samples are equal", count_runs(d));
    else
        return QDQ_OK;
    return qdq_allocated(d->sameness != NULL, err);
}

static qdq_status look_for_sameness(qdq_data *d, seen_input *seen, qdq_error *err)
{
    bool are_equal = true;

    for (size_t i = 0; i < count_runs(d); i++) {
        const qdq_named_array *in;
        size_t n;

        QDQ_TRY(qdq_job_poll(d->job, err));
        QDQ_TRY(qdq_data_get_step(d, i / d->steps, i % d->steps, &in, &n, err));
        are_equal = see_sample(d, i, seen) && are_equal;
        if (!are_equal && find_flat(d, seen) == d->n_inputs && count_values(d, seen) < d->n_inputs)
            return QDQ_OK;
    }
    return name_sameness(d, are_equal, seen, err);
}

qdq_status qdq_data_find_sameness(qdq_data *d, const char **why, qdq_error *err)
{
    *why = NULL;
    if (!d->is_random && !d->is_looked_through) {
        seen_input *seen = qdq_arena_array(&d->arena, d->n_inputs, sizeof *seen);
        QDQ_NEED(seen != NULL, err);
        QDQ_TRY(look_for_sameness(d, seen, err));
        d->is_looked_through = true;
    }
    *why = d->sameness;
    return QDQ_OK;
}

qdq_status qdq_data_warn_of_sameness(qdq_data *d, const qdq_job *job, qdq_error *err)
{
    const char *why;

    if (d == NULL || d->is_warned_of)
        return QDQ_OK;
    QDQ_TRY(qdq_data_find_sameness(d, &why, err));
    if (why == NULL || job == NULL || job->log == NULL)
        return QDQ_OK;
    d->is_warned_of = true;
    qdq_job_log(job, QDQ_LOG_WARNING, "%s: %s; they prove neither scales nor accuracy", d->spec,
                why);
    return QDQ_OK;
}
