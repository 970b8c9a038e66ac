/* compare_output.c - sums the statistics of one output over samples. */
#include "quant/compare/compare_output.h"

#include <math.h>
#include <stdio.h>

#include "base/fail.h"

qdq_status qdq_compare_output_add(qdq_compare_output *o, size_t sample, int64_t batch,
                                  const qdq_array *a, const qdq_array *b, const int64_t *labels,
                                  qdq_error *err)
{
    QDQ_TRY(qdq_slices_add(&o->slices, sample, batch, a, b, err));
    qdq_compare_stat_add(&o->stat, a, b);
    qdq_top1_add(&o->top1, a, b, labels);
    return QDQ_OK;
}

qdq_status qdq_compare_output_get(const qdq_compare_output *o, qdq_compare_tensor *t,
                                  qdq_error *err)
{
    qdq_slice_result slices;

    QDQ_TRY(qdq_slices_get(&o->slices, &slices, err));
    qdq_compare_stat_result(&o->stat, t);
    t->worst_db = slices.worst_db;
    t->axis = slices.axis;
    t->index = slices.index;
    t->bound_db = slices.bound_db;
    if (!qdq_top1_is_choice(&o->top1))
        return QDQ_OK;
    t->top1 = (double)o->top1.same / (double)o->top1.rows;
    t->top1_close = (double)(o->top1.same + o->top1.close) / (double)o->top1.rows;
    return QDQ_OK;
}

void qdq_compare_tensor_reshaped(qdq_compare_tensor *t)
{
    t->other_shape = true;
    t->sqnr_db = t->worst_db = t->bound_db = -INFINITY;
    t->axis = -1;
    t->cosine = t->top1 = t->top1_close = t->half_agreement = NAN;
    t->max_abs = INFINITY;
}

void qdq_compare_output_free(qdq_compare_output *o)
{
    qdq_slices_free(&o->slices);
}

const char *qdq_compare_place(const qdq_compare_tensor *t, char *text, size_t size)
{
    if (t->axis >= 0)
        snprintf(text, size, ", axis %d, index %zu", t->axis, t->index);
    else if (size > 0)
        text[0] = '\0';
    return text;
}
