/* tune_form_prices.c - which operator has which format in the next profile, and what all of them
 * say about each class. */
#include "tune/refine/tune_form_prices.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_profile.h"

/* One for the profile at hand, and two for trials. */
enum { FEWEST_LEFT = 2, USUAL_LEFT = 3 };

/* Times of a class in one format, at the pace of the base's profile. */
typedef struct cell {
    double sum, squares;
    unsigned n;
} cell;

typedef struct pricing {
    const qdq_form_pricing *with;
    qdq_form_prices *out;
    qdq_refining *x;
    const qdq_space *s;
    /* formats, the target's own last; that of the base is another one */
    size_t n_columns;
    /* by class and column */
    cell *cells;
    /* columns, the most promising first, and what each saves */
    size_t *order;
    double *saved;
    /* by column: not even a profile of its own shows its times */
    bool *failed;
    /* by first item: what the next profile has */
    size_t *chosen;
    /* by class and column: how many operators have it there */
    unsigned *planned;
    /* of the base: sum and unclassed */
    qdq_tune_prices base;
    /* the placements of all profiles: one of them again would say nothing new */
    QDQ_VEC(qdq_assign) taken;
    /* a mixture had no profile: each format on its own */
    bool alone;
    size_t profiles;
} pricing;

static cell *cell_of(const pricing *p, size_t class, size_t column)
{
    return &p->cells[class * (p->n_columns + 1) + column];
}

static double mean_of(const cell *c)
{
    return c->n > 0 ? c->sum / c->n : (double)NAN;
}

/* The operator's item of a column that is a choice; QDQ_NO_ITEM: none. */
static size_t item_in(const pricing *p, size_t first, size_t column)
{
    for (size_t i = first; i != QDQ_NO_ITEM; i = qdq_form_item_next(p->s, i))
        if (qdq_form_item_column(p->s, i) == column)
            return p->with->is_item(p->x, i) ? i : QDQ_NO_ITEM;
    return QDQ_NO_ITEM;
}

/* --- what the next profile has ---------------------------------------------------------------- */

/* The format of its class with the fewest samples, of equal ones the most promising. */
static size_t choose_mixed(const pricing *p, size_t first)
{
    const uint32_t class = p->x->kind[first];
    size_t best = QDQ_NO_ITEM;
    unsigned fewest = UINT32_MAX;

    for (size_t i = 0; i < p->n_columns; i++) {
        const size_t column = p->order[i], item = item_in(p, first, column);
        const unsigned n = cell_of(p, class, column)->n + p->planned[class * p->n_columns + column];

        if (item == QDQ_NO_ITEM || p->failed[column] || n >= fewest)
            continue;
        best = item;
        fewest = n;
    }
    return best;
}

/* Number of samples of a format in all classes. */
static unsigned count_samples(const pricing *p, size_t column)
{
    unsigned n = 0;

    for (size_t k = 0; k < p->out->n_classes; k++)
        n += cell_of(p, k, column)->n;
    return n;
}

/* The format of the next profile where each has its own; n_columns: none is left. */
static size_t next_alone(const pricing *p)
{
    for (size_t i = 0; i < p->n_columns; i++)
        if (!p->failed[i] && count_samples(p, i) == 0)
            return i;
    return p->n_columns;
}

static bool set_chosen(pricing *p, size_t first, size_t item, qdq_assign *a)
{
    p->chosen[first] = item;
    if (item == QDQ_NO_ITEM)
        return false;
    p->planned[p->x->kind[first] * p->n_columns + qdq_form_item_column(p->s, item)]++;
    qdq_form_item_set(p->s, a, item);
    return true;
}

/* Whose turn it is first moves on from profile to profile; p->alone: each has the format of this
 * column. *any: some operators have a format that is not the base's. */
static qdq_status mix(pricing *p, size_t column, qdq_assign *out, bool *any, qdq_error *err)
{
    unsigned *seen = qdq_arena_array(&p->x->arena, p->out->n_classes + 1, sizeof *seen);

    QDQ_NEED(seen != NULL && qdq_assign_copy(out, &p->x->base, &p->x->arena), err);
    memset(p->planned, 0, p->out->n_classes * p->n_columns * sizeof *p->planned);
    *any = false;
    for (int late = 1; late >= 0; late--) {
        memset(seen, 0, p->out->n_classes * sizeof *seen);
        for (size_t i = 0; i < p->s->n_formed; i = qdq_form_item_end(p->s, i)) {
            const uint32_t k = p->x->kind[i];
            if (k == QDQ_TUNE_NO_KIND ||
                (seen[k]++ >= p->profiles % p->out->n_equal[k]) != (late != 0))
                continue;
            *any |= set_chosen(p, i, p->alone ? item_in(p, i, column) : choose_mixed(p, i), out);
        }
    }
    return QDQ_OK;
}

/* --- what it shows ---------------------------------------------------------------------------- */

static qdq_tune_prices prices_of(const pricing *p, const qdq_tune_times *times)
{
    qdq_tune_prices out = {.sum = times->sum, .unclassed = times->sum, .known = true};

    for (size_t i = 0; i < p->s->n_formed; i = qdq_form_item_end(p->s, i))
        if (p->x->kind[i] != QDQ_TUNE_NO_KIND)
            out.unclassed -= p->x->time_of(p->x, i, times);
    return out;
}

static void add_sample(const pricing *p, size_t first, size_t column, double us)
{
    cell *c = cell_of(p, p->x->kind[first], column);

    c->sum += us;
    c->squares += us * us;
    c->n++;
}

static qdq_status take_base(pricing *p, qdq_error *err)
{
    const qdq_tune_times *times;

    QDQ_TRY(qdq_tune_times_of(p->x->t, &p->x->base, &times, err));
    if (times == NULL)
        return QDQ_OK;
    p->base = prices_of(p, times);
    for (size_t i = 0; i < p->s->n_formed; i = qdq_form_item_end(p->s, i))
        if (p->x->kind[i] != QDQ_TUNE_NO_KIND)
            add_sample(p, i, p->n_columns, p->x->time_of(p->x, i, times));
    return QDQ_OK;
}

/* By what operators save in each format, as a part of their time; a format that has no time yet
 * comes last: small classes have the most promising first, large ones have all. */
static void rank_columns(const pricing *p)
{
    double *saved = p->saved;

    for (size_t c = 0; c < p->n_columns; c++) {
        unsigned n = 0;

        saved[c] = 0;
        for (size_t k = 0; k < p->out->n_classes; k++)
            if (cell_of(p, k, c)->n > 0 && cell_of(p, k, p->n_columns)->sum > 0) {
                n += p->out->n_equal[k];
                saved[c] += p->out->n_equal[k] *
                            (1 - mean_of(cell_of(p, k, c)) / mean_of(cell_of(p, k, p->n_columns)));
            }
        saved[c] = n > 0 ? saved[c] / n : -INFINITY;
    }
    for (size_t i = 1; i < p->n_columns; i++)
        for (size_t k = i; k > 0 && saved[p->order[k]] > saved[p->order[k - 1]]; k--) {
            const size_t other = p->order[k];

            p->order[k] = p->order[k - 1];
            p->order[k - 1] = other;
        }
}

static qdq_status note_taken(pricing *p, const qdq_assign *a, bool *is_new, qdq_error *err)
{
    *is_new = true;
    for (size_t i = 0; i < p->taken.n; i++)
        *is_new = *is_new && !qdq_assign_equal(&p->taken.at[i], a);
    return qdq_allocated(!*is_new || QDQ_PUSH(&p->x->arena, &p->taken, *a), err);
}

/* *any: there was something to profile. */
static qdq_status take_profile(pricing *p, bool *any, qdq_error *err)
{
    const size_t column = p->alone ? next_alone(p) : p->n_columns;
    const qdq_tune_times *times = NULL;
    qdq_assign a;

    QDQ_TRY(mix(p, column, &a, any, err));
    if (*any)
        QDQ_TRY(note_taken(p, &a, any, err));
    if (*any)
        QDQ_TRY(qdq_tune_times_of(p->x->t, &a, &times, err));
    p->profiles++;
    if (times == NULL) {
        if (column < p->n_columns) /* also where no operator can have it */
            p->failed[column] = *any = true;
        p->alone = true;
        return QDQ_OK;
    }
    const qdq_tune_prices now = prices_of(p, times);
    const double pace = qdq_refine_pace(&p->base, &now);
    for (size_t i = 0; i < p->s->n_formed; i = qdq_form_item_end(p->s, i))
        if (p->x->kind[i] != QDQ_TUNE_NO_KIND && p->chosen[i] != QDQ_NO_ITEM)
            add_sample(p, i, qdq_form_item_column(p->s, p->chosen[i]),
                       pace * p->x->time_of(p->x, i, times));
    rank_columns(p);
    return QDQ_OK;
}

/* --- enough ----------------------------------------------------------------------------------- */

/* Noise of one sample as a part of its time, of all cells together. */
static double noise_of(const pricing *p)
{
    double sum = 0;
    unsigned n = 0;

    for (size_t i = 0; i < p->out->n_classes * (p->n_columns + 1); i++) {
        const cell *c = &p->cells[i];
        const double mean = mean_of(c);

        if (c->n < 2 || !(mean > 0))
            continue;
        sum += fmax(0, c->squares - c->n * mean * mean) / (mean * mean);
        n += c->n - 1;
    }
    return n > 0 ? sqrt(sum / n) : 0;
}

static double error_of(const cell *c, double noise)
{
    return c->n > 0 ? noise * mean_of(c) / sqrt(c->n) : (double)NAN;
}

/* hypot() would ask for glibc 2.35. */
double qdq_form_error_of_both(double a, double b)
{
    return sqrt(a * a + b * b);
}

/* The fastest format of a class, and another one that may be as fast. */
static bool is_in_doubt(const pricing *p, size_t class, double noise)
{
    const double sure = 2; /* standard errors */
    const cell *best = cell_of(p, class, p->n_columns);
    unsigned n = 0;

    for (size_t c = 0; c < p->n_columns; c++)
        if (mean_of(cell_of(p, class, c)) < mean_of(best))
            best = cell_of(p, class, c);
    for (size_t c = 0; c <= p->n_columns; c++) {
        const cell *other = cell_of(p, class, c);

        n += other->n > 0 &&
             mean_of(other) - mean_of(best) <
                 sure * qdq_form_error_of_both(error_of(best, noise), error_of(other, noise));
    }
    return n > 1;
}

/* A format that operators of the class can have has no time. */
static bool lacks_times(const pricing *p, size_t class)
{
    for (size_t i = 0; i < p->s->n_formed; i = qdq_form_item_end(p->s, i))
        for (size_t c = 0; p->x->kind[i] == class && c < p->n_columns; c++)
            if (cell_of(p, class, c)->n == 0 && !p->failed[c] && item_in(p, i, c) != QDQ_NO_ITEM)
                return true;
    return false;
}

static bool is_enough(const pricing *p)
{
    const double noise = noise_of(p);

    if (p->alone)
        return next_alone(p) == p->n_columns;
    for (size_t k = 0; k < p->out->n_classes; k++)
        if (lacks_times(p, k) || is_in_doubt(p, k, noise))
            return false;
    return true;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void write_prices(const pricing *p)
{
    const double noise = noise_of(p);
    qdq_form_prices *to = p->out;

    to->sum = p->base.known ? p->base.sum : (double)NAN;
    for (size_t i = 0; i < p->s->n_formed; i = qdq_form_item_end(p->s, i)) {
        const uint32_t k = p->x->kind[i];
        if (k == QDQ_TUNE_NO_KIND)
            continue;
        to->base_us[i] = mean_of(cell_of(p, k, p->n_columns));
        to->base_error[i] = error_of(cell_of(p, k, p->n_columns), noise);
        for (size_t c = 0; c < p->n_columns; c++) {
            const size_t item = item_in(p, i, c);
            if (item == QDQ_NO_ITEM)
                continue;
            to->us[item] = mean_of(cell_of(p, k, c));
            to->error[item] = error_of(cell_of(p, k, c), noise);
        }
    }
}

qdq_status qdq_form_prices_begin(const qdq_form_pricing *with, qdq_form_prices *out, qdq_error *err)
{
    qdq_refining *x = with->x;
    qdq_arena *arena = &x->arena;
    const size_t n = qdq_form_item_count(x->t->task.space) + 1;

    *out = (qdq_form_prices){.us = qdq_arena_array(arena, n, sizeof *out->us),
                             .error = qdq_arena_array(arena, n, sizeof *out->error),
                             .base_us = qdq_arena_array(arena, n, sizeof *out->base_us),
                             .base_error = qdq_arena_array(arena, n, sizeof *out->base_error),
                             .sum = NAN};
    QDQ_NEED(out->us != NULL && out->error != NULL && out->base_us != NULL &&
                 out->base_error != NULL,
             err);
    for (size_t i = 0; i < n; i++)
        out->us[i] = out->error[i] = out->base_us[i] = out->base_error[i] = NAN;
    QDQ_TRY(qdq_refine_find_classes(x, with->describe, err));
    out->n_classes = x->gain.n;
    return qdq_refine_count_items(x, &out->n_equal, err);
}

static qdq_status price(pricing *p, qdq_error *err)
{
    qdq_tune_candidate *base;
    bool any = true;

    QDQ_TRY(qdq_tune_candidate_of(p->x->t, &p->x->base, &base, err));
    if (base->times != NULL || qdq_tune_has_builds(p->x->t, p->x->stage, FEWEST_LEFT + 1))
        QDQ_TRY(take_base(p, err));
    while (p->base.known && any && p->profiles <= p->n_columns &&
           (p->profiles == 0 || !is_enough(p)) &&
           qdq_tune_has_builds(p->x->t, p->x->stage, p->profiles == 0 ? FEWEST_LEFT : USUAL_LEFT))
        QDQ_TRY(take_profile(p, &any, err));
    write_prices(p);
    return QDQ_OK;
}

qdq_status qdq_form_prices_find(const qdq_form_pricing *with, qdq_form_prices *out, qdq_error *err)
{
    const qdq_space *s = with->x->t->task.space;
    qdq_arena *arena = &with->x->arena;
    pricing p = {.with = with, .out = out, .x = with->x, .s = s, .n_columns = s->forms.n + 1};

    p.cells = qdq_arena_array(arena, out->n_classes * (p.n_columns + 1) + 1, sizeof *p.cells);
    p.order = qdq_arena_array(arena, p.n_columns, sizeof *p.order);
    p.saved = qdq_arena_array(arena, p.n_columns, sizeof *p.saved);
    p.failed = qdq_arena_array(arena, p.n_columns, sizeof *p.failed);
    p.chosen = qdq_arena_array(arena, s->n_formed + 1, sizeof *p.chosen);
    p.planned = qdq_arena_array(arena, out->n_classes * p.n_columns + 1, sizeof *p.planned);
    QDQ_NEED(p.cells != NULL && p.order != NULL && p.saved != NULL && p.failed != NULL &&
                 p.chosen != NULL && p.planned != NULL,
             err);
    for (size_t i = 0; i < p.n_columns; i++) /* the target's own is the most likely one */
        p.order[i] = i > 0 ? i - 1 : s->forms.n;
    return price(&p, err);
}
