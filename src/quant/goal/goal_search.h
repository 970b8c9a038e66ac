/* goal_search.h - which items have to go so that a goal holds, in few trials. Knows nothing of
 * models: the caller says what an item costs and what it brings, and tries a set. */
#ifndef QDQ_GOAL_SEARCH_H
#define QDQ_GOAL_SEARCH_H

#include "base/arena.h"

typedef struct qdq_goal_item {
    /* at least 0; what of the goal it eats, additive */
    double sensitivity;
    /* what is lost when it goes */
    double expected_bound;
} qdq_goal_item;

typedef struct qdq_goal_trial {
    bool holds;
    /* nothing is left to evaluate: what stays comes only with others. It does not hold; fewer may
     * go. */
    bool is_float;
    /* What remains of the harm over what the goal allows: above 1 it fails. NAN: not known; then
     * the first guess is one item. */
    double excess;
    /* no more trials after this one */
    bool is_last;
} qdq_goal_trial;

/* Tries the set of items that go: gone[i]. */
typedef qdq_status (*qdq_goal_try)(void *ctx, const bool *gone, size_t n_gone, qdq_goal_trial *out,
                                   qdq_error *err);

typedef struct qdq_goal_search_result {
    bool reached;
    /* in the arena; n of them: if not reached, the set of the last trial */
    const bool *gone;
    unsigned trials;
    /* another trial was due, and is_last forbade it */
    bool cut;
} qdq_goal_search_result;

/* max_trials of the searches for operators in other formats, of quantize and of autotune */
enum { QDQ_GOAL_FORM_TRIALS = 8 };

/* Items go by harm / worth, the worst first: as many as it takes, found by steps that double and
 * then by bisection; where no number of them is enough, by harm alone, once more. Then groups of
 * them come back, the best worth first, as far as the goal allows and trials are left. At least one
 * item stays: a goal that needs all of them gone is not reached. */
qdq_status qdq_goal_search(const qdq_goal_item *items, size_t n, unsigned max_trials,
                           qdq_goal_try try_it, void *ctx, qdq_arena *arena,
                           qdq_goal_search_result *out, qdq_error *err);

/* All items are gone. Lets all of them come back, or groups, the best worth first, as far as the
 * goal allows and trials are left. reached: some came back and the goal holds with them; gone: the
 * others. */
qdq_status qdq_goal_search_back(const qdq_goal_item *items, size_t n, unsigned max_trials,
                                qdq_goal_try try_it, void *ctx, qdq_arena *arena,
                                qdq_goal_search_result *out, qdq_error *err);

#endif /* QDQ_GOAL_SEARCH_H */
