/* mincut_search.h - the strategy `mincut`. Profiles of a few whole models give the costs of
 * decisions and conversions. One cut finds the best placement by these costs, which is built and
 * measured against the incumbent. Its own profile then corrects the costs, at most three times.
 * Only a measurement can change the incumbent. The search is deterministic, as qdq_search_run()
 * is. */
#ifndef QDQ_MINCUT_SEARCH_H
#define QDQ_MINCUT_SEARCH_H

#include "tune/mincut/costs.h"
#include "tune/search/search.h"

/* Fills *out, which is zero, from a profile of an assignment. Takes a build. *known false: there is
 * no profile, or it has too little information. */
typedef qdq_status (*qdq_mincut_profile_fn)(void *ctx, const qdq_assign *a, qdq_mincut_profile *out,
                                            bool *known, qdq_error *err);

/* The result of evaluating an assignment against the limit of harm. */
typedef struct qdq_mincut_verdict {
    /* false: no more evaluations are possible, and the assignment is not proposed */
    bool known;
    bool holds;
    /* measured harm over allowed harm; NAN: unknown */
    double excess;
} qdq_mincut_verdict;

typedef qdq_status (*qdq_mincut_evaluate_fn)(void *ctx, const qdq_assign *a,
                                             qdq_mincut_verdict *out, qdq_error *err);

typedef struct qdq_mincut_problem {
    /* its boundaries are not used; its units get their results */
    const qdq_search_problem *search;
    /* tensors in the graph's order */
    const qdq_mincut_graph *graph;
    qdq_mincut_profile_fn profile;
    void *profile_ctx;
    /* by bit; NULL: harm has no limit */
    const double *sensitivity;
    /* limit of the harm of proposals; starts are measured in any case. INFINITY: to be found */
    double max_sensitivity;
    /* NULL: harm is known exactly. Else only evaluated assignments that reach the goal are
     * proposed, and the limit moves up and down with the results */
    qdq_mincut_evaluate_fn evaluate;
    void *evaluate_ctx;
} qdq_mincut_problem;

typedef struct qdq_mincut_result {
    qdq_search_result search;
    /* false: there are no profiles, and only the starts were measured */
    bool known;
    /* the final costs, for qdq_mincut_front(); only if known */
    qdq_mincut_costs costs;
    /* time of the best assignment, by these costs */
    double best_ns;
    unsigned rounds, profiles;
} qdq_mincut_result;

/* Runs the strategy. Of `opts`, only test, max_trials and max_builds count; ops->profile is not
 * used. A measurement takes one build, and a profile another: 9 builds are enough for the all-float
 * plan, the all-quantized plan, one more start, three profiles, and two rounds. */
qdq_status qdq_mincut_search_run(const qdq_mincut_problem *p, const qdq_search_opts *opts,
                                 const qdq_search_ops *ops, qdq_arena *arena,
                                 qdq_mincut_result *out, qdq_error *err);

#endif /* QDQ_MINCUT_SEARCH_H */
