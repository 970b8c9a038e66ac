/* data_values.c - numbers of files become numbers of inputs: wider floats are rounded, since arrays
 * are double by default and few tools write 16 bits; floats for an input of codes are quantized as
 * the model says; NaN and infinity are refused. */
#include <math.h>
#include <string.h>

#include "base/elem_info.h"
#include "base/fail.h"
#include "base/half.h"
#include "quant/data/data_source.h"

bool qdq_data_elem_fits(const qdq_data *d, size_t k, qdq_elem elem)
{
    qdq_elem want = d->inputs[k].elem;
    bool half = qdq_elem_is_half(want);

    if (d->codes[k].type != QDQ_UNDEFINED && (elem == QDQ_FLOAT || elem == QDQ_DOUBLE))
        return true;
    return elem == want || (elem == QDQ_DOUBLE && (want == QDQ_FLOAT || half)) ||
           (elem == QDQ_FLOAT && half);
}

qdq_status qdq_data_check_array(const qdq_array *a, qdq_error *err)
{
    size_t bytes;

    if (a->rank < 0 || a->rank > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_USAGE, "an array of rank %d, expected 0 to %d", a->rank,
                        QDQ_MAX_RANK);
    if (!qdq_elem_bytes(a->elem, qdq_array_count(a), &bytes))
        return qdq_fail(err, QDQ_E_USAGE, "an array of %s, expected a type and dims of numbers",
                        qdq_elem_name(a->elem) != NULL ? qdq_elem_name(a->elem) : "no type");
    if (a->bytes != bytes || (a->data == NULL && bytes > 0))
        return qdq_fail(err, QDQ_E_USAGE, "%zu bytes of data, the shape needs %zu",
                        a->data != NULL ? a->bytes : 0, bytes);
    return QDQ_OK;
}

qdq_status qdq_data_check_fit(qdq_data *d, size_t k, const qdq_array *a, qdq_error *err)
{
    const qdq_io *io = &d->inputs[k];
    const bool is_empty = qdq_array_count(a) == 0 && (io->rank < 0 || a->dim[0] == 0);
    const char *why = io->rank >= 0 && a->rank != io->rank ? "wrong number of dimensions"
                      : is_empty                           ? "empty tensor"
                                                           : NULL;

    for (int i = 0; i < io->rank && why == NULL; i++)
        if (io->dim[i] >= 0 && io->dim[i] != a->dim[i])
            why = "wrong shape";
    const bool fits = qdq_data_elem_fits(d, k, a->elem);
    if (fits && why == NULL)
        return QDQ_OK;
    const char *found = qdq_data_type_text(d, a->elem, a->rank, a->dim);
    return fits ? qdq_data_mismatch(d, k, found, why, err)
                : qdq_data_mismatch_elem(d, k, a->elem, found, err);
}

qdq_status qdq_data_copy(qdq_data *d, size_t k, const qdq_array *from, qdq_error *err)
{
    qdq_array *a = &d->arrays[k].array;

    QDQ_TRY(qdq_data_reserve(d, k, from->bytes, err)); /* of double, more than float needs */
    QDQ_TRY(qdq_data_shape(d, k, d->inputs[k].elem, from->rank, from->dim, err));
    if (from->bytes > 0)
        memcpy(a->data, from->data, from->bytes);
    return qdq_data_finish(d, k, from->elem, err);
}

/* Number i of doubles or floats. */
static double float_at(qdq_elem elem, const unsigned char *data, size_t i)
{
    double d;
    float f;

    if (elem == QDQ_DOUBLE) {
        memcpy(&d, data + i * sizeof d, sizeof d);
        return d;
    }
    memcpy(&f, data + i * sizeof f, sizeof f);
    return (double)f;
}

/* In place: what is narrower takes less room and is written behind where the wide ones are read. */
static qdq_status narrow_floats(qdq_array *a, qdq_elem from, qdq_error *err)
{
    unsigned char *p = a->data;
    size_t n = (size_t)qdq_array_count(a);

    for (size_t i = 0; i < n; i++) {
        double x = float_at(from, p, i);
        float f = (float)x;
        uint16_t bits = 0;

        if (a->elem != QDQ_FLOAT) {
            bits = a->elem == QDQ_FLOAT16 ? qdq_float16_of_double(x) : qdq_bfloat16_of_double(x);
            f = a->elem == QDQ_FLOAT16 ? qdq_float_of_float16(bits) : qdq_float_of_bfloat16(bits);
        }
        if (isfinite(x) && !isfinite(f))
            return qdq_fail(err, QDQ_E_FORMAT, "element %zu is %g, expected what %s can hold", i, x,
                            qdq_elem_name(a->elem));
        if (a->elem == QDQ_FLOAT)
            memcpy(p + i * sizeof f, &f, sizeof f);
        else
            memcpy(p + i * sizeof bits, &bits, sizeof bits);
    }
    return QDQ_OK;
}

/* In place, too. A sample may be all over the range: what the codes cannot hold saturates, as it
 * does in a Q. */
static qdq_status quantize_sample(const qdq_qparam *codes, qdq_array *a, qdq_elem from,
                                  qdq_error *err)
{
    unsigned char *p = a->data;
    const size_t n = (size_t)qdq_array_count(a), size = qdq_code_size(codes->type);

    for (size_t i = 0; i < n; i++) {
        const float x = (float)float_at(from, p, i);

        if (!isfinite(x))
            return qdq_fail(err, QDQ_E_FORMAT,
                            "element %zu is NaN or infinite, expected finite numbers", i);
        qdq_quantize_floats(codes, &x, 1, p + i * size);
    }
    return QDQ_OK;
}

static qdq_status check_values_finite(const qdq_array *a, qdq_error *err)
{
    int64_t n = qdq_array_count(a), i = 0;

    if (a->elem == QDQ_FLOAT) {
        const float *x = a->data;
        while (i < n && isfinite(x[i]))
            i++;
    } else if (a->elem == QDQ_DOUBLE) {
        const double *x = a->data;
        while (i < n && isfinite(x[i]))
            i++;
    } else if (qdq_elem_is_half(a->elem)) {
        const uint16_t *x = a->data, top = a->elem == QDQ_FLOAT16 ? 0x7c00 : 0x7f80;
        while (i < n && (x[i] & top) != top)
            i++;
    } else {
        return QDQ_OK;
    }
    if (i == n)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_FORMAT, "element %lld is NaN or infinite, expected finite numbers",
                    (long long)i);
}

qdq_status qdq_data_finish(qdq_data *d, size_t k, qdq_elem from, qdq_error *err)
{
    qdq_array *a = &d->arrays[k].array;

    if (from != a->elem && d->codes[k].type != QDQ_UNDEFINED)
        return quantize_sample(&d->codes[k], a, from, err);
    if (from != a->elem)
        QDQ_TRY(narrow_floats(a, from, err));
    return check_values_finite(a, err);
}
