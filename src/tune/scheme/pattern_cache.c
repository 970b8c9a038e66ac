/* pattern_cache.c - what stays of the schemes of a pattern. */
#include "tune/scheme/pattern_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/words.h"
#include "tune/space/assign.h"

typedef struct candidate {
    const qdq_scheme *scheme;
    /* as they came: new ones before those that are there */
    size_t order;
    /* in the cache: nothing to copy */
    bool is_there;
} candidate;

typedef QDQ_VEC(candidate) candidates;

void qdq_pattern_cache_free(qdq_pattern_cache *c)
{
    qdq_map_free(&c->by_key);
    qdq_arena_free(&c->arena);
    *c = (qdq_pattern_cache)QDQ_PATTERN_CACHE_INIT;
}

/* --- keys ------------------------------------------------------------------------------------- */

static void put_key(qdq_buf *b, const qdq_pattern_key *k)
{
    const char *const part[] = {k->signature, k->canon, k->engine, k->device, k->options};

    for (size_t i = 0; i < QDQ_COUNT(part); i++) {
        qdq_buf_puts(b, qdq_text_or_empty(part[i]));
        qdq_buf_putc(b, '\n');
    }
}

/* In the arena; NULL: out of memory. */
static const char *key_text(const qdq_pattern_key *k, qdq_arena *arena)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    put_key(&b, k);
    const char *text = b.failed ? NULL : qdq_arena_strndup(arena, b.data, b.size);
    qdq_buf_free(&b);
    return text;
}

static bool equal_text(const char *a, const char *b)
{
    return strcmp(qdq_text_or_empty(a), qdq_text_or_empty(b)) == 0;
}

bool qdq_pattern_is_model(const qdq_pattern_key *key)
{
    return strcmp(key->signature, QDQ_PATTERN_MODEL) == 0;
}

bool qdq_pattern_key_equal(const qdq_pattern_key *a, const qdq_pattern_key *b)
{
    return equal_text(a->signature, b->signature) && equal_text(a->canon, b->canon) &&
           equal_text(a->engine, b->engine) && equal_text(a->device, b->device) &&
           equal_text(a->options, b->options);
}

static qdq_status find_entry(const qdq_pattern_cache *c, const qdq_pattern_key *key,
                             qdq_arena *scratch, qdq_pattern_schemes **out, qdq_error *err)
{
    const char *text = key_text(key, scratch);

    QDQ_NEED(text != NULL, err);
    const qdq_map_value *v = qdq_map_get(&c->by_key, text);
    *out = v != NULL ? c->patterns.at[v->num] : NULL;
    return QDQ_OK;
}

const qdq_pattern_schemes *qdq_pattern_cache_find(const qdq_pattern_cache *c,
                                                  const qdq_pattern_key *key)
{
    for (size_t i = 0; i < c->patterns.n; i++)
        if (qdq_pattern_key_equal(&c->patterns.at[i]->key, key))
            return c->patterns.at[i];
    return NULL;
}

qdq_status qdq_pattern_schemes_seal(const qdq_pattern_schemes *ps, const char *search,
                                    char digits[33], qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    char hash[33];

    put_key(&b, &ps->key);
    qdq_buf_printf(&b, "%s\n%zu %s", search, ps->size, qdq_text_or_empty(ps->best));
    for (size_t i = 0; i < ps->schemes.n; i++) {
        const qdq_scheme *s = &ps->schemes.at[i];
        qdq_scheme_hash(s, hash);
        qdq_buf_printf(&b, "\n%s %s %.17g", hash, qdq_text_or_empty(s->placement), s->latency_ms);
    }
    return qdq_digits_take(&b, digits) ? QDQ_OK : qdq_nomem(err);
}

/* --- what stays ------------------------------------------------------------------------------- */

/* Each scheme once, with the less latency of two; of equal ones the first. */
static qdq_status collect_schemes(const qdq_pattern_schemes *from, bool is_there, qdq_map *seen,
                                  qdq_arena *scratch, candidates *all, qdq_error *err)
{
    for (size_t i = 0; i < from->schemes.n; i++) {
        const qdq_scheme *s = &from->schemes.at[i];
        const candidate new = {s, all->n, is_there};
        char hash[33];
        bool is_new;

        if (s->error)
            continue;
        qdq_scheme_hash(s, hash);
        const char *key = qdq_arena_printf(scratch, "%s %s", hash, qdq_text_or_empty(s->placement));
        qdq_map_value *at = key != NULL ? qdq_map_put(seen, key, &is_new) : NULL;
        QDQ_NEED(at != NULL, err);
        if (is_new) {
            at->num = all->n;
            QDQ_NEED(QDQ_PUSH(scratch, all, new), err);
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

/* Greedily, from the fastest on: Model-Optimizer's second branch, in which a new one replaces a
 * slower one that is near, cannot be reached behind the sort. */
static void thin_out(const qdq_pattern_cache *c, const qdq_pattern_key *key, candidates *all)
{
    const unsigned distance = qdq_pattern_is_model(key) ? 1 : c->minimum_distance;
    const unsigned most = qdq_pattern_is_model(key) ? 0 : c->max_entries;
    size_t n = 0;

    for (size_t i = 0; i < all->n && (most == 0 || n < most); i++) {
        bool near = false;

        for (size_t k = 0; k < n && !near && distance > 0; k++)
            near = qdq_scheme_distance(all->at[i].scheme, all->at[k].scheme) < distance;
        if (!near)
            all->at[n++] = all->at[i];
    }
    all->n = n;
}

/* --- copies ----------------------------------------------------------------------------------- */

static bool copy_points(qdq_points *to, const qdq_points *from, qdq_arena *arena)
{
    *to = (qdq_points){0};
    for (size_t i = 0; i < from->n; i++)
        if (!QDQ_PUSH(arena, to, from->at[i]))
            return false;
    return true;
}

static bool copy_text(const char **to, const char *from, qdq_arena *arena)
{
    *to = from != NULL ? qdq_arena_strdup(arena, from) : NULL;
    return from == NULL || *to != NULL;
}

static bool copy_scheme(qdq_scheme *to, const qdq_scheme *from, qdq_arena *arena)
{
    *to = *from;
    return copy_text(&to->timestamp, from->timestamp, arena) &&
           copy_text(&to->placement, from->placement, arena) &&
           copy_points(&to->node_inputs, &from->node_inputs, arena) &&
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

/* --- add -------------------------------------------------------------------------------------- */

static bool copy_key(qdq_pattern_key *to, const qdq_pattern_key *from, qdq_arena *arena)
{
    return copy_text(&to->signature, from->signature, arena) &&
           copy_text(&to->canon, from->canon, arena) &&
           copy_text(&to->engine, from->engine, arena) &&
           copy_text(&to->device, from->device, arena) &&
           copy_text(&to->options, from->options, arena);
}

static qdq_status put_entry(qdq_pattern_cache *c, const qdq_pattern_schemes *entry, qdq_error *err)
{
    qdq_pattern_schemes *own = qdq_arena_alloc(&c->arena, sizeof *own);
    const char *text = key_text(&entry->key, &c->arena);

    QDQ_NEED(own != NULL && text != NULL && QDQ_RESERVE(&c->arena, &c->patterns), err);
    *own = *entry;
    QDQ_NEED(copy_key(&own->key, &entry->key, &c->arena), err);
    qdq_map_value *at = qdq_map_put(&c->by_key, text, NULL);
    QDQ_NEED(at != NULL, err);
    at->num = c->patterns.n;
    c->patterns.at[c->patterns.n++] = own;
    return QDQ_OK;
}

static qdq_status choose_schemes(const qdq_pattern_cache *c, const qdq_pattern_schemes *ps,
                                 const qdq_pattern_schemes *known, qdq_arena *scratch,
                                 candidates *all, qdq_error *err)
{
    qdq_map seen = QDQ_MAP_INIT;
    qdq_status st = collect_schemes(ps, false, &seen, scratch, all, err);

    if (st == QDQ_OK && known != NULL)
        st = collect_schemes(known, true, &seen, scratch, all, err);
    qdq_map_free(&seen);
    if (st != QDQ_OK || all->n == 0)
        return st;
    qsort(all->at, all->n, sizeof *all->at, by_latency);
    thin_out(c, &ps->key, all);
    return QDQ_OK;
}

static qdq_status add_schemes(qdq_pattern_cache *c, const qdq_pattern_schemes *ps,
                              qdq_arena *scratch, qdq_error *err)
{
    qdq_pattern_schemes *known = NULL, entry = {.key = ps->key, .size = ps->size};
    candidates all = {0};

    QDQ_TRY(find_entry(c, &ps->key, scratch, &known, err));
    QDQ_TRY(choose_schemes(c, ps, known, scratch, &all, err));
    QDQ_NEED(copy_all(&entry, &all, &c->arena) && copy_text(&entry.best, ps->best, &c->arena) &&
                 copy_text(&entry.settled, ps->settled, &c->arena),
             err);
    if (known == NULL)
        return put_entry(c, &entry, err);
    entry.key = known->key;
    *known = entry;
    return QDQ_OK;
}

qdq_status qdq_pattern_cache_add(qdq_pattern_cache *c, const qdq_pattern_schemes *ps,
                                 qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = add_schemes(c, ps, &scratch, err);

    qdq_arena_free(&scratch);
    return st;
}

qdq_status qdq_pattern_cache_merge(qdq_pattern_cache *c, const qdq_pattern_cache *other,
                                   bool prefer_existing, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < other->patterns.n && st == QDQ_OK; i++) {
        const qdq_pattern_schemes *ps = other->patterns.at[i];
        qdq_pattern_schemes *known = NULL;

        st = find_entry(c, &ps->key, &scratch, &known, err);
        if (st == QDQ_OK && (!prefer_existing || known == NULL))
            st = qdq_pattern_cache_add(c, ps, err);
    }
    qdq_arena_free(&scratch);
    return st;
}
