/* autotune_cache.c - the writer of autotune_cache.json. */
#include "tune/cache/autotune_cache.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_write.h"

void qdq_autotune_cache_init(qdq_autotune_cache *c)
{
    *c = (qdq_autotune_cache){.arena = QDQ_ARENA_INIT,
                              .model = "",
                              .fingerprint = "",
                              .base_ms = NAN,
                              .current_ms = NAN,
                              .next = -1};
}

void qdq_autotune_cache_free(qdq_autotune_cache *c)
{
    qdq_arena_free(&c->arena);
    qdq_autotune_cache_init(c);
}

/* --- members ---------------------------------------------------------------------------------- */

static void put_group(qdq_json_out list, const qdq_cached_group *g)
{
    qdq_json_out o = qdq_json_put_object(list, NULL);

    qdq_json_put_int(o, "group_id", g->id);
    qdq_json_put_text(o, "trt_layer_name", g->layer);
    qdq_json_put_real(o, "baseline_latency_ms", g->base_ms);
    qdq_json_put_text(o, "best_scheme_name", g->scheme);
    qdq_json_put_texts(o, "best_scheme_target_tensors", g->tensor, g->n_tensors);
    qdq_json_put_text(o, "best_scheme_description", g->what);
    qdq_json_put_real(o, "best_latency_ms", g->best_ms);
    qdq_json_put_real(o, "baseline_compute_ms", g->base_compute_ms);
    qdq_json_put_real(o, "best_compute_ms", g->best_compute_ms);
    if (g->in_progress)
        qdq_json_put_bool(o, "in_progress", true);
}

static void put_decision(qdq_json_out list, const qdq_cached_decision *d)
{
    qdq_json_out o = qdq_json_put_object(list, NULL);

    qdq_json_put_int(o, "group_id", d->group);
    qdq_json_put_bool(o, "kept", d->accepted);
    qdq_json_put_real(o, "latency_ms", d->ms);
    if (d->reason != NULL)
        qdq_json_put_text(o, "reason", d->reason);
    if (d->verdict != NULL)
        qdq_json_put_text(o, "verdict", d->verdict);
}

/* By key, as they were added: of two with one key the last one counts. */
static void put_samples(qdq_json_out phase, const qdq_autotune_cache *c)
{
    qdq_json_out all = c->samples.n > 0 ? qdq_json_put_object(phase, "samples") : phase;

    for (size_t i = 0; i < c->samples.n; i++) {
        qdq_json_out list = qdq_json_put_list(all, c->samples.at[i].key);
        for (size_t k = 0; k < c->samples.at[i].n; k++)
            qdq_json_put_real(list, NULL, c->samples.at[i].us[k]);
    }
}

static void put_groups(qdq_json_out root, const qdq_autotune_cache *c)
{
    qdq_json_out phase = qdq_json_put_object(root, "phase2"),
                 list = qdq_json_put_list(phase, "results");

    for (size_t i = 0; i < c->groups.n; i++)
        put_group(list, &c->groups.at[i]);
    put_samples(phase, c);
}

static void put_decisions(qdq_json_out root, const qdq_autotune_cache *c)
{
    qdq_json_out phase = qdq_json_put_object(root, "phase3"), list;

    qdq_json_put_real(phase, "full_baseline_ms", c->base_ms);
    qdq_json_put_ints(phase, "candidates", c->candidates.at, c->candidates.n);
    list = qdq_json_put_list(phase, "validated");
    for (size_t i = 0; i < c->decisions.n; i++)
        put_decision(list, &c->decisions.at[i]);
    if (c->next < 0)
        qdq_json_put_null(phase, "next");
    else
        qdq_json_put_int(phase, "next", c->next);
    qdq_json_put_real(phase, "current_latency_ms", c->current_ms);
    qdq_json_put_bool(phase, "completed", c->completed);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Which run it is; nothing in a file whose run is unknown. */
static void put_run(qdq_json_out root, const qdq_autotune_cache *c)
{
    if (c->fingerprint[0] == '\0' && c->run == 0)
        return;
    qdq_json_out run = qdq_json_put_object(root, "run");
    qdq_json_put_text(run, "fingerprint", c->fingerprint);
    qdq_json_put_int(run, "number", c->run);
}

qdq_status qdq_autotune_cache_text(const qdq_autotune_cache *c, char **text, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    qdq_json_put_int(root, "version", 1);
    qdq_json_put_text(root, "model_path", c->model);
    put_run(root, c);
    put_groups(root, c);
    put_decisions(root, c);
    return qdq_json_finish(&d, text, err);
}

qdq_status qdq_autotune_cache_write(const qdq_autotune_cache *c, const char *path, qdq_error *err)
{
    char *text;

    QDQ_TRY(qdq_autotune_cache_text(c, &text, err));
    qdq_status st = qdq_write_file(path, true, text, strlen(text), err);
    qdq_free(text);
    return st;
}
