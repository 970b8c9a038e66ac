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

static qdq_status write_layer(const qdq_match *v, qdq_compare_layer *to, qdq_error *err)
{
    qdq_compare_tensor behind;

    to->node = v->node;
    to->op = v->op;
    to->name_in_a = v->of_a;
    to->quantized = v->quantized;
    to->error = error_of(&v->own);
    qdq_compare_stat_result(&v->own, &to->introduced);
    qdq_compare_stat_result(&v->value, &to->value);
    qdq_compare_stat_result(&v->behind, &behind);
    to->introduced.name = to->value.name = v->name;
    to->read_sqnr_db = v->read != NULL ? behind.sqnr_db : (double)NAN;
    to->in_float = is_in_float(to);
    QDQ_TRY(write_worst(&v->own_slices, &to->introduced, err));
    return write_worst(&v->value_slices, &to->value, err);
}

static void pack_result(qdq_pack *p, void *to)
{
    qdq_compare_layers_result *r = to;

    r->layers = qdq_pack_array(p, r->layers, r->n_layers, sizeof *r->layers);
    for (size_t i = 0; i < r->n_layers; i++) {
        qdq_compare_layer *l = &r->layers[i];
        l->node = qdq_pack_string(p, l->node);
        l->op = qdq_pack_string(p, l->op);
        l->name_in_a = qdq_pack_string(p, l->name_in_a);
        l->introduced.name = l->value.name = qdq_pack_string(p, l->value.name);
    }
    r->unmatched_a = qdq_pack_strings(p, r->unmatched_a, r->n_unmatched_a);
    r->unmatched_b = qdq_pack_strings(p, r->unmatched_b, r->n_unmatched_b);
}

qdq_status qdq_compare_layers_write(const qdq_matching *m, size_t samples,
                                    qdq_compare_layers_result **out, qdq_error *err)
{
    qdq_compare_layers_result r = {.layers = calloc(m->values.n + 1, sizeof *r.layers),
                                   .unmatched_a = m->only_a.at,
                                   .n_unmatched_a = m->only_a.n,
                                   .unmatched_b = m->only_b.at,
                                   .n_unmatched_b = m->only_b.n,
                                   .samples = samples};
    qdq_status st = qdq_allocated(r.layers != NULL, err);

    for (size_t i = 0; i < m->values.n && st == QDQ_OK; i++)
        if (!m->values.at[i].left_out)
            st = write_layer(&m->values.at[i], &r.layers[r.n_layers++], err);
    if (st == QDQ_OK) {
        if (r.n_layers > 1)
            qsort(r.layers, r.n_layers, sizeof *r.layers, by_error);
        *out = qdq_pack_struct(&r, sizeof r, pack_result);
        st = qdq_allocated(*out != NULL, err);
    }
    free(r.layers);
    return st;
}
