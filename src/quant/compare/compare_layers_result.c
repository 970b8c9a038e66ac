/* compare_layers_result.c - the sums of matched values as the result that users get, in one piece
 * of memory. */
#include "base/fail.h"
#include "base/pack.h"
#include "base/words.h"
#include "quant/compare/compare_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double error_of(const qdq_compare_stat *s)
{
    return s->dd == 0 ? 0 : s->aa == 0 ? (double)INFINITY : s->dd / s->aa;
}

static int by_error(const void *a, const void *b)
{
    const qdq_compare_layer *x = a, *y = b;

    if (x->error != y->error)
        return x->error < y->error ? 1 : -1;
    return strcmp(x->value.name, y->value.name);
}

static qdq_status write_worst(const qdq_slices *s, qdq_compare_tensor *to, qdq_error *err)
{
    qdq_slice_result worst;

    if (s->n_axes == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_slices_get(s, &worst, err));
    to->worst_db = worst.worst_db;
    to->axis = worst.axis;
    to->index = worst.index;
    return QDQ_OK;
}

static bool is_in_float(const qdq_compare_layer *l)
{
    static const char *const products[] = {"Conv", "ConvTranspose", "Gemm", "MatMul",
                                           "LSTM", "GRU",           NULL};

    return !l->quantized || (isnan(l->read_sqnr_db) && !qdq_word_is_in(l->op, products));
}

static qdq_status write_layer(const qdq_match *v, qdq_compare_layer *to, char **text,
                              qdq_error *err)
{
    qdq_compare_tensor behind;
    char *name = qdq_pack_text(text, v->name);

    to->node = qdq_pack_text(text, v->node);
    to->op = qdq_pack_text(text, v->op);
    to->name_in_a = qdq_pack_text(text, v->of_a);
    to->quantized = v->quantized;
    to->error = error_of(&v->own);
    qdq_compare_stat_result(&v->own, &to->introduced);
    qdq_compare_stat_result(&v->value, &to->value);
    qdq_compare_stat_result(&v->behind, &behind);
    to->introduced.name = to->value.name = name;
    to->read_sqnr_db = v->read != NULL ? behind.sqnr_db : (double)NAN;
    to->in_float = is_in_float(to);
    QDQ_TRY(write_worst(&v->own_slices, &to->introduced, err));
    return write_worst(&v->value_slices, &to->value, err);
}

static size_t text_size(const qdq_matching *m)
{
    size_t size = 0;

    for (size_t i = 0; i < m->values.n; i++)
        size += strlen(m->values.at[i].name) + strlen(m->values.at[i].node) +
                strlen(m->values.at[i].op) + strlen(m->values.at[i].of_a) + 4;
    for (size_t i = 0; i < m->only_a.n; i++)
        size += strlen(m->only_a.at[i]) + 1;
    for (size_t i = 0; i < m->only_b.n; i++)
        size += strlen(m->only_b.at[i]) + 1;
    return size;
}

qdq_status qdq_compare_layers_write(const qdq_matching *m, size_t samples,
                                    qdq_compare_layers_result **out, qdq_error *err)
{
    qdq_compare_layers_result *r =
        calloc(1, sizeof *r + m->values.n * sizeof *r->layers +
                      (m->only_a.n + m->only_b.n) * sizeof(char *) + text_size(m));

    QDQ_NEED(r != NULL, err);
    r->layers = (qdq_compare_layer *)(void *)(r + 1);
    r->unmatched_a = (const char **)(void *)(r->layers + m->values.n);
    r->unmatched_b = r->unmatched_a + m->only_a.n;
    char *text = (char *)(void *)(r->unmatched_b + m->only_b.n);
    for (size_t i = 0; i < m->values.n; i++) {
        const qdq_status st =
            m->values.at[i].left_out
                ? QDQ_OK
                : write_layer(&m->values.at[i], &r->layers[r->n_layers++], &text, err);

        if (st != QDQ_OK) {
            free(r);
            return st;
        }
    }
    for (size_t i = 0; i < m->only_a.n; i++)
        r->unmatched_a[r->n_unmatched_a++] = qdq_pack_text(&text, m->only_a.at[i]);
    for (size_t i = 0; i < m->only_b.n; i++)
        r->unmatched_b[r->n_unmatched_b++] = qdq_pack_text(&text, m->only_b.at[i]);
    if (r->n_layers > 1)
        qsort(r->layers, r->n_layers, sizeof *r->layers, by_error);
    r->samples = samples;
    *out = r;
    return QDQ_OK;
}
