/* fuzz_autotune_cache.c - autotune_cache.json from hostile text: an error that says so, or what is
 * written as strict JSON, reads back, and is written the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tune/cache/autotune_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_time(double ms)
{
    return isnan(ms) || (ms > 0 && isfinite(ms));
}

static bool is_whole(const qdq_autotune_cache *c)
{
    bool whole = is_time(c->base_ms) && is_time(c->current_ms) && c->model != NULL;

    for (size_t i = 0; i < c->groups.n; i++) {
        const qdq_cached_group *g = &c->groups.at[i];
        whole = whole && g->id >= 0 && g->layer != NULL && g->scheme != NULL && g->what != NULL &&
                is_time(g->base_ms) && is_time(g->best_ms) && is_time(g->base_compute_ms) &&
                is_time(g->best_compute_ms);
        for (size_t k = 0; k < g->n_tensors; k++)
            whole = whole && g->tensor[k] != NULL;
    }
    for (size_t i = 0; i < c->decisions.n; i++)
        whole = whole && c->decisions.at[i].group >= 0 && is_time(c->decisions.at[i].ms);
    return whole;
}

static void write_twice(const qdq_autotune_cache *c)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_autotune_cache again;
    char *text, *same;
    json_t *strict;

    if (qdq_autotune_cache_text(c, &text, &err) != QDQ_OK ||
        qdq_json_parse(text, strlen(text), "written", &strict, &err) != QDQ_OK ||
        qdq_autotune_cache_parse(text, strlen(text), "written", &again, &err) != QDQ_OK ||
        qdq_autotune_cache_text(&again, &same, &err) != QDQ_OK || strcmp(text, same) != 0)
        abort();
    json_decref(strict);
    qdq_free(same);
    qdq_free(text);
    qdq_autotune_cache_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_autotune_cache c;
    qdq_status st = qdq_autotune_cache_parse((const char *)data, size, "fuzz", &c, &err);

    if (st != QDQ_OK && (st != QDQ_E_FORMAT || strstr(err.text, "fuzz") == NULL))
        abort();
    if (st == QDQ_OK) {
        if (!is_whole(&c))
            abort();
        write_twice(&c);
    }
    qdq_autotune_cache_free(&c);
    return 0;
}
