/* tune_patterns.c - patterns.yaml: what a run learnt about each pattern, and about the model as a
 * whole. Written after each trial, so that it is there however the run ends. */
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fail.h"
#include "tune/candidate/tune_files.h"
#include "tune/problem/tune_known.h"
#include "tune/problem/tune_problem.h"
#include "tune/region/canon.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_edges.h"

/* --- names ------------------------------------------------------------------------------------ */

/* All nodes of the clean model as one set. */
static qdq_status canonize_model(const qdq_tune_state *t, qdq_arena *scratch, qdq_canon_form *out,
                                 qdq_error *err)
{
    const qdq_graph *g = t->task.clean->graph;
    uint32_t *owner = qdq_arena_array(scratch, (size_t)g->next_node_id + 1, sizeof *owner);
    const qdq_node **node =
        qdq_arena_array(scratch, (size_t)g->n_node + 1, sizeof(const qdq_node *));
    qdq_canon *c;
    size_t n = 0;

    QDQ_NEED(owner != NULL && node != NULL, err);
    QDQ_FOR_NODES (x, g) {
        owner[x->id] = 1;
        node[n++] = x;
    }
    QDQ_TRY(qdq_canon_new_sets(g, owner, scratch, &c, err));
    return qdq_canon_nodes(c, node, n, 1, scratch, out, err);
}

/* A placement counts decisions in the order of the graph: another order, or other decisions, are
 * another model. */
static qdq_status name_model(qdq_tune_state *t, qdq_arena *scratch, qdq_error *err)
{
    const qdq_space *s = t->task.space;
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_canon_form form;
    uint32_t *index =
        qdq_arena_array(scratch, (size_t)t->task.clean->graph->next_node_id + 1, sizeof *index);
    uint32_t n = 0;

    QDQ_NEED(index != NULL, err);
    QDQ_TRY(canonize_model(t, scratch, &form, err));
    QDQ_FOR_NODES (x, t->task.clean->graph)
        index[x->id] = n++;
    qdq_buf_append(&b, form.hash, sizeof form.hash);
    for (size_t i = 0; i < form.n; i++)
        qdq_buf_append(&b, &index[form.node[i]->id], sizeof *index);
    for (size_t i = 0; i < s->n_groups; i++)
        qdq_buf_append(&b, &index[s->group[i].node->id], sizeof *index);
    qdq_buf_printf(&b, "%zu %zu", s->n_groups, qdq_space_edge_bits(s));
    return qdq_digits_take(&b, t->parts.whole) ? QDQ_OK : qdq_nomem(err);
}

static qdq_pattern_key key_of(const qdq_tune_state *t, const char *signature, const char *canon)
{
    const qdq_tune_store_context *c = &t->tools.context;

    return (qdq_pattern_key){signature, canon, c->engine, c->device, c->options};
}

/* An entry about this model that a search left which came to its end, as long as this one, and that
 * nothing changed. Models that were given, and a filter, make another search. */
static qdq_status find_settled(qdq_tune_state *t, qdq_error *err)
{
    const qdq_pattern_key key = key_of(t, QDQ_PATTERN_MODEL, t->parts.whole);
    const qdq_pattern_schemes *known = qdq_pattern_cache_find(&t->parts.known, &key);
    char seal[33];

    if (known == NULL || known->settled == NULL || known->best == NULL ||
        t->parts.n_baselines > 0 || t->parts.filter.n > 0)
        return QDQ_OK;
    QDQ_TRY(qdq_pattern_schemes_seal(known, t->parts.effort, seal, err));
    if (strcmp(seal, known->settled) == 0)
        t->parts.settled = known;
    return QDQ_OK;
}

/* A file that is missing or broken costs times of day only. */
static qdq_status read_before(qdq_tune_state *t, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "patterns.yaml");

    QDQ_NEED(path != NULL, err);
    if (t->out->resumed &&
        qdq_pattern_cache_load(path, NULL, &t->parts.before, NULL) == QDQ_E_NOMEM)
        return qdq_nomem(err);
    return QDQ_OK;
}

qdq_status qdq_tune_name_patterns(qdq_tune_state *t, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;

    QDQ_TRY(read_before(t, err));
    t->parts.learnt = qdq_tune_new_cache(t, true);
    t->parts.canon = qdq_arena_array(&t->arena, t->parts.patterns->n + 1, sizeof *t->parts.canon);
    t->parts.effort = qdq_tune_effort_text(t);
    QDQ_NEED(t->parts.canon != NULL && t->parts.effort != NULL, err);
    for (size_t i = 0; i < t->parts.patterns->n; i++) {
        const qdq_pattern *p = &t->parts.patterns->pattern[i];
        qdq_assign_hash_text((qdq_assign_hash){p->canon[0], p->canon[1]}, t->parts.canon[i]);
    }
    qdq_status st = name_model(t, &scratch, err);
    qdq_arena_free(&scratch);
    return st == QDQ_OK ? find_settled(t, err) : st;
}

/* --- what was learnt -------------------------------------------------------------------------- */

/* ISO 8601 as Model-Optimizer writes it; in the arena. */
static const char *now_text(qdq_arena *arena)
{
    const time_t now = time(NULL);
    struct tm utc;
    char text[40];

    if (gmtime_r(&now, &utc) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &utc) == 0)
        return NULL;
    return qdq_arena_strdup(arena, text);
}

/* Does this process repeat what an earlier one measured? */
static bool is_replay(const qdq_tune_state *t)
{
    return t->out->resumed && !t->run.measured;
}

/* When an earlier process of this run measured it; NULL: it did not. */
static const char *time_before(const qdq_tune_state *t, const qdq_pattern_key *key,
                               const qdq_scheme *scheme)
{
    const qdq_pattern_schemes *before =
        is_replay(t) ? qdq_pattern_cache_find(&t->parts.before, key) : NULL;

    for (size_t i = 0; before != NULL && i < before->schemes.n; i++)
        if (qdq_scheme_distance(&before->schemes.at[i], scheme) == 0)
            return before->schemes.at[i].timestamp;
    return NULL;
}

/* A placement that was measured. */
typedef struct lesson {
    /* it was measured against; NULL: nothing */
    const qdq_assign *before;
    const qdq_assign *now;
    double ms;
    const char *when;
    qdq_arena scratch;
} lesson;

static qdq_status add_scheme(qdq_tune_state *t, const lesson *l, const qdq_pattern_key *key,
                             size_t size, qdq_scheme *scheme, qdq_error *err)
{
    qdq_pattern_schemes one = {.key = *key, .size = size};
    const char *before = time_before(t, key, scheme);

    scheme->latency_ms = l->ms;
    scheme->timestamp = before != NULL ? before : l->when;
    one.schemes.at = scheme;
    one.schemes.n = one.schemes.cap = 1;
    return qdq_pattern_cache_add(&t->parts.learnt, &one, err);
}

/* Is each choice on in all instances that have it, or in none? */
static bool is_uniform(const qdq_choices *c, const qdq_pattern *p, const qdq_assign *a)
{
    for (size_t i = 0; i < c->n; i++) {
        bool any[2] = {false, false};
        for (size_t k = 0; k < p->n_instances; k++)
            if (c->choice[i].group[k] != QDQ_NO_GROUP)
                any[qdq_assign_get(a, c->choice[i].group[k])] = true;
        if (any[0] && any[1])
            return false;
    }
    return true;
}

/* The scheme of a pattern that was measured here: it is another one than before. */
static qdq_status learn_pattern(qdq_tune_state *t, size_t u, lesson *l, qdq_error *err)
{
    const qdq_pattern *p = &t->parts.patterns->pattern[u];
    const qdq_choices *c = &t->parts.choices[u];
    const qdq_pattern_key key = key_of(t, p->signature, t->parts.canon[u]);
    qdq_assign was, is;
    qdq_scheme scheme;

    if (c->n == 0 || t->parts.problem.unit[u].n_choices == 0 || !is_uniform(c, p, l->now))
        return QDQ_OK;
    QDQ_NEED(qdq_assign_new(&was, c->n, &l->scratch) && qdq_assign_new(&is, c->n, &l->scratch),
             err);
    qdq_choices_vote(c, p, l->now, &is);
    if (l->before != NULL) {
        qdq_choices_vote(c, p, l->before, &was);
        if (qdq_assign_equal(&was, &is) && is_uniform(c, p, l->before))
            return QDQ_OK;
    }
    QDQ_TRY(qdq_choices_to_scheme(c, &is, &l->scratch, &scheme, err));
    return add_scheme(t, l, &key, p->n_nodes, &scheme, err);
}

static qdq_status learn(qdq_tune_state *t, lesson *l, qdq_error *err)
{
    const qdq_pattern_key key = key_of(t, QDQ_PATTERN_MODEL, t->parts.whole);
    qdq_scheme whole = {.placement = qdq_tune_placement_text(t, l->now, &l->scratch)};

    l->when = now_text(&l->scratch);
    QDQ_NEED(whole.placement != NULL && l->when != NULL, err);
    QDQ_TRY(add_scheme(t, l, &key, (size_t)t->task.clean->graph->n_node, &whole, err));
    if (qdq_space_count_forms(t->task.space, l->now, true) +
            qdq_space_count_forms(t->task.space, l->now, false) >
        0) /* schemes have the target's own formats alone */
        return QDQ_OK;
    for (size_t u = 0; u < t->parts.problem.n_units; u++)
        QDQ_TRY(learn_pattern(t, u, l, err));
    return QDQ_OK;
}

/* `before` NULL: it was measured against nothing. */
static qdq_status learn_placement(qdq_tune_state *t, const qdq_assign *before, const qdq_assign *a,
                                  double ms, qdq_error *err)
{
    lesson l = {.before = before, .now = a, .ms = ms, .scratch = QDQ_ARENA_INIT};
    qdq_status st = learn(t, &l, err);

    qdq_arena_free(&l.scratch);
    return st;
}

/* --- the file --------------------------------------------------------------------------------- */

static qdq_status write_file(qdq_tune_state *t, qdq_pattern_cache *c, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "patterns.yaml");
    char *text = NULL;

    QDQ_NEED(path != NULL, err);
    qdq_status st = qdq_pattern_cache_text(c, &text, err);
    if (st == QDQ_OK)
        st = qdq_write_file(path, true, text, strlen(text), err);
    qdq_free(text);
    return st;
}

/* What is settled was learnt by a longer search than this one. */
static qdq_status write_all(qdq_tune_state *t, qdq_error *err)
{
    qdq_pattern_cache c = qdq_tune_new_cache(t, true);
    const bool follows = t->parts.settled != NULL;
    qdq_status st =
        qdq_pattern_cache_merge(&c, follows ? &t->parts.known : &t->parts.learnt, true, err);

    if (st == QDQ_OK)
        st = qdq_pattern_cache_merge(&c, follows ? &t->parts.learnt : &t->parts.known, true, err);
    c.minimum_distance = t->details->pattern_cache_distance; /* for who adds to it */
    if (st == QDQ_OK)
        st = write_file(t, &c, err);
    qdq_pattern_cache_free(&c);
    return st;
}

qdq_status qdq_tune_learn(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err)
{
    const double base_ms = t->parts.problem.base_ns * 1e-6;

    if (e == NULL)
        QDQ_TRY(learn_placement(t, NULL, &t->run.base->assign, base_ms, err));
    else if (e->result == NULL)
        return QDQ_OK;
    else
        QDQ_TRY(
            learn_placement(t, e->incumbent, e->candidate, qdq_tune_share_of(e) * base_ms, err));
    /* The file of the earlier process has more, until this one measures. */
    return is_replay(t) && t->parts.before.patterns.n > 0 ? QDQ_OK : write_all(t, err);
}

/* Limits that users set end a search where they want, not where it is over. */
static bool is_over(const qdq_tune_state *t)
{
    const qdq_tune_opts *o = t->opts;
    const bool limited = o->trials > 0 || o->max_builds > 0 || o->time_s > 0;

    return !t->run.cut && !(limited && t->run.found.ended_early) && t->parts.n_baselines == 0 &&
           t->parts.filter.n == 0;
}

qdq_status qdq_tune_write_patterns(qdq_tune_state *t, qdq_error *err)
{
    const qdq_pattern_key key = key_of(t, QDQ_PATTERN_MODEL, t->parts.whole);
    const qdq_pattern_schemes *own = qdq_pattern_cache_find(&t->parts.learnt, &key);
    char seal[33];

    if (t->parts.settled == NULL && own != NULL && is_over(t)) {
        qdq_pattern_schemes sealed = {.key = own->key, .size = own->size};
        sealed.best = qdq_tune_placement_text(t, &t->run.found.best, &t->arena);
        QDQ_NEED(sealed.best != NULL, err);
        QDQ_TRY(qdq_pattern_cache_add(&t->parts.learnt, &sealed, err));
        sealed.settled = seal;
        QDQ_TRY(qdq_pattern_schemes_seal(own, t->parts.effort, seal, err));
        QDQ_TRY(qdq_pattern_cache_add(&t->parts.learnt, &sealed, err));
    }
    return write_all(t, err);
}
