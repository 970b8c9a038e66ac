/* pattern_cache.c - see the header: what stays of the schemes of a pattern. */
#include "tune/scheme/pattern_cache.h"

#include <stdlib.h>

#include "base/fail.h"

typedef struct candidate {
    const qdq_scheme *scheme;
    size_t order;  /* as they came: new ones before those that are there */
    bool is_there; /* in the cache: nothing to copy */
} candidate;

typedef QDQ_VEC(candidate) candidates;

void qdq_pattern_cache_free(qdq_pattern_cache *c)
{
    qdq_map_free(&c->by_signature);
    qdq_arena_free(&c->arena);
    *c = (qdq_pattern_cache)QDQ_PATTERN_CACHE_INIT;
}

static qdq_pattern_schemes *find(const qdq_pattern_cache *c, const char *signature)
{
    const qdq_map_value *v = qdq_map_get(&c->by_signature, signature);

    return v != NULL ? c->patterns.at[v->num] : NULL;
}

const qdq_pattern_schemes *qdq_pattern_cache_find(const qdq_pattern_cache *c, const char *signature)
{
    return find(c, signature);
}

/* --- what stays ---------------------------------------------------------------------------------------------------- */

/* Each scheme once, with the less latency of two; of equal ones the first. */
static qdq_status collect(const qdq_pattern_schemes *from, bool is_there, qdq_map *seen, qdq_arena *scratch,
                          candidates *all, qdq_error *err)
{
    for (size_t i = 0; i < from->schemes.n; i++) {
        const qdq_scheme *s = &from->schemes.at[i];
        const candidate new = {s, all->n, is_there};
        char hash[33];
        bool is_new;

        if (s->error)
            continue;
        qdq_scheme_hash(s, hash);
        const char *key = qdq_arena_strdup(scratch, hash);
        qdq_map_value *at = key != NULL ? qdq_map_put(seen, key, &is_new) : NULL;
        if (at == NULL)
            return qdq_nomem(err);
        if (is_new) {
            at->num = all->n;
            if (!QDQ_PUSH(scratch, all, new))
                return qdq_nomem(err);
        } else if (s->latency_ms < all->at[at->num].scheme->latency_ms) {
            all->at[at->num].scheme = s;
            all->at[at->num].is_there = is_there;
        }
    }
    return QDQ_OK;
}

static int by_latency(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    double p = x->scheme->latency_ms, q = y->scheme->latency_ms;

    if (p != q)
        return p < q ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Greedily, from the fastest on: Model-Optimizer's second branch, in which a new one replaces a slower one that is near,
 * cannot be reached behind the sort. */
static void thin_out(const qdq_pattern_cache *c, candidates *all)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n && (c->max_entries == 0 || n < c->max_entries); i++) {
        bool near = false;

        for (size_t k = 0; k < n && !near && c->minimum_distance > 0; k++)
            near = qdq_scheme_distance(all->at[i].scheme, all->at[k].scheme) < c->minimum_distance;
        if (!near)
            all->at[n++] = all->at[i];
    }
    all->n = n;
}

/* --- copies -------------------------------------------------------------------------------------------------------- */

static bool copy_points(qdq_points *to, const qdq_points *from, qdq_arena *arena)
{
    *to = (qdq_points){0};
    for (size_t i = 0; i < from->n; i++)
        if (!QDQ_PUSH(arena, to, from->at[i]))
            return false;
    return true;
}

static bool copy_scheme(qdq_scheme *to, const qdq_scheme *from, qdq_arena *arena)
{
    *to = *from;
    if (from->timestamp != NULL && (to->timestamp = qdq_arena_strdup(arena, from->timestamp)) == NULL)
        return false;
    return copy_points(&to->node_inputs, &from->node_inputs, arena) &&
           copy_points(&to->child_inputs, &from->child_inputs, arena) &&
           copy_points(&to->outputs, &from->outputs, arena);
}

static bool copy_all(qdq_pattern_schemes *to, const candidates *all, qdq_arena *arena)
{
    for (size_t i = 0; i < all->n; i++) {
        qdq_scheme s = *all->at[i].scheme;

        if (!all->at[i].is_there && !copy_scheme(&s, all->at[i].scheme, arena))
            return false;
        if (!QDQ_PUSH(arena, &to->schemes, s))
            return false;
    }
    return true;
}

/* --- add ----------------------------------------------------------------------------------------------------------- */

static qdq_status put(qdq_pattern_cache *c, const qdq_pattern_schemes *entry, qdq_error *err)
{
    qdq_pattern_schemes *own = qdq_arena_alloc(&c->arena, sizeof *own);
    const char *signature = qdq_arena_strdup(&c->arena, entry->signature);

    if (own == NULL || signature == NULL || !QDQ_RESERVE(&c->arena, &c->patterns))
        return qdq_nomem(err);
    qdq_map_value *at = qdq_map_put(&c->by_signature, signature, NULL);
    if (at == NULL)
        return qdq_nomem(err);
    at->num = c->patterns.n;
    *own = *entry;
    own->signature = signature;
    c->patterns.at[c->patterns.n++] = own;
    return QDQ_OK;
}

static qdq_status choose(const qdq_pattern_cache *c, const qdq_pattern_schemes *ps,
                         const qdq_pattern_schemes *known, qdq_arena *scratch, candidates *all,
                         qdq_error *err)
{
    qdq_map seen = QDQ_MAP_INIT;
    qdq_status st = collect(ps, false, &seen, scratch, all, err);

    if (st == QDQ_OK && known != NULL)
        st = collect(known, true, &seen, scratch, all, err);
    qdq_map_free(&seen);
    if (st != QDQ_OK || all->n == 0)
        return st;
    qsort(all->at, all->n, sizeof *all->at, by_latency);
    thin_out(c, all);
    return QDQ_OK;
}

qdq_status qdq_pattern_cache_add(qdq_pattern_cache *c, const qdq_pattern_schemes *ps, qdq_error *err)
{
    qdq_pattern_schemes *known = find(c, ps->signature),
                        entry = {.signature = ps->signature, .size = ps->size};
    qdq_arena scratch = QDQ_ARENA_INIT;
    candidates all = {0};
    qdq_status st = choose(c, ps, known, &scratch, &all, err);

    if (st == QDQ_OK && !copy_all(&entry, &all, &c->arena))
        st = qdq_nomem(err);
    qdq_arena_free(&scratch);
    if (st != QDQ_OK)
        return st;
    if (known == NULL)
        return put(c, &entry, err);
    known->size = entry.size;
    known->schemes.at = entry.schemes.at;
    known->schemes.n = entry.schemes.n;
    known->schemes.cap = entry.schemes.cap;
    return QDQ_OK;
}

qdq_status qdq_pattern_cache_merge(qdq_pattern_cache *c, const qdq_pattern_cache *other, bool prefer_existing,
                                   qdq_error *err)
{
    for (size_t i = 0; i < other->patterns.n; i++) {
        const qdq_pattern_schemes *ps = other->patterns.at[i];

        if (!prefer_existing || find(c, ps->signature) == NULL)
            QDQ_TRY(qdq_pattern_cache_add(c, ps, err));
    }
    return QDQ_OK;
}
