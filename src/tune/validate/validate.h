/* validate.h - which of many proposals stay, measured on the whole model: all of them together, and
 * where that brings less than they promise, parts of them, until what does harm is alone. Knows no
 * models: works on the operations of search.h, and the incumbent changes by a measurement alone.
 * Deterministic: equal answers give equal decisions.
 *
 * A set of items brings less than it promises if its measured saving is below the sum of theirs by
 * more than three standard errors, of the measurement and of the promises: saved < sum(saves) - 3
 * sqrt(se(saved)^2 + sum(se^2)), as shares of the baseline's time. Where an item promises nothing
 * (NAN), the verdict of the measurement alone counts. Then sets are halved, which takes about
 * log2(n) builds for each item that does harm; where more than a fifth of what was decided is bad,
 * items are tried one by one. */
#ifndef QDQ_VALIDATE_H
#define QDQ_VALIDATE_H

#include "tune/search/search.h"

/* Bits that are on if it is accepted; those of two items are not the same. */
typedef struct qdq_validate_item {
    const char *name;
    qdq_assign bits;
    double saves;   /* expected, as a share of the baseline's time; NAN: unknown */
    double se;      /* of that; NAN counts as 0 */
    uint32_t place; /* in the graph's order: sets are halved by it */
} qdq_validate_item;

/* Two items that share a tensor: they are tried together before each is tried alone. */
typedef struct qdq_validate_link {
    uint32_t a, b;
} qdq_validate_link;

typedef enum qdq_validate_verdict {
    /* not on: seen to be neither better nor worse, or the budget did not suffice */
    QDQ_VALIDATE_UNDECIDED,
    QDQ_VALIDATE_KEPT, /* on in `merged` */
    QDQ_VALIDATE_REJECTED,
    QDQ_VALIDATE_FAILED /* a model with it could not be built */
} qdq_validate_verdict;

/* "undecided", "kept", "rejected", "failed" */
const char *qdq_validate_verdict_name(qdq_validate_verdict v);

struct qdq_validate_result;

typedef struct qdq_validate_problem {
    /* starts are measured first; units and borders are not asked */
    const qdq_search_problem *search;
    /* number of the start that items are added to; 0: the baseline */
    size_t base;
    const qdq_validate_item *item;
    size_t n_items;
    const qdq_validate_link *link;
    size_t n_links;
    bool incremental; /* false: all together or nothing */
    /* By item: what an earlier run decided, UNDECIDED for the others; NULL: nothing. The items that
     * it kept are measured together once more, and stay if they save time; then its other decisions
     * stand. If they do not, nothing of it counts. Not used without `incremental`. */
    const qdq_validate_verdict *known;
    /* Called before each measurement after a decision, and at the end; NULL: never. */
    qdq_status (*decided)(void *ctx, const struct qdq_validate_result *so_far, qdq_error *err);
    void *decided_ctx;
} qdq_validate_problem;

/* A model that was measured, or known. */
typedef struct qdq_validate_trial {
    /* "all groups", "several components", "a component", "half of a component", "a group", "known
     * groups", "two neighbours"; "without ..." the same */
    const char *move;
    const uint32_t *item; /* that were added, or taken away */
    size_t n_items;
    bool without;    /* taken away */
    bool kept;       /* the change */
    bool failed;     /* it cannot be built: nothing below counts */
    double promised; /* sum of the items' `saves`; NAN: not known */
    /* What the items save, as a share of the baseline's time, and the 95 % interval of it; where
     * they were taken away, what was lost by that. NAN: the interval of what was known before is
     * not. */
    double saved, low, high;
    double time; /* of the model, as a share of the baseline's */
    unsigned pairs;
} qdq_validate_trial;

typedef struct qdq_validate_decision {
    qdq_validate_verdict verdict;
    size_t trial; /* that decided, for this item alone or for a set that it is in; SIZE_MAX: none */
    bool known;   /* decided by an earlier run */
} qdq_validate_decision;

/* Arrays in the arena. */
typedef struct qdq_validate_result {
    qdq_search_result search;    /* best: `merged`, or a start that is faster */
    qdq_assign raw, merged;      /* the base with all items, and with those that are kept */
    qdq_validate_decision *item; /* by item */
    qdq_validate_trial *trial;   /* in order; starts are not among them */
    size_t n_trials;
    size_t kept, rejected, failed, undecided; /* items */
    /* of whole models, by ops->builds; 0: it is not there */
    unsigned builds;
    bool linear; /* items were tried one by one in the end */
} qdq_validate_result;

/* Of `opts` only test, max_trials and max_builds count; ops->profile is not asked. While it works,
 * the incumbent is the base and what was added to it; in the end that is measured against the best
 * start, if this is another one. A set of n items is tested with an n-th of opts->test.alpha,
 * because as many would be kept by mistake. Without a bound of the options it takes at most 4 + 2
 * log2(n) (d + 1) builds beside the starts' where predictions hold but for d items. */
qdq_status qdq_validate_run(const qdq_validate_problem *p, const qdq_search_opts *opts,
                            const qdq_search_ops *ops, qdq_arena *arena, qdq_validate_result *out,
                            qdq_error *err);

#endif /* QDQ_VALIDATE_H */
