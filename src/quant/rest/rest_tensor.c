/* rest_tensor.c - float constants in 16 bits. Infinity stays infinity; finite numbers stay finite,
 * and numbers that are not 0 do not become 0: a mask of -3e38 and an epsilon of 1e-12 keep their
 * meaning (ptq 5.2). */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/half.h"
#include "ir/edit.h"
#include "quant/rest/rest_state.h"

/* The largest and the smallest positive number, as bits. */
typedef struct limits {
    uint16_t largest, smallest;
} limits;

static limits limits_of(qdq_elem elem)
{
    return elem == QDQ_FLOAT16 ? (limits){0x7bff, 1} : (limits){0x7f7f, 1};
}

static uint16_t bits_of(float x, qdq_elem elem, bool *clamped)
{
    uint16_t bits =
        elem == QDQ_FLOAT16 ? qdq_float16_of_double((double)x) : qdq_bfloat16_of_double((double)x);
    uint16_t sign = bits & 0x8000U, infinity = (uint16_t)(limits_of(elem).largest + 1);

    if ((bits & 0x7fffU) == infinity && isfinite(x)) {
        *clamped = true;
        return (uint16_t)(sign | limits_of(elem).largest);
    }
    if ((bits & 0x7fffU) == 0 && x != 0)
        return (uint16_t)(sign | limits_of(elem).smallest);
    return bits;
}

float qdq_rest_round(float x, qdq_elem elem)
{
    bool clamped;

    if (elem != QDQ_FLOAT16 && elem != QDQ_BFLOAT16)
        return x;
    uint16_t bits = bits_of(x, elem, &clamped);
    return elem == QDQ_FLOAT16 ? qdq_float_of_float16(bits) : qdq_float_of_bfloat16(bits);
}

bool qdq_rest_fits(const float *scale, size_t n, qdq_elem elem)
{
    for (size_t i = 0; i < n; i++)
        if (!(scale[i] > 0 && fabsf(qdq_rest_round(scale[i], elem) - scale[i]) <= scale[i] / 256))
            return false;
    return true;
}

float qdq_rest_round_up(float x, qdq_elem elem)
{
    bool clamped;

    if (elem != QDQ_FLOAT16 && elem != QDQ_BFLOAT16)
        return x;
    uint16_t bits = bits_of(x, elem, &clamped);
    if (qdq_rest_round(x, elem) < x && bits < limits_of(elem).largest)
        bits++;
    return elem == QDQ_FLOAT16 ? qdq_float_of_float16(bits) : qdq_float_of_bfloat16(bits);
}

static void convert(const char *from, uint16_t *to, int64_t count, qdq_elem elem,
                    int64_t *n_clamped)
{
    int64_t n = 0;

#pragma omp parallel for schedule(static) reduction(+ : n) if (count > 65536)
    for (int64_t i = 0; i < count; i++) {
        bool clamped = false;
        float x;

        memcpy(&x, from + (size_t)i * sizeof x, sizeof x);
        to[i] = bits_of(x, elem, &clamped);
        n += clamped;
    }
    *n_clamped = n;
}

qdq_tensor *qdq_rest_tensor(qdq_model *m, const qdq_tensor *t, qdq_elem elem, const qdq_job *job,
                            qdq_status *status, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_tensor *out = NULL;
    qdq_span bytes;
    int64_t n_clamped;
    void *data;

    *status = qdq_tensor_data(t, &scratch, &bytes, err);
    if (*status == QDQ_OK) {
        out = qdq_tensor_new(m, elem, t->rank, t->dim, &data);
        if (out == NULL)
            *status = qdq_nomem(err);
    }
    if (out != NULL) {
        convert((const char *)bytes.data, data, t->count, elem, &n_clamped);
        if (n_clamped > 0)
            qdq_job_log(job, QDQ_LOG_WARNING,
                        "constant '%s': %lld values beyond the range of %s are clamped", t->name,
                        (long long)n_clamped, qdq_elem_name(elem));
    }
    qdq_arena_free(&scratch);
    return out;
}
