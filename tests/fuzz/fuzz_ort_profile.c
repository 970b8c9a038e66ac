/* fuzz_ort_profile.c - profiles of ONNX Runtime from hostile text: layers have names and times that
 * can be added up, and there are no more of them than lines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ort/ort_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const uint8_t *data, size_t size)
{
    size_t n = 1;

    for (size_t i = 0; i < size; i++)
        n += data[i] == '\n';
    return n;
}

static void check(const qdq_engine_layer *l, size_t n, unsigned runs)
{
    if (n == 0 || runs == 0)
        abort();
    for (size_t i = 0; i < n; i++)
        if (l[i].name == NULL || l[i].op == NULL || l[i].in_type == NULL || l[i].out_type == NULL ||
            !isfinite(l[i].us) || l[i].us < 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    char *text = malloc(size + 1); /* exactly as long as the file: it is changed while it is read */
    qdq_engine_layer *l;
    unsigned runs;
    size_t n;

    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (qdq_ort_profile_rows(text, NULL, &arena, &l, &n, &runs, &err) == QDQ_OK) {
        check(l, n, runs);
        if (n > count_lines(data, size))
            abort();
    } else if (err.text[0] == '\0') {
        abort();
    }
    qdq_arena_free(&arena);
    free(text);
    return 0;
}
