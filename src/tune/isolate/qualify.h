/* qualify.h - decides which classes of groups to try on the whole model, by their savings in
 * isolation. It knows no models. */
#ifndef QDQ_QUALIFY_H
#define QDQ_QUALIFY_H

#include "qdq/status.h"

/* The saving of one class, from new pairs of its best scheme: the pairs that selected the best of
 * several schemes overestimate it. */
typedef struct qdq_saving {
    /* of one group in one run */
    double mean_us, se_us;
    /* number of groups in the class */
    double groups;
    /* result of qdq_savings_qualify() */
    bool qualifies;
} qdq_saving;

/* Computes mean and standard error of n samples. The error is at least `floor_us` / sqrt(n),
 * because few samples may agree by chance. */
void qdq_saving_of(const double *us, size_t n, double floor_us, qdq_saving *out);

/* Whether the saving is clearly above or below the least one that qualifies. */
bool qdq_saving_is_clear(const qdq_saving *s, double model_us);

/* Qualifies classes that save more than 0.05 % of the model's time in all their groups together, by
 * the lower bound of a one-sided 90 % interval. Benjamini and Hochberg's procedure (Controlling the
 * False Discovery Rate, 1995) limits the fraction of false ones to 0.1. */
qdq_status qdq_savings_qualify(qdq_saving *const *s, size_t n, double model_us, qdq_error *err);

#endif /* QDQ_QUALIFY_H */
