/* gptq_collect.c - sums the Hessians of GPTQ. Rows are packed until there are enough of them for
 * a product: samples of one row cost no walk over the whole matrix each. */
#include <stdlib.h>

#include "quant/weights/gptq_state.h"
#include "quant/weights/matrix_product.h"

/* Rows do not begin at the same place of a cache. */
enum { PAD = 16 };

static size_t row_floats(size_t k)
{
    return (k + PAD - 1) / PAD * PAD + PAD;
}

static bool is_countable(size_t k)
{
    return k < (size_t)1 << 24;
}

uint64_t qdq_gptq_group_bytes(size_t k)
{
    if (!is_countable(k))
        return UINT64_MAX;
    return ((uint64_t)k * row_floats(k) + k + QDQ_GPTQ_PARTS * (uint64_t)qdq_panels_size(k)) *
           sizeof(float);
}

bool qdq_gptq_begin_group(qdq_gptq_group *g)
{
    g->ld = row_floats(g->k);
    g->h = calloc(g->k * g->ld + 1, sizeof *g->h);
    g->held_diagonal = calloc(g->k + 1, sizeof *g->held_diagonal);
    for (int i = 0; i < QDQ_GPTQ_PARTS; i++) {
        g->panels[i] = malloc((qdq_panels_size(g->k) + 1) * sizeof(float));
        g->filled[i] = 0;
        g->rows[i] = 0;
    }
    if (g->h != NULL && g->held_diagonal != NULL && g->panels[QDQ_GPTQ_FIT] != NULL &&
        g->panels[QDQ_GPTQ_HELD] != NULL)
        return true;
    qdq_gptq_end_group(g);
    return false;
}

void qdq_gptq_end_group(qdq_gptq_group *g)
{
    free(g->h);
    free(g->held_diagonal);
    for (int i = 0; i < QDQ_GPTQ_PARTS; i++) {
        free(g->panels[i]);
        g->panels[i] = NULL;
    }
    g->h = g->held_diagonal = NULL;
}

static void flush_part(qdq_gptq_group *g, int part)
{
    if (part == QDQ_GPTQ_FIT)
        qdq_panels_square(g->panels[part], g->k, g->filled[part], g->h, g->ld);
    else
        qdq_panels_square_lower(g->panels[part], g->k, g->filled[part], g->h, g->ld,
                                g->held_diagonal);
    g->filled[part] = 0;
}

void qdq_gptq_add_rows(qdq_gptq_group *g, int part, const float *x, size_t n)
{
    g->rows[part] += n;
    while (n > 0) {
        size_t left = QDQ_PANEL_ROWS - g->filled[part], rows = n < left ? n : left;

        qdq_panels_fill(g->panels[part], g->k, g->filled[part], x, rows);
        g->filled[part] += rows;
        x += rows * g->k;
        n -= rows;
        if (g->filled[part] == QDQ_PANEL_ROWS)
            flush_part(g, part);
    }
}

void qdq_gptq_flush(qdq_gptq_group *g)
{
    for (int i = 0; i < QDQ_GPTQ_PARTS; i++)
        if (g->filled[i] > 0)
            flush_part(g, i);
}
