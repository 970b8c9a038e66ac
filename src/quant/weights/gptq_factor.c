/* gptq_factor.c - factorizes the inverse of a Hessian. The paper factorizes the inverse, H^-1 =
 * U'U with U upper. With the channels in the reverse order, H = L L' and V = L^-1 hold the same
 * numbers: U read from its last row and column to the first. That is one factorization and one
 * inverse of a triangle less.
 *
 * The matrix is worked on in place, in blocks: R = L' in the upper triangle, V in the lower one,
 * inverses of the blocks on the diagonal beside it. Those are computed in double, what is summed
 * up between blocks in float: damping keeps the smallest eigenvalue far above its last digit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/weights/gptq_state.h"
#include "quant/weights/matrix_product.h"

enum { BLOCK = 128, TRIES = 4 };

static const char not_definite[] = "its Hessian has no Cholesky factor";

/* A matrix while it is factorized. */
typedef struct work {
    qdq_gptq_factor *f;
    /* of each block of L on the diagonal: [BLOCK][BLOCK], lower, */
    float *inverse;
    /* and across */
    float *across;
    /* memory was there */
    bool ok;
} work;

static size_t size_at(const work *w, size_t first)
{
    size_t left = w->f->k - first;

    return left < BLOCK ? left : BLOCK;
}

static float *at(const work *w, size_t row, size_t column)
{
    return w->f->v + row * w->f->ld + column;
}

static float *inverse_at(const work *w, size_t first)
{
    return w->inverse + first * BLOCK;
}

static float *across_at(const work *w, size_t first)
{
    return w->across + first * BLOCK;
}

/* --- one block on the diagonal ---------------------------------------------------------------- */

/* Lower factor of the n x n block at `first`. False: it is not positive definite. */
static bool factorize_block(const work *w, size_t first, size_t n, double *l)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = (double)*at(w, first + j, first + i);

            for (size_t k = 0; k < j; k++)
                sum -= l[i * BLOCK + k] * l[j * BLOCK + k];
            if (i != j)
                l[i * BLOCK + j] = sum / l[j * BLOCK + j];
            else if (isfinite(sum) && sum > 1e-12)
                l[i * BLOCK + i] = sqrt(sum);
            else
                return false;
        }
    return true;
}

static void invert_block(const work *w, size_t first, size_t n, const double *l)
{
    float *inverse = inverse_at(w, first), *across = across_at(w, first);
    double v[BLOCK];

    for (size_t j = 0; j < n; j++) { /* column j of the inverse */
        memset(v, 0, sizeof v);
        for (size_t i = j; i < n; i++) {
            double sum = i == j ? 1 : 0;

            for (size_t k = j; k < i; k++)
                sum -= l[i * BLOCK + k] * v[k];
            v[i] = sum / l[i * BLOCK + i];
            inverse[i * BLOCK + j] = across[j * BLOCK + i] = (float)v[i];
        }
        w->f->diagonal[first + j] = (float)v[j];
    }
}

/* --- rows of blocks --------------------------------------------------------------------------- */

/* Block `j` of a row of blocks. `sum`: BLOCK x BLOCK numbers of the thread; `room`: of its
 * products. */
typedef void block_fn(const work *w, size_t row, size_t j, float *sum, float *room);

/* Blocks [first, end) of row `row`, in threads. False: out of memory. */
static bool for_blocks(const work *w, size_t row, size_t first, size_t end, block_fn *each)
{
    const size_t square = (size_t)BLOCK * BLOCK, room_size = qdq_product_room() + square;
    bool ok = true;

#pragma omp parallel reduction(&& : ok)
    {
        float *sum = malloc(room_size * sizeof *sum);

        ok = sum != NULL;
#pragma omp for schedule(dynamic)
        for (size_t j = first; j < end; j += BLOCK)
            if (sum != NULL)
                each(w, row, j, sum, sum + square);
        free(sum);
    }
    return ok;
}

/* --- R ---------------------------------------------------------------------------------------- */

/* Right of the diagonal: L^-1 of the diagonal's block times it. */
static void solve_block(const work *w, size_t row, size_t j, float *sum, float *room)
{
    const size_t n = size_at(w, row), wide = size_at(w, j);

    memset(sum, 0, sizeof *sum * BLOCK * BLOCK);
    qdq_product_add(&(qdq_product){across_at(w, row), at(w, row, j), sum, BLOCK, w->f->ld, BLOCK, n,
                                   wide, n, 1},
                    room);
    for (size_t i = 0; i < n; i++)
        memcpy(at(w, row + i, j), sum + i * BLOCK, wide * sizeof(float));
}

/* Row i of the triangle right below: less R'R of row `row`. */
static void update_block(const work *w, size_t row, size_t i, float *sum, float *room)
{
    const size_t ld = w->f->ld;

    (void)sum;
    qdq_product_add(&(qdq_product){at(w, row, i), at(w, row, i), at(w, i, i), ld, ld, ld,
                                   size_at(w, i), w->f->k - i, size_at(w, row), -1},
                    room);
}

/* False: not positive definite, or w->ok is false. */
static bool factorize(work *w)
{
    double *l = malloc(sizeof *l * BLOCK * BLOCK);
    bool ok = w->ok = l != NULL;

    for (size_t first = 0; first < w->f->k && ok; first += BLOCK) {
        size_t n = size_at(w, first);

        ok = factorize_block(w, first, n, l);
        if (!ok)
            break;
        invert_block(w, first, n, l);
        ok = w->ok = for_blocks(w, first, first + n, w->f->k, solve_block) &&
                     for_blocks(w, first, first + n, w->f->k, update_block);
    }
    free(l);
    return ok;
}

/* --- V ---------------------------------------------------------------------------------------- */

/* Block (i, j) of V, below the diagonal: -L_ii^-1 times the sum over blocks of L_ik V_kj. */
static void invert_one(const work *w, size_t i, size_t j, float *sum, float *room)
{
    const size_t n = size_at(w, i), ld = w->f->ld;

    memset(sum, 0, sizeof *sum * BLOCK * BLOCK);
    qdq_product_add(
        &(qdq_product){at(w, j, i), inverse_at(w, j), sum, ld, BLOCK, BLOCK, n, BLOCK, BLOCK, 1},
        room);
    qdq_product_add(&(qdq_product){at(w, j + BLOCK, i), at(w, j + BLOCK, j), sum, ld, ld, BLOCK, n,
                                   BLOCK, i - j - BLOCK, 1},
                    room);
    for (size_t r = 0; r < n; r++)
        memset(at(w, i + r, j), 0, BLOCK * sizeof(float));
    qdq_product_add(
        &(qdq_product){across_at(w, i), sum, at(w, i, j), BLOCK, BLOCK, ld, n, BLOCK, n, -1}, room);
}

static bool invert(const work *w)
{
    bool ok = true;

    for (size_t i = BLOCK; i < w->f->k && ok; i += BLOCK)
        ok = for_blocks(w, i, 0, i, invert_one);
    for (size_t first = 0; first < w->f->k; first += BLOCK)
        for (size_t i = 1; i < size_at(w, first); i++)
            memcpy(at(w, first + i, first), inverse_at(w, first) + i * BLOCK, i * sizeof(float));
    return ok;
}

/* --- the Hessian ------------------------------------------------------------------------------ */

typedef struct ranked {
    float weight;
    size_t channel;
} ranked;

/* Less input first: positions go backwards. */
static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    return x->channel < y->channel ? 1 : -1;
}

static bool order_channels(const qdq_gptq_group *g, bool by_input, size_t *channel)
{
    ranked *all = by_input ? malloc((g->k + 1) * sizeof *all) : NULL;

    if (by_input && all == NULL)
        return false;
    for (size_t p = 0; p < g->k; p++) {
        channel[p] = g->k - 1 - p;
        if (by_input)
            all[p] = (ranked){g->h[p * g->ld + p], p};
    }
    if (by_input) {
        qsort(all, g->k, sizeof *all, compare_ranked);
        for (size_t p = 0; p < g->k; p++)
            channel[p] = all[p].channel;
    }
    free(all);
    return true;
}

/* Mean of the diagonal, of channels that were ever something else than 0. */
static double mean_of_diagonal(const qdq_gptq_group *g)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < g->k; i++) {
        sum += (double)g->h[i * g->ld + i];
        n += g->h[i * g->ld + i] != 0;
    }
    return n > 0 ? sum / (double)n : 0;
}

/* The upper triangle, in the order of positions, in parts of `mean`. */
static void load(const qdq_gptq_group *g, double mean, double damping, qdq_gptq_factor *f)
{
#pragma omp parallel for schedule(dynamic) if (g->k > 256)
    for (size_t p = 0; p < f->k; p++) {
        const size_t row = f->channel[p];
        float *to = f->v + p * f->ld;

        for (size_t q = p; q < f->k; q++) {
            const size_t column = f->channel[q];
            float h = row < column ? g->h[row * g->ld + column] : g->h[column * g->ld + row];

            to[q] = (float)((double)h / mean);
        }
        to[p] = to[p] == 0 ? 1 : (float)((double)to[p] + damping);
    }
}

uint64_t qdq_gptq_factor_bytes(size_t k)
{
    return qdq_gptq_group_bytes(k);
}

static bool new_factor(const qdq_gptq_group *g, qdq_gptq_factor *f)
{
    *f = (qdq_gptq_factor){.k = g->k, .ld = g->ld};
    f->v = malloc((f->k * f->ld + 1) * sizeof *f->v);
    f->diagonal = malloc((f->k + 1) * sizeof *f->diagonal);
    f->channel = malloc((f->k + 1) * sizeof *f->channel);
    return f->v != NULL && f->diagonal != NULL && f->channel != NULL;
}

/* With more damping where it does not do. */
static bool factorize_damped(const qdq_gptq_group *g, double damping, work *w, const char **why)
{
    double mean = mean_of_diagonal(g);
    bool done = false;

    *why = not_definite;
    for (int i = 0; i < TRIES && isfinite(mean) && mean > 0 && !done; i++) {
        load(g, mean, damping, w->f);
        w->f->added = (float)(damping * mean);
        done = factorize(w);
        if (!w->ok)
            return false;
        damping *= 10;
    }
    if (!done)
        return true;
    *why = NULL;
    return invert(w);
}

bool qdq_gptq_factorize(const qdq_gptq_group *g, const qdq_gptq_opts *opts, qdq_gptq_factor *out,
                        const char **why)
{
    const size_t blocks = (g->k + BLOCK - 1) / BLOCK;
    work w = {.f = out, .ok = true};
    bool ok = new_factor(g, out);

    w.inverse = calloc(blocks * BLOCK * BLOCK + 1, sizeof *w.inverse);
    w.across = calloc(blocks * BLOCK * BLOCK + 1, sizeof *w.across);
    ok = ok && w.inverse != NULL && w.across != NULL &&
         order_channels(g, opts->act_order, out->channel) &&
         factorize_damped(g, opts->damping, &w, why);
    free(w.inverse);
    free(w.across);
    return ok;
}

void qdq_gptq_factor_free(qdq_gptq_factor *f)
{
    free(f->v);
    free(f->diagonal);
    free(f->channel);
    *f = (qdq_gptq_factor){0};
}
