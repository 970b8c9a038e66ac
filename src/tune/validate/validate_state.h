/* validate_state.h - the state of a validation, and one trial of it; shared by the validate*.c
 * files only. */
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
    /* of the last trial of the set, or of a set that contains it: as in a decision */
    const char *move;
    double time;
    /* result of its own trial; unclear: the pairs were undecided */
    bool failed, unclear;
} qdq_validate_set;

/* State of an item. */
typedef struct qdq_validate_mark {
    bool on;
    /* it was tried alone, and rejected */
    bool alone;
    /* possible shortfall that its accepted set hides */
    double hidden;
} qdq_validate_mark;

typedef struct qdq_validation {
    const qdq_validate_problem *p;
    const qdq_search_opts *asked;
    qdq_validate_result *out;
    /* options with the error rates of a trial */
    qdq_search_opts opts;
    /* the caller's, without known times and profiles */
    qdq_search_ops ops;
    qdq_search_state s;
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
    /* items are tried one by one from now on */
    bool linear;
    /* a decision was not reported yet */
    bool news;
    /* waiting for a trial */
    QDQ_VEC(qdq_validate_set) sets;
} qdq_validation;

static inline bool qdq_validate_is_on(const qdq_validation *v, const qdq_validate_set *s)
{
    return v->mark[s->item[0]].on;
}

static inline const qdq_assign *qdq_validate_base(const qdq_validation *v)
{
    return &v->p->search->start[v->p->base];
}

/* Turns the items on or off, without a trial. */
void qdq_validate_turn(qdq_validation *v, const qdq_validate_set *s, bool on);

/* Sets `a` to the base with all items that are on. */
void qdq_validate_merge(const qdq_validation *v, qdq_assign *a);

/* Records a verdict about the items, by s->move; and reports new ones to the caller. */
void qdq_validate_decide(qdq_validation *v, const qdq_validate_set *s,
                         qdq_validate_verdict verdict);
qdq_status qdq_validate_report(qdq_validation *v, qdq_error *err);

/* Sum of the items' expected savings; NAN: one is unknown. */
double qdq_validate_promise(const qdq_validation *v, const qdq_validate_set *s);

/* What may be missing of the promise: its shortfall and one standard error. NAN: nothing was
 * promised. */
double qdq_validate_doubt(const qdq_validation *v, const qdq_validate_set *s);

/* Whether the set falls short of its promise, and by enough that one of the items may do harm that
 * can be seen. */
bool qdq_validate_is_short(const qdq_validation *v, const qdq_validate_set *s);

/* Whether it could be told from noise if the items kept their promise. */
bool qdq_validate_matters(const qdq_validation *v, const qdq_validate_set *s);

/* Measures the incumbent with the items, or without them if they are on, and makes the change if it
 * is accepted. `split`: number of such trials that share the error rate of false acceptance. If the
 * budget is used up (v->s.over), nothing is measured, and *s is unchanged. */
qdq_status qdq_validate_try(qdq_validation *v, qdq_validate_set *s, const char *move, double split,
                            qdq_error *err);

/* The verdict that the trial of a set gives its items. */
qdq_validate_verdict qdq_validate_verdict_of(const qdq_validation *v, const qdq_validate_set *s);

#endif /* QDQ_VALIDATE_STATE_H */
