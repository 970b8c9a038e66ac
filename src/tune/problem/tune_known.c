/* tune_known.c - what other runs measured: seeds of patterns, placements of this very model, and
 * times in the store. Only what was measured here is believed, and of that nothing that does not
 * hold when it is tried. */
#include "tune/problem/tune_known.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/json.h"
#include "tune/candidate/tune_names.h"
#include "tune/space/space_edges.h"
#include "tune/state/tune_values.h"
#include "tune/trial/tune_trials.h"

/* --- placements as text ----------------------------------------------------------------------- */

/* Four bits in a digit, the first one in the low bit. */
static void put_bits(qdq_buf *b, const qdq_assign *a, size_t from, size_t end)
{
    for (size_t i = from; i < end; i += 4) {
        unsigned digit = 0;
        for (size_t k = 0; k < 4 && i + k < end; k++)
            digit |= (unsigned)qdq_assign_get(a, i + k) << k;
        qdq_buf_putc(b, "0123456789abcdef"[digit]);
    }
}

const char *qdq_tune_placement_text(const qdq_tune_state *t, const qdq_assign *a, qdq_arena *arena)
{
    const size_t n = t->task.space->n_groups;
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    bool beyond = false;

    put_bits(&b, a, 0, n);
    for (size_t i = n; i < a->n; i++)
        beyond |= qdq_assign_get(a, i);
    qdq_buf_putc(&b, '/');
    if (beyond)
        put_bits(&b, a, n, a->n);
    const char *text = b.failed ? NULL : qdq_arena_strndup(arena, b.data, b.size);
    qdq_buf_free(&b);
    return text;
}

/* False: these are not the digits of end - from bits. */
static bool read_bits(const char *text, size_t n_digits, qdq_assign *a, size_t from, size_t end)
{
    static const char digits[] = "0123456789abcdef";

    if (n_digits != (end - from + 3) / 4)
        return false;
    for (size_t d = 0; d < n_digits; d++) {
        const char *at = strchr(digits, text[d]);
        if (at == NULL || *at == '\0')
            return false;
        for (size_t k = 0; k < 4; k++) {
            const bool on = ((at - digits) >> k & 1) != 0;
            if (from + 4 * d + k < end)
                qdq_assign_set(a, from + 4 * d + k, on);
            else if (on)
                return false;
        }
    }
    return true;
}

/* *ok: it is one of this model. */
static qdq_status read_placement(const qdq_tune_state *t, const char *text, qdq_arena *arena,
                                 qdq_assign *out, bool *ok, qdq_error *err)
{
    const size_t n = t->task.space->n_groups, n_all = qdq_space_edge_bits(t->task.space);
    const size_t groups = text != NULL ? strcspn(text, "/") : 0;

    *ok = text != NULL && text[groups] == '/';
    if (!*ok)
        return QDQ_OK;
    const char *more = text + groups + 1;
    const bool beyond = *more != '\0';
    QDQ_NEED(qdq_assign_new(out, beyond ? n_all : n, arena), err);
    *ok = read_bits(text, groups, out, 0, n) &&
          (!beyond || read_bits(more, strlen(more), out, n, n_all));
    return QDQ_OK;
}

/* --- seeds ------------------------------------------------------------------------------------ */

static bool same_text(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool is_from_here(const qdq_tune_state *t, const qdq_pattern_key *k)
{
    return same_text(k->engine, t->tools.context.engine) &&
           same_text(k->device, t->tools.context.device) &&
           same_text(k->options, t->tools.context.options);
}

/* How much an entry says about a pattern here: 0: it was measured on this engine and device; 1: on
 * others; 2: it knows no more than the signature; 3: it is about another pattern. */
static unsigned rank_of(const qdq_tune_state *t, size_t pattern, const qdq_pattern_key *k)
{
    if (k->canon != NULL)
        return strcmp(k->canon, t->parts.canon[pattern]) != 0 ? 3 : is_from_here(t, k) ? 0 : 1;
    return strcmp(k->signature, t->parts.patterns->pattern[pattern].signature) == 0 ? 2 : 3;
}

typedef struct seeds {
    qdq_assign *at;
    size_t n, most;
} seeds;

static qdq_status add_seed(qdq_tune_state *t, size_t pattern, const qdq_scheme *scheme, seeds *s,
                           qdq_error *err)
{
    qdq_assign *bits = &s->at[s->n];

    if (s->n == s->most)
        return QDQ_OK;
    QDQ_TRY(qdq_choices_from_scheme(&t->parts.choices[pattern],
                                    &t->parts.patterns->pattern[pattern], t->task.space, scheme,
                                    &t->arena, bits, err));
    for (size_t i = 0; i < s->n; i++)
        if (qdq_assign_equal(&s->at[i], bits))
            return QDQ_OK;
    s->n++;
    return QDQ_OK;
}

qdq_status qdq_tune_find_seeds(qdq_tune_state *t, size_t pattern, qdq_assign **out, size_t *n,
                               qdq_error *err)
{
    const double share = t->details->pool_fraction > 0 ? t->details->pool_fraction : 0.1;
    const size_t least = t->details->pool_min > 0 ? t->details->pool_min : 10;
    seeds s = {0};

    for (size_t i = 0; i < t->parts.thin.patterns.n; i++)
        if (rank_of(t, pattern, &t->parts.thin.patterns.at[i]->key) < 3)
            s.most += t->parts.thin.patterns.at[i]->schemes.n;
    s.most = qdq_scheme_pool(s.most, share, least);
    s.at = qdq_arena_array(&t->arena, s.most + 1, sizeof *s.at);
    QDQ_NEED(s.at != NULL, err);
    for (unsigned rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < t->parts.thin.patterns.n; i++) {
            const qdq_pattern_schemes *e = t->parts.thin.patterns.at[i];
            if (rank_of(t, pattern, &e->key) != rank)
                continue;
            for (size_t k = 0; k < e->schemes.n; k++)
                QDQ_TRY(add_seed(t, pattern, &e->schemes.at[k], &s, err));
        }
    *out = s.at;
    *n = s.n;
    return QDQ_OK;
}

const qdq_pattern_schemes *qdq_tune_best_entry(const qdq_tune_state *t, size_t pattern)
{
    const qdq_pattern_schemes *best = NULL;
    unsigned rank = 3;

    for (size_t i = 0; i < t->parts.thin.patterns.n; i++) {
        const qdq_pattern_schemes *e = t->parts.thin.patterns.at[i];
        const unsigned of_e = e->schemes.n > 0 ? rank_of(t, pattern, &e->key) : 3;
        if (of_e < rank) {
            best = e;
            rank = of_e;
        }
    }
    return best;
}

qdq_status qdq_tune_find_placement(qdq_tune_state *t, qdq_assign *out, bool *found, qdq_error *err)
{
    *found = false;
    for (unsigned here = 1; here < 2 && !*found; here--)
        for (size_t i = 0; i < t->parts.known.patterns.n && !*found; i++) {
            const qdq_pattern_schemes *e = t->parts.known.patterns.at[i];
            qdq_assign whole;
            if (!same_text(e->key.canon, t->parts.whole) || e->schemes.n == 0 ||
                is_from_here(t, &e->key) != (here == 1))
                continue;
            const char *best = e->best != NULL ? e->best : e->schemes.at[0].placement;
            QDQ_TRY(read_placement(t, best, &t->arena, &whole, found, err));
            for (size_t bit = 0; bit < t->task.space->n_groups && *found; bit++)
                qdq_assign_set(out, bit, qdq_assign_get(&whole, bit));
        }
    return QDQ_OK;
}

/* --- times ------------------------------------------------------------------------------------ */

double qdq_tune_share_of(const qdq_search_event *e)
{
    return (1 - e->saved) * (e->accepted ? 1 : 1 - e->result->gain);
}

/* In ms, by the settled entry; NAN: it does not know. */
static double settled_ms(const qdq_tune_state *t, const char *placement)
{
    const qdq_pattern_schemes *e = t->parts.settled;

    for (size_t i = 0; i < e->schemes.n; i++)
        if (same_text(e->schemes.at[i].placement, placement))
            return e->schemes.at[i].latency_ms;
    return NAN;
}

/* Of the settled entry. */
static qdq_status settled_share(qdq_tune_state *t, const char *placement, double *out,
                                qdq_error *err)
{
    qdq_assign a;

    QDQ_NEED(qdq_assign_new(&a, t->task.space->n_groups, &t->arena), err);
    const char *nothing = qdq_tune_placement_text(t, &a, &t->arena);
    QDQ_NEED(placement != NULL && nothing != NULL, err);
    *out = settled_ms(t, placement) / settled_ms(t, nothing);
    return QDQ_OK;
}

static const char *share_name(qdq_tune_state *t, const qdq_tune_candidate *c)
{
    return qdq_arena_printf(&t->arena, "share %s", c->name);
}

/* Of another run: what this one measured, it measures again when it goes on. */
static qdq_status stored_share(qdq_tune_state *t, const qdq_assign *a, double *out, qdq_error *err)
{
    qdq_tune_candidate *c;
    json_t *j;

    QDQ_TRY(qdq_tune_candidate_of(t, a, &c, err));
    const char *name = share_name(t, c);
    QDQ_NEED(name != NULL, err);
    QDQ_TRY(qdq_tune_recall(t, name, &j, err));
    const json_t *share = json_object_get(j, "share");
    if (json_is_real(share) && json_integer_value(json_object_get(j, "run")) != t->tools.run.id)
        *out = json_real_value(share);
    json_decref(j);
    return QDQ_OK;
}

qdq_status qdq_tune_known_share(qdq_tune_state *t, const qdq_assign *a, double *out, qdq_error *err)
{
    *out = NAN;
    if (t->parts.known.patterns.n == 0)
        return QDQ_OK;
    if (t->parts.settled != NULL)
        QDQ_TRY(settled_share(t, qdq_tune_placement_text(t, a, &t->arena), out, err));
    return isnan(*out) ? stored_share(t, a, out, err) : QDQ_OK;
}

qdq_status qdq_tune_remember_share(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err)
{
    qdq_tune_candidate *c;

    if (e->result == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_candidate_of(t, e->candidate, &c, err));
    const char *name = share_name(t, c);
    QDQ_NEED(name != NULL, err);
    return qdq_tune_remember(
        t, name,
        json_pack("{s:f, s:I}", "share", qdq_tune_share_of(e), "run", (json_int_t)t->tools.run.id),
        err);
}

/* --- what is settled -------------------------------------------------------------------------- */

/* Does the best one take what the entry says? If not, the engine or the machine is another one than
 * it seems; a little is what neighbours do. */
static qdq_status try_best(qdq_tune_state *t, bool *holds, qdq_error *err)
{
    const double doubt = 0.1;
    qdq_tune_tried r;
    qdq_assign a;
    double share;

    QDQ_TRY(settled_share(t, t->parts.settled->best, &share, err));
    QDQ_TRY(read_placement(t, t->parts.settled->best, &t->arena, &a, holds, err));
    *holds = *holds && isfinite(share);
    if (!*holds || qdq_assign_count(&a) == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_try_for_best(t, QDQ_PHASE_START, "cached", &a, &r, err));
    *holds = !r.failed && r.result.gain > 0 && fabs(1 - r.result.gain - share) <= doubt * share;
    if (!*holds || r.accepted)
        return QDQ_OK;
    t->run.unwritten =
        true; /* a gain so small that one trial does not prove it: the final validation decides */
    t->run.found.predicted_ns *= 1 - r.result.gain;
    return qdq_assign_copy(&t->run.found.best, &a, &t->arena) ? QDQ_OK : qdq_nomem(err);
}

/* Of the rules' plan and its like, those without a measurement; *faster: one of them is better. */
static qdq_status try_plain(qdq_tune_state *t, bool *faster, qdq_error *err)
{
    *faster = false;
    for (size_t i = 1; i < t->parts.problem.n_starts && !*faster; i++) {
        qdq_tune_candidate *c;
        qdq_tune_tried r;
        double share;
        QDQ_TRY(qdq_tune_candidate_of(t, &t->parts.problem.start[i], &c, err));
        QDQ_TRY(qdq_tune_known_share(t, &t->parts.problem.start[i], &share, err));
        if (c == t->run.base || c->tried || !isnan(share))
            continue;
        QDQ_TRY(qdq_tune_try_for_best(t, QDQ_PHASE_START, t->parts.problem.start_name[i],
                                      &t->parts.problem.start[i], &r, err));
        *faster = r.accepted;
    }
    return QDQ_OK;
}

/* What a search would say of each pattern. */
static void report_units(qdq_tune_state *t)
{
    for (size_t u = 0; u < t->parts.problem.n_units; u++)
        qdq_choices_vote(&t->parts.choices[u], &t->parts.patterns->pattern[u], &t->run.found.best,
                         &t->run.found.unit[u].best);
}

qdq_status qdq_tune_follow_known(qdq_tune_state *t, bool *done, qdq_error *err)
{
    bool holds, faster = false;

    *done = false;
    QDQ_TRY(try_best(t, &holds, err));
    if (holds)
        QDQ_TRY(try_plain(t, &faster, err));
    *done = holds && !faster;
    if (*done) {
        report_units(t);
        return QDQ_OK;
    }
    qdq_job_log(t->job, QDQ_LOG_WARNING, "pattern caches: wrong about this model; it is searched");
    t->parts.settled = NULL;
    return QDQ_OK;
}
