/* validate_state.h - the state of a validation; shared by the validate*.c files only. */
#ifndef QDQ_VALIDATE_STATE_H
#define QDQ_VALIDATE_STATE_H

#include "tune/search/search_state.h"
#include "tune/validate/validate.h"

/* Items that are tried together: all of them are on, or all off. */
typedef struct qdq_validate_set {
    /* consecutive in the order by component and topological index */
    const uint32_t *item;
    size_t n;
    /* saving of the items and its variance, as fractions of the baseline's time: measured, or the
     * remainder of a larger set; NAN: unknown */
    double saved, variance;
    /* waiting sets with the highest value are first */
    double urgency;
    /* last trial of the set, or of a set that contains it; SIZE_MAX: none */
    size_t trial;
    /* result of its own trial; unclear: the pairs were undecided */
    bool kept, failed, unclear;
} qdq_validate_set;

typedef QDQ_VEC(qdq_validate_set) qdq_validate_sets;

/* State of an item. */
typedef struct qdq_validate_mark {
    bool on;
    /* it was tried alone, and rejected */
    bool alone;
    /* of the representative of a component: number of its items */
    size_t size;
    /* possible shortfall that its accepted set hides */
    double hidden;
} qdq_validate_mark;

typedef struct qdq_validate_state {
    const qdq_validate_problem *p;
    const qdq_search_opts *asked;
    qdq_validate_result *out;
    /* options with the error rates of a trial */
    qdq_search_opts opts;
    /* the caller's, without known times and profiles */
    qdq_search_ops ops;
    qdq_search_state s;

    const qdq_assign *base;
    /* items by component, the largest saving first, then by topological index */
    uint32_t *order;
    /* by item */
    qdq_validate_mark *mark;
    /* by item: representative of its component, which links connect */
    uint32_t *component;
    /* numbers of items that trials accepted and rejected */
    size_t good, bad;
    /* number of trials that took a build */
    unsigned measured;
    /* a decision was not reported yet */
    bool news;
    /* waiting for a trial */
    qdq_validate_sets sets;
    QDQ_VEC(qdq_validate_trial) trials;
} qdq_validate_state;

/* --- validate_trial.c ------------------------------------------------------------------------- */

static inline bool qdq_validate_is_on(const qdq_validate_state *v, const qdq_validate_set *s)
{
    return v->mark[s->item[0]].on;
}

/* Turns the items on or off, without a trial. */
void qdq_validate_turn(qdq_validate_state *v, const uint32_t *item, size_t n, bool on);

/* Sets `a` to the base with all items that are on. */
void qdq_validate_merge(const qdq_validate_state *v, qdq_assign *a);

/* Measures the incumbent with the items, or without them if they are on, and makes the change if it
 * is accepted. `split`: number of such trials that share the error rate of false acceptance. If the
 * budget is used up (v->s.over), nothing is measured, and *s is unchanged. */
qdq_status qdq_validate_try(qdq_validate_state *v, qdq_validate_set *s, const char *move,
                            double split, qdq_error *err);

/* Sum of the items' expected savings; NAN: one is unknown. */
double qdq_validate_expected_saving(const qdq_validate_state *v, const qdq_validate_set *s);

/* Reports new decisions to the caller. */
qdq_status qdq_validate_report(qdq_validate_state *v, qdq_error *err);

/* Records the verdict of a set's items, with s->trial. */
void qdq_validate_decide(qdq_validate_state *v, const qdq_validate_set *s,
                         qdq_validate_verdict verdict);

/* The verdict that the trial of a set gives its items. */
qdq_validate_verdict qdq_validate_verdict_of(const qdq_validate_state *v,
                                             const qdq_validate_set *s);

/* --- validate_sets.c -------------------------------------------------------------------------- */

/* Finds components and the order of items. `by_known`: first those that an earlier run accepted,
 * then undecided ones. */
qdq_status qdq_validate_arrange(qdq_validate_state *v, bool by_known, qdq_error *err);

/* Continues after the trial of a set, which is on if it was accepted. A set with a shortfall is
 * halved until it is decided, or the budget is used up. */
qdq_status qdq_validate_halve(qdq_validate_state *v, const qdq_validate_set *s, qdq_error *err);

/* Tries neighbours together that were rejected alone. */
qdq_status qdq_validate_pairs(qdq_validate_state *v, qdq_error *err);

/* Removes accepted sets that may be harmful, while builds are left. */
qdq_status qdq_validate_backward(qdq_validate_state *v, qdq_error *err);

#endif /* QDQ_VALIDATE_STATE_H */
