/* half_tensor.c - float constants in 16 bits, number by number as half_numbers.h has them. */
#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "quant/half_precision/half_state.h"
#include "quant/weights/half_numbers.h"

static void convert_floats(const char *from, uint16_t *to, int64_t count, qdq_elem elem,
                           int64_t *n_clamped)
{
    int64_t n = 0;

#pragma omp parallel for schedule(static) reduction(+ : n) if (count > 65536)
    for (int64_t i = 0; i < count; i++) {
        bool clamped = false;
        float x;

        memcpy(&x, from + (size_t)i * sizeof x, sizeof x);
        to[i] = qdq_half_bits(x, elem, &clamped);
        n += clamped;
    }
    *n_clamped = n;
}

qdq_tensor *qdq_half_tensor(qdq_model *m, const qdq_tensor *t, qdq_elem elem, const qdq_job *job,
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
        convert_floats((const char *)bytes.data, data, t->count, elem, &n_clamped);
        if (n_clamped > 0)
            qdq_job_log(job, QDQ_LOG_WARNING,
                        "constant '%s': %lld values beyond the range of %s are clamped", t->name,
                        (long long)n_clamped, qdq_elem_name(elem));
    }
    qdq_arena_free(&scratch);
    return out;
}
