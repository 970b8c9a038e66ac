/* search.c - the way of the search: starts, cuts, units, neighbours, exceptions, and once more
 * where something was found. Each step changes the incumbent only by a measurement against it. */
#include "tune/search/search.h"

#include "base/fail.h"
#include "tune/search/search_state.h"

enum { SWEEPS = 3 };

/* Is there anything to decide? */
static bool has_choices(const qdq_search_problem *p)
{
    for (size_t u = 0; u < p->n_units; u++)
        if (p->unit[u].n_choices > 0)
            return true;
    return false;
}

static qdq_status start_by_profile(qdq_search_state *s, qdq_error *err)
{
    static const double boundaries[] = {
        2, 0}; /* a way into codes and one out; none, where neighbours are not neighbours */
    bool known = false;

    s->move = "by profile";
    if (!s->over && has_choices(s->p))
        QDQ_TRY(qdq_search_profile_ends(s, &known, err));
    for (size_t i = 0; i < QDQ_COUNT(boundaries) && known && !s->over; i++) {
        qdq_tried ignored;
        QDQ_NEED(qdq_search_by_profile(s, boundaries[i]), err);
        QDQ_TRY(qdq_search_try(s, SIZE_MAX, &ignored, err));
    }
    return QDQ_OK;
}

/* What might be faster than the incumbent, by its profile, of what others would place. */
static qdq_status try_late(qdq_search_state *s, qdq_error *err)
{
    s->phase = QDQ_PHASE_INTERACTIONS;
    for (size_t i = 0; i < s->p->n_late && !s->over; i++) {
        qdq_tried ignored;
        s->move = s->p->late_name[i];
        qdq_assign_take(&s->candidate, &s->p->late[i]);
        QDQ_TRY(qdq_search_try(s, SIZE_MAX, &ignored, err));
    }
    return QDQ_OK;
}

static qdq_status sweep_moves(qdq_search_state *s, bool first, qdq_error *err)
{
    s->phase = QDQ_PHASE_INTERACTIONS;
    if (first && !s->over && has_choices(s->p))
        QDQ_TRY(qdq_search_cuts(s, err));
    s->phase = QDQ_PHASE_UNITS;
    s->move = "a pattern";
    if (!s->over && has_choices(s->p))
        QDQ_TRY(qdq_search_bounds_update(s, err));
    if (!s->over)
        QDQ_TRY(qdq_search_units(s, err));
    s->phase = QDQ_PHASE_INTERACTIONS;
    s->move = "two neighbours";
    if (!s->over)
        QDQ_TRY(qdq_search_pairs(s, err));
    s->move = "all that reads a tensor";
    if (!s->over)
        QDQ_TRY(qdq_search_boundaries(s, err));
    s->phase = QDQ_PHASE_EXCEPTIONS;
    s->move = "one instance";
    return s->over ? QDQ_OK : qdq_search_exceptions(s, err);
}

qdq_status qdq_search_run(const qdq_search_problem *p, const qdq_search_opts *opts,
                          const qdq_search_ops *ops, qdq_arena *arena, qdq_search_result *out,
                          qdq_error *err)
{
    qdq_search_state s = {.p = p, .opts = opts, .ops = ops, .arena = arena, .out = out};

    qdq_status st = qdq_search_begin(&s, err);
    if (st == QDQ_OK)
        st = start_by_profile(&s, err);
    if (st == QDQ_OK)
        st = try_late(&s, err);
    for (int i = 0; i < SWEEPS && st == QDQ_OK && !s.over; i++) {
        const double before = s.time;
        st = sweep_moves(&s, i == 0, err);
        if (!(before - s.time > opts->test.gain * before))
            break; /* another round would find less still */
    }
    if (st == QDQ_OK)
        st = qdq_search_finish(&s, err);
    qdq_search_free(&s);
    return st;
}
