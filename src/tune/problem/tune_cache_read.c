/* tune_cache_read.c - the autotune_cache.json that a run finds. Its own one, without the store, has
 * all samples of groups in isolation and the decisions so far: the run goes on with them. Of
 * another one, be it Model-Optimizer's, the schemes count: greedy measures those groups in the
 * whole model only, the other strategies begin with that placement. What is shipped is measured in
 * any case. */
#include "tune/problem/tune_cache_read.h"

#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/json_write.h"
#include "base/quarantine.h"
#include "target/target.h"
#include "tune/cache/autotune_cache.h"
#include "tune/candidate/tune_files.h"
#include "tune/state/tune_values.h"

/* --- the file --------------------------------------------------------------------------------- */

static qdq_status name_run(qdq_tune_state *t, qdq_error *err)
{
    const qdq_tune_store_context *c = &t->tools.context;
    const char *all =
        qdq_arena_printf(&t->arena, "%s\n%s\n%s\n%s\n%s\n%s", c->model, c->engine, c->device,
                         c->options, c->quant != NULL ? c->quant : "", t->tools.search_text);

    QDQ_NEED(all != NULL, err);
    qdq_digits_of(all, strlen(all), t->tools.fingerprint);
    return QDQ_OK;
}

static qdq_status set_aside(const qdq_tune_state *t, const char *path, const char *why,
                            const char *end, qdq_error *err)
{
    const bool is_bad = strcmp(end, "bad") == 0;
    char *kept;

    QDQ_TRY(qdq_set_aside(path, end, &kept, err));
    qdq_job_log(t->job, is_bad ? QDQ_LOG_WARNING : QDQ_LOG_INFO, "%s: it is kept as %s%s", why,
                kept, is_bad ? ", and not used" : "");
    qdq_free(kept);
    return QDQ_OK;
}

/* All that it says is in the store. */
static bool is_of_this_store(const qdq_tune_state *t, const qdq_autotune_cache *c)
{
    return c->fingerprint[0] != '\0' && t->tools.run.id > 1;
}

/* A run that has samples in its store goes on with these. */
static bool is_news(const qdq_tune_state *t, const qdq_autotune_cache *c)
{
    return !t->out->resumed && !is_of_this_store(t, c) &&
           (c->fingerprint[0] == '\0' || !t->opts->restart);
}

/* What the file says when a run begins: a run that goes on has to see the same. */
static qdq_status remember_cache(qdq_tune_state *t, const char *key, const qdq_autotune_cache *c,
                                 qdq_error *err)
{
    char *text;

    QDQ_TRY(qdq_autotune_cache_text(c, &text, err));
    qdq_status st = qdq_tune_store_value_put(t->tools.store, &t->tools.run, key, text, err);
    qdq_free(text);
    return st;
}

/* The file is this run's, or out of the way, or without anything new, when this returns. *used: it
 * counts, and is in *c. */
static qdq_status take_file(qdq_tune_state *t, const char *path, const char *key,
                            qdq_autotune_cache *c, bool *used, qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;
    const qdq_status st = qdq_autotune_cache_read(path, c, &why);

    if (st == QDQ_E_FORMAT)
        return set_aside(t, path, why.text, "bad", err);
    if (st != QDQ_OK)
        return qdq_fail(err, st, "%s", why.text);
    *used = is_news(t, c);
    if (*used)
        QDQ_TRY(remember_cache(t, key, c, err));
    if (is_of_this_store(t, c) ||
        (strcmp(c->fingerprint, t->tools.fingerprint) == 0 && c->run == t->tools.run.id))
        return QDQ_OK;
    why = (qdq_error)QDQ_ERROR_INIT;
    qdq_fail(&why, QDQ_E_FORMAT, "%s: found the file of another run", path);
    return set_aside(t, path, why.text, "old", err);
}

qdq_status qdq_tune_remember_samples(qdq_tune_state *t, const qdq_cached_samples *s, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out list = qdq_json_list(&d), one = list;

    for (size_t i = 0; i < s->n - s->n % 3; i++) {
        if (i % 3 == 0)
            one = qdq_json_put_list(list, NULL);
        qdq_json_put_real(one, NULL, s->us[i]);
    }
    return qdq_tune_remember_content(t, s->key, qdq_json_take(&d), err);
}

static qdq_status use_cache(qdq_tune_state *t, qdq_error *err)
{
    t->parts.cached_is_mine = strcmp(t->parts.cached->fingerprint, t->tools.fingerprint) == 0;
    qdq_job_log(t->job, QDQ_LOG_INFO, QDQ_AUTOTUNE_CACHE ": the run begins with %zu groups of %s",
                t->parts.cached->groups.n, t->parts.cached_is_mine ? "its own" : "another one");
    for (size_t i = 0; t->parts.cached_is_mine && i < t->parts.cached->samples.n; i++)
        QDQ_TRY(qdq_tune_remember_samples(t, &t->parts.cached->samples.at[i], err));
    return QDQ_OK;
}

static qdq_status open_cache(qdq_tune_state *t, qdq_autotune_cache *c, qdq_error *err)
{
    const char *path = qdq_tune_path(t, QDQ_AUTOTUNE_CACHE),
               *key = qdq_arena_printf(&t->arena, QDQ_AUTOTUNE_CACHE " of run %lld",
                                       (long long)t->tools.run.id);
    qdq_status st = QDQ_OK;
    bool used = false;
    char *text;

    QDQ_NEED(path != NULL && key != NULL, err);
    if (access(path, F_OK) == 0)
        QDQ_TRY(take_file(t, path, key, c, &used, err));
    QDQ_TRY(qdq_tune_store_value_get(t->tools.store, &t->tools.run, key, &text, err));
    if (text != NULL && !used) {
        qdq_autotune_cache_free(c);
        st = qdq_autotune_cache_parse(text, strlen(text), key, c, err);
        used = true;
    }
    qdq_free(text);
    QDQ_TRY(st);
    if (!used)
        return QDQ_OK;
    t->parts.cached = c;
    return use_cache(t, err);
}

qdq_status qdq_tune_open_cache(qdq_tune_state *t, qdq_error *err)
{
    qdq_autotune_cache *c = qdq_arena_alloc(&t->arena, sizeof *c);

    QDQ_NEED(c != NULL, err);
    QDQ_TRY(name_run(t, err));
    qdq_autotune_cache_init(c);
    qdq_status st = open_cache(t, c, err);
    if (t->parts.cached == NULL)
        qdq_autotune_cache_free(c);
    return st;
}

void qdq_tune_close_cache(qdq_tune_state *t)
{
    if (t->parts.cached != NULL)
        qdq_autotune_cache_free(t->parts.cached);
    t->parts.cached = NULL;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Names differ from version to version of Model-Optimizer: what they speak of does not. */
bool qdq_tune_names_scheme(const char *name, qdq_scheme_kind kind)
{
    static const char *const word[] = {
        [QDQ_SCHEME_NONE] = "baseline",      [QDQ_SCHEME_FULL] = "full",
        [QDQ_SCHEME_WEIGHT_ONLY] = "weight", [QDQ_SCHEME_ACTIVATION_ONLY] = "activation",
        [QDQ_SCHEME_SKIP_SMALL] = "skip",    [QDQ_SCHEME_RULES] = "rules"};

    return strstr(name, word[kind]) != NULL;
}

/* Numbers of groups are those of this model where this run wrote them; else only the engine's names
 * tell. */
bool qdq_tune_is_cached_group(const qdq_tune_state *t, const qdq_cached_group *g, uint32_t group)
{
    if (t->parts.cached_is_mine)
        return g->id == group;
    return g->layer[0] != '\0' && strcmp(g->layer, t->parts.fusions->at[group].layer) == 0;
}

/* --- as a start ------------------------------------------------------------------------------- */

static bool is_rejected(const qdq_autotune_cache *c, int64_t group)
{
    for (size_t i = 0; i < c->decisions.n; i++)
        if (c->decisions.at[i].group == group)
            return !c->decisions.at[i].accepted;
    return false;
}

static bool has_tensor(const qdq_cached_group *g, const qdq_value *v)
{
    for (size_t i = 0; v != NULL && v->name != NULL && i < g->n_tensors; i++)
        if (strcmp(g->tensor[i], v->name) == 0)
            return true;
    return false;
}

/* Is an activation of the decision among the tensors? Without any list, all of the group is
 * meant. */
static bool is_placed(const qdq_tune_state *t, const qdq_cached_group *g, uint32_t decision)
{
    const qdq_decision *s = &t->task.space->group[decision];
    const qdq_target_op *op = qdq_target_find(t->task.space->target, s->node->type);

    for (uint32_t i = 0; i < s->node->n_in && i < 32; i++) {
        const bool is_weight = s->linear && op != NULL && i == (uint32_t)op->weight;
        if ((s->inputs >> i & 1) != 0 && !is_weight && has_tensor(g, qdq_node_in(s->node, i)))
            return true;
    }
    return g->n_tensors == 0;
}

/* A scheme of weights or of activations alone is nothing that a strategy of whole decisions has. */
static bool is_whole(const char *scheme)
{
    return qdq_tune_names_scheme(scheme, QDQ_SCHEME_FULL) ||
           qdq_tune_names_scheme(scheme, QDQ_SCHEME_SKIP_SMALL) ||
           qdq_tune_names_scheme(scheme, QDQ_SCHEME_RULES);
}

static bool place_group(const qdq_tune_state *t, const qdq_cached_group *g, uint32_t unit,
                        uint32_t instance, qdq_assign *a)
{
    const qdq_choices *c = &t->parts.choices[unit];
    bool any = false;

    for (size_t d = 0; d < c->n; d++) {
        const uint32_t decision = c->choice[d].group[instance];
        if (decision == QDQ_NO_GROUP || !is_placed(t, g, decision))
            continue;
        qdq_assign_set(a, decision, true);
        any = true;
    }
    return any;
}

bool qdq_tune_cached_start(const qdq_tune_state *t, qdq_assign *a)
{
    bool any = false;

    for (size_t i = 0; i < t->parts.cached->groups.n; i++) {
        const qdq_cached_group *g = &t->parts.cached->groups.at[i];
        if (!is_whole(g->scheme) || is_rejected(t->parts.cached, g->id))
            continue;
        for (uint32_t u = 0; u < t->parts.keys->n; u++)
            for (uint32_t k = 0; k < t->parts.keys->at[u].n_instances; k++)
                if (qdq_tune_is_cached_group(t, g, t->parts.keys->at[u].instance[k].group))
                    any = place_group(t, g, u, k, a) || any;
    }
    return any;
}
