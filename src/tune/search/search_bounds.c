/* search_bounds.c - what may be hoped for: profiles of nothing, of everything and of the incumbent
 * say of each bit what flipping it could save at most. A candidate whose bits together promise
 * nothing is not built: on a model that runs on codes almost everywhere, that is most of them.
 * Profiles rule out, measuring decides. */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "tune/search/search_state.h"

/* Kernels are timed one by one there, with less care than models: so much of a kernel's time may be
 * wrong. */
static const double doubt = 0.1;

/* Without better knowledge: all that the kernel takes in float. */
static void bound_by_float_time(qdq_search_state *s)
{
    for (size_t i = 0; i < s->p->n_bits; i++)
        s->bound[i] = s->p->base_ns > 0 ? s->float_ns[i] / s->p->base_ns : 0;
}

qdq_status qdq_search_bounds_init(qdq_search_state *s, qdq_error *err)
{
    const size_t n = s->p->n_bits;

    s->bound = qdq_arena_array(&s->scratch, n + 1, sizeof *s->bound);
    s->off = qdq_arena_array(&s->scratch, n + 1, sizeof *s->off);
    s->on = qdq_arena_array(&s->scratch, n + 1, sizeof *s->on);
    s->now = qdq_arena_array(&s->scratch, n + 1, sizeof *s->now);
    QDQ_NEED(s->bound != NULL && s->off != NULL && s->on != NULL && s->now != NULL, err);
    bound_by_float_time(s);
    s->is_profiled = s->ops->profile == NULL;
    return QDQ_OK;
}

/* A profile's shares of a model's time as shares of the baseline's. It takes a session, which the
 * budget must have. */
static qdq_status profile_assignment(qdq_search_state *s, const qdq_assign *a, double time,
                                     qdq_search_cost *cost, bool *known, qdq_error *err)
{
    *known = false;
    if (s->ops->profile == NULL || isnan(time) || !qdq_search_budget_left(s))
        return QDQ_OK;
    QDQ_TRY(s->ops->profile(s->ops->ctx, a, cost, known, err));
    for (size_t i = 0; i < s->p->n_bits && *known; i++) {
        cost[i].own *= time;
        cost[i].boundary *= time;
    }
    return QDQ_OK;
}

qdq_status qdq_search_profile_ends(qdq_search_state *s, bool *known, qdq_error *err)
{
    double time;

    for (size_t i = 0; i < s->p->n_bits; i++)
        qdq_assign_set(&s->candidate, i, qdq_search_allows(s, i));
    QDQ_TRY(qdq_search_known_time(s, &s->candidate, &time, err));
    QDQ_TRY(profile_assignment(s, &s->candidate, time, s->on, &s->has_on, err));
    *known = s->has_on;
    return s->has_on ? profile_assignment(s, &s->p->start[0], 1, s->off, known, err) : QDQ_OK;
}

/* What a boundary costs where there is one, on average. */
static double typical_boundary(const qdq_search_state *s)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->p->n_bits; i++) {
        sum += s->on[i].boundary + s->off[i].boundary;
        n += (s->on[i].boundary > 0) + (s->off[i].boundary > 0);
    }
    return n > 0 ? sum / (double)n : 0;
}

bool qdq_search_by_profile(qdq_search_state *s, double boundaries)
{
    const size_t n = s->p->n_bits;
    const double change = boundaries * typical_boundary(s);
    bool *from_on[2]; /* by state and bit: is the bit before on in the cheapest way here? */
    double least[2] = {0, 0};

    for (int on = 0; on < 2; on++)
        if ((from_on[on] = qdq_arena_array(&s->scratch, n + 1, sizeof *from_on[on])) == NULL)
            return false;
    for (size_t i = 0; i < n; i++) {
        const double off = least[0], other = least[1];
        from_on[0][i] = other + change < off;
        from_on[1][i] = !(off + change < other);
        least[0] = fmin(off, other + change) + s->off[i].own;
        least[1] = fmin(other, off + change) + s->on[i].own;
    }
    bool on = least[1] < least[0];
    for (size_t i = n; i-- > 0;) {
        qdq_assign_set(&s->candidate, i, on && qdq_search_allows(s, i));
        on = from_on[on][i];
    }
    return true;
}

/* Without a profile of everything a bit could cost nothing when it is on. */
static double other_own(const qdq_search_state *s, size_t bit)
{
    if (qdq_assign_get(&s->incumbent, bit))
        return s->off[bit].own;
    return s->has_on ? s->on[bit].own : 0;
}

qdq_status qdq_search_bounds_update(qdq_search_state *s, qdq_error *err)
{
    bool known, base_known;

    if (s->is_profiled)
        return QDQ_OK;
    s->is_profiled = true;
    QDQ_TRY(profile_assignment(s, &s->p->start[0], 1, s->off, &base_known, err));
    QDQ_TRY(profile_assignment(s, &s->incumbent, s->time, s->now, &known, err));
    s->rules_out = known && base_known;
    if (!s->rules_out)
        bound_by_float_time(s);
    for (size_t i = 0; i < s->p->n_bits && s->rules_out; i++) {
        const double own = s->now[i].own, other = other_own(s, i);
        s->bound[i] = own + s->now[i].boundary - other + doubt * fmax(own, other);
    }
    return QDQ_OK;
}

bool qdq_search_is_hopeful(const qdq_search_state *s)
{
    double sum = 0;

    if (!s->rules_out)
        return true;
    for (size_t i = 0; i < s->p->n_bits; i++)
        if (qdq_assign_get(&s->candidate, i) != qdq_assign_get(&s->incumbent, i))
            sum += s->bound[i];
    return qdq_search_matters(s, sum);
}

double qdq_search_choice_bound(const qdq_search_state *s, const qdq_search_unit *u, size_t choice)
{
    double sum = 0;

    for (size_t i = 0; i < u->n_instances; i++)
        if (u->choice[choice].bit[i] != UINT32_MAX)
            sum += fmax(s->bound[u->choice[choice].bit[i]], 0);
    return sum;
}

/* --- what is tried first ---------------------------------------------------------------------- */

static int by_bound(const void *a, const void *b)
{
    const qdq_search_ranked *x = a, *y = b;

    if (x->bound != y->bound)
        return x->bound > y->bound ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

void qdq_search_rank(qdq_search_ranked *at, size_t n)
{
    qsort(at, n, sizeof *at, by_bound);
}
