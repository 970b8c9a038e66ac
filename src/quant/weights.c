/* weights.c - see the header. Channels run in parallel; each writes only its own results, so that the outcome
 * does not depend on the number of threads. */
#include "quant/weights.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

qdq_status qdq_weight_floats(const qdq_tensor *t, qdq_arena *scratch, const float **out, qdq_error *err)
{
    qdq_span bytes;

    *out = NULL;
    if (t->elem != QDQ_FLOAT)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': %s, expected float", t->name,
                        qdq_elem_name(t->elem));
    QDQ_TRY(qdq_tensor_data(t, scratch, &bytes, err));
    if ((uintptr_t)bytes.data % sizeof(float) == 0) {
        *out = (const float *)(const void *)bytes.data;
        return QDQ_OK;
    }
    float *copy = qdq_arena_alloc(scratch, bytes.size + sizeof *copy);
    if (copy == NULL)
        return qdq_nomem(err);
    memcpy(copy, bytes.data, bytes.size);
    *out = copy;
    return QDQ_OK;
}

/* inner == 1: channels lie side by side; walking row by row keeps memory access in order. */
static void absmax_of_columns(const float *w, const qdq_channels *c, float *absmax)
{
    for (size_t k = 0; k < c->channels; k++)
        absmax[k] = 0;
    for (size_t o = 0; o < c->outer; o++) {
        const float *row = w + o * c->channels;
        for (size_t k = 0; k < c->channels; k++) {
            float x = fabsf(row[k]);
            absmax[k] = x <= absmax[k] ? absmax[k] : x; /* NaN wins, and is found below */
        }
    }
}

static void absmax_of_channels(const float *w, const qdq_channels *c, float *absmax)
{
#pragma omp parallel for schedule(static) if (c->outer * c->channels * c->inner > 65536)
    for (size_t k = 0; k < c->channels; k++) {
        float largest = 0;
        for (size_t o = 0; o < c->outer && largest >= 0; o++) {
            float x = qdq_absmax(w + (o * c->channels + k) * c->inner, c->inner);
            largest = x < 0 ? x : fmaxf(largest, x);
        }
        absmax[k] = largest;
    }
}

qdq_status qdq_weight_scales(const float *w, const qdq_channels *c, const qdq_qscheme *s, float *scales,
                             qdq_error *err)
{
    if (c->inner == 1 && c->outer > 1)
        absmax_of_columns(w, c, scales);
    else
        absmax_of_channels(w, c, scales);
    for (size_t k = 0; k < c->channels; k++) {
        qdq_qparam p;

        if (!(scales[k] >= 0) || !isfinite(scales[k]))
            return qdq_fail(err, QDQ_E_FORMAT, "channel %zu holds NaN or infinity, expected finite weights",
                            k);
        if (!qdq_qparam_from_range(s, -(double)scales[k], (double)scales[k], &p))
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "no codes for weights of type %s",
                            qdq_elem_name(s->type));
        scales[k] = p.scale;
    }
    return QDQ_OK;
}

void qdq_weight_codes(const float *w, const qdq_channels *c, const float *scales, int8_t *codes)
{
    if (c->inner == 1) {
#pragma omp parallel for schedule(static) if (c->outer * c->channels > 65536)
        for (size_t o = 0; o < c->outer; o++)
            qdq_quantize_row(QDQ_INT8, scales, NULL, w + o * c->channels, c->channels,
                             codes + o * c->channels);
        return;
    }
#pragma omp parallel for schedule(static) if (c->outer * c->channels * c->inner > 65536)
    for (size_t i = 0; i < c->outer * c->channels; i++) {
        qdq_qparam p = {QDQ_INT8, scales[i % c->channels], 0};
        qdq_quantize_floats(&p, w + i * c->inner, c->inner, codes + i * c->inner);
    }
}

void qdq_weight_decode(const int8_t *codes, const qdq_channels *c, const float *scales, float *w)
{
    for (size_t i = 0; i < c->outer * c->channels; i++) {
        qdq_qparam p = {QDQ_INT8, scales[i % c->channels], 0};
        qdq_dequantize_floats(&p, codes + i * c->inner, c->inner, w + i * c->inner);
    }
}
