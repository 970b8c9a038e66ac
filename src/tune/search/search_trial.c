/* search_trial.c - a candidate against the incumbent, whatever strategy proposes it: what is known
 * is not measured again, the budget is kept, and the incumbent changes by a measurement alone. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/search/search_state.h"

void qdq_search_reset(qdq_search_state *s)
{
    qdq_assign_take(&s->candidate, &s->incumbent);
}

bool qdq_search_allows(const qdq_search_state *s, size_t bit)
{
    return s->p->allowed == NULL || qdq_assign_get(s->p->allowed, bit);
}

bool qdq_search_matters(const qdq_search_state *s, double share)
{
    return share > fmax(s->noise, s->opts->test.enter) * s->time;
}

/* --- one candidate ---------------------------------------------------------------------------- */

static qdq_status identify(qdq_search_state *s, const qdq_assign *a, uint64_t *out, qdq_error *err)
{
    qdq_assign_hash h = qdq_assign_get_hash(a);

    if (s->ops->identity != NULL)
        QDQ_TRY(s->ops->identity(s->ops->ctx, a, &h, err));
    *out = qdq_assign_hash_key(h);
    return QDQ_OK;
}

static qdq_status remember_time(qdq_search_state *s, uint64_t identity, qdq_search_known known,
                                qdq_error *err)
{
    bool is_new;
    qdq_map_value *place = qdq_map_put_int(&s->measured, identity, &is_new);

    QDQ_NEED(place != NULL && (!is_new || QDQ_PUSH(&s->scratch, &s->known, known)), err);
    if (is_new)
        place->num = s->known.n - 1;
    s->known.at[place->num] = known;
    return QDQ_OK;
}

/* NULL: it was not measured. */
static const qdq_search_known *recall_time(const qdq_search_state *s, uint64_t identity)
{
    const qdq_map_value *place = qdq_map_get_int(&s->measured, identity);

    return place != NULL ? &s->known.at[place->num] : NULL;
}

unsigned qdq_search_builds(const qdq_search_state *s)
{
    return s->ops->builds != NULL ? s->ops->builds(s->ops->ctx) : 0;
}

bool qdq_search_budget_left(qdq_search_state *s)
{
    const qdq_search_opts *o = s->opts;
    const unsigned beyond = o->seeds_beyond ? s->of_seeds : 0;

    if ((o->max_trials > 0 && s->out->trials >= o->max_trials) ||
        (o->max_builds > 0 && qdq_search_builds(s) >= o->max_builds + beyond))
        s->over = true;
    return !s->over;
}

qdq_status qdq_search_measure(const qdq_search_ops *ops, const qdq_test_opts *test,
                              qdq_search_event *e, double *time, qdq_search_result *found,
                              qdq_tried *out, qdq_error *err)
{
    *out = (qdq_tried){.time = NAN};
    qdq_status st =
        ops->measure(ops->ctx, e->incumbent, e->candidate, test, &out->result, &out->failed, err);
    if (st == QDQ_E_GOAL) {
        found->ended_early = out->failed = true;
        return QDQ_OK;
    }
    QDQ_TRY(st);
    found->trials++;
    found->pairs += out->result.pairs;
    out->measured = true;
    out->time = out->failed ? INFINITY : *time * (1 - out->result.gain);
    out->accepted = !out->failed && out->result.verdict == QDQ_VERDICT_KEEP;
    if (out->accepted)
        *time = out->time;
    e->result = out->failed ? NULL : &out->result;
    e->accepted = out->accepted;
    e->saved = 1 - *time;
    return ops->event != NULL ? ops->event(ops->ctx, e, err) : QDQ_OK;
}

static qdq_search_event event_of(const qdq_search_state *s, size_t unit)
{
    return (qdq_search_event){.phase = s->phase,
                              .move = s->move,
                              .unit = unit,
                              .n_units = s->p->n_units,
                              .incumbent = &s->incumbent,
                              .candidate = &s->candidate,
                              .saved = 1 - s->time};
}

static void make_incumbent(qdq_search_state *s, double time)
{
    qdq_assign_take(&s->incumbent, &s->candidate);
    s->time = time;
    s->is_profiled = false;
}

/* mine, now: identities of the candidate and the incumbent. */
static qdq_status measure_candidate(qdq_search_state *s, size_t unit, uint64_t mine, uint64_t now,
                                    qdq_tried *out, qdq_error *err)
{
    qdq_search_event e = event_of(s, unit);
    const double before = s->time;

    QDQ_TRY(qdq_search_measure(s->ops, &s->opts->test, &e, &s->time, s->out, out, err));
    s->over = !out->measured;
    if (s->over)
        return QDQ_OK;
    if (!out->failed)
        s->noise = out->result.sd / sqrt(s->opts->test.max_pairs);
    if (out->accepted) {
        if (unit != SIZE_MAX)
            s->out->unit[unit].gain += before - out->time;
        make_incumbent(s, out->time);
    }
    return remember_time(s, mine, (qdq_search_known){out->time, now, out->accepted}, err);
}

qdq_status qdq_search_known_time(qdq_search_state *s, const qdq_assign *a, double *out,
                                 qdq_error *err)
{
    uint64_t name;

    QDQ_TRY(identify(s, a, &name, err));
    const qdq_search_known *known = recall_time(s, name);
    *out = known != NULL && isfinite(known->time) ? known->time : NAN;
    return QDQ_OK;
}

/* Starts are measured whatever they promise; what comes later builds on profiles. */
static qdq_status may_save(qdq_search_state *s, bool *may_gain, qdq_error *err)
{
    *may_gain = qdq_search_budget_left(s);
    if (s->phase == QDQ_PHASE_START || !*may_gain)
        return QDQ_OK;
    QDQ_TRY(qdq_search_bounds_update(s, err));
    *may_gain = qdq_search_is_hopeful(s);
    s->out->ruled_out += !*may_gain;
    *may_gain = *may_gain && qdq_search_budget_left(s); /* the profile was a build, too */
    return QDQ_OK;
}

qdq_status qdq_search_try(qdq_search_state *s, size_t unit, qdq_tried *out, qdq_error *err)
{
    uint64_t mine, now;
    bool may_gain;

    *out = (qdq_tried){.time = NAN};
    QDQ_TRY(identify(s, &s->candidate, &mine, err));
    QDQ_TRY(identify(s, &s->incumbent, &now, err));
    if (mine == now) {
        out->time = s->time;
        return QDQ_OK;
    }
    const qdq_search_known *known = recall_time(s, mine);
    if (known != NULL) {
        out->time = known->time;
        if (!(out->time < s->time * (1 - s->opts->test.enter)))
            return QDQ_OK;
        if (known->against == now) { /* the same two would run the same pairs once more */
            out->accepted = known->accepted;
            if (out->accepted)
                make_incumbent(s, out->time);
            return QDQ_OK;
        }
    }
    QDQ_TRY(may_save(s, &may_gain, err));
    return may_gain ? measure_candidate(s, unit, mine, now, out, err) : QDQ_OK;
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* Each bit belongs to at most one unit. */
static qdq_status weigh_bits(qdq_search_state *s, qdq_error *err)
{
    const qdq_search_problem *p = s->p;

    s->float_ns = qdq_arena_array(&s->scratch, p->n_bits + 1, sizeof *s->float_ns);
    s->unit_of = qdq_arena_array(&s->scratch, p->n_bits + 1, sizeof *s->unit_of);
    s->out->unit = qdq_arena_array(s->arena, p->n_units + 1, sizeof *s->out->unit);
    QDQ_NEED(s->float_ns != NULL && s->unit_of != NULL && s->out->unit != NULL, err);
    memset(s->unit_of, 0xff, (p->n_bits + 1) * sizeof *s->unit_of);
    for (size_t u = 0; u < p->n_units; u++) {
        const qdq_search_unit *unit = &p->unit[u];
        for (size_t c = 0; c < unit->n_choices; c++)
            for (size_t i = 0; i < unit->n_instances; i++) {
                uint32_t bit = unit->choice[c].bit[i];
                if (bit == UINT32_MAX)
                    continue;
                s->float_ns[bit] = unit->choice[c].float_ns / (double)unit->n_instances;
                s->unit_of[bit] = (uint32_t)u;
                s->total_float_ns += s->float_ns[bit];
            }
    }
    return qdq_search_bounds_init(s, err);
}

/* Did an earlier run find the candidate slower than the incumbent is now? */
static qdq_status is_beaten(qdq_search_state *s, bool *beaten, qdq_error *err)
{
    uint64_t mine, now;
    double share;

    *beaten = false;
    if (s->ops->known_share == NULL)
        return QDQ_OK;
    QDQ_TRY(s->ops->known_share(s->ops->ctx, &s->candidate, &share, err));
    *beaten = share > s->time * (1 + s->opts->test.enter);
    if (!*beaten)
        return QDQ_OK;
    QDQ_TRY(identify(s, &s->candidate, &mine, err));
    QDQ_TRY(identify(s, &s->incumbent, &now, err));
    return mine == now ? QDQ_OK
                       : remember_time(s, mine, (qdq_search_known){share, now, false}, err);
}

static qdq_status measure_starts(qdq_search_state *s, qdq_error *err)
{
    const qdq_search_problem *p = s->p;
    uint64_t base;

    if (p->n_starts == 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "a search without a start: expected at least the baseline");
    QDQ_NEED(qdq_assign_copy(&s->incumbent, &p->start[0], &s->scratch) &&
                 qdq_assign_copy(&s->candidate, &p->start[0], &s->scratch),
             err);
    s->time = 1;
    QDQ_TRY(identify(s, &s->incumbent, &base, err));
    QDQ_TRY(remember_time(s, base, (qdq_search_known){1, base, false}, err));
    s->phase = QDQ_PHASE_START;
    for (size_t i = 1; i < p->n_starts && !s->over; i++) {
        const unsigned builds = qdq_search_builds(s);
        qdq_tried t = {0};
        bool beaten;
        s->move = p->start_name[i];
        qdq_assign_take(&s->candidate, &p->start[i]);
        QDQ_TRY(is_beaten(s, &beaten, err));
        if (!beaten)
            QDQ_TRY(qdq_search_try(s, SIZE_MAX, &t, err));
        if (i <= p->n_cached_starts)
            s->of_seeds += qdq_search_builds(s) - builds;
    }
    return QDQ_OK;
}

qdq_status qdq_search_begin(qdq_search_state *s, qdq_error *err)
{
    *s->out = (qdq_search_result){0};
    QDQ_TRY(weigh_bits(s, err));
    return measure_starts(s, err);
}

qdq_status qdq_search_finish(qdq_search_state *s, qdq_error *err)
{
    qdq_search_result *out = s->out;

    s->phase = QDQ_PHASE_DONE;
    out->predicted_ns = s->time * s->p->base_ns;
    out->ended_early = s->over;
    QDQ_NEED(qdq_assign_copy(&out->best, &s->incumbent, s->arena), err);
    for (size_t u = 0; u < s->p->n_units; u++) {
        QDQ_NEED(qdq_assign_new(&out->unit[u].best, s->p->unit[u].n_choices, s->arena), err);
        qdq_search_mask(s, &s->p->unit[u], SIZE_MAX, &out->unit[u].best);
    }
    const qdq_search_event e = event_of(s, SIZE_MAX);
    return s->ops->event != NULL ? s->ops->event(s->ops->ctx, &e, err) : QDQ_OK;
}

void qdq_search_free(qdq_search_state *s)
{
    qdq_map_free(&s->measured);
    qdq_arena_free(&s->scratch);
}
