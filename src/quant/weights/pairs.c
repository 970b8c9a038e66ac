/* pairs.c - which numbers of a weight kernels add first */
#include "quant/weights/pairs.h"

#include "base/fail.h"

enum {
    PIECE = 1 << 16, /* numbers: below, threads cost more than they bring */
    WIDTH = 512      /* columns of a matrix that are walked row by row at once */
};

qdq_pair_kind qdq_pair_kind_of(const qdq_node *n, const qdq_tensor *t)
{
    const bool is_matrix = n->op == QDQ_OP_GEMM || n->op == QDQ_OP_MATMUL;

    if (n->op == QDQ_OP_CONV && t->rank > 2)
        return t->dim[1] == 1 && qdq_node_int(n, "group", 1) > 1 ? QDQ_PAIRS_NONE : QDQ_PAIRS_KNOWN;
    return (is_matrix && t->rank == 2) || (n->op == QDQ_OP_LSTM && t->rank == 3)
               ? QDQ_PAIRS_KNOWN
               : QDQ_PAIRS_UNKNOWN;
}

bool qdq_pair_order_of(const qdq_tensor *t, int axis, qdq_pair_order *out)
{
    const int64_t *dim = t->dim;
    const bool is_conv = t->rank > 2 && axis == 0;

    *out = (qdq_pair_order){0};
    if (t->count == 0 || axis < 0)
        return false;
    if (is_conv) {
        const int64_t numbers = t->count / dim[0], area = numbers / dim[1];

        *out = (qdq_pair_order){dim[0], numbers, numbers, dim[1], area, 1};
    } else if (t->rank == 3) { /* of an LSTM; axis 2: a whole row is one block */
        const int64_t rows = dim[0] * dim[1];

        *out = (qdq_pair_order){rows, dim[2], dim[2], dim[2], 1, 0};
    } else if (t->rank == 2 && axis == 0) {
        *out = (qdq_pair_order){dim[0], dim[1], dim[1], dim[1], 1, 0};
    } else if (t->rank == 2) {
        *out = (qdq_pair_order){dim[1], dim[0], 1, dim[0], dim[1], 0};
    }
    return out->n > 0;
}

static inline int64_t place_of(const qdq_pair_order *o, int64_t k)
{
    return k % o->minor * o->minor_step + k / o->minor * o->major_step;
}

/* From one pair to the next. With an odd number of channels at each place of the kernel, engines
 * that pad them have other pairs than those that do not: both are looked at. */
static inline int64_t step_of(const qdq_pair_order *o)
{
    return o->minor < o->n && o->minor % 2 != 0 ? 1 : 2;
}

/* Where activations are 0 only one of the two counts, so that those of different signs do not
 * cancel. */
static inline void widen(float a, float b, float *low, float *high)
{
    const float up = (a > 0 ? a : 0) + (b > 0 ? b : 0), down = (a < 0 ? a : 0) + (b < 0 ? b : 0);

    *low = down < *low ? down : *low;
    *high = up > *high ? up : *high;
}

int64_t qdq_pairs_saturating(const qdq_pair_order *o, const void *codes)
{
    const int8_t *code = codes;
    int64_t found = 0;

    for (int64_t out = 0; out < o->n_out; out++)
        for (int64_t k = 0; k + 1 < o->n; k += 2) {
            const int8_t *first = code + out * o->out_step;
            float low = 0, high = 0;

            widen(first[place_of(o, k)], first[place_of(o, k + 1)], &low, &high);
            found += 255 * high > INT16_MAX || 255 * low < INT16_MIN;
        }
    return found;
}

/* Output channels side by side: row by row. */
static void widen_columns(const float *w, const qdq_pair_order *o, int64_t first,
                          const qdq_cancel *cancel, float *low, float *high)
{
    const int64_t end = first + WIDTH < o->n_out ? first + WIDTH : o->n_out;

    for (int64_t k = 0; k + 1 < o->n && !qdq_cancel_is_set(cancel); k += 2) {
        const float *a = w + k * o->minor_step, *b = a + o->minor_step;

        for (int64_t out = first; out < end; out++)
            widen(a[out], b[out], &low[out], &high[out]);
    }
}

/* As place_of() has them, one after the other: divisions would take most of the time. */
static void widen_channel(const float *w, const qdq_pair_order *o, float *low, float *high)
{
    const bool is_each = step_of(o) == 1;
    int64_t minor = 0, start = 0;
    float before = w[0];

    for (int64_t k = 1; k < o->n; k++) {
        if (++minor == o->minor) {
            minor = 0;
            start += o->major_step;
        }
        const float x = w[start + minor * o->minor_step];
        if (is_each || k % 2 != 0)
            widen(before, x, low, high);
        before = x;
    }
}

static void widen_all(const float *w, const qdq_pair_order *o, const qdq_cancel *cancel, float *low,
                      float *high)
{
    const bool is_big = o->n_out * o->n > PIECE;

    if (o->out_step == 1) {
#pragma omp parallel for schedule(static) if (is_big)
        for (int64_t first = 0; first < o->n_out; first += WIDTH)
            widen_columns(w, o, first, cancel, low, high);
        return;
    }
#pragma omp parallel for schedule(static) if (is_big)
    for (int64_t out = 0; out < o->n_out; out++)
        if (!qdq_cancel_is_set(cancel))
            widen_channel(w + out * o->out_step, o, &low[out], &high[out]);
}

/* A row of an LSTM's weight may be a block: of two directions each has rows of its own. */
static bool has_scale_each(const qdq_tensor *t, int axis, const qdq_scale_grid *g,
                           const qdq_pair_order *o)
{
    const bool is_row = t->rank == 3 && axis == 2;

    return (is_row ? (int64_t)g->block == t->dim[2] : g->block == 0) &&
           (int64_t)qdq_scale_count(g) == o->n_out;
}

qdq_status qdq_pairs_widen(const float *w, const qdq_tensor *t, int axis, const qdq_scale_grid *g,
                           const qdq_cancel *cancel, float *low, float *high, qdq_error *err)
{
    qdq_pair_order order;

    if (!qdq_pair_order_of(t, axis, &order) || !has_scale_each(t, axis, g, &order))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "'pairs' with axis %d of rank %d: expected a scale for each output channel "
                        "of a matrix, a Conv or an LSTM",
                        axis, t->rank);
    widen_all(w, &order, cancel, low, high);
    return qdq_cancel_poll(cancel, err);
}
