/* autotune_cache.c - see the header: the writer. */
#include "tune/cache/autotune_cache.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json.h"

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

/* False: out of memory, like all below. A value that is NULL is no memory, too. */
static bool set(json_t *to, const char *key, json_t *value)
{
    return json_object_set_new(to, key, value) == 0;
}

static bool append(json_t *to, json_t *value)
{
    return json_array_append_new(to, value) == 0;
}

/* An empty list as a member, which the document owns. */
static json_t *add_list(json_t *to, const char *key)
{
    json_t *list = json_array();

    return set(to, key, list) ? list : NULL;
}

static json_t *add_object(json_t *list)
{
    json_t *object = json_object();

    return append(list, object) ? object : NULL;
}

static bool put_group(json_t *list, const qdq_cached_group *g)
{
    json_t *o = add_object(list);

    if (!set(o, "group_id", json_integer(g->id)) ||
        !set(o, "trt_layer_name", qdq_json_new_text(g->layer)) ||
        !set(o, "baseline_latency_ms", qdq_json_real(g->base_ms)) ||
        !set(o, "best_scheme_name", qdq_json_new_text(g->scheme)))
        return false;
    json_t *tensors = add_list(o, "best_scheme_target_tensors");
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!append(tensors, qdq_json_new_text(g->tensor[i])))
            return false;
    return tensors != NULL && set(o, "best_scheme_description", qdq_json_new_text(g->what)) &&
           set(o, "best_latency_ms", qdq_json_real(g->best_ms)) &&
           set(o, "baseline_compute_ms", qdq_json_real(g->base_compute_ms)) &&
           set(o, "best_compute_ms", qdq_json_real(g->best_compute_ms)) &&
           (!g->in_progress || set(o, "in_progress", json_true()));
}

static bool put_decision(json_t *list, const qdq_cached_decision *d)
{
    json_t *o = add_object(list);

    return set(o, "group_id", json_integer(d->group)) && set(o, "kept", json_boolean(d->kept)) &&
           set(o, "latency_ms", qdq_json_real(d->ms)) &&
           (d->reason == NULL || set(o, "reason", qdq_json_new_text(d->reason))) &&
           (d->verdict == NULL || set(o, "verdict", qdq_json_new_text(d->verdict)));
}

/* By key, as they were added: of two with one key the last one counts. */
static bool put_samples(json_t *phase, const qdq_autotune_cache *c)
{
    json_t *all;

    if (c->samples.n == 0)
        return true;
    all = json_object();
    if (!set(phase, "samples", all))
        return false;
    for (size_t i = 0; i < c->samples.n; i++) {
        json_t *list = add_list(all, c->samples.at[i].key);
        if (list == NULL)
            return false;
        for (size_t k = 0; k < c->samples.at[i].n; k++)
            if (!append(list, qdq_json_real(c->samples.at[i].us[k])))
                return false;
    }
    return true;
}

static bool put_groups(json_t *phase, const qdq_autotune_cache *c)
{
    json_t *list = add_list(phase, "results");

    for (size_t i = 0; i < c->groups.n; i++)
        if (!put_group(list, &c->groups.at[i]))
            return false;
    return list != NULL && put_samples(phase, c);
}

static bool put_decisions(json_t *phase, const qdq_autotune_cache *c)
{
    if (!set(phase, "full_baseline_ms", qdq_json_real(c->base_ms)))
        return false;
    json_t *candidates = add_list(phase, "candidates"), *validated = add_list(phase, "validated");
    for (size_t i = 0; i < c->candidates.n; i++)
        if (!append(candidates, json_integer(c->candidates.at[i])))
            return false;
    for (size_t i = 0; i < c->decisions.n; i++)
        if (!put_decision(validated, &c->decisions.at[i]))
            return false;
    return candidates != NULL && validated != NULL &&
           set(phase, "next", c->next < 0 ? json_null() : json_integer(c->next)) &&
           set(phase, "current_latency_ms", qdq_json_real(c->current_ms)) &&
           set(phase, "completed", json_boolean(c->completed));
}

/* --- the file --------------------------------------------------------------------------------- */

/* Which run it is; nothing in a file whose run is unknown. */
static bool put_run(json_t *root, const qdq_autotune_cache *c)
{
    json_t *run;

    if (c->fingerprint[0] == '\0' && c->run == 0)
        return true;
    run = json_object();
    return set(root, "run", run) && set(run, "fingerprint", qdq_json_new_text(c->fingerprint)) &&
           set(run, "number", json_integer(c->run));
}

static bool put_all(json_t *root, const qdq_autotune_cache *c)
{
    json_t *groups = json_object(), *decisions = json_object();
    bool ok = set(root, "version", json_integer(1)) &&
              set(root, "model_path", qdq_json_new_text(c->model)) && put_run(root, c) &&
              put_groups(groups, c) && put_decisions(decisions, c) &&
              json_object_set(root, "phase2", groups) == 0 &&
              json_object_set(root, "phase3", decisions) == 0;

    json_decref(groups);
    json_decref(decisions);
    return ok;
}

qdq_status qdq_autotune_cache_text(const qdq_autotune_cache *c, char **text, qdq_error *err)
{
    json_t *root = json_object();

    *text = NULL;
    qdq_status st = put_all(root, c) ? qdq_json_dump(root, text, err) : qdq_nomem(err);
    json_decref(root);
    return st;
}

qdq_status qdq_autotune_cache_write(const qdq_autotune_cache *c, const char *path, qdq_error *err)
{
    char *text;

    QDQ_TRY(qdq_autotune_cache_text(c, &text, err));
    qdq_status st = qdq_write_file(path, true, text, strlen(text), err);
    qdq_free(text);
    return st;
}
