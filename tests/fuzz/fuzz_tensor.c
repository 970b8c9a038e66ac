/* fuzz_tensor.c - a file with one TensorProto, as ONNX's test data are: whatever it claims, reading
 * it ends, and a tensor that was believed has data of its size. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx_io.h"

enum { MAX_READ = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t add_up(const uint8_t *at, size_t n)
{
    uint8_t sum = 0;

    for (size_t i = 0; i < n; i++) /* a sanitizer sees a read beyond the end */
        sum = (uint8_t)(sum + at[i]);
    return sum;
}

static void look_at(const qdq_tensor *t)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span bytes = {NULL, 0};
    size_t expected;
    int64_t count = 1;
    volatile uint8_t sum = 0;

    if (t->rank < 0 || t->rank > QDQ_MAX_RANK || t->name == NULL)
        abort();
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0 || (t->dim[i] > 0 && count > INT64_MAX / t->dim[i]))
            abort();
        else
            count *= t->dim[i];
    if (t->count != count)
        abort();
    if (qdq_elem_bytes(t->elem, t->count, &expected) && expected <= MAX_READ &&
        qdq_tensor_data(t, &scratch, &bytes, NULL) == QDQ_OK) {
        if (bytes.size != expected)
            abort();
        sum = add_up(bytes.data, bytes.size);
    }
    (void)sum;
    qdq_arena_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    const qdq_tensor *t;
    qdq_model *holder;

    if (qdq_onnx_read_tensor_bytes(data, size, "input", &holder, &t, &err) != QDQ_OK) {
        if (err.text[0] == '\0' || holder != NULL)
            abort();
        return 0;
    }
    look_at(t);
    qdq_model_free(holder);
    return 0;
}
