/* search.h - which assignment is fastest, in few measurements. Knows neither models nor engines:
 * units of choices, what they weigh, seeds, and a function that measures a candidate against the
 * incumbent. Deterministic: equal answers give an equal search, which is how a run goes on where it
 * was cut off. */
#ifndef QDQ_SEARCH_H
#define QDQ_SEARCH_H

#include "tune/measure/measure.h"
#include "tune/space/assign.h"

/* One decision, made alike in several places: bits of the assignment that are varied together. */
typedef struct qdq_search_choice {
    const uint32_t *bit; /* by instance; UINT32_MAX: this instance does not have it */
    /* of what can be saved at most, over all instances: float time of the nodes */
    double float_ns;
    bool linear; /* an operator with a weight */
} qdq_search_choice;

/* A region pattern, or a fusion group with its like. */
typedef struct qdq_search_unit {
    const char *name;
    const qdq_search_choice *choice;
    size_t n_choices, n_instances;
    /* bits over the choices: from caches, imports; measured before anything is mutated */
    const qdq_assign *seed;
    size_t n_seeds;
    size_t n_cached; /* the first of them: of caches */
} qdq_search_unit;

/* Bits of several units that meet at a boundary, as the readers of one tensor: worth being changed
 * together. */
typedef struct qdq_search_boundary {
    const uint32_t *bit;
    size_t n_bits;
} qdq_search_boundary;

typedef struct qdq_search_problem {
    size_t n_bits;
    const qdq_search_unit *unit;
    size_t n_units;
    const qdq_search_boundary *boundary; /* may be NULL */
    size_t n_boundaries;
    /* whole assignments to begin with, the best becomes the incumbent: nothing, everything, rules,
     * imported, ... The first is the baseline ("nothing") */
    const qdq_assign *start;
    const char *const *start_name;
    size_t n_starts;
    size_t n_cached_starts; /* those behind the first one: of caches */
    /* whole assignments that are tried once profiles are known, where these do not rule them out */
    const qdq_assign *late;
    const char *const *late_name;
    size_t n_late;
    const qdq_assign *allowed; /* bits that may be on; NULL: all. Units and starts keep to it */
    double base_ns;            /* time of the baseline, for what a saving is worth */
} qdq_search_problem;

typedef struct qdq_search_opts {
    qdq_test_opts test;
    /* candidates of one unit at most, and as many seeds of caches before them; changes of its best:
     * as many for the unit that may save most, for others in proportion to what they may save */
    unsigned schemes_per_unit;
    unsigned exhaustive; /* units with at most this many choices are tried in full: 3 */
    unsigned mutations;  /* bits changed at once at most: 3 */
    unsigned attempts;   /* changes drawn for a unit at most; 0: 100 */
    unsigned stale;      /* candidates in a row that brought nothing end a unit */
    unsigned max_trials; /* of the whole search; 0: no bound */
    unsigned max_builds; /* the same */
    bool seeds_beyond;   /* seeds of caches take no builds from max_builds */
    uint64_t seed;
} qdq_search_opts;

typedef enum qdq_search_phase {
    QDQ_PHASE_START,
    QDQ_PHASE_UNITS,
    QDQ_PHASE_INTERACTIONS,
    QDQ_PHASE_EXCEPTIONS,
    QDQ_PHASE_DONE
} qdq_search_phase;

/* What a profile says of one bit in a model, as shares of that model's time. */
typedef struct qdq_search_cost {
    double own; /* of the kernel that the bit is about */
    /* of conversions (Q, DQ, layouts) right in front of it and behind it: at most so much goes with
     * it */
    double boundary;
} qdq_search_cost;

/* Something happened, for the live view and the report. */
typedef struct qdq_search_event {
    qdq_search_phase phase;
    /* what kind of candidate it is: the name of a start, "by profile", "two neighbours", ... */
    const char *move;
    size_t unit, n_units; /* SIZE_MAX: the whole */
    const qdq_assign *incumbent, *candidate;
    const qdq_test_result *result; /* NULL: it failed */
    bool kept;
    double saved; /* share of the baseline's time, by what was kept so far */
} qdq_search_event;

typedef struct qdq_search_ops {
    void *ctx;
    /* Measures. *failed: the candidate cannot be had (built, run, accurate enough): it counts as
     * refused. QDQ_E_GOAL: the budget is used up: the search ends with what it has. */
    qdq_status (*measure)(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *err);
    /* The name of the model that an assignment means: two that mean the same are measured once.
     * NULL: its hash. */
    qdq_status (*identity)(void *ctx, const qdq_assign *a, qdq_assign_hash *out, qdq_error *err);
    qdq_status (*event)(void *ctx, const qdq_search_event *e, qdq_error *err); /* may be NULL */
    unsigned (*builds)(void *ctx);
    /* The time of a start as a share of the baseline's, if it was measured before; NAN. May be
     * NULL. */
    qdq_status (*known_share)(void *ctx, const qdq_assign *a, double *out, qdq_error *err);
    /* Fills cost[n_bits] from a profile of an assignment. *known: false if there is none. May be
     * NULL: nothing is ruled out but by measuring. */
    qdq_status (*profile)(void *ctx, const qdq_assign *a, qdq_search_cost *cost, bool *known,
                          qdq_error *err);
} qdq_search_ops;

typedef struct qdq_search_unit_result {
    qdq_assign best; /* bits over its choices, of most instances */
    /* share of the baseline's time that it brought, as measured when it was kept */
    double gain;
    unsigned tried, changes; /* candidates; those among them that were changes of the best */
    unsigned of_caches;      /* and those that caches proposed */
    bool skipped;            /* what it could bring at most lies under what can be detected */
} qdq_search_unit_result;

typedef struct qdq_search_result {
    qdq_assign best;
    qdq_search_unit_result *unit; /* in the arena */
    double predicted_ns;          /* of the best, by the gains that were measured on the way */
    unsigned trials, pairs;
    unsigned ruled_out; /* candidates that profiles gave no hope, and that were not measured */
    bool ended_early;   /* by the budget */
} qdq_search_result;

/* What became of a candidate. */
typedef struct qdq_tried {
    bool measured; /* now; else it was known, is the incumbent itself, or the budget is over */
    bool failed;   /* it cannot be had, or the budget is over */
    bool kept;     /* it is the incumbent now */
    double time;   /* as a share of the baseline's; INFINITY: it failed; NAN: not known */
    qdq_test_result result; /* where it was measured now */
} qdq_tried;

/* Measures e->candidate beside e->incumbent, whose time is *time as a share of the baseline's,
 * counts the trial in *found and tells ops->event; all of that is one trial of a search, whatever
 * proposes it. Where the candidate is kept, *time is its time; the caller makes it the incumbent.
 * Where the budget is used up, nothing was measured, and found->ended_early. Fills in the rest of
 * *e. */
qdq_status qdq_search_measure(const qdq_search_ops *ops, const qdq_test_opts *test,
                              qdq_search_event *e, double *time, qdq_search_result *found,
                              qdq_tried *out, qdq_error *err);

qdq_status qdq_search_run(const qdq_search_problem *p, const qdq_search_opts *opts,
                          const qdq_search_ops *ops, qdq_arena *arena, qdq_search_result *out,
                          qdq_error *err);

#endif /* QDQ_SEARCH_H */
