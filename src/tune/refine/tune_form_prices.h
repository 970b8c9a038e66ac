/* tune_form_prices.h - times of operators in other formats, from profiles of the base. A profile
 * has all formats at once: operators of one class (same operator and sizes) take turns, so that
 * noise that lasts for a whole profile falls on all formats, and the samples of a class are one
 * estimate. Where such a mixture has no profile, each format has one of its own. */
#ifndef QDQ_TUNE_FORM_PRICES_H
#define QDQ_TUNE_FORM_PRICES_H

#include "tune/refine/tune_form_items.h"
#include "tune/refine/tune_prices.h"

typedef struct qdq_form_prices {
    /* by item: us of the operator with this format, and its standard error; NAN: not known */
    double *us, *error;
    /* by the first item of an operator: the same of the operator as it is in the base */
    double *base_us, *base_error;
    /* by class (x->kind of first items): its number of operators */
    unsigned *n_equal;
    size_t n_classes;
    /* us of the base; NAN: it has no profile */
    double sum;
} qdq_form_prices;

typedef struct qdq_form_pricing {
    qdq_refining *x;
    /* appends the properties of an operator's class; false: it has no other format, or the item is
     * not its first one */
    qdq_refine_describe *describe;
    /* whether the item is a choice */
    bool (*is_item)(const qdq_refining *x, size_t item);
} qdq_form_pricing;

/* The standard error of a difference. */
double qdq_form_error_of_both(double a, double b);

/* Finds the classes, without times. */
qdq_status qdq_form_prices_begin(const qdq_form_pricing *with, qdq_form_prices *out,
                                 qdq_error *err);

/* Takes profiles until each format of each class has a time and the best ones differ by more than
 * noise, but leaves builds for two trials. At most as many profiles as there are formats. */
qdq_status qdq_form_prices_find(const qdq_form_pricing *with, qdq_form_prices *out, qdq_error *err);

#endif /* QDQ_TUNE_FORM_PRICES_H */
