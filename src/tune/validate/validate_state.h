/* validate_state.h - what a validation knows while it works; shared by the validate*.c files
 * only. */
#ifndef QDQ_VALIDATE_STATE_H
#define QDQ_VALIDATE_STATE_H

#include "tune/search/search_state.h"
#include "tune/validate/validate.h"

/* Items that are tried together: all of them on, or all off. */
typedef struct qdq_validate_set {
    const uint32_t *item; /* in a row of the order by component and place */
    size_t n;
    /* of the items, as shares of the baseline's time, as measured, or as what the rest of a larger
     * set leaves; NAN: unknown */
    double saved, variance;
    double urgency; /* among sets that wait: the highest first */
    size_t trial;   /* the last one of it, or of a set that it is in; SIZE_MAX: none */
    /* by its own trial; unclear: the pairs decided neither way */
    bool kept, failed, unclear;
} qdq_validate_set;

typedef QDQ_VEC(qdq_validate_set) qdq_validate_sets;

/* What is known of an item. */
typedef struct qdq_validate_mark {
    bool on;
    bool alone;    /* it was tried by itself, and rejected */
    size_t size;   /* of one that stands for a component: its items */
    double hidden; /* what the set that it was kept in may lack of its promise */
} qdq_validate_mark;

typedef struct qdq_validate_state {
    const qdq_validate_problem *p;
    const qdq_search_opts *asked;
    qdq_validate_result *out;
    qdq_search_opts opts; /* with the errors that a trial may make */
    qdq_search_ops ops;   /* the caller's, without what other runs and profiles know */
    qdq_search_state s;

    const qdq_assign *base;
    uint32_t *order;         /* items by component, those first that save most, then by place */
    qdq_validate_mark *mark; /* by item */
    uint32_t *component;     /* by item: the one that stands for all that links reach from it */
    size_t good, bad;        /* items that trials decided about so far */
    unsigned measured;       /* trials that took a build */
    bool news;               /* a decision that the caller was not told of */
    qdq_validate_sets sets;  /* that wait for a trial */
    QDQ_VEC(qdq_validate_trial) trials;
} qdq_validate_state;

/* --- validate_trial.c ------------------------------------------------------------------------- */

static inline bool qdq_validate_is_on(const qdq_validate_state *v, const qdq_validate_set *s)
{
    return v->mark[s->item[0]].on;
}

/* Turns the items on or off, without a trial. */
void qdq_validate_turn(qdq_validate_state *v, const uint32_t *item, size_t n, bool on);

/* The base with all items that are on, into `a`. */
void qdq_validate_merge(const qdq_validate_state *v, qdq_assign *a);

/* Measures the incumbent with the items, or without them if they are on; a kept change is made.
 * `split`: this many such trials share the error of keeping what brings nothing. Where the budget
 * is over (v->s.over), nothing was measured, and *s stays as it was. */
qdq_status qdq_validate_try(qdq_validate_state *v, qdq_validate_set *s, const char *move,
                            double split, qdq_error *err);

/* Sum of what the items promise; NAN: of one it is not known. */
double qdq_validate_expected_saving(const qdq_validate_state *v, const qdq_validate_set *s);

/* Tells the caller, if there is anything new. */
qdq_status qdq_validate_report(qdq_validate_state *v, qdq_error *err);

/* By s->trial. */
void qdq_validate_decide(qdq_validate_state *v, const qdq_validate_set *s,
                         qdq_validate_verdict verdict);

/* What the trial of a set says of its items. */
qdq_validate_verdict qdq_validate_verdict_of(const qdq_validate_state *v,
                                             const qdq_validate_set *s);

/* --- validate_sets.c -------------------------------------------------------------------------- */

/* Finds components and the order of items; with `by_known` those that an earlier run kept first,
 * then those that are open. */
qdq_status qdq_validate_arrange(qdq_validate_state *v, bool by_known, qdq_error *err);

/* Follows the trial of a set: on if that was kept, off if not. What falls short is halved until it
 * is settled, or the budget is over. */
qdq_status qdq_validate_halve(qdq_validate_state *v, const qdq_validate_set *s, qdq_error *err);

/* Neighbours that were rejected alone, together. */
qdq_status qdq_validate_pairs(qdq_validate_state *v, qdq_error *err);

/* What was kept, taken away again where it may do harm: as long as there are builds left by the
 * bound. */
qdq_status qdq_validate_backward(qdq_validate_state *v, qdq_error *err);

#endif /* QDQ_VALIDATE_STATE_H */
