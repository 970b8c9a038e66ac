/* gptq_strip.c - copies columns of a weight to and from the strip of one thread */
#include "quant/weights/gptq_strip.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/weights/matrix_product.h"

enum { STRIP = QDQ_GPTQ_STRIP, BATCH = QDQ_GPTQ_BATCH };

static qdq_gptq_strip *new_strip(size_t k)
{
    const size_t rows = k * STRIP, batch = (size_t)BATCH * STRIP, square = (size_t)BATCH * BATCH;
    const size_t floats = 3 * rows + 2 * batch + square + qdq_product_room();
    qdq_gptq_strip *t = malloc(sizeof *t + floats * sizeof(float));

    if (t == NULL)
        return NULL;
    t->w = (float *)(void *)(t + 1);
    t->d = t->w + rows;
    t->y = t->d + rows;
    t->error = t->y + rows;
    t->before = t->error + batch;
    t->square = t->before + batch;
    t->scratch = t->square + square;
    return t;
}

qdq_status qdq_gptq_strips(const qdq_weight_columns *w, const qdq_job *job, qdq_gptq_strip_fn *each,
                           void *ctx, qdq_error *err)
{
    const size_t strips = qdq_gptq_strip_count(w);
    bool ok = true;

#pragma omp parallel reduction(&& : ok) if (strips > 1)
    {
        qdq_gptq_strip *t = new_strip(w->k);

        ok = t != NULL;
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < strips; i++) {
            if (t == NULL || qdq_job_poll(job, NULL) != QDQ_OK)
                continue;
            t->first = i * STRIP;
            t->n = w->n - t->first < STRIP ? w->n - t->first : STRIP;
            ok = each(ctx, t) && ok;
        }
        free(t);
    }
    QDQ_NEED(ok, err);
    return qdq_job_poll(job, err);
}

void qdq_gptq_strip_load(const qdq_weight_columns *w, qdq_gptq_strip *t)
{
    for (size_t j = 0; j < STRIP; j++)
        for (size_t c = 0; c < w->k && j >= t->n; c++)
            t->d[c * STRIP + j] = 0;
    if (w->step_n == 1)
        for (size_t c = 0; c < w->k; c++)
            memcpy(t->d + c * STRIP, w->w + c * w->step_k + t->first, t->n * sizeof(float));
    else
        for (size_t j = 0; j < t->n; j++)
            for (size_t c = 0; c < w->k; c++)
                t->d[c * STRIP + j] = w->w[c * w->step_k + (t->first + j) * w->step_n];
}

void qdq_gptq_strip_scales(const qdq_weight_columns *w, const float *scales, const int32_t *zeros,
                           size_t block, qdq_gptq_strip *t)
{
    for (size_t j = 0; j < STRIP; j++) {
        size_t at = qdq_weight_scale_at(w, block, t->first + (j < t->n ? j : 0));

        t->scales[j] = scales[at];
        t->zeros[j] = zeros[at];
    }
}

void qdq_gptq_limits(const qdq_qscheme *s, float *lowest, float *highest)
{
    int32_t low = 0, high = 0;

    (void)(s->reduced ? qdq_qscheme_codes(s, &low, &high)
                      : qdq_elem_code_limits(s->type, &low, &high));
    *lowest = (float)low;
    *highest = (float)high;
}

void qdq_gptq_strip_round(const qdq_weight_columns *w, qdq_gptq_strip *t, const float *x, float *d)
{
    const qdq_elem type = w->scheme.type;
    float lowest, highest;

    if (w->scheme.reduced) {
        qdq_gptq_limits(&w->scheme, &lowest, &highest);
        for (size_t j = 0; j < STRIP; j++) {
            const float low = (lowest - (float)t->zeros[j]) * t->scales[j];
            const float high = (highest - (float)t->zeros[j]) * t->scales[j];

            t->back[j] = x[j] < low ? low : x[j] > high ? high : x[j];
        }
        x = t->back;
    }
    qdq_quantize_row(type, t->scales, t->zeros, x, STRIP, t->codes);
    qdq_dequantize_row(type, t->scales, t->zeros, t->codes, STRIP, t->back);
    for (size_t j = 0; j < STRIP; j++)
        d[j] -= t->back[j];
}

void qdq_gptq_strip_put(const qdq_weight_columns *w, const qdq_gptq_strip *t, size_t channel,
                        qdq_gptq_result *out)
{
    const size_t size = qdq_code_size(w->scheme.type);
    const char *codes = (const char *)t->codes;

    for (size_t j = 0; j < t->n; j++)
        memcpy(out->codes + (channel * w->step_k + (t->first + j) * w->step_n) * size,
               codes + j * size, size);
}

double qdq_gptq_strip_error(const qdq_gptq_group *g, qdq_gptq_strip *t)
{
    double sum = 0;

    memset(t->y, 0, g->k * STRIP * sizeof *t->y);
    for (size_t first = 0; first < g->k; first += BATCH) {
        size_t end = first + BATCH < g->k ? first + BATCH : g->k;

        qdq_product_add(&(qdq_product){g->h + first * g->ld, t->d + first * STRIP, t->y, g->ld,
                                       STRIP, STRIP, first, STRIP, end - first, 1},
                        t->scratch);
        for (size_t p = first; p < end; p++)
            for (size_t q = first; q < p; q++)
                for (size_t j = 0; j < STRIP; j++)
                    t->y[q * STRIP + j] += g->h[p * g->ld + q] * t->d[p * STRIP + j];
    }
    for (size_t q = 0; q < g->k; q++)
        for (size_t j = 0; j < t->n; j++) {
            double d = (double)t->d[q * STRIP + j];

            sum += d * (2 * (double)t->y[q * STRIP + j] + (double)g->held_diagonal[q] * d);
        }
    return sum;
}
