/* qualify.h - which kinds of groups are worth a trial on the whole model, by what they saved on
 * their own. Knows no models. */
#ifndef QDQ_QUALIFY_H
#define QDQ_QUALIFY_H

#include "qdq/status.h"

/* What one kind saved, by fresh pairs of the scheme that was best before: the best of several is
 * best by luck, too. */
typedef struct qdq_saving {
    double mean_us, se_us; /* of one group and one run */
    double groups;         /* of this kind */
    bool qualifies;        /* the answer */
} qdq_saving;

/* Mean and its standard error from n samples, which is never below `floor_us` / sqrt(n): few
 * samples may agree by chance. */
void qdq_saving_of(const double *us, size_t n, double floor_us, qdq_saving *out);

/* Is it clear already, above or below the least that counts? */
bool qdq_saving_is_clear(const qdq_saving *s, double model_us);

/* Qualified is what saves more than 0.05 % of the whole model's time in all its groups together, by
 * the lower bound of a one-sided 90 % interval, and stands up to Benjamini and Hochberg
 * (Controlling the False Discovery Rate, 1995) at a share of 0.1 false ones: of many kinds that
 * save nothing some seem to. */
qdq_status qdq_savings_qualify(qdq_saving *s, size_t n, double model_us, qdq_error *err);

#endif /* QDQ_QUALIFY_H */
