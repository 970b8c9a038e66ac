/* fuzz_patterns.c - pattern caches from hostile text: what is read keeps the order, and what is
 * written reads back as the same. */
#include <stdlib.h>
#include <string.h>

#include "tune/scheme/pattern_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const qdq_pattern_schemes *ps)
{
    for (size_t i = 0; i < ps->schemes.n; i++) {
        qdq_scheme s = ps->schemes.at[i];

        if (s.error || !(s.latency_ms >= 0) || !qdq_scheme_sort(&s) ||
            (i > 0 && ps->schemes.at[i - 1].latency_ms > s.latency_ms))
            abort();
    }
}

static void write_and_read(const qdq_pattern_cache *c)
{
    qdq_pattern_cache again;
    char *text = NULL, *second = NULL;

    if (qdq_pattern_cache_text(c, &text, NULL) != QDQ_OK ||
        qdq_pattern_cache_parse(text, strlen(text), "again", NULL, &again, NULL) != QDQ_OK ||
        qdq_pattern_cache_text(&again, &second, NULL) != QDQ_OK || strcmp(text, second) != 0)
        abort();
    qdq_free(text);
    qdq_free(second);
    qdq_pattern_cache_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_pattern_cache c, kept = QDQ_PATTERN_CACHE_INIT;

    if (qdq_pattern_cache_parse((const char *)data, size, "fuzz", NULL, &c, NULL) == QDQ_OK) {
        for (size_t i = 0; i < c.patterns.n; i++)
            look(c.patterns.at[i]);
        write_and_read(&c);
        if (qdq_pattern_cache_merge(&kept, &c, true, NULL) != QDQ_OK)
            abort();
        write_and_read(&kept);
    }
    qdq_pattern_cache_free(&kept);
    qdq_pattern_cache_free(&c);
    return 0;
}
