/* compare_feed.c - see the header. */
#include "quant/compare/compare_feed.h"

#include <string.h>

#include "base/fail.h"
#include "base/half.h"
#include "qdq/tensor.h"

static bool is_converted(qdq_elem elem)
{
    return elem == QDQ_FLOAT || elem == QDQ_FLOAT16 || elem == QDQ_BFLOAT16;
}

/* The type that m reads input `name` as, where an array of type `have` has to be converted to it; else `have`. */
static qdq_elem wanted(const qdq_model *m, const char *name, qdq_elem have)
{
    qdq_io io;

    for (size_t i = 0; is_converted(have) && qdq_model_input(m, i, &io); i++)
        if (strcmp(io.name, name) == 0)
            return is_converted(io.elem) ? io.elem : have;
    return have;
}

static float number_at(const qdq_array *a, size_t i)
{
    float f;
    uint16_t bits;

    if (a->elem == QDQ_FLOAT) {
        memcpy(&f, (const char *)a->data + i * sizeof f, sizeof f);
        return f;
    }
    memcpy(&bits, (const char *)a->data + i * sizeof bits, sizeof bits);
    return a->elem == QDQ_FLOAT16 ? qdq_float_of_float16(bits) : qdq_float_of_bfloat16(bits);
}

static qdq_status convert(qdq_array *a, qdq_elem elem, qdq_arena *memory, qdq_error *err)
{
    const size_t n = (size_t)qdq_array_count(a), size = elem == QDQ_FLOAT ? 4 : 2;
    char *to = qdq_arena_alloc(memory, n * size + 1);

    if (to == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const float f = number_at(a, i);
        const uint16_t bits =
            elem == QDQ_FLOAT16 ? qdq_float16_of_double((double)f) : qdq_bfloat16_of_double((double)f);

        memcpy(to + i * size, elem == QDQ_FLOAT ? (const void *)&f : (const void *)&bits, size);
    }
    a->elem = elem;
    a->data = to;
    a->bytes = n * size;
    return QDQ_OK;
}

qdq_status qdq_compare_feed(const qdq_model *m, const qdq_named_array **in, size_t n, qdq_arena *memory,
                            qdq_error *err)
{
    qdq_named_array *own = NULL;

    for (size_t i = 0; i < n; i++) {
        const qdq_elem elem = wanted(m, (*in)[i].name, (*in)[i].array.elem);

        if (elem == (*in)[i].array.elem)
            continue;
        if (own == NULL) {
            if ((own = qdq_arena_alloc(memory, n * sizeof *own)) == NULL)
                return qdq_nomem(err);
            memcpy(own, *in, n * sizeof *own);
            *in = own;
        }
        QDQ_TRY(convert(&own[i].array, elem, memory, err));
    }
    return QDQ_OK;
}
