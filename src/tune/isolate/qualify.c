/* qualify.c - which kinds of groups saved enough on their own, and not by chance. */
#include "tune/isolate/qualify.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "engine/sample_stats.h"

static const double least_share = 0.0005, false_share = 0.1, z90 = 1.2816;

void qdq_saving_of(const double *us, size_t n, double floor_us, qdq_saving *out)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        sum += us[i];
    out->mean_us = n > 0 ? sum / (double)n : 0;
    for (size_t i = 0; i < n; i++)
        squares += (us[i] - out->mean_us) * (us[i] - out->mean_us);
    const double sd = n > 1 ? sqrt(squares / (double)(n - 1)) : INFINITY;
    out->se_us = n > 0 ? fmax(sd, floor_us) / sqrt((double)n) : INFINITY;
}

static double least_us(const qdq_saving *s, double model_us)
{
    return least_share * model_us / fmax(s->groups, 1);
}

static bool is_enough(const qdq_saving *s, double model_us)
{
    return s->mean_us - z90 * s->se_us > least_us(s, model_us);
}

bool qdq_saving_is_clear(const qdq_saving *s, double model_us)
{
    return is_enough(s, model_us) || s->mean_us + z90 * s->se_us < least_us(s, model_us);
}

/* How likely it would seem to save so much if it saved nothing. */
static double chance_of(const qdq_saving *s)
{
    return s->se_us > 0 ? 0.5 * erfc(s->mean_us / s->se_us / sqrt(2)) : s->mean_us > 0 ? 0 : 1;
}

qdq_status qdq_savings_qualify(qdq_saving *const *s, size_t n, double model_us, qdq_error *err)
{
    double *p = malloc((n + 1) * sizeof *p), most = -1;

    QDQ_NEED(p != NULL, err);
    for (size_t i = 0; i < n; i++)
        p[i] = chance_of(s[i]);
    qdq_stats_sort(p, n);
    for (size_t i = 0; i < n; i++)
        if (p[i] <= false_share * (double)(i + 1) / (double)n)
            most = p[i];
    for (size_t i = 0; i < n; i++)
        s[i]->qualifies = is_enough(s[i], model_us) && chance_of(s[i]) <= most;
    free(p);
    return QDQ_OK;
}
