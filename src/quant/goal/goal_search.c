/* goal_search.c - searches for the cheapest set of items that makes a goal hold. */
#include "quant/goal/goal_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

typedef struct ranked {
    double ratio, sensitivity, expected_bound;
    size_t item;
} ranked;

typedef struct search {
    /* the worst first */
    ranked *rank;
    size_t n;
    qdq_goal_try try_it;
    void *ctx;
    /* by item */
    bool *gone, *best;
    size_t n_gone;
    unsigned trials, max_trials;
    /* no more trials are allowed */
    bool is_last;
    /* and another one was due */
    bool cut;
    /* a set that holds, among those that came back */
    bool found;
} search;

static int by_ratio(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->ratio != y->ratio)
        return x->ratio < y->ratio ? 1 : -1;
    if (x->sensitivity != y->sensitivity)
        return x->sensitivity < y->sensitivity ? 1 : -1;
    return (x->item > y->item) - (x->item < y->item);
}

static int by_sensitivity(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->sensitivity != y->sensitivity)
        return x->sensitivity < y->sensitivity ? 1 : -1;
    return (x->item < y->item) - (x->item > y->item); /* not the order that failed before */
}

/* By worth, the least first: what comes back first brings the most, and is taken from the end. */
static int by_expected_bound(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->expected_bound != y->expected_bound)
        return x->expected_bound > y->expected_bound ? 1 : -1;
    return (x->item > y->item) - (x->item < y->item);
}

/* Asked when another trial is due. */
static bool is_left(search *s)
{
    s->cut |= s->is_last;
    return s->trials < s->max_trials;
}

static qdq_status try_set(search *s, qdq_goal_trial *t, qdq_error *err)
{
    *t = (qdq_goal_trial){.excess = NAN};
    s->trials++;
    QDQ_TRY(s->try_it(s->ctx, s->gone, s->n_gone, t, err));
    if (t->is_last) {
        s->max_trials = s->trials;
        s->is_last = true;
    }
    return QDQ_OK;
}

static void take_first(search *s, size_t k)
{
    memset(s->gone, 0, s->n * sizeof *s->gone);
    for (size_t i = 0; i < k; i++)
        s->gone[s->rank[i].item] = true;
    s->n_gone = k;
}

/* How many have to go so that what stays is no more than 1 / excess of the harm. */
static size_t first_guess(const search *s, double excess)
{
    double total = 0, stays;
    size_t k = 0;

    for (size_t i = 0; i < s->n; i++)
        total += s->rank[i].sensitivity;
    if (!(excess > 1) || !isfinite(total) || total <= 0)
        return 1;
    for (stays = total; k < s->n && stays > total / excess; k++)
        stays -= s->rank[k].sensitivity;
    return k < 1 ? 1 : k;
}

/* After k were too few: as many as what was found asks for, but not many times as many at once. */
static size_t next_guess(const search *s, size_t k, double excess)
{
    double stays = 0, most;
    size_t next = k;

    for (size_t i = k; i < s->n; i++)
        stays += s->rank[i].sensitivity;
    most = excess > 1 && isfinite(excess) ? stays / excess : 0;
    for (; next < s->n && stays > most; next++)
        stays -= s->rank[next].sensitivity;
    return next < k + k / 2 + 1 ? k + k / 2 + 1 : next > 2 * k ? 2 * k : next;
}

/* The least prefix that holds, as far as trials go; 0: none does. */
static qdq_status find_prefix(search *s, size_t k, size_t *out, qdq_error *err)
{
    size_t low = 0, high = 0, most = s->n - 1, less = 1;
    qdq_goal_trial t;

    while (most > 0 && is_left(s)) {
        k = k > most ? most : k;
        take_first(s, k);
        QDQ_TRY(try_set(s, &t, err));
        if (t.holds)
            high = k;
        else if (t.is_float && high == 0) {
            most = k - 1;
            if (most == low)
                break;
            /* rules may leave many of those in float that are alone then */
            k = most > low + less ? most + 1 - less : low + 1;
            less *= 2;
            continue;
        } else if (k == most)
            break;
        else
            low = k;
        if (high > 0 && high - low <= 1)
            break;
        k = high > 0          ? low + (high - low) / 2
            : most < s->n - 1 ? low + (most - low + 1) / 2
                              : next_guess(s, k, t.excess);
    }
    *out = high;
    return QDQ_OK;
}

typedef struct group {
    size_t first, n;
    /* half: its other half lies under it on the stack */
    bool is_second;
    /* with what came back since, all of it would be a set that failed */
    bool hopeless;
} group;

static void push_halves(group *todo, size_t *n_todo, group g)
{
    todo[(*n_todo)++] = (group){g.first, g.n / 2, false, false};
    todo[(*n_todo)++] = (group){g.first + g.n / 2, g.n - g.n / 2, true, false};
}

static void move(search *s, const ranked *back, group g, bool gone)
{
    for (size_t i = g.first; i < g.first + g.n; i++)
        s->gone[back[i].item] = gone;
    s->n_gone = gone ? s->n_gone + g.n : s->n_gone - g.n;
}

/* This many failures in a row are what finding one item that must stay gone takes, and a little
 * more. */
static unsigned patience(size_t n)
{
    unsigned failures = 2;

    while (n > 1) {
        n -= n / 2;
        failures++;
    }
    return failures;
}

/* Lets items of the prefix come back. `back` has them by worth; groups that cannot come back are
 * halved. all_failed: so are all of them, untried. */
static qdq_status give_back(search *s, ranked *back, size_t n, bool all_failed, qdq_arena *arena,
                            qdq_error *err)
{
    group *todo = qdq_arena_array(arena, n + 1, sizeof *todo);
    unsigned failures = 0;
    size_t n_todo = 0;
    qdq_goal_trial t;

    QDQ_NEED(todo != NULL, err);
    if (n > 1)
        qsort(back, n, sizeof *back, by_expected_bound);
    if (n > 1 && all_failed)
        push_halves(todo, &n_todo, (group){0, n, false, false});
    else if (!all_failed)
        todo[n_todo++] = (group){0, n, false, false};
    while (n_todo > 0 && failures < patience(n) && is_left(s)) {
        group g = todo[--n_todo];

        if (!g.hopeless) {
            move(s, back, g, false);
            QDQ_TRY(try_set(s, &t, err));
            if (t.holds) {
                s->found = true;
                memcpy(s->best, s->gone, s->n * sizeof *s->best);
                failures = 0;
                if (g.is_second)
                    todo[n_todo - 1].hopeless = true; /* the two together failed */
                continue;
            }
            move(s, back, g, true);
            failures++;
        }
        if (g.n > 1)
            push_halves(todo, &n_todo, g);
    }
    return QDQ_OK;
}

static qdq_status search_items(search *s, qdq_arena *arena, qdq_goal_search_result *out,
                               qdq_error *err)
{
    qdq_goal_trial t;
    size_t k;

    QDQ_TRY(try_set(s, &t, err));
    out->reached = t.holds;
    if (t.holds || s->n == 0)
        return QDQ_OK;
    QDQ_TRY(find_prefix(s, first_guess(s, t.excess), &k, err));
    /* what stays is worth much and harms much: now what harms least stays */
    if (k == 0 && s->n > 2) {
        qsort(s->rank, s->n, sizeof *s->rank, by_sensitivity);
        QDQ_TRY(find_prefix(s, s->n - s->n / 4 - 1, &k, err));
    }
    out->reached = k > 0;
    if (k == 0) {
        memcpy(s->best, s->gone, s->n * sizeof *s->best);
        return QDQ_OK;
    }
    take_first(s, k);
    memcpy(s->best, s->gone, s->n * sizeof *s->best);
    ranked *back = qdq_arena_array(arena, k, sizeof *back);
    QDQ_NEED(back != NULL, err);
    memcpy(back, s->rank, k * sizeof *back);
    return give_back(s, back, k, true, arena, err);
}

static qdq_status start(search *s, const qdq_goal_item *items, qdq_arena *arena, qdq_error *err)
{
    s->rank = qdq_arena_array(arena, s->n + 1, sizeof *s->rank);
    s->gone = qdq_arena_array(arena, s->n + 1, sizeof *s->gone);
    s->best = qdq_arena_array(arena, s->n + 1, sizeof *s->best);
    QDQ_NEED(s->rank != NULL && s->gone != NULL && s->best != NULL, err);
    for (size_t i = 0; i < s->n; i++) {
        double expected_bound = items[i].expected_bound > 0 ? items[i].expected_bound : 0;

        s->rank[i] = (ranked){items[i].sensitivity / (expected_bound + 1e-9), items[i].sensitivity,
                              expected_bound, i};
    }
    if (s->n > 1)
        qsort(s->rank, s->n, sizeof *s->rank, by_ratio);
    return QDQ_OK;
}

qdq_status qdq_goal_search(const qdq_goal_item *items, size_t n, unsigned max_trials,
                           qdq_goal_try try_it, void *ctx, qdq_arena *arena,
                           qdq_goal_search_result *out, qdq_error *err)
{
    search s = {
        .n = n, .try_it = try_it, .ctx = ctx, .max_trials = max_trials > 0 ? max_trials : 1};

    *out = (qdq_goal_search_result){.reached = false};
    QDQ_TRY(start(&s, items, arena, err));
    qdq_status st = search_items(&s, arena, out, err);
    out->gone = s.best;
    out->trials = s.trials;
    out->cut = s.cut;
    return st;
}

qdq_status qdq_goal_search_back(const qdq_goal_item *items, size_t n, unsigned max_trials,
                                qdq_goal_try try_it, void *ctx, qdq_arena *arena,
                                qdq_goal_search_result *out, qdq_error *err)
{
    search s = {.n = n, .try_it = try_it, .ctx = ctx, .max_trials = max_trials};

    *out = (qdq_goal_search_result){.reached = false};
    QDQ_TRY(start(&s, items, arena, err));
    take_first(&s, n);
    memcpy(s.best, s.gone, n * sizeof *s.best);
    qdq_status st = n > 0 ? give_back(&s, s.rank, n, false, arena, err) : QDQ_OK;
    out->gone = s.best;
    out->reached = s.found;
    out->trials = s.trials;
    out->cut = s.cut;
    return st;
}
