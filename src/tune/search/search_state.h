/* search_state.h - the state of a search; shared by the strategies: the search*.c files and
 * mincut. */
#ifndef QDQ_SEARCH_STATE_H
#define QDQ_SEARCH_STATE_H

#include "base/map.h"
#include "base/random.h"
#include "base/vec.h"
#include "tune/search/search.h"

/* The last measurement of an assignment. */
typedef struct qdq_search_known {
    /* as a fraction of the baseline's; INFINITY: failed */
    double time;
    /* identity of the incumbent, and whether it lost */
    uint64_t against;
    bool accepted;
} qdq_search_known;

typedef struct qdq_search_state {
    const qdq_search_problem *p;
    const qdq_search_opts *opts;
    const qdq_search_ops *ops;
    /* the caller's, for results */
    qdq_arena *arena;
    /* freed with the search */
    qdq_arena scratch;
    qdq_search_result *out;
    qdq_search_phase phase;
    /* kind of the current candidates */
    const char *move;

    /* `candidate`: where moves are composed */
    qdq_assign incumbent, candidate;
    /* time of the incumbent, as a fraction of the baseline's */
    double time;
    /* identity to index in `known` */
    qdq_map measured;
    QDQ_VEC(qdq_search_known) known;
    /* the budget is used up */
    bool over;
    /* number of builds for seeds from caches, which do not count for the budget */
    unsigned of_seeds;
    /* noise of the last test: smaller savings are not tried */
    double noise;

    /* by bit: time of its nodes in float */
    double *float_ns;
    /* by bit: index of the unit; UINT32_MAX: none */
    uint32_t *unit_of;
    double total_float_ns;

    /* by bit: largest saving of flipping it in the incumbent, as a fraction of the baseline's
     * time */
    double *bound;
    /* by bit: profiles of the all-float plan, the all-quantized plan, and the incumbent */
    qdq_search_cost *off, *on, *now;
    /* `on` is set; no profile can add information now */
    bool has_on, is_profiled;
    /* `bound` belongs to this incumbent */
    bool rules_out;
} qdq_search_state;

/* --- search_trial.c --------------------------------------------------------------------------- */

/* Initializes times of bits, and measures the starts. `s` has the arguments of qdq_search_run().
 * Call qdq_search_free() in every case. */
qdq_status qdq_search_begin(qdq_search_state *s, qdq_error *err);

/* Completes s->out. */
qdq_status qdq_search_finish(qdq_search_state *s, qdq_error *err);

void qdq_search_free(qdq_search_state *s);

/* Measures s->candidate against the incumbent, unless it is known to be no better, or to have won
 * against it. `unit` SIZE_MAX: none. */
qdq_status qdq_search_try(qdq_search_state *s, size_t unit, qdq_tried *out, qdq_error *err);

/* Copies the incumbent into the candidate. */
void qdq_search_reset(qdq_search_state *s);

/* Whether the bit may be on. */
bool qdq_search_allows(const qdq_search_state *s, size_t bit);

/* Number of models built so far; 0: the caller does not count them. */
unsigned qdq_search_builds(const qdq_search_state *s);

/* Whether one more model may be built. False ends the search. */
bool qdq_search_budget_left(qdq_search_state *s);

/* Whether a saving of this fraction of the baseline's time can be detected. */
bool qdq_search_matters(const qdq_search_state *s, double share);

/* The measured time of an assignment, as a fraction of the baseline's; NAN: not measured, or
 * failed. */
qdq_status qdq_search_known_time(qdq_search_state *s, const qdq_assign *a, double *out,
                                 qdq_error *err);

/* --- search_bounds.c -------------------------------------------------------------------------- */

/* Allocates `bound`, and fills it with float times until there is a profile. */
qdq_status qdq_search_bounds_init(qdq_search_state *s, qdq_error *err);

/* Profiles the all-float and the all-quantized plan. *known: both profiles exist. */
qdq_status qdq_search_profile_ends(qdq_search_state *s, bool *known, qdq_error *err);

/* Sets the candidate to the fastest assignment by these profiles, if each change between on and off
 * from one bit to the next in the graph's order costs this many typical boundaries; by dynamic
 * programming. False: out of memory. */
bool qdq_search_by_profile(qdq_search_state *s, double boundaries);

/* Profiles the incumbent, unless it was profiled, and updates the bounds. */
qdq_status qdq_search_bounds_update(qdq_search_state *s, qdq_error *err);

/* Indices of units or boundaries, the largest bound first. */
typedef struct qdq_search_ranked {
    size_t index;
    double bound;
} qdq_search_ranked;

void qdq_search_rank(qdq_search_ranked *at, size_t n);

/* Whether the candidate may be faster than the incumbent by a detectable amount. */
bool qdq_search_is_hopeful(const qdq_search_state *s);

/* Upper bound of the saving of flipping all bits of a choice. */
double qdq_search_choice_bound(const qdq_search_state *s, const qdq_search_unit *u, size_t choice);

/* --- search_units.c --------------------------------------------------------------------------- */

/* Tries schemes of every unit, the largest bound first. */
qdq_status qdq_search_units(qdq_search_state *s, qdq_error *err);

/* Upper bound of the saving of a unit, for any change in it. */
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
