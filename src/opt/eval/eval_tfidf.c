/* eval_tfidf.c - TfIdfVectorizer of constant integers, as ONNX's specification of opset 9 defines
 * it: how often each n-gram of a pool is in each row, with up to some elements left out between. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_WORK = 1 << 26 }; /* comparisons */

typedef enum weighting { TF, IDF, TFIDF } weighting;

typedef struct pool {
    /* start: of the n-grams of 1, 2, ... in `item` */
    const int64_t *item, *start, *column;
    int64_t items, sizes, grams;
    int64_t shortest, longest, skips;
    /* of each column; or NULL */
    const float *weight;
    int64_t columns;
    weighting how;
} pool;

static bool read_attributes(qdq_eval *c, pool *p)
{
    const qdq_attr *w = qdq_node_attr(c->node, "weights");

    *p = (pool){.shortest = qdq_eval_int(c, "min_gram_length", 0),
                .longest = qdq_eval_int(c, "max_gram_length", 0),
                .skips = qdq_eval_int(c, "max_skip_count", -1)};
    if (qdq_eval_string_is(c, "mode", "TF", ""))
        p->how = TF;
    else if (qdq_eval_string_is(c, "mode", "IDF", ""))
        p->how = IDF;
    else if (qdq_eval_string_is(c, "mode", "TFIDF", ""))
        p->how = TFIDF;
    else
        return QDQ_REFUSE(c, "attribute 'mode' has none of its values");
    if (!qdq_eval_int_list(c, "pool_int64s", &p->item, &p->items) ||
        !qdq_eval_int_list(c, "ngram_counts", &p->start, &p->sizes) ||
        !qdq_eval_int_list(c, "ngram_indexes", &p->column, &p->grams))
        return QDQ_REFUSE(c, "a pool of strings, or none");
    if (p->shortest < 1 || p->longest < p->shortest || p->longest > p->sizes || p->skips < 0 ||
        p->skips > INT32_MAX)
        return QDQ_REFUSE(c, "lengths of n-grams that the pool does not have");
    if (w == NULL)
        return true;
    if (w->type != QDQ_ATTR_FLOATS || w->count != (size_t)p->grams)
        return QDQ_REFUSE(c, "attribute 'weights' has not one number for each n-gram");
    p->weight = w->v.floats;
    return true;
}

/* The n-grams lie one behind the other, and each has a column. With weights the column must be the
 * n-gram's number: engines look them up by the one or by the other. */
static bool check_pool(qdq_eval *c, pool *p)
{
    int64_t grams = 0;

    for (int64_t n = 0; n < p->sizes; n++) {
        int64_t end = n + 1 < p->sizes ? p->start[n + 1] : p->items;

        if (p->start[n] < 0 || end < p->start[n] || end > p->items ||
            (end - p->start[n]) % (n + 1) != 0)
            return QDQ_REFUSE(c, "n-grams that do not fill their part of the pool");
        grams += (end - p->start[n]) / (n + 1);
    }
    if (grams != p->grams || p->start[0] != 0)
        return QDQ_REFUSE(c, "%" PRId64 " columns for %" PRId64 " n-grams", p->grams, grams);
    for (int64_t i = 0; i < grams; i++) {
        if (p->column[i] < 0 || p->column[i] >= INT32_MAX ||
            (p->weight != NULL && p->column[i] != i))
            return QDQ_REFUSE(c, "column %" PRId64 " for n-gram %" PRId64, p->column[i], i);
        p->columns = p->column[i] >= p->columns ? p->column[i] + 1 : p->columns;
    }
    return p->columns > 0 || QDQ_REFUSE(c, "a pool without n-grams");
}

/* An n-gram that comes again counts where it comes last. */
static bool comes_again(const int64_t *gram, int64_t n, const int64_t *end)
{
    for (const int64_t *at = gram + n; at < end; at += n)
        if (memcmp(at, gram, (size_t)n * sizeof *gram) == 0)
            return true;
    return false;
}

static int64_t count_in(const int64_t *row, int64_t width, const int64_t *gram, int64_t n,
                        int64_t skips)
{
    int64_t found = 0;

    for (int64_t step = 1; step <= (n > 1 ? skips + 1 : 1); step++)
        for (int64_t first = 0; first < width && (n - 1) <= (width - 1 - first) / step; first++) {
            int64_t k = 0;

            while (k < n && row[first + k * step] == gram[k])
                k++;
            found += k == n;
        }
    return found;
}

static bool check_work(qdq_eval *c, const pool *p, int64_t rows, int64_t width)
{
    int64_t steps = p->skips + 1 < width ? p->skips + 1 : width, work;

    if (__builtin_mul_overflow(p->items, p->items, &work) || work > MAX_WORK ||
        __builtin_mul_overflow(rows * width, steps, &work) ||
        __builtin_mul_overflow(work, p->items, &work) || work > MAX_WORK)
        return QDQ_REFUSE(c, "more than %d comparisons", MAX_WORK);
    return true;
}

/* Adds the n-grams of n elements of one row to its columns. */
static void count_grams(const pool *p, int64_t n, int64_t first, const int64_t *row, int64_t width,
                        float *out)
{
    int64_t skips = p->skips < width ? p->skips : width;
    const int64_t *end = p->item + (n < p->sizes ? p->start[n] : p->items);

    for (const int64_t *at = p->item + p->start[n - 1]; at < end; at += n, first++)
        if (!comes_again(at, n, end))
            out[p->column[first]] += (float)count_in(row, width, at, n, skips);
}

bool qdq_eval_tfidf(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    const int64_t *item;
    int64_t count;
    pool p;

    if (!read_attributes(c, &p) || !check_pool(c, &p) || !qdq_eval_ints(c, 0, &item, &count))
        return false;
    if (x->rank < 1 || x->rank > 2 || x->count == 0)
        return QDQ_REFUSE(c, "an array of rank %d or without elements, expected rows", x->rank);
    int64_t rows = x->rank == 2 ? x->dim[0] : 1, width = x->dim[x->rank - 1];
    const int64_t of_rows[2] = {rows, p.columns};
    if (!check_work(c, &p, rows, width))
        return false;
    float *out = qdq_eval_output(c, 0, QDQ_FLOAT, x->rank, of_rows + (x->rank == 1));
    if (out == NULL)
        return false;
    for (int64_t i = 0; i < rows; i++) {
        float *to = out + i * p.columns;
        int64_t first = 0; /* n-gram of this size */

        for (int64_t n = 1; n <= p.longest; n++) {
            if (n >= p.shortest)
                count_grams(&p, n, first, item + i * width, width, to);
            first += ((n < p.sizes ? p.start[n] : p.items) - p.start[n - 1]) / n;
        }
        for (int64_t k = 0; p.how != TF && k < p.columns; k++) {
            float often = p.how == IDF ? (float)(to[k] > 0) : to[k];

            to[k] = p.weight != NULL ? p.weight[k] * often : often;
        }
    }
    return true;
}
