/* reference_outputs.c - stores the outputs of the reference model for later comparisons. */
#include "quant/compare/reference_outputs.h"

#include <stdlib.h>

#include "base/fail.h"

static void drop_all(qdq_reference_outputs *k)
{
    for (size_t i = 0; i < k->n; i++)
        qdq_held_free(&k->at[i]);
    k->bytes = 0;
}

qdq_status qdq_reference_outputs_begin(qdq_reference_outputs *k, size_t n, qdq_error *err)
{
    if (k->at != NULL && !k->is_complete)
        drop_all(k); /* of a comparison that failed */
    if (k->at != NULL)
        return k->n == n ? QDQ_OK
                         : qdq_fail(err, QDQ_E_BUG, "%zu outputs were kept, expected %zu", k->n, n);
    k->at = calloc(n + 1, sizeof *k->at);
    QDQ_NEED(k->at != NULL, err);
    k->n = n;
    return QDQ_OK;
}

static void give_up(qdq_reference_outputs *k)
{
    drop_all(k);
    k->is_over = true;
}

void qdq_reference_outputs_expect(qdq_reference_outputs *k, size_t samples)
{
    if (k->bytes > k->limit / samples)
        give_up(k);
}

qdq_status qdq_keep(qdq_reference_outputs *k, size_t i, const qdq_array *a, qdq_error *err)
{
    if (a->bytes > k->limit - k->bytes) {
        give_up(k);
        return QDQ_OK;
    }
    QDQ_TRY(qdq_hold(&k->at[i], a, err));
    k->bytes += a->bytes;
    return QDQ_OK;
}

void qdq_reference_outputs_free(qdq_reference_outputs *k)
{
    drop_all(k);
    free(k->at);
    *k = (qdq_reference_outputs){.limit = 0};
}
