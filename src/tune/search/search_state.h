/* search_state.h - what a search knows while it works; shared by the strategies only: the search*.c
 * files, and the cut's. */
#ifndef QDQ_SEARCH_STATE_H
#define QDQ_SEARCH_STATE_H

#include "base/map.h"
#include "base/random.h"
#include "base/vec.h"
#include "tune/search/search.h"

typedef struct qdq_search_state {
    const qdq_search_problem *p;
    const qdq_search_opts *opts;
    const qdq_search_ops *ops;
    qdq_arena *arena;  /* of the caller: results */
    qdq_arena scratch; /* of the search: dies with it */
    qdq_search_result *out;
    qdq_search_phase phase;
    const char *move; /* of candidates that are tried now */

    qdq_assign incumbent, candidate; /* candidate: where moves are put together */
    double time;                     /* of the incumbent, as a share of the baseline's */
    qdq_map measured;                /* identity -> index into `times` */
    QDQ_VEC(double) times;           /* shares of the baseline's; INFINITY: failed */
    /* the same: the identity of the incumbent that it ran beside */
    QDQ_VEC(uint64_t) against;
    QDQ_VEC(uint64_t) kept_starts; /* identities of starts that were the incumbent */
    bool over;                     /* the budget is used up */
    unsigned of_seeds;             /* builds that seeds of caches took, beyond the budget */
    double noise;                  /* of the last test: what cannot be seen is not tried */

    double *float_ns;  /* by bit: ns of float time */
    uint32_t *unit_of; /* by bit: index of the unit; UINT32_MAX: of none */
    double total_float_ns;

    /* by bit: what flipping it in the incumbent may save at most, as a share of the baseline's
     * time */
    double *bound;
    /* by bit: profiles of nothing, of everything, of the incumbent */
    qdq_search_cost *off, *on, *now;
    /* is `on` filled in; is there nothing to be learnt by a profile now? */
    bool has_on, is_profiled;
    bool rules_out; /* is `hope` that of this incumbent? */
} qdq_search_state;

/* --- search_trial.c --------------------------------------------------------------------------- */

/* Weighs bits and measures the starts. `s` has what qdq_search_run() was given. qdq_search_free()
 * in any case. */
qdq_status qdq_search_begin(qdq_search_state *s, qdq_error *err);

/* Fills in what was found. */
qdq_status qdq_search_finish(qdq_search_state *s, qdq_error *err);

void qdq_search_free(qdq_search_state *s);

/* Measures s->candidate against the incumbent, unless it is known to be no better. `unit`: SIZE_MAX
 * for none. */
qdq_status qdq_search_try(qdq_search_state *s, size_t unit, qdq_tried *out, qdq_error *err);

/* Is the candidate one of the starts that were the incumbent? */
qdq_status qdq_search_is_kept_start(qdq_search_state *s, bool *yes, qdq_error *err);

/* Copies the incumbent into the candidate. */
void qdq_search_reset(qdq_search_state *s);

/* May the bit be on? */
bool qdq_search_allows(const qdq_search_state *s, size_t bit);

/* Models that were built so far; 0: the caller does not count them. */
unsigned qdq_search_builds(const qdq_search_state *s);

/* May one more model be built? No: the search is over. */
bool qdq_search_budget_left(qdq_search_state *s);

/* Could a saving of such a share of the baseline's time be told from noise? */
bool qdq_search_matters(const qdq_search_state *s, double share);

/* The time of an assignment that was measured, as a share of the baseline's; NAN: it was not, or
 * failed. */
qdq_status qdq_search_known_time(qdq_search_state *s, const qdq_assign *a, double *out,
                                 qdq_error *err);

/* --- search_bounds.c -------------------------------------------------------------------------- */

/* Makes room for `hope`: float times, as long as nothing is profiled. */
qdq_status qdq_search_bounds_init(qdq_search_state *s, qdq_error *err);

/* Profiles of nothing and of everything. *known: there are both. */
qdq_status qdq_search_profile_ends(qdq_search_state *s, bool *known, qdq_error *err);

/* What is fastest by these profiles, if each change between on and off from one bit to the next in
 * the graph's order costs this many typical boundaries; by dynamic programming. Into the candidate.
 * False: out of memory. */
bool qdq_search_by_profile(qdq_search_state *s, double boundaries);

/* Profiles the incumbent, if that was not done, and finds what may be hoped for. */
qdq_status qdq_search_bounds_update(qdq_search_state *s, qdq_error *err);

/* Numbers of units or boundaries, those first that promise most. */
typedef struct qdq_search_ranked {
    size_t index;
    double bound;
} qdq_search_ranked;

void qdq_search_rank(qdq_search_ranked *at, size_t n);

/* May the candidate be faster than the incumbent by more than noise? */
bool qdq_search_is_hopeful(const qdq_search_state *s);

/* What flipping all bits of a choice may save at most. */
double qdq_search_choice_bound(const qdq_search_state *s, const qdq_search_unit *u, size_t choice);

/* --- search_units.c --------------------------------------------------------------------------- */

/* Schemes of every unit, those first that may bring most. */
qdq_status qdq_search_units(qdq_search_state *s, qdq_error *err);

/* What a unit may save at most, by whatever is changed in it. */
double qdq_search_unit_bound(const qdq_search_state *s, const qdq_search_unit *u);

/* Sets the choices of one instance (SIZE_MAX: of all) in the candidate as the bits of `mask`
 * say. */
void qdq_search_set(qdq_search_state *s, const qdq_search_unit *u, size_t instance,
                    const qdq_assign *mask);

/* What most instances of the unit have in the incumbent, or one of them has. */
void qdq_search_mask(const qdq_search_state *s, const qdq_search_unit *u, size_t instance,
                     qdq_assign *mask);

/* --- search_moves.c --------------------------------------------------------------------------- */

/* All of these bits on in the candidate, or all off if most are on in the incumbent. What no unit
 * decides about (nodes that the user filtered out) stays. */
void qdq_search_flip(qdq_search_state *s, const uint32_t *bit, size_t n);

/* Everything but the first or last part of the graph: where 8 bits pay from some layer on. */
qdq_status qdq_search_cuts(qdq_search_state *s, qdq_error *err);

/* Neighbouring units together: alone, each would pay for the boundaries between them. */
qdq_status qdq_search_pairs(qdq_search_state *s, qdq_error *err);

/* Boundaries between units: all that reads there on, or off. All else stays as the units chose it.
 * search_boundaries.c */
qdq_status qdq_search_boundaries(qdq_search_state *s, qdq_error *err);

/* Single instances otherwise than the others of their unit. */
qdq_status qdq_search_exceptions(qdq_search_state *s, qdq_error *err);

#endif /* QDQ_SEARCH_STATE_H */
