/* gptq_round.c - rounds the columns of a weight by GPTQ. Columns of a weight do not know of each
 * other: threads take strips of them, all channels of a strip in the order of positions, the
 * last one first. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/weights/gptq_state.h"
#include "quant/weights/gptq_strip.h"
#include "quant/weights/matrix_product.h"
#include "quant/weights/weight_mse.h"
#include "quant/weights/weights.h"

enum { STRIP = QDQ_GPTQ_STRIP, BATCH = QDQ_GPTQ_BATCH };

/* bytes of one code that is not packed */
enum { CODE_MAX = 2 };

/* What all strips share. */
typedef struct rounding {
    const qdq_gptq_group *g;
    const qdq_gptq_factor *f;
    const qdq_weight_columns *w;
    /* of the nearest codes; those of GPTQ, too, unless each block's follow from its weights as they
     * are when it is reached */
    const float *scales;
    const int32_t *zeros;
    bool is_static, is_mse;
    qdq_gptq_result *out;
    /* of each strip, added in order whatever thread was first */
    double *error, *nearest;
} rounding;

static void round_nearest(const rounding *r, qdq_gptq_strip *t)
{
    qdq_gptq_strip_load(r->w, t);
    for (size_t c = 0; c < r->w->k; c++) {
        if (c % r->w->block == 0)
            qdq_gptq_strip_scales(r->w, r->scales, r->zeros, c / r->w->block, t);
        memcpy(t->w, t->d + c * STRIP, STRIP * sizeof *t->w);
        qdq_gptq_strip_round(r->w, t, t->w, t->d + c * STRIP);
    }
    r->nearest[t->first / STRIP] = qdq_gptq_strip_error(r->g, t);
}

/* --- GPTQ ------------------------------------------------------------------------------------- */

/* Scales of a block whose first channel is next. */
static bool scales_of_block(const rounding *r, qdq_gptq_strip *t, size_t block)
{
    const qdq_weight_columns *w = r->w;
    size_t rows = qdq_weight_block_rows(w, block);
    const float *x = t->w + (w->k - block * w->block - rows) * STRIP;
    const qdq_scale_grid grid = {{1, rows, STRIP}, rows, 1};
    const float *factor = NULL;

    if (qdq_weight_ranges(x, &grid, NULL, t->low, t->high, NULL) != QDQ_OK) /* no number any more */
        return true;
    if (r->is_mse) {
        if (!qdq_weight_mse_letters(x, &grid, &w->scheme, t->low, t->high, t->letters))
            return false;
        for (size_t j = 0; j < STRIP; j++)
            t->factor[j] = qdq_clip_factor(t->letters[j], QDQ_WEIGHT_MSE_STEP);
        factor = t->factor;
    }
    (void)qdq_weight_scales(&w->scheme, t->low, t->high, factor, STRIP, t->scales, t->zeros, NULL);
    for (size_t j = 0; j < t->n; j++) {
        size_t at = qdq_weight_scale_at(w, block, t->first + j);

        r->out->scales[at] = t->scales[j];
        r->out->zeros[at] = t->zeros[j];
    }
    return true;
}

/* Position p is rounded; positions [end, p) make up for it: (2), with the factor's row. */
static void round_position(const rounding *r, qdq_gptq_strip *t, size_t p, size_t end, float *error)
{
    const size_t channel = r->f->channel[p];
    const float *v = r->f->v + p * r->f->ld, *x = t->w + p * STRIP;
    const float by = 1 / r->f->diagonal[p];

    if (r->is_static)
        qdq_gptq_strip_scales(r->w, r->scales, r->zeros, channel / r->w->block, t);
    qdq_gptq_strip_round(r->w, t, x, t->d + channel * STRIP);
    qdq_gptq_strip_put(r->w, t, channel, r->out);
    for (size_t j = 0; j < STRIP; j++)
        error[j] = (x[j] - t->back[j]) * by;
    for (size_t q = end; q < p; q++)
        for (size_t j = 0; j < STRIP; j++)
            t->w[q * STRIP + j] -= v[q] * error[j];
}

/* Channels that are rounded before their updates reach the positions below: whole blocks, or part
 * of one. */
static size_t batch_at(const rounding *r, size_t done)
{
    const size_t block = r->w->block, left = r->w->k - done;
    size_t n = BATCH;

    if (!r->is_static && block <= BATCH)
        n = BATCH / block * block;
    else if (!r->is_static && block - done % block < BATCH)
        n = block - done % block;
    return n < left ? n : left;
}

static bool round_strip(void *ctx, qdq_gptq_strip *t)
{
    const rounding *r = ctx;
    const size_t k = r->w->k;

    round_nearest(r, t);
    qdq_gptq_strip_load(r->w, t);
    for (size_t p = 0; p < k; p++)
        memcpy(t->w + p * STRIP, t->d + r->f->channel[p] * STRIP, STRIP * sizeof *t->w);
    for (size_t done = 0, n; done < k; done += n) {
        n = batch_at(r, done);
        size_t end = k - done - n;

        for (size_t i = 0; i < n; i++) {
            size_t c = done + i, p = k - 1 - c;

            if (!r->is_static && c % r->w->block == 0 && !scales_of_block(r, t, c / r->w->block))
                return false;
            round_position(r, t, p, end, t->error + (p - end) * STRIP);
        }
        /* (4), for all that are left */
        qdq_product_add(&(qdq_product){r->f->v + end * r->f->ld, t->error, t->w, r->f->ld, STRIP,
                                       STRIP, end, STRIP, n, -1},
                        t->scratch);
    }
    r->error[t->first / STRIP] = qdq_gptq_strip_error(r->g, t);
    return true;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Scales of the weight as it is. */
static qdq_status nearest_scales(const qdq_weight_columns *w, bool is_mse, float *scales,
                                 int32_t *zeros, qdq_arena *scratch, qdq_error *err)
{
    const size_t n = w->n * w->n_block;
    float *low = qdq_arena_array(scratch, n + 1, sizeof *low), *factor = NULL;
    float *high = qdq_arena_array(scratch, n + 1, sizeof *high);
    char *letters = qdq_arena_array(scratch, n + 1, 1);

    QDQ_NEED(low != NULL && high != NULL && letters != NULL, err);
    QDQ_TRY(qdq_weight_ranges(w->w, &w->grid, NULL, low, high, err));
    if (is_mse) {
        factor = qdq_arena_array(scratch, n + 1, sizeof *factor);
        QDQ_NEED(factor != NULL &&
                     qdq_weight_mse_letters(w->w, &w->grid, &w->scheme, low, high, letters),
                 err);
        for (size_t i = 0; i < n; i++)
            factor[i] = qdq_clip_factor(letters[i], QDQ_WEIGHT_MSE_STEP);
    }
    return qdq_weight_scales(&w->scheme, low, high, factor, n, scales, zeros, err);
}

static double sum_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

bool qdq_gptq_result_new(const qdq_weight_columns *w, qdq_gptq_result *out)
{
    const size_t n = w->n * w->n_block;

    *out = (qdq_gptq_result){.scales = malloc((n + 1) * sizeof *out->scales),
                             .zeros = malloc((n + 1) * sizeof *out->zeros),
                             .codes = malloc(w->k * w->n * CODE_MAX + 1)};
    return out->scales != NULL && out->zeros != NULL && out->codes != NULL;
}

static qdq_status round_weight(rounding *r, const qdq_job *job, qdq_arena *scratch, qdq_error *err)
{
    const size_t strips = qdq_gptq_strip_count(r->w), n = r->w->n * r->w->n_block;
    float *scales = qdq_arena_array(scratch, n + 1, sizeof *scales);
    int32_t *zeros = qdq_arena_array(scratch, n + 1, sizeof *zeros);

    r->error = qdq_arena_array(scratch, strips + 1, sizeof *r->error);
    r->nearest = qdq_arena_array(scratch, strips + 1, sizeof *r->nearest);
    QDQ_NEED(scales != NULL && zeros != NULL && r->error != NULL && r->nearest != NULL &&
                 qdq_gptq_result_new(r->w, r->out),
             err);
    QDQ_TRY(nearest_scales(r->w, r->is_mse, scales, zeros, scratch, err));
    memcpy(r->out->scales, scales, n * sizeof *scales);
    memcpy(r->out->zeros, zeros, n * sizeof *zeros);
    r->scales = scales;
    r->zeros = zeros;
    QDQ_TRY(qdq_gptq_strips(r->w, job, round_strip, r, err));
    r->out->error = sum_of(r->error, strips);
    r->out->nearest = sum_of(r->nearest, strips);
    return QDQ_OK;
}

qdq_status qdq_gptq_round(const qdq_gptq_group *g, const qdq_gptq_factor *f,
                          const qdq_weight_columns *w, const qdq_job *job, qdq_gptq_result *out,
                          qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    rounding r = {.g = g,
                  .f = f,
                  .w = w,
                  .is_static = w->n_block == 1 || w->entry->gptq.act_order,
                  .is_mse = qdq_weight_method_is_mse(w->entry->method),
                  .out = out};

    *out = (qdq_gptq_result){0};
    qdq_status st = round_weight(&r, job, &scratch, err);
    qdq_arena_free(&scratch);
    return st;
}

void qdq_gptq_result_free(qdq_gptq_result *r)
{
    free(r->scales);
    free(r->zeros);
    free(r->codes);
    *r = (qdq_gptq_result){0};
}
