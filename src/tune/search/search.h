/* search.h - finds the fastest assignment with few measurements. It knows no models and no engines:
 * only units of choices with their times, seeds, and a function that measures a candidate against
 * the incumbent. It is deterministic: equal measurements give an equal search, so that an
 * interrupted run can be resumed. */
#ifndef QDQ_SEARCH_H
#define QDQ_SEARCH_H

#include "tune/measure/measure.h"
#include "tune/space/assign.h"

/* One decision that is made equally in several places: bits of the assignment that change
 * together. */
typedef struct qdq_search_choice {
    /* by instance; UINT32_MAX: this instance does not have it */
    const uint32_t *bit;
    /* upper bound of the saving over all instances: time of the nodes in float */
    double float_ns;
    /* an operator with a weight */
    bool linear;
} qdq_search_choice;

/* A region pattern, or an equivalence class of fusion groups. */
typedef struct qdq_search_unit {
    const char *name;
    const qdq_search_choice *choice;
    size_t n_choices, n_instances;
    /* assignments of the choices from caches and imports, which are measured before any mutation */
    const qdq_assign *seed;
    size_t n_seeds;
    /* number of seeds from caches, which come first */
    size_t n_cached;
} qdq_search_unit;

/* Bits of several units at one boundary, such as the consumers of a tensor, which are changed
 * together. */
typedef struct qdq_search_boundary {
    const uint32_t *bit;
    size_t n_bits;
} qdq_search_boundary;

typedef struct qdq_search_problem {
    size_t n_bits;
    const qdq_search_unit *unit;
    size_t n_units;
    /* may be NULL */
    const qdq_search_boundary *boundary;
    size_t n_boundaries;
    /* Assignments to begin with; the best one becomes the incumbent. The first is the baseline, the
     * all-float plan; then the all-quantized plan, the rules, imports, ... */
    const qdq_assign *start;
    const char *const *start_name;
    size_t n_starts;
    /* number of starts from caches, which follow the first one */
    size_t n_cached_starts;
    /* assignments that are tried after the first profiles, unless these rule them out */
    const qdq_assign *late;
    const char *const *late_name;
    size_t n_late;
    /* bits that may be on; NULL: all. Units and starts comply with it */
    const qdq_assign *allowed;
    /* time of the baseline */
    double base_ns;
} qdq_search_problem;

typedef struct qdq_search_opts {
    qdq_test_opts test;
    /* Most candidates of a unit, and as many seeds from caches before them. Most mutations of its
     * best: this number for the unit with the largest bound, less for others in proportion to their
     * bounds. */
    unsigned schemes_per_unit;
    /* units with at most this many choices are searched completely: 3 */
    unsigned exhaustive;
    /* most bits that one mutation changes: 3 */
    unsigned mutations;
    /* most mutations to draw for a unit; 0: 100 */
    unsigned attempts;
    /* number of candidates in a row without a gain that ends a unit */
    unsigned stale;
    /* most trials of the whole search; 0: no limit */
    unsigned max_trials;
    /* most builds; 0: no limit */
    unsigned max_builds;
    /* seeds from caches do not count for max_builds */
    bool seeds_beyond;
    uint64_t seed;
} qdq_search_opts;

typedef enum qdq_search_phase {
    QDQ_PHASE_START,
    QDQ_PHASE_UNITS,
    QDQ_PHASE_INTERACTIONS,
    QDQ_PHASE_EXCEPTIONS,
    QDQ_PHASE_DONE
} qdq_search_phase;

/* Times of one bit in a profile, as fractions of the model's time. */
typedef struct qdq_search_cost {
    /* its kernel */
    double own;
    /* conversions (Q, DQ, layouts) directly before and after it: at most these disappear with it */
    double boundary;
} qdq_search_cost;

/* An event, for the live view and the report. */
typedef struct qdq_search_event {
    qdq_search_phase phase;
    /* kind of the candidate: the name of a start, "by profile", "two neighbours", ... */
    const char *move;
    /* SIZE_MAX: the whole model */
    size_t unit, n_units;
    const qdq_assign *incumbent, *candidate;
    /* NULL: it failed */
    const qdq_test_result *result;
    bool accepted;
    /* fraction of the baseline's time that the incumbent saves */
    double saved;
} qdq_search_event;

typedef struct qdq_search_ops {
    void *ctx;
    /* Measures a candidate. *failed: it cannot be built or run, or misses the goal, and is
     * rejected. QDQ_E_GOAL: the budget is used up, and the search ends. */
    qdq_status (*measure)(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *err);
    /* Identifies the model of an assignment: equal ones are measured once. NULL: the hash of the
     * assignment. */
    qdq_status (*identity)(void *ctx, const qdq_assign *a, qdq_assign_hash *out, qdq_error *err);
    /* may be NULL */
    qdq_status (*event)(void *ctx, const qdq_search_event *e, qdq_error *err);
    unsigned (*builds)(void *ctx);
    /* The time of a start as a fraction of the baseline's, if it was measured before; NAN: it was
     * not. May be NULL. */
    qdq_status (*known_share)(void *ctx, const qdq_assign *a, double *out, qdq_error *err);
    /* Fills cost[n_bits] from a profile of an assignment. *known false: there is no profile. NULL:
     * only measurements rule candidates out. */
    qdq_status (*profile)(void *ctx, const qdq_assign *a, qdq_search_cost *cost, bool *known,
                          qdq_error *err);
} qdq_search_ops;

typedef struct qdq_search_unit_result {
    /* bits over its choices, by the majority of instances */
    qdq_assign best;
    /* fraction of the baseline's time that it saved when it was accepted */
    double gain;
    /* number of candidates, and of mutations among them */
    unsigned tried, changes;
    /* number of candidates from caches */
    unsigned of_caches;
    /* its bound is below the minimum detectable effect */
    bool skipped;
} qdq_search_unit_result;

typedef struct qdq_search_result {
    qdq_assign best;
    /* in the arena */
    qdq_search_unit_result *unit;
    /* predicted time of the best one, by the measured gains */
    double predicted_ns;
    unsigned trials, pairs;
    /* number of candidates that profiles ruled out before a measurement */
    unsigned ruled_out;
    /* the budget was used up */
    bool ended_early;
} qdq_search_result;

/* The result of a candidate. */
typedef struct qdq_tried {
    /* false: it was known, is the incumbent, or the budget is used up */
    bool measured;
    /* it cannot be measured, or the budget is used up */
    bool failed;
    /* it is the incumbent now */
    bool accepted;
    /* as a fraction of the baseline's; INFINITY: it failed; NAN: unknown */
    double time;
    /* only if measured */
    qdq_test_result result;
} qdq_tried;

/* Measures e->candidate against e->incumbent, whose time is *time as a fraction of the baseline's,
 * counts the trial in *found, and calls ops->event. Every strategy makes its trials by this
 * function. If the candidate is accepted, *time becomes its time, and the caller makes it the
 * incumbent. If the budget is used up, nothing is measured, and found->ended_early is set. Fills in
 * the other members of *e. */
qdq_status qdq_search_measure(const qdq_search_ops *ops, const qdq_test_opts *test,
                              qdq_search_event *e, double *time, qdq_search_result *found,
                              qdq_tried *out, qdq_error *err);

qdq_status qdq_search_run(const qdq_search_problem *p, const qdq_search_opts *opts,
                          const qdq_search_ops *ops, qdq_arena *arena, qdq_search_result *out,
                          qdq_error *err);

#endif /* QDQ_SEARCH_H */
