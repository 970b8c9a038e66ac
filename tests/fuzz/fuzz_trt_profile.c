/* fuzz_trt_profile.c - profiles from hostile text: times are none or not negative, and each row
 * belongs to one layer. */
#include <math.h>
#include <stdlib.h>

#include "engine/trt/trt_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void join(const qdq_trt_profile *p, qdq_arena *arena)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_trt_layers l = {.detail = QDQ_TRT_DETAILED, .n = p->n};
    size_t *row = qdq_arena_array(arena, p->n + 1, sizeof *row);
    bool *seen = qdq_arena_array(arena, p->n + 1, sizeof *seen), positional;

    l.at = qdq_arena_array(arena, p->n + 1, sizeof *l.at);
    if (row == NULL || seen == NULL || l.at == NULL)
        abort();
    for (size_t i = 0; i < p->n; i++) /* in the other order */
        l.at[i].name = p->at[p->n - 1 - i].name;
    if (qdq_trt_profile_join(p, &l, row, &positional, &err) != QDQ_OK)
        abort();
    for (size_t i = 0; i < p->n; i++) {
        if (row[i] == SIZE_MAX)
            continue;
        if (row[i] >= p->n || seen[row[i]])
            abort();
        seen[row[i]] = true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_trt_profile p;

    if (qdq_trt_profile_parse((const char *)data, size, &arena, &p, &err) == QDQ_OK) {
        for (size_t i = 0; i < p.n; i++) {
            double ms = qdq_trt_row_ms(&p.at[i]);
            if (p.at[i].name == NULL || !(isnan(ms) || (ms >= 0 && isfinite(ms))))
                abort();
        }
        join(&p, &arena);
    }
    qdq_arena_free(&arena);
    return 0;
}
