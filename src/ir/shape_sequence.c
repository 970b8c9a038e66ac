/* shape_sequence.c - shapes of Attention (opsets 23 to 25). */
#include "ir/shape_infer.h"

#include <inttypes.h>

enum { Q, K, V, PAST_KEY = 4, PAST_VALUE };

/* An input as heads: of rank 4 [batch, heads, length, size], of rank 3 [batch, length, heads *
 * size]. What is not known is unknown. */
typedef struct heads {
    /* of the input; -1: unknown */
    int rank;
    qdq_dim batch, heads, length, size;
} heads;

static qdq_status read_heads(qdq_infer *c, uint32_t i, const char *name, heads *h)
{
    int64_t n = qdq_infer_int(c, name, -1);
    qdq_shape s;

    *h = (heads){-1, qdq_dim_unknown(), qdq_dim_unknown(), qdq_dim_unknown(), qdq_dim_unknown()};
    if (!qdq_infer_shape_of(c, i, &s))
        return QDQ_OK;
    if (s.rank != 3 && s.rank != 4)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input %u has rank %d, want 3 or 4", (unsigned)i,
                        s.rank);
    h->rank = s.rank;
    h->batch = s.dim[0];
    if (s.rank == 4) {
        h->length = s.dim[2];
        h->heads = s.dim[1];
        h->size = s.dim[3];
        return QDQ_OK;
    }
    h->length = s.dim[1];
    if (n < 1 || n > INT32_MAX)
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "attribute '%s' is missing or out of range, want 1 or more", name);
    h->heads = qdq_dim_known(n);
    if (s.dim[2].value >= 0 && s.dim[2].value % n != 0)
        return qdq_fail(c->err, QDQ_E_FORMAT, "a dim of %" PRId64 " does not divide by %" PRId64,
                        s.dim[2].value, n);
    h->size = s.dim[2].value >= 0 ? qdq_dim_known(s.dim[2].value / n)
                                  : qdq_dim_combine(c->env, '/', s.dim[2], h->heads);
    return QDQ_OK;
}

/* One dim that two inputs share. */
static qdq_status share(qdq_infer *c, const char *what, qdq_dim *a, qdq_dim *b)
{
    qdq_dim both;

    if (!qdq_dim_merge(*a, *b, &both))
        return qdq_infer_mismatch(c, what, *b, *a);
    *a = *b = both;
    return QDQ_OK;
}

/* The length of the cache at input `i`: 0 without one. */
static qdq_status past_length(qdq_infer *c, uint32_t i, qdq_dim *length)
{
    qdq_shape s;

    *length = qdq_dim_known(0);
    if (!qdq_infer_has(c, i))
        return QDQ_OK;
    *length = qdq_dim_unknown();
    if (!qdq_infer_shape_of(c, i, &s))
        return QDQ_OK;
    if (s.rank != 4)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input %u has rank %d, want 4", (unsigned)i, s.rank);
    *length = s.dim[2];
    return QDQ_OK;
}

static qdq_status set_heads(qdq_infer *c, uint32_t i, qdq_elem elem, qdq_dim batch, qdq_dim n,
                            qdq_dim length, qdq_dim size)
{
    qdq_shape s;

    qdq_shape_fill(&s, 4);
    s.dim[0] = batch;
    s.dim[1] = n;
    s.dim[2] = length;
    s.dim[3] = size;
    return qdq_infer_out(c, i, elem, &s);
}

static qdq_status set_result(qdq_infer *c, const heads *q, const heads *v)
{
    qdq_shape s;

    if (q->rank < 0)
        return qdq_infer_out(c, 0, qdq_infer_elem(c, Q), NULL);
    if (q->rank == 4)
        return set_heads(c, 0, qdq_infer_elem(c, Q), q->batch, q->heads, q->length, v->size);
    qdq_shape_fill(&s, 3);
    s.dim[0] = q->batch;
    s.dim[1] = q->length;
    s.dim[2] = qdq_dim_mul(c->env, q->heads, v->size);
    return qdq_infer_out(c, 0, qdq_infer_elem(c, Q), &s);
}

qdq_status qdq_infer_attention(qdq_infer *c)
{
    qdq_dim past, of_values, total;
    heads q, k, v;

    QDQ_TRY(read_heads(c, Q, "q_num_heads", &q));
    QDQ_TRY(read_heads(c, K, "kv_num_heads", &k));
    QDQ_TRY(read_heads(c, V, "kv_num_heads", &v));
    QDQ_TRY(share(c, "batch of the keys:", &q.batch, &k.batch));
    QDQ_TRY(share(c, "batch of the values:", &q.batch, &v.batch));
    QDQ_TRY(share(c, "heads of the values:", &k.heads, &v.heads));
    QDQ_TRY(share(c, "length of the values:", &k.length, &v.length));
    QDQ_TRY(share(c, "size of the keys:", &q.size, &k.size));
    QDQ_TRY(past_length(c, PAST_KEY, &past));
    QDQ_TRY(past_length(c, PAST_VALUE, &of_values));
    QDQ_TRY(share(c, "length of the cache of values:", &past, &of_values));
    total = qdq_dim_add(c->env, past, k.length);
    QDQ_TRY(set_result(c, &q, &v));
    QDQ_TRY(set_heads(c, 1, qdq_infer_elem(c, K), q.batch, k.heads, total, k.size));
    QDQ_TRY(set_heads(c, 2, qdq_infer_elem(c, V), q.batch, k.heads, total, v.size));
    return set_heads(c, 3, qdq_infer_elem(c, Q), q.batch, q.heads, q.length, total);
}
