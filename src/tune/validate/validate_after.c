/* validate_after.c - what halving cannot see: neighbours that pay only together, and what does harm
 * where others are on. */
#include <math.h>

#include "base/fail.h"
#include "tune/validate/validate_state.h"

/* --- neighbours ------------------------------------------------------------------------------- */

static bool was_refused(const qdq_validate_state *v, uint32_t item)
{
    return !v->on[item] && v->alone[item];
}

/* Links between two that were refused, those first that promise most. At most as many as there are
 * such items: in a dense graph that would be half of their square. */
static qdq_status rank_links(qdq_validate_state *v, qdq_search_ranked **out, size_t *n,
                             qdq_error *err)
{
    qdq_search_ranked *at = qdq_arena_array(&v->s.scratch, v->p->n_links + 1, sizeof *at);
    size_t refused = 0;

    *n = 0;
    if (at == NULL)
        return qdq_nomem(err);
    for (uint32_t i = 0; i < v->p->n_items; i++)
        refused += was_refused(v, i);
    for (size_t k = 0; k < v->p->n_links; k++) {
        const qdq_validate_link l = v->p->link[k];
        const uint32_t both[] = {l.a, l.b};
        const qdq_validate_promise p = qdq_validate_sum(v, both, 2);
        if (l.a != l.b && was_refused(v, l.a) && was_refused(v, l.b) && qdq_validate_matters(v, &p))
            at[(*n)++] = (qdq_search_ranked){k, isnan(p.saves) ? 0 : p.saves};
    }
    qdq_search_rank(at, *n);
    *n = *n < refused ? *n : refused;
    *out = at;
    return QDQ_OK;
}

qdq_status qdq_validate_pairs(qdq_validate_state *v, qdq_error *err)
{
    qdq_search_ranked *at;
    size_t n;

    QDQ_TRY(rank_links(v, &at, &n, err));
    for (size_t i = 0; i < n && !v->s.over; i++) {
        const qdq_validate_link l = v->p->link[at[i].index];
        const uint32_t both[] = {l.a, l.b};
        qdq_validate_seen seen;
        if (v->on[l.a] || v->on[l.b])
            continue; /* with another neighbour */
        QDQ_TRY(qdq_validate_try(v, both, 2, "two neighbours", 2 * (double)n, &seen, err));
        if (seen.kept)
            qdq_validate_decide(v, both, 2, QDQ_VALIDATE_KEPT, seen.trial);
    }
    return QDQ_OK;
}

/* --- backward --------------------------------------------------------------------------------- */

/* Items of a component that are on, by place: first[0 .. n). */
typedef struct group {
    uint32_t *item;
    size_t n;
    bool is_half;
} group;

typedef QDQ_VEC(group) groups;

/* What it may do harm by is what the set that it was kept in may lack, and more than it promised
 * itself. Without a promise anything is possible. */
static double harm_of(const qdq_validate_state *v, const group *g)
{
    double hidden = 0;

    for (size_t i = 0; i < g->n; i++)
        hidden = fmax(hidden, v->hidden[g->item[i]]);
    const double harm = hidden - qdq_validate_sum(v, g->item, g->n).saves;
    return isnan(harm) ? INFINITY : harm;
}

static bool may_be_seen(const qdq_validate_state *v, double harm)
{
    return harm >= v->asked->test.enter * v->s.time;
}

static qdq_status find_groups(qdq_validate_state *v, groups *out, qdq_error *err)
{
    const size_t n = v->p->n_items;
    uint32_t *component = qdq_arena_array(&v->s.scratch, n + 1, sizeof *component);
    uint32_t *item = qdq_arena_array(&v->s.scratch, n + 1, sizeof *item);
    size_t *count = qdq_arena_array(&v->s.scratch, n + 1, sizeof *count);
    size_t used = 0;

    if (component == NULL || item == NULL || count == NULL)
        return qdq_nomem(err);
    qdq_validate_connect(v, true, component);
    for (size_t i = 0; i < n; i++)
        count[component[i]] += v->on[i];
    for (size_t c = 0; c < n; c++) {
        const group g = {.item = &item[used]};
        used += count[c];
        if (count[c] > 0 && !QDQ_PUSH(&v->s.scratch, out, g))
            return qdq_nomem(err);
        count[c] = count[c] > 0 ? out->n - 1 : 0;
    }
    for (size_t i = 0; i < n; i++)
        if (v->on[v->order[i]]) {
            group *g = &out->at[count[component[v->order[i]]]];
            g->item[g->n++] = v->order[i];
        }
    return QDQ_OK;
}

/* The bound of validate.h, with what was bad so far. */
static unsigned builds_left(const qdq_validate_state *v)
{
    const double most = 4 + 2 * log2((double)v->p->n_items) * (double)(v->bad + 1);
    /* the base, and one that comes last: against the best start */
    const unsigned used = 2 + v->measured;

    return most > used ? (unsigned)(most - used) : 0;
}

static const char *move_without(const group *g)
{
    return g->n == 1    ? "without a group"
           : g->is_half ? "without half of a component"
                        : "without a component";
}

/* Its halves are next where taking it away may have gained something. */
static qdq_status try_without(qdq_validate_state *v, const group *g, groups *halves, qdq_error *err)
{
    qdq_validate_seen seen;

    QDQ_TRY(qdq_validate_try(v, g->item, g->n, move_without(g), 1, &seen, err));
    if (seen.kept) {
        qdq_validate_decide(v, g->item, g->n, QDQ_VALIDATE_REJECTED, seen.trial);
        v->bad++;
    } else if (seen.trial != SIZE_MAX && g->n > 1 &&
               may_be_seen(v, sqrt(seen.variance) - seen.saved)) {
        const size_t m = g->n / 2;
        const group first = {g->item, m, true}, rest = {g->item + m, g->n - m, true};
        if (!QDQ_PUSH(&v->s.scratch, halves, first) || !QDQ_PUSH(&v->s.scratch, halves, rest))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

qdq_status qdq_validate_backward(qdq_validate_state *v, qdq_error *err)
{
    groups all = {0};

    QDQ_TRY(find_groups(v, &all, err));
    qdq_search_ranked *at = qdq_arena_array(&v->s.scratch, all.n + 1, sizeof *at);
    if (at == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < all.n; i++)
        at[i] = (qdq_search_ranked){i, harm_of(v, &all.at[i])};
    qdq_search_rank(at, all.n);
    const size_t n = all.n;
    for (size_t i = 0; i < n && may_be_seen(v, at[i].hope) && builds_left(v) > 0 && !v->s.over;
         i++) {
        const group g = all.at[at[i].index];
        QDQ_TRY(try_without(v, &g, &all, err));
    }
    for (size_t i = n; i < all.n && builds_left(v) > 0 && !v->s.over; i++) {
        const group g = all.at[i];
        QDQ_TRY(try_without(v, &g, &all, err));
    }
    return QDQ_OK;
}
