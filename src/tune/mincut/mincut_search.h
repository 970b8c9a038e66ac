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

/* What was found of an assignment that is bounded. */
typedef struct qdq_mincut_verdict {
    bool known; /* false: no one may ask any more, and it is not proposed */
    bool holds;
    double excess; /* harm that was found, over what may be; NAN: it has no number */
} qdq_mincut_verdict;

typedef qdq_status (*qdq_mincut_evaluate_fn)(void *ctx, const qdq_assign *a,
                                             qdq_mincut_verdict *out, qdq_error *err);

typedef struct qdq_mincut_problem {
    const qdq_search_problem *search; /* borders are not asked; units get their results */
    const qdq_mincut_graph *graph;    /* tensors in the graph's order */
    qdq_mincut_profile_fn profile;
    void *profile_ctx;
    const double *harm; /* by bit; NULL: no bound on it */
    /* of what is proposed; starts are measured as they are. INFINITY: it is to be found */
    double most_harm;
    /* NULL: harm is what it is said to be. Else nothing is proposed that does not hold: the bound
     * follows what is found, up and down */
    qdq_mincut_evaluate_fn evaluate;
    void *evaluate_ctx;
} qdq_mincut_problem;

typedef struct qdq_mincut_result {
    qdq_search_result search;
    bool known;             /* false: there are no profiles; nothing but the starts was measured */
    qdq_mincut_costs costs; /* as they were in the end, for qdq_mincut_front(); if known */
    double best_ns;         /* of the best, by these costs */
    unsigned rounds, profiles;
} qdq_mincut_result;

/* Of `opts` only test, max_trials and max_builds count; ops->profile is not asked. A measurement
 * takes one build, a profile another: 9 builds do for nothing, everything, one start more, three
 * profiles, and two rounds. */
qdq_status qdq_mincut_search_run(const qdq_mincut_problem *p, const qdq_search_opts *opts,
                                 const qdq_search_ops *ops, qdq_arena *arena,
                                 qdq_mincut_result *out, qdq_error *err);

#endif /* QDQ_MINCUT_SEARCH_H */
