/* eval_attention.c - Attention of constants, as ONNX's specification of opsets 23 to 25 defines it
 * with its errata: a soft cap comes before the mask, a causal mask ends at the last key that
 * counts, and a query without any key gives 0. Sums in double; in 16 bits the result of each step
 * is rounded, as ONNX's reference implementation has it (onnx/reference/ops/op_attention.py). */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/half.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };
enum { MAX_WORK = 1 << 28 }; /* multiplications */

/* What the fourth output has. */
typedef enum score_mode { OF_PRODUCT, OF_CAP, OF_MASK, OF_SOFTMAX } score_mode;

/* An input as [batch, heads, length, size], whatever its rank is. */
typedef struct heads {
    const qdq_const *x;
    int64_t batch, heads, length, size;
    /* strides */
    int64_t by_batch, by_head, by_row;
} heads;

typedef struct attention {
    heads q, k, v;
    /* keys of the cache, and all keys */
    int64_t past, total;
    /* or NULL */
    const qdq_const *mask;
    /* over batch, heads, queries, keys */
    int64_t mask_stride[4];
    /* keys that count, of each sample; or NULL */
    const int64_t *lengths;
    /* [batch, heads, total, size], with the cache in front */
    const void *key, *value;
    /* the query at hand and all keys, each with its part of the scale */
    double *scaled_query, *scaled_key;
    /* of the inputs, and of the softmax */
    qdq_elem type, softmax_type;
    /* the part of the scale that queries and keys get each; cap 0: none */
    double scale, cap;
    bool is_causal;
    /* keys that a query sees on both sides of its own; -1: all */
    int64_t left, right;
    score_mode mode;
} attention;

/* --- rounding --------------------------------------------------------------------------------- */

static double rounded(qdq_elem e, double x)
{
    if (e == QDQ_FLOAT16)
        return (double)qdq_float_of_float16(qdq_float16_of_double(x));
    return e == QDQ_BFLOAT16 ? (double)qdq_float_of_bfloat16(qdq_bfloat16_of_double(x)) : x;
}

/* --- inputs ----------------------------------------------------------------------------------- */

static bool read_heads(qdq_eval *c, uint32_t i, const char *name, heads *h)
{
    const qdq_const *x = c->in[i];
    int64_t n = 1;

    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, i);
    if (x->rank != c->in[Q]->rank || x->rank < 3 || x->rank > 4 || x->count == 0)
        return QDQ_REFUSE(c, "input %u has rank %d or no elements, expected 3 or 4 for all",
                          (unsigned)i, x->rank);
    if (x->rank == 4) {
        *h = (heads){x, x->dim[0], x->dim[1], x->dim[2], x->dim[3], 0, 0, x->dim[3]};
        h->by_head = h->length * h->size;
        h->by_batch = h->heads * h->by_head;
        return true;
    }
    n = qdq_eval_int(c, name, 0);
    if (n < 1 || x->dim[2] % n != 0)
        return QDQ_REFUSE(c, "attribute '%s' does not divide %" PRId64, name, x->dim[2]);
    *h = (heads){x, x->dim[0], n, x->dim[1], x->dim[2] / n, 0, x->dim[2] / n, x->dim[2]};
    h->by_batch = h->length * h->by_row;
    return true;
}

static bool check_heads(qdq_eval *c, const attention *a)
{
    const heads *q = &a->q, *k = &a->k, *v = &a->v;

    if (q->batch != k->batch || q->batch != v->batch || k->heads != v->heads ||
        k->length != v->length || q->size != k->size)
        return QDQ_REFUSE(c, "queries, keys and values that do not fit");
    if (q->heads % k->heads != 0)
        return QDQ_REFUSE(c, "%" PRId64 " heads of queries for %" PRId64 " of keys", q->heads,
                          k->heads);
    return k->x->elem == q->x->elem ||
           QDQ_REFUSE(c, "queries and keys of the types %s and %s", qdq_elem_name(q->x->elem),
                      qdq_elem_name(k->x->elem));
}

/* A cache has the shape of keys (or values) but for its length. */
static bool check_past(qdq_eval *c, uint32_t i, const heads *h, int64_t past)
{
    const qdq_const *x = c->in[i];
    const int64_t want[4] = {h->batch, h->heads, past, h->size};

    return (x->elem == h->x->elem && x->rank == 4 && memcmp(x->dim, want, sizeof want) == 0) ||
           QDQ_REFUSE(c, "input %u is not a cache of the keys or values", (unsigned)i);
}

static bool read_past(qdq_eval *c, attention *a)
{
    const qdq_const *key = qdq_eval_in(c, PAST_KEY), *value = qdq_eval_in(c, PAST_VALUE);

    if ((key != NULL) != (value != NULL))
        return QDQ_REFUSE(c, "a cache of keys or of values alone");
    if (key != NULL && key->rank == 4)
        a->past = key->dim[2];
    a->total = a->past + a->k.length;
    return key == NULL ||
           (check_past(c, PAST_KEY, &a->k, a->past) && check_past(c, PAST_VALUE, &a->v, a->past));
}

static bool read_lengths(qdq_eval *c, attention *a)
{
    const qdq_const *x = qdq_eval_in(c, LENGTHS);
    int64_t n;

    if (x == NULL)
        return true;
    if (c->opset < 24 || qdq_eval_in(c, PAST_KEY) != NULL)
        return QDQ_REFUSE(c, "lengths of keys with a cache, or below opset 24");
    if (x->elem != QDQ_INT64 || x->rank != 1 || x->dim[0] != a->k.batch)
        return QDQ_REFUSE(c, "input %d is not a list of lengths", LENGTHS);
    if (!qdq_eval_ints(c, LENGTHS, &a->lengths, &n))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (a->lengths[i] < 0 || a->lengths[i] > a->total)
            return QDQ_REFUSE(c, "%" PRId64 " of %" PRId64 " keys", a->lengths[i], a->total);
    return true;
}

/* Broadcast to [batch, heads, queries, keys]; where it has less keys than there are, the others do
 * not count. One key may mean both: refused. */
static bool read_mask(qdq_eval *c, attention *a)
{
    const qdq_const *m = a->mask = qdq_eval_in(c, MASK);
    const int64_t want[4] = {a->q.batch, a->q.heads, a->q.length, a->total};

    if (m == NULL)
        return true;
    if (m->elem != QDQ_BOOL && m->elem != a->q.x->elem)
        return qdq_eval_refuse_type(c, MASK);
    bool fits = m->rank >= 1 && m->rank <= 4 && m->count > 0;
    for (int i = 0; fits && i < m->rank - 1; i++)
        fits = m->dim[i] == 1 || m->dim[i] == want[4 - m->rank + i];
    if (!fits || m->dim[m->rank - 1] > a->total || (m->dim[m->rank - 1] == 1 && a->total > 1))
        return QDQ_REFUSE(c, "a mask that does not fit the scores");
    qdq_eval_broadcast_strides(m, 4, a->mask_stride);
    return true;
}

static bool read_numbers(qdq_eval *c, attention *a)
{
    int64_t mode = qdq_eval_int(c, "qk_matmul_output_mode", OF_PRODUCT);
    int64_t precision = qdq_eval_int(c, "softmax_precision", a->type);
    float scale = qdq_eval_float(c, "scale", (float)(1 / sqrt((double)a->q.size)));
    float cap = qdq_eval_float(c, "softcap", 0);

    a->is_causal = qdq_eval_flag(c, "is_causal", false);
    a->left = c->opset >= 25 ? qdq_eval_int(c, "left_window_size", -1) : -1;
    a->right = c->opset >= 25 ? qdq_eval_int(c, "right_window_size", -1) : -1;
    if (!(scale > 0) || !(cap >= 0) || isinf(scale) || isinf(cap))
        return QDQ_REFUSE(c, "attribute 'scale' or 'softcap' is not a positive number");
    if (mode < OF_PRODUCT || mode > OF_SOFTMAX || a->left < -1 || a->right < -1)
        return QDQ_REFUSE(c,
                          "attribute 'qk_matmul_output_mode' or a window's size is out of range");
    if (precision != QDQ_FLOAT && precision != QDQ_DOUBLE && precision != QDQ_FLOAT16 &&
        precision != QDQ_BFLOAT16)
        return QDQ_REFUSE(c, "attribute 'softmax_precision' is not a float type");
    a->mode = (score_mode)mode;
    a->softmax_type = (qdq_elem)precision;
    a->scale = rounded(a->type, sqrt((double)scale));
    a->cap = rounded(a->type, (double)cap);
    return c->why == NULL;
}

static bool read_attention(qdq_eval *c, attention *a)
{
    int64_t work;

    if (c->opset < 23)
        return QDQ_REFUSE(c, "Attention below opset 23, which has none");
    if (!read_heads(c, Q, "q_num_heads", &a->q) || !read_heads(c, K, "kv_num_heads", &a->k) ||
        !read_heads(c, V, "kv_num_heads", &a->v) || !check_heads(c, a) || !read_past(c, a) ||
        !read_lengths(c, a) || !read_mask(c, a))
        return false;
    a->type = qdq_elem_is_half(c->real) ? c->real : a->q.x->elem;
    if (!read_numbers(c, a))
        return false;
    if (__builtin_mul_overflow(a->q.batch * a->q.heads * a->q.length, a->total, &work) ||
        __builtin_mul_overflow(work, a->q.size + a->v.size, &work) || work > MAX_WORK)
        return QDQ_REFUSE(c, "more than %d multiplications", MAX_WORK);
    return true;
}

/* --- caches ----------------------------------------------------------------------------------- */

/* The cache and what is new, one behind the other: output `o`, or memory that is not handed out. */
static const void *join(qdq_eval *c, const attention *a, const heads *h, uint32_t past, uint32_t o)
{
    const int64_t dim[4] = {h->batch, h->heads, a->total, h->size};
    const qdq_const *cache = qdq_eval_in(c, past);
    size_t size = qdq_eval_size(h->x->elem), row = (size_t)h->size * size;
    const char *from = h->x->data;
    char *to;

    to = o < c->node->n_out && c->node->out[o] != NULL
             ? qdq_eval_output(c, o, h->x->elem, 4, dim)
             : qdq_eval_scratch(c, qdq_eval_product(dim, 0, 4), size);
    for (int64_t i = 0; to != NULL && i < h->batch * h->heads; i++) {
        int64_t first = i / h->heads * h->by_batch + i % h->heads * h->by_head;
        char *at = to + (size_t)(i * a->total) * row;

        if (cache != NULL)
            memcpy(at, (const char *)cache->data + (size_t)(i * a->past) * row,
                   (size_t)a->past * row);
        for (int64_t k = 0; k < h->length; k++)
            memcpy(at + (size_t)(a->past + k) * row, from + (size_t)(first + k * h->by_row) * size,
                   row);
    }
    return to;
}

/* --- results ---------------------------------------------------------------------------------- */

static double number(qdq_elem e, const void *data, int64_t i)
{
    return e == QDQ_FLOAT ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* What is added to the score of a key: -infinity where it does not count. */
static double bias_of(const attention *a, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    int64_t counted = a->lengths != NULL ? a->lengths[batch] : a->total;
    int64_t offset = a->lengths != NULL ? counted - a->q.length : a->past;
    int64_t at = query + offset; /* where the query stands among the keys */

    if (key >= counted || (a->is_causal && key > at) || (a->left >= 0 && at - key > a->left) ||
        (a->right >= 0 && key - at > a->right))
        return -INFINITY;
    if (a->mask == NULL)
        return 0;
    if (key >= a->mask->dim[a->mask->rank - 1])
        return -INFINITY;
    int64_t i = batch * a->mask_stride[0] + head * a->mask_stride[1] + query * a->mask_stride[2] +
                key * a->mask_stride[3];
    if (a->mask->elem == QDQ_BOOL)
        return ((const uint8_t *)a->mask->data)[i] != 0 ? 0 : -INFINITY;
    return qdq_eval_number(a->mask, i);
}

/* Turns scores with what was added to them into probabilities; none is left where no key counts.
 * The reference adds float16 up in float, and rounds each sum of bfloat16. */
static void softmax(const attention *a, double *score, const double *bias, int64_t n)
{
    const qdq_elem e = a->softmax_type;
    double largest = -INFINITY, sum = 0;
    bool any = false;

    for (int64_t i = 0; i < n; i++) {
        any = any || bias[i] > -INFINITY || isnan(bias[i]);
        score[i] = rounded(e, score[i]);
        largest = fmax(largest, score[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        score[i] = any ? rounded(e, exp(rounded(e, score[i] - largest))) : 0;
        sum += score[i];
        sum = e == QDQ_BFLOAT16 ? rounded(e, sum) : sum;
    }
    sum = rounded(e, sum);
    for (int64_t i = 0; any && i < n; i++)
        score[i] = rounded(a->type, rounded(e, score[i] / sum));
}

static void put_scores(qdq_elem e, void *out, int64_t row, int64_t n, const double *score)
{
    for (int64_t i = 0; out != NULL && i < n; i++)
        qdq_eval_put_number(e, out, row * n + i, score[i]);
}

static double capped(const attention *a, double score)
{
    const double part = rounded(a->type, tanh(rounded(a->type, score / a->cap)));

    return rounded(a->type, part * a->cap);
}

static void scale_keys(const attention *a)
{
    const heads *k = &a->k;

    for (int64_t i = 0; i < k->batch * k->heads * a->total * k->size; i++)
        a->scaled_key[i] = rounded(a->type, number(k->x->elem, a->key, i) * a->scale);
}

/* One query: its scores in score[0..total), and with `out` those of the mode. */
static void score_query(const attention *a, int64_t batch, int64_t head, int64_t query,
                        double *score, double *bias, void *out)
{
    const heads *q = &a->q;
    int64_t group = head / (q->heads / a->k.heads), row = (batch * q->heads + head) * q->length;
    int64_t from = batch * q->by_batch + head * q->by_head + query * q->by_row;
    int64_t key = (batch * a->k.heads + group) * a->total * q->size;
    qdq_elem e = q->x->elem;

    for (int64_t d = 0; d < q->size; d++)
        a->scaled_query[d] = rounded(a->type, qdq_eval_number(q->x, from + d) * a->scale);
    for (int64_t j = 0; j < a->total; j++) {
        double sum = 0;

        for (int64_t d = 0; d < q->size; d++)
            sum += a->scaled_query[d] * a->scaled_key[key + j * q->size + d];
        score[j] = rounded(a->type, sum);
        bias[j] = bias_of(a, batch, head, query, j);
    }
    if (a->mode == OF_PRODUCT)
        put_scores(e, out, row + query, a->total, score);
    for (int64_t j = 0; a->cap > 0 && j < a->total; j++)
        score[j] = capped(a, score[j]);
    if (a->mode == OF_CAP)
        put_scores(e, out, row + query, a->total, score);
    for (int64_t j = 0; j < a->total; j++)
        score[j] = rounded(a->type, score[j] + bias[j]);
    if (a->mode == OF_MASK)
        put_scores(e, out, row + query, a->total, score);
    softmax(a, score, bias, a->total);
    if (a->mode == OF_SOFTMAX)
        put_scores(e, out, row + query, a->total, score);
}

/* The values of one query, weighted. */
static void sum_values(const attention *a, int64_t batch, int64_t head, int64_t query,
                       const double *weight, void *out)
{
    const heads *q = &a->q, *v = &a->v;
    int64_t group = head / (q->heads / v->heads);
    int64_t from = (batch * v->heads + group) * a->total * v->size;
    int64_t row = q->x->rank == 4 ? (batch * q->heads + head) * q->length + query
                                  : (batch * q->length + query) * q->heads + head;

    for (int64_t d = 0; d < v->size; d++) {
        double sum = 0;

        for (int64_t j = 0; j < a->total; j++)
            if (weight[j] != 0) /* what does not count may be anything */
                sum += weight[j] * number(v->x->elem, a->value, from + j * v->size + d);
        qdq_eval_put_number(q->x->elem, out, row * v->size + d, sum);
    }
}

bool qdq_eval_attention(qdq_eval *c)
{
    attention a = {0};
    void *scores = NULL;

    if (!read_attention(c, &a))
        return false;
    const heads *q = &a.q;
    const int64_t split[4] = {q->batch, q->heads, q->length, a.v.size};
    const int64_t joined[3] = {q->batch, q->length, q->heads * a.v.size};
    const int64_t of_scores[4] = {q->batch, q->heads, q->length, a.total};
    void *y = qdq_eval_output(c, Y, q->x->elem, q->x->rank, q->x->rank == 4 ? split : joined);
    if (SCORES < c->node->n_out && c->node->out[SCORES] != NULL)
        scores = qdq_eval_output(c, SCORES, q->x->elem, 4, of_scores);
    double *score = qdq_eval_scratch(c, a.total, sizeof *score);
    double *bias = qdq_eval_scratch(c, a.total, sizeof *bias);
    a.key = join(c, &a, &a.k, PAST_KEY, PRESENT_KEY);
    a.value = join(c, &a, &a.v, PAST_VALUE, PRESENT_VALUE);
    a.scaled_query = qdq_eval_scratch(c, q->size, sizeof *a.scaled_query);
    a.scaled_key =
        qdq_eval_scratch(c, a.k.batch * a.k.heads * a.total * a.k.size, sizeof *a.scaled_key);
    if (c->why != NULL || c->nomem || y == NULL || score == NULL || bias == NULL || a.key == NULL ||
        a.value == NULL || a.scaled_query == NULL || a.scaled_key == NULL)
        return false;
    scale_keys(&a);
    for (int64_t i = 0; i < q->batch * q->heads * q->length; i++) {
        int64_t query = i % q->length, head = i / q->length % q->heads;
        int64_t batch = i / q->length / q->heads;

        score_query(&a, batch, head, query, score, bias, scores);
        sum_values(&a, batch, head, query, score, y);
    }
    return true;
}
