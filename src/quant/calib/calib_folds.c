/* calib_folds.c - ranges without some of the samples, for cross-validation. Histograms and
 * bounds are added up: each sample is counted once, for its own fold. Statistics that depend on
 * the order of samples cannot be: there each sample is counted for all other folds. */
#include "quant/calib/calib_folds.h"

#include <stdlib.h>

#include "base/fail.h"
#include "quant/data/data_source.h"

unsigned qdq_calib_fold_of(const qdq_calibration *c, size_t sample)
{
    unsigned k = 0;

    while (k + 1 < c->n_folds &&
           sample >= qdq_data_fold_first(c->q->data, k + 1, c->n_folds, c->n_samples))
        k++;
    return k;
}

bool qdq_calib_adds_up(const qdq_calibration *c)
{
    return c->method != QDQ_METHOD_MOVING_AVERAGE && c->method != QDQ_METHOD_ENTROPY_COMPAT;
}

bool qdq_calib_begin_folds(const qdq_calibration *c, qdq_calib_slot *s)
{
    if (c->n_folds == 0)
        return true;
    s->fold = calloc(c->n_folds, sizeof(qdq_observer *));
    for (unsigned k = 0; s->fold != NULL && k < c->n_folds; k++) {
        s->fold[k] = qdq_observer_new(s->method, c->percentile);
        if (s->fold[k] == NULL)
            return false;
    }
    return s->fold != NULL;
}

void qdq_calib_free_folds(const qdq_calibration *c, qdq_calib_slot *s)
{
    for (unsigned k = 0; s->fold != NULL && k < c->n_folds; k++)
        qdq_observer_free(s->fold[k]);
    free(s->fold);
    s->fold = NULL;
}

static bool add_values(qdq_observer *o, bool fits, const float *x, size_t n)
{
    return fits ? qdq_observer_add(o, x, n) : qdq_observer_add_held_back(o, x, n);
}

bool qdq_calib_observe(const qdq_calibration *c, qdq_calib_slot *s, size_t sample, const float *x,
                       size_t n)
{
    const bool fits = sample < c->n_fit;
    const unsigned own = qdq_calib_fold_of(c, sample);

    if (s->fold == NULL)
        return add_values(s->observer, fits, x, n);
    if (qdq_calib_adds_up(c))
        return add_values(s->fold[own], fits, x, n);
    for (unsigned k = 0; k < c->n_folds; k++)
        if (k != own && !add_values(s->fold[k], fits, x, n))
            return false;
    return add_values(s->observer, fits, x, n);
}

/* What was counted for each fold becomes what was counted outside of it. */
static bool leave_out(const qdq_calibration *c, qdq_calib_slot *s)
{
    qdq_observer **outside = calloc(c->n_folds, sizeof(qdq_observer *));
    bool ok = outside != NULL;

    for (unsigned k = 0; ok && k < c->n_folds; k++) {
        outside[k] = qdq_observer_new(s->method, c->percentile);
        ok = outside[k] != NULL && qdq_observer_pool(s->observer, s->fold[k]);
        for (unsigned i = 0; ok && i < c->n_folds; i++)
            ok = i == k || qdq_observer_pool(outside[k], s->fold[i]);
    }
    if (outside == NULL)
        return false;
    qdq_calib_free_folds(c, s);
    s->fold = outside;
    return ok;
}

qdq_status qdq_calib_close_folds(qdq_calibration *c, qdq_error *err)
{
    for (size_t i = 0; i < c->slots.n && qdq_calib_adds_up(c); i++)
        if (c->slots.at[i].fold != NULL && !leave_out(c, &c->slots.at[i]))
            return qdq_nomem(err);
    return QDQ_OK;
}
