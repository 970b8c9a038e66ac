/* validate_state.h - what a validation knows while it works; shared by the validate*.c files
 * only. */
#ifndef QDQ_VALIDATE_STATE_H
#define QDQ_VALIDATE_STATE_H

#include "tune/search/search_state.h"
#include "tune/validate/validate.h"

/* What one trial told. */
typedef struct qdq_validate_seen {
    bool failed, kept, unclear; /* unclear: the pairs decided neither way */
    double saved, variance;     /* of the items, as shares of the baseline's time; NAN: it failed */
    size_t trial;               /* SIZE_MAX: the budget is over, nothing was seen */
} qdq_validate_seen;

/* Items in a row of `order` that bring less than they promise: all of them on, or all off. */
typedef struct qdq_validate_part {
    size_t low, high; /* positions, `high` excluded */
    /* as measured, or as what the rest of a larger set leaves; NAN: unknown */
    double saved, variance;
    double urgency; /* the highest first */
    size_t trial;   /* that says so */
} qdq_validate_part;

typedef struct qdq_validate_state {
    const qdq_validate_problem *p;
    const qdq_search_opts *asked;
    qdq_validate_result *out;
    qdq_search_opts opts; /* with the errors that a trial may make */
    qdq_search_ops ops;   /* the caller's, without what other runs and profiles know */
    qdq_search_state s;

    const qdq_assign *base;
    /* items by component, those first that save most, and then by place */
    uint32_t *order;
    uint32_t *component; /* by item: an item of the same component */
    bool *on;            /* by item */
    bool *alone;         /* by item: it was tried by itself, and refused */
    /* by item: what the set that it was kept in may lack of its promise */
    double *hidden;
    size_t good, bad;  /* items that trials decided about so far */
    unsigned measured; /* trials that took a build */
    bool news;         /* a decision that no one was told of */
    QDQ_VEC(qdq_validate_part) parts;
    QDQ_VEC(qdq_validate_trial) trials;
} qdq_validate_state;

/* Sums over a set. */
typedef struct qdq_validate_promise {
    double saves, variance; /* NAN: of one it is not known */
    double least;           /* of a single item's `saves` */
} qdq_validate_promise;

/* --- validate_trial.c ------------------------------------------------------------------------- */

/* The base with all items that are on, into `a`. */
void qdq_validate_merge(const qdq_validate_state *v, qdq_assign *a);

/* Measures the incumbent with the items, or without them if they are on; a kept change is made.
 * `split`: this many such trials share the error of keeping what brings nothing. */
qdq_status qdq_validate_try(qdq_validate_state *v, const uint32_t *item, size_t n, const char *move,
                            double split, qdq_validate_seen *out, qdq_error *err);

qdq_validate_promise qdq_validate_sum(const qdq_validate_state *v, const uint32_t *item, size_t n);

/* What may be missing of a promise: its shortfall and one standard error. NAN: nothing was
 * promised. */
double qdq_validate_doubt(const qdq_validate_promise *p, double saved, double variance);

/* Does a saving fall short of a promise, and by enough that one of the items may do harm that can
 * be seen? */
bool qdq_validate_is_short(const qdq_validate_state *v, const qdq_validate_promise *p, double saved,
                           double variance);

/* Could it be told from noise if they kept their promise? */
bool qdq_validate_matters(const qdq_validate_state *v, const qdq_validate_promise *p);

/* Tells the caller, if there is anything new. */
qdq_status qdq_validate_tell(qdq_validate_state *v, qdq_error *err);

/* Trial SIZE_MAX: none. */
void qdq_validate_decide(qdq_validate_state *v, const uint32_t *item, size_t n,
                         qdq_validate_verdict verdict, size_t trial);

/* --- validate_sets.c -------------------------------------------------------------------------- */

/* Finds components and the order of items. */
qdq_status qdq_validate_arrange(qdq_validate_state *v, qdq_error *err);

/* The number of an item that stands for all that links reach from it. With `only_on`: through items
 * that are on. */
void qdq_validate_connect(const qdq_validate_state *v, bool only_on, uint32_t *component);

/* Items at positions [low, high) of the order: on if that was kept, off if not. `seen` is what a
 * trial of them told; what falls short is halved until it is settled, or the budget is over. */
qdq_status qdq_validate_halve(qdq_validate_state *v, size_t low, size_t high,
                              const qdq_validate_seen *seen, qdq_error *err);

/* Takes what is known beforehand. [*low, *high): positions in the order of the items that are still
 * to be decided. */
qdq_status qdq_validate_take_known(qdq_validate_state *v, size_t *low, size_t *high,
                                   qdq_error *err);

/* --- validate_after.c ------------------------------------------------------------------------- */

/* Neighbours that were refused alone, together. */
qdq_status qdq_validate_pairs(qdq_validate_state *v, qdq_error *err);

/* What was kept, taken away again where it may do harm: as long as there are builds left by the
 * bound. */
qdq_status qdq_validate_backward(qdq_validate_state *v, qdq_error *err);

#endif /* QDQ_VALIDATE_STATE_H */
