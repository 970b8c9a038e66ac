/* validate.h - decides by measurements on the whole model which of many proposals to accept. It
 * measures all of them together; if they save less than expected, it measures parts of them, until
 * harmful ones are isolated. It knows no models: it makes trials as the search does (search.h), and
 * only a measurement changes the incumbent. It is deterministic: equal measurements give equal
 * decisions.
 *
 * A set of items saves less than expected if its measured saving is below the sum of the expected
 * ones by more than three standard errors, of the measurement and of the expectations: saved <
 * sum(saves) - 3 sqrt(se(saved)^2 + sum(se^2)), as fractions of the baseline's time. If an item's
 * saving is unknown (NAN), only the verdict of the measurement counts. Such sets are halved, which
 * takes about log2(n) builds for each harmful item. */
#ifndef QDQ_VALIDATE_H
#define QDQ_VALIDATE_H

#include "tune/search/search.h"

/* A proposal: bits that are on if it is accepted. Two items have no bit in common. */
typedef struct qdq_validate_item {
    const char *name;
    qdq_assign bits;
    /* expected saving, as a fraction of the baseline's time; NAN: unknown */
    double saves;
    /* standard error of `saves`; NAN counts as 0 */
    double se;
    /* topological index, by which sets are halved */
    uint32_t place;
} qdq_validate_item;

/* Two items that share a tensor. Sets are halved between items without links as long as possible,
 * and two items that were rejected alone are tried together. */
typedef struct qdq_validate_link {
    uint32_t item[2];
} qdq_validate_link;

typedef enum qdq_validate_verdict {
    /* off: neither better nor worse was detected, or the budget was used up */
    QDQ_VALIDATE_UNDECIDED,
    /* on in `merged` */
    QDQ_VALIDATE_KEPT,
    QDQ_VALIDATE_REJECTED,
    /* a model with it cannot be built */
    QDQ_VALIDATE_FAILED
} qdq_validate_verdict;

/* The name of a verdict: "undecided", "kept", "rejected", "failed". */
const char *qdq_validate_verdict_name(qdq_validate_verdict v);

struct qdq_validate_result;

typedef struct qdq_validate_problem {
    /* its starts are measured first, and items are added to the first one, the baseline; its units
     * and boundaries are not used */
    const qdq_search_problem *search;
    const qdq_validate_item *item;
    size_t n_items;
    const qdq_validate_link *link;
    size_t n_links;
    /* false: accepts all items or none */
    bool incremental;
    /* By item: the decisions of an earlier run, UNDECIDED for others; NULL: none. The items that it
     * accepted are measured together again. If they save time, its other decisions count too; if
     * not, none does. Not used without `incremental`. */
    const qdq_validate_verdict *known;
    /* Called before each measurement that follows a decision, and at the end; may be NULL. */
    qdq_status (*decided)(void *ctx, const struct qdq_validate_result *so_far, qdq_error *err);
    void *decided_ctx;
} qdq_validate_problem;

/* The kind of a candidate whose items an earlier run decided about. */
#define QDQ_VALIDATE_KNOWN "known groups"

typedef struct qdq_validate_decision {
    qdq_validate_verdict verdict;
    /* Kind of the candidate that decided the item, alone or in a set, as in the search's events:
     * "all groups", "several components", "a component", "half of a component", "a group", "the
     * other groups", "two neighbours", QDQ_VALIDATE_KNOWN, or "without ..." one of these. NULL:
     * nothing decided it yet. */
    const char *move;
    /* time of that candidate, as a fraction of the baseline's; NAN: it cannot be built, an earlier
     * run decided, or the item is too small to be seen alone */
    double time;
} qdq_validate_decision;

/* The result; arrays are in the arena. */
typedef struct qdq_validate_result {
    /* best: `merged`, or a faster start */
    qdq_search_result search;
    /* the baseline with all items, and with accepted ones */
    qdq_assign raw, merged;
    /* by item */
    qdq_validate_decision *item;
    /* numbers of items, by verdict */
    size_t accepted, rejected, failed, undecided;
} qdq_validate_result;

/* Validates the items, each of which has bits that no other one has. Of `opts`, only test,
 * max_trials and max_builds count; ops->profile is not used. During the validation, the incumbent
 * is the baseline with accepted items; at the end it is measured against the best other start. A
 * set of n items is tested with opts->test.alpha / n, because an error accepts n items. Without
 * limits, it takes at most 4 + 2 log2(n) (d + 1) builds and those of the starts, if d items save
 * less than expected. */
qdq_status qdq_validate_run(const qdq_validate_problem *p, const qdq_search_opts *opts,
                            const qdq_search_ops *ops, qdq_arena *arena, qdq_validate_result *out,
                            qdq_error *err);

#endif /* QDQ_VALIDATE_H */
