/* validate_sets.c - a set that brings less than it promised is halved, first between components,
 * then inside one, and the worst half goes on. What is on is tried without a half, what is off with
 * one; of the other half it is often known what it saves, because the whole was measured. */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "tune/validate/validate_state.h"

/* --- order ------------------------------------------------------------------------------------ */

static uint32_t root(uint32_t *component, uint32_t i)
{
    while (component[i] != i)
        i = component[i] = component[component[i]];
    return i;
}

void qdq_validate_connect(const qdq_validate_state *v, bool only_on, uint32_t *component)
{
    for (uint32_t i = 0; i < v->p->n_items; i++)
        component[i] = i;
    for (size_t k = 0; k < v->p->n_links; k++) {
        const qdq_validate_link l = v->p->link[k];
        if (only_on && !(v->on[l.a] && v->on[l.b]))
            continue;
        const uint32_t a = root(component, l.a), b = root(component, l.b);
        component[a > b ? a : b] = a > b ? b : a;
    }
    for (uint32_t i = 0; i < v->p->n_items; i++)
        component[i] = root(component, i);
}

typedef struct placed {
    double saves; /* of its component */
    uint32_t component, place, item;
} placed;

static int by_order(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    if (x->saves != y->saves)
        return x->saves > y->saves ? -1 : 1;
    if (x->component != y->component)
        return x->component < y->component ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->item < y->item ? -1 : 1;
}

qdq_status qdq_validate_arrange(qdq_validate_state *v, qdq_error *err)
{
    const size_t n = v->p->n_items;
    placed *at = qdq_arena_array(&v->s.scratch, n + 1, sizeof *at);
    double *saves = qdq_arena_array(&v->s.scratch, n + 1, sizeof *saves);

    v->order = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->order);
    v->component = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->component);
    if (at == NULL || saves == NULL || v->order == NULL || v->component == NULL)
        return qdq_nomem(err);
    qdq_validate_connect(v, false, v->component);
    for (size_t i = 0; i < n; i++)
        saves[v->component[i]] += isnan(v->p->item[i].saves) ? 0 : v->p->item[i].saves;
    for (uint32_t i = 0; i < n; i++)
        at[i] = (placed){saves[v->component[i]], v->component[i], v->p->item[i].place, i};
    qsort(at, n, sizeof *at, by_order);
    for (size_t i = 0; i < n; i++)
        v->order[i] = at[i].item;
    return QDQ_OK;
}

static bool is_border(const qdq_validate_state *v, size_t at)
{
    return v->component[v->order[at - 1]] != v->component[v->order[at]];
}

/* Where a row of two or more is cut: between components, as near to the middle as can be. */
static size_t middle_of(const qdq_validate_state *v, size_t low, size_t high)
{
    const size_t middle = low + (high - low) / 2;

    for (size_t d = 0; d <= (high - low) / 2; d++) {
        if (middle >= low + 1 + d && is_border(v, middle - d))
            return middle - d;
        if (middle + d < high && is_border(v, middle + d))
            return middle + d;
    }
    return middle;
}

static const char *move_of(const qdq_validate_state *v, size_t low, size_t high, bool without)
{
    const bool starts = low == 0 || is_border(v, low),
               ends = high == v->p->n_items || is_border(v, high),
               is_one = v->component[v->order[low]] == v->component[v->order[high - 1]];

    if (high - low == 1)
        return without ? "without a group" : "a group";
    if (!is_one)
        return without ? "without several components" : "several components";
    if (starts && ends)
        return without ? "without a component" : "a component";
    return without ? "without half of a component" : "half of a component";
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool is_on(const qdq_validate_state *v, const qdq_validate_part *p)
{
    return v->on[v->order[p->low]];
}

static qdq_validate_promise promise_of(const qdq_validate_state *v, const qdq_validate_part *p)
{
    return qdq_validate_sum(v, &v->order[p->low], p->high - p->low);
}

/* Where nothing was promised it is what was lost, and what is unknown comes last. */
static double urgency_of(const qdq_validate_state *v, const qdq_validate_part *p)
{
    const qdq_validate_promise all = promise_of(v, p);

    if (isnan(p->saved))
        return -INFINITY;
    return (isnan(all.saves) ? 0 : all.saves) - p->saved;
}

static qdq_status push(qdq_validate_state *v, qdq_validate_part p, qdq_error *err)
{
    p.urgency = urgency_of(v, &p);
    return QDQ_PUSH(&v->s.scratch, &v->parts, p) ? QDQ_OK : qdq_nomem(err);
}

static qdq_validate_part pop(qdq_validate_state *v)
{
    size_t worst = 0;

    for (size_t i = 1; i < v->parts.n; i++)
        if (v->parts.at[i].urgency > v->parts.at[worst].urgency)
            worst = i;
    const qdq_validate_part p = v->parts.at[worst];
    v->parts.at[worst] = v->parts.at[--v->parts.n];
    return p;
}

static bool falls_short(const qdq_validate_state *v, const qdq_validate_part *p)
{
    const qdq_validate_promise all = promise_of(v, p);

    return qdq_validate_is_short(v, &all, p->saved, p->variance);
}

static void keep(qdq_validate_state *v, const qdq_validate_part *p)
{
    const qdq_validate_promise all = promise_of(v, p);
    const size_t n = p->high - p->low;

    for (size_t i = p->low; i < p->high; i++)
        v->hidden[v->order[i]] = qdq_validate_doubt(&all, p->saved, p->variance);
    qdq_validate_decide(v, &v->order[p->low], n, QDQ_VALIDATE_KEPT, p->trial);
    v->good += n;
}

/* A single item. One that was taken away was better off that way. */
static void refuse(qdq_validate_state *v, const qdq_validate_part *p, const qdq_validate_seen *seen,
                   bool was_on)
{
    qdq_validate_decide(v, &v->order[p->low], 1,
                        seen->failed               ? QDQ_VALIDATE_FAILED
                        : seen->unclear && !was_on ? QDQ_VALIDATE_UNDECIDED
                                                   : QDQ_VALIDATE_REJECTED,
                        p->trial);
    v->alone[v->order[p->low]] = !seen->failed;
    v->bad++;
}

/* What a trial of a part means for it: it is decided, or goes on. `was_on`: before the trial. */
static qdq_status conclude(qdq_validate_state *v, qdq_validate_part p,
                           const qdq_validate_seen *seen, bool was_on, qdq_error *err)
{
    const bool is_one = p.high - p.low == 1;

    p.saved = seen->saved;
    p.variance = seen->variance;
    p.trial = seen->trial;
    if (is_on(v, &p)) {
        if (!is_one && falls_short(v, &p))
            return push(v, p, err);
        keep(v, &p);
        return QDQ_OK;
    }
    if (!is_one)
        return push(v, p, err);
    refuse(v, &p, seen, was_on);
    return QDQ_OK;
}

/* Tries a part, unless it is off and too small to be seen. */
static qdq_status examine(qdq_validate_state *v, const qdq_validate_part *p,
                          qdq_validate_seen *seen, qdq_error *err)
{
    const size_t n = p->high - p->low;
    const qdq_validate_promise all = promise_of(v, p);
    const bool was_on = is_on(v, p);

    *seen = (qdq_validate_seen){.saved = NAN, .trial = SIZE_MAX};
    if (!was_on && !qdq_validate_matters(v, &all)) {
        qdq_validate_decide(v, &v->order[p->low], n, QDQ_VALIDATE_UNDECIDED, p->trial);
        return QDQ_OK;
    }
    QDQ_TRY(qdq_validate_try(v, &v->order[p->low], n, move_of(v, p->low, p->high, was_on),
                             (double)n, seen, err));
    return seen->trial != SIZE_MAX ? conclude(v, *p, seen, was_on, err) : QDQ_OK;
}

/* --- halves ----------------------------------------------------------------------------------- */

/* The other half, after the first was tried: what it saves is the rest, if both are known. A model
 * that fails although its first half can be built has the reason in the other one. */
static qdq_status examine_rest(qdq_validate_state *v, qdq_validate_part rest, bool whole_failed,
                               bool first_failed, qdq_error *err)
{
    qdq_validate_seen ignored;

    if (whole_failed && !first_failed)
        return push(v, rest, err);
    if (!isnan(rest.saved) && falls_short(v, &rest))
        return push(v, rest, err);
    if (!is_on(v, &rest) || isnan(rest.saved))
        return examine(v, &rest, &ignored, err);
    keep(v, &rest);
    return QDQ_OK;
}

static qdq_status halve(qdq_validate_state *v, const qdq_validate_part *whole, qdq_error *err)
{
    enum { WORSE = 4 };
    const size_t middle = middle_of(v, whole->low, whole->high);
    qdq_validate_part first = *whole, rest = *whole;
    qdq_validate_seen seen;

    first.high = rest.low = middle;
    QDQ_TRY(examine(v, &first, &seen, err));
    if (v->s.over)
        return QDQ_OK;
    rest.saved = whole->saved - seen.saved;
    rest.variance = whole->variance + seen.variance;
    if (rest.variance > WORSE * seen.variance)
        rest.saved = NAN; /* inferred too often: to be measured */
    return examine_rest(v, rest, isnan(whole->saved), seen.failed, err);
}

/* Halving costs more than trying all where every fifth is bad. */
static bool is_hopeless(const qdq_validate_state *v)
{
    enum { SOME = 3, ONE_IN = 5 };

    return v->bad >= SOME && ONE_IN * v->bad > v->good + v->bad;
}

/* Single items from now on, those first that promise most. */
static qdq_status go_one_by_one(qdq_validate_state *v, qdq_error *err)
{
    const size_t n = v->parts.n;

    v->out->linear = true;
    for (size_t k = 0; k < n; k++) {
        qdq_validate_part p = v->parts.at[k];
        for (size_t i = p.low; i < p.high; i++) {
            const double saves = v->p->item[v->order[i]].saves;
            const qdq_validate_part one = {
                i, i + 1, NAN, 0, isnan(saves) ? 0 : saves, v->parts.at[k].trial};
            if (!QDQ_PUSH(&v->s.scratch, &v->parts, one))
                return qdq_nomem(err);
        }
    }
    for (size_t i = n; i < v->parts.n; i++)
        v->parts.at[i - n] = v->parts.at[i];
    v->parts.n -= n;
    return QDQ_OK;
}

qdq_status qdq_validate_halve(qdq_validate_state *v, size_t low, size_t high,
                              const qdq_validate_seen *seen, qdq_error *err)
{
    const qdq_validate_part all = {.low = low, .high = high};
    qdq_validate_seen ignored;

    QDQ_TRY(conclude(v, all, seen, false, err));
    while (v->parts.n > 0 && !v->s.over) {
        if (!v->out->linear && is_hopeless(v))
            QDQ_TRY(go_one_by_one(v, err));
        const qdq_validate_part p = pop(v);
        if (p.high - p.low > 1)
            QDQ_TRY(halve(v, &p, err));
        else
            QDQ_TRY(examine(v, &p, &ignored, err));
    }
    return QDQ_OK;
}
