/* data_random.c - random:SEED. The numbers are those of base/random.h, so that timing and
 * quantizing with one seed see the same input. */
#include "quant/data/data_source.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/random.h"

enum { DEFAULT_SAMPLES = 8 };

static qdq_status get_random_sample(qdq_data *d, size_t i, qdq_error *err)
{
    uint64_t seed = qdq_random_nth_seed(*(uint64_t *)d->source, i);

    for (size_t k = 0; k < d->n_inputs; k++) {
        const qdq_io *io = &d->inputs[k];
        int64_t dim[QDQ_MAX_RANK];

        d->is_missing[k] = !qdq_data_is_plain(d, k);
        for (int r = 0; r < io->rank; r++)
            dim[r] = io->dim[r] >= 0 ? io->dim[r] : 1;
        QDQ_TRY(qdq_data_shape(d, k, io->elem, io->rank > 0 ? io->rank : 0, dim, err));
        if (!qdq_random_fill(&d->arrays[k].array, seed, io->name))
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "input '%s': no random data can be made for %s",
                            io->name, qdq_io_text(io, &d->arena));
    }
    return qdq_data_fill_missing(d, i, err);
}

/* Users should know that a symbol became 1: latency and scales hang on it. A batch of 1 is what
 * most expect; height, width or length of 1 are not, and some models do not run with them. */
static void log_open_dims(const qdq_data *d)
{
    for (size_t k = 0; k < d->n_inputs; k++)
        for (int r = 0; r < d->inputs[k].rank; r++)
            if (d->inputs[k].dim[r] < 0 && qdq_data_is_plain(d, k))
                qdq_job_log(d->job, r > 0 ? QDQ_LOG_WARNING : QDQ_LOG_INFO,
                            "%s: dimension %d (%s) of input '%s' is not fixed, taken as 1 (--shape "
                            "fixes it)",
                            d->spec, r, d->inputs[k].param[r] != NULL ? d->inputs[k].param[r] : "?",
                            d->inputs[k].name);
}

qdq_status qdq_data_open_random(qdq_data *d, const char *seed, qdq_error *err)
{
    char *end;

    errno = 0;
    unsigned long long number = strtoull(seed, &end, 10);
    if (!isdigit((unsigned char)*seed) || *end != '\0' || errno != 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "%s: expected random:SEED with a number from 0 to 2^64 - 1", d->spec);
    uint64_t *kept = qdq_arena_alloc(&d->arena, sizeof *kept);
    QDQ_NEED(kept != NULL, err);
    *kept = number;
    d->source = kept;
    d->is_random = true;
    d->count = d->max_samples > 0 ? d->max_samples : DEFAULT_SAMPLES * d->steps;
    d->get = get_random_sample;
    log_open_dims(d);
    return get_random_sample(d, 0, err); /* what cannot be made is refused now */
}
