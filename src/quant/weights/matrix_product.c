/* matrix_product.c - sums of products of float matrices, for GPTQ. A tile of sums stays in
 * registers while it runs over all rows of two packed panels; the tile is compiled for each
 * width of registers that x86 has. */
#include "quant/weights/matrix_product.h"

#include <string.h>

enum {
    DOWN = 8,            /* rows of a tile, each from a column of A */
    ACROSS = 512,        /* columns of B that are packed at once, */
    DOWN_AT_ONCE = 128,  /* and of A */
    SQUARE_COLUMNS = 128 /* of X'X, of one unit of work */
};

/* c[DOWN][QDQ_PANEL] = the sum of a[r][i] * b[r][j] over n rows of two panels. */
typedef void tile_fn(size_t n, const float *a, const float *b, float *c);

#define UNROLL _Pragma("GCC unroll 8")

/* `rows` times two registers of sums at a time: as many as there are, less those for a and b. */
#define TILE(name, attribute, bytes, rows)                                                         \
    attribute static void name(size_t n, const float *a, const float *b, float *c)                 \
    {                                                                                              \
        typedef float lanes __attribute__((vector_size(bytes), aligned(4), may_alias));            \
        const size_t lane = (bytes) / sizeof(float);                                               \
                                                                                                   \
        for (size_t i = 0; i < DOWN; i += (rows))                                                  \
            for (size_t j = 0; j < QDQ_PANEL; j += 2 * lane) {                                     \
                lanes sum[rows][2] = {{{0}}};                                                      \
                for (size_t r = 0; r < n; r++) {                                                   \
                    const float *x = a + r * QDQ_PANEL + i, *y = b + r * QDQ_PANEL + j;            \
                    const lanes y0 = *(const lanes *)y, y1 = *(const lanes *)(y + lane);           \
                    UNROLL for (size_t k = 0; k < (rows); k++)                                     \
                    {                                                                              \
                        sum[k][0] += x[k] * y0;                                                    \
                        sum[k][1] += x[k] * y1;                                                    \
                    }                                                                              \
                }                                                                                  \
                for (size_t k = 0; k < (rows); k++) {                                              \
                    float *to = c + (i + k) * QDQ_PANEL + j;                                       \
                    *(lanes *)to = sum[k][0];                                                      \
                    *(lanes *)(to + lane) = sum[k][1];                                             \
                }                                                                                  \
            }                                                                                      \
    }

TILE(tile_plain, , 16, 4)

#if defined(__x86_64__)
TILE(tile_avx2, __attribute__((target("avx2,fma"))), 32, 4)
TILE(tile_avx512, __attribute__((target("avx512f"))), 64, 8)
#endif

static tile_fn *tile_for_cpu(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return tile_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return tile_avx2;
#endif
    return tile_plain;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- products --------------------------------------------------------------------------------- */

/* n columns of `depth` rows as panels, the last one filled up with 0. */
static void pack(const float *from, size_t ld, size_t depth, size_t n, float *to)
{
    for (size_t j = 0; j < n; j += QDQ_PANEL, to += depth * QDQ_PANEL) {
        size_t wide = least(n - j, QDQ_PANEL);

        for (size_t r = 0; r < depth; r++) {
            float *row = to + r * QDQ_PANEL;

            memcpy(row, from + r * ld + j, wide * sizeof *row);
            for (size_t k = wide; k < QDQ_PANEL; k++)
                row[k] = 0;
        }
    }
}

static void add_tile(const float *tile, float sign, size_t m, size_t n, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            c[i * ldc + j] += sign * tile[i * QDQ_PANEL + j];
}

/* Packed a [depth, m] and b [depth, n]. */
static void multiply_packed(const float *a, const float *b, size_t depth, size_t m, size_t n,
                            const qdq_product *p, float *c)
{
    tile_fn *tile = tile_for_cpu();
    float sums[DOWN * QDQ_PANEL];

    for (size_t j = 0; j < n; j += QDQ_PANEL)
        for (size_t i = 0; i < m; i += DOWN) {
            tile(depth, a + i / QDQ_PANEL * depth * QDQ_PANEL + i % QDQ_PANEL, b + j * depth, sums);
            add_tile(sums, p->sign, least(m - i, DOWN), least(n - j, QDQ_PANEL), c + i * p->ldc + j,
                     p->ldc);
        }
}

size_t qdq_product_room(void)
{
    return (size_t)QDQ_PANEL_ROWS * (ACROSS + DOWN_AT_ONCE);
}

void qdq_product_add(const qdq_product *p, float *room)
{
    float *b = room, *a = room + (size_t)QDQ_PANEL_ROWS * ACROSS;

    for (size_t r = 0; r < p->depth; r += QDQ_PANEL_ROWS)
        for (size_t j = 0; j < p->n; j += ACROSS) {
            size_t depth = least(p->depth - r, QDQ_PANEL_ROWS), n = least(p->n - j, ACROSS);

            pack(p->b + r * p->ldb + j, p->ldb, depth, n, b);
            for (size_t i = 0; i < p->m; i += DOWN_AT_ONCE) {
                size_t m = least(p->m - i, DOWN_AT_ONCE);

                pack(p->a + r * p->lda + i, p->lda, depth, m, a);
                multiply_packed(a, b, depth, m, n, p, p->c + i * p->ldc + j);
            }
        }
}

/* --- squares ---------------------------------------------------------------------------------- */

size_t qdq_panels_size(size_t width)
{
    return (width + QDQ_PANEL - 1) / QDQ_PANEL * QDQ_PANEL * QDQ_PANEL_ROWS;
}

void qdq_panels_fill(float *panels, size_t width, size_t at, const float *x, size_t n)
{
#pragma omp parallel for schedule(static) if (width * n > 65536)
    for (size_t j = 0; j < width; j += QDQ_PANEL)
        for (size_t r = 0; r < n; r++) {
            const float *from = x + r * width + j;
            float *to = panels + j * QDQ_PANEL_ROWS + (at + r) * QDQ_PANEL;
            size_t wide = least(width - j, QDQ_PANEL);

            for (size_t k = 0; k < wide; k++)
                to[k] = from[k] - from[k] == 0 ? from[k] : 0;
            for (size_t k = wide; k < QDQ_PANEL; k++)
                to[k] = 0;
        }
}

/* What a tile of X'X with its first element at (row, column) adds to. */
typedef struct square {
    /* diagonal NULL: the upper triangle */
    float *h, *diagonal;
    size_t width, ld;
} square;

static void add_square(const square *s, const float *tile, size_t row, size_t column)
{
    size_t m = least(s->width - row, DOWN), n = least(s->width - column, QDQ_PANEL);

    for (size_t i = row; i < row + m; i++) {
        const float *from = tile + (i - row) * QDQ_PANEL;

        for (size_t j = column; j < column + n; j++)
            if (s->diagonal == NULL ? j >= i : j < i)
                s->h[i * s->ld + j] += from[j - column];
            else if (j == i)
                s->diagonal[i] += from[j - column];
    }
}

/* Columns [first, end) of one triangle. */
static void square_columns(const square *s, const float *panels, size_t n, size_t first, size_t end)
{
    const size_t begin = s->diagonal == NULL ? 0 : first / QDQ_PANEL * QDQ_PANEL;
    const size_t stop = s->diagonal == NULL ? end : s->width;
    tile_fn *tile = tile_for_cpu();
    float sums[DOWN * QDQ_PANEL];

    for (size_t i = begin; i < stop; i += DOWN)
        for (size_t j = first; j < end; j += QDQ_PANEL) {
            bool empty = s->diagonal == NULL ? j + QDQ_PANEL <= i : j >= i + DOWN;
            const float *a = panels + i / QDQ_PANEL * QDQ_PANEL * QDQ_PANEL_ROWS + i % QDQ_PANEL;

            if (empty)
                continue;
            tile(n, a, panels + j * QDQ_PANEL_ROWS, sums);
            if (i + DOWN <= j && s->diagonal == NULL)
                add_tile(sums, 1, DOWN, least(s->width - j, QDQ_PANEL), s->h + i * s->ld + j,
                         s->ld);
            else
                add_square(s, sums, i, j);
        }
}

static void square_all(const square *s, const float *panels, size_t n)
{
    const size_t units = (s->width + SQUARE_COLUMNS - 1) / SQUARE_COLUMNS;

    /* those with most rows first */
#pragma omp parallel for schedule(dynamic) if (units > 1)
    for (size_t u = 0; u < units; u++) {
        size_t first = (s->diagonal == NULL ? units - 1 - u : u) * SQUARE_COLUMNS;

        square_columns(s, panels, n, first, least(first + SQUARE_COLUMNS, s->width));
    }
}

void qdq_panels_square(const float *panels, size_t width, size_t n, float *h, size_t ld)
{
    const square s = {h, NULL, width, ld};

    square_all(&s, panels, n);
}

void qdq_panels_square_lower(const float *panels, size_t width, size_t n, float *h, size_t ld,
                             float *diagonal)
{
    const square s = {h, diagonal, width, ld};

    square_all(&s, panels, n);
}
