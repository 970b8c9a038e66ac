/* tune_prices.h - the costs of classes of tensors in a placement, from its profile: for the steps
 * after the search, tune_edges.c and tune_types.c; and their trials, also those of
 * tune_weights.c and tune_forms.c. */
#ifndef QDQ_TUNE_PRICES_H
#define QDQ_TUNE_PRICES_H

#include "base/buf.h"
#include "tune/state/tune_budget.h"
#include "tune/trial/tune_trials.h"

#define QDQ_TUNE_NO_KIND UINT32_MAX

typedef struct qdq_refining qdq_refining;

/* The best placement, and the items to change in it: edges, tensors or groups, which form
 * classes. */
struct qdq_refining {
    /* its hyperedges are known */
    qdq_tune_state *t;
    qdq_arena arena;
    /* the best placement so far, with a bit for each edge */
    qdq_assign base;
    /* it is better than at the beginning */
    bool is_better;
    /* what trials are compared with until one is accepted; NULL: the base */
    const qdq_assign *against;
    /* the builds of this step count; and the number that a profile needs, with what follows it */
    qdq_tune_stage stage;
    unsigned builds;
    /* Appends the properties that distinguish an edge of the space; false: the edge is not an
     * item. */
    bool (*describe)(const qdq_refining *x, size_t edge, qdq_buf *text);
    /* Changes an item in `c`; and whether it differs there from the base. */
    void (*change)(const qdq_refining *x, size_t item, qdq_assign *c);
    bool (*differs)(const qdq_refining *x, size_t item, const qdq_assign *c);
    /* us of an item, where items have times of their own; NULL: tensors have them */
    double (*time_of)(const qdq_refining *x, size_t item, const qdq_tune_times *times);
    /* a kernel's time counts for its inputs only, not for its outputs */
    bool by_reader;
    /* by tensor of t->parts.hyperedges: its class; QDQ_TUNE_NO_KIND: none */
    uint32_t *kind_of;
    /* number of items */
    size_t n;
    /* by item: its class; QDQ_TUNE_NO_KIND: none */
    uint32_t *kind;
    /* by item: the change turns it off, and costs are those of items that are on; NULL: none
     * does */
    const bool *is_off;
    /* by item */
    qdq_tune_change *out;
    /* by class: saving of the change in us, below 0: loss; and whether it is a detectable saving */
    QDQ_VEC(double) gain;
    QDQ_VEC(bool) pays;
};

/* Starts with t->run.found.best as base, and n items without results. */
qdq_status qdq_refine_begin(qdq_refining *x, size_t n, qdq_error *err);

/* Ends with `st`. If the base is better than t->run.found.best, it becomes the latter. */
qdq_status qdq_refine_end(qdq_refining *x, qdq_status st, qdq_error *err);

/* Puts the tensors of t->parts.hyperedges into classes without savings. Tensors of one class have
 * the same size, producer's operator and properties of edges. */
qdq_status qdq_refine_find_kinds(qdq_refining *x, qdq_error *err);

/* Appends the dims of a tensor, which distinguish items of different sizes; `v` may be NULL. */
void qdq_refine_describe_dims(qdq_buf *text, const qdq_value *v);

/* Appends the properties that distinguish an item; false: it is none. */
typedef bool qdq_refine_describe(const qdq_refining *x, size_t item, qdq_buf *text);

/* Puts items into classes of equal properties, without savings. */
qdq_status qdq_refine_find_classes(qdq_refining *x, qdq_refine_describe *describe, qdq_error *err);

/* *out: by class, its number of items; in the arena. */
qdq_status qdq_refine_count_items(qdq_refining *x, unsigned **out, qdq_error *err);

/* The class of a value's tensor. */
uint32_t qdq_refine_kind_of(const qdq_refining *x, const qdq_value *v);

typedef struct qdq_tune_prices {
    /* us by class: conversions, copies, and the kernels at both ends */
    double *time;
    /* us of kernels without a class */
    double unclassed;
    /* us of the model */
    double sum;
    /* false: the profile is not enough */
    bool known;
} qdq_tune_prices;

/* The factor on times of `after`: what is the same in both took as long in both, or else the
 * machine's pace was another one. 1, where too little is the same. */
double qdq_refine_pace(const qdq_tune_prices *before, const qdq_tune_prices *after);

/* Computes the savings of classes from the profiles of `c` and of the base (whose costs it stores
 * in *before), and reports them for their items. Takes up to two builds. *known false: a profile is
 * missing. */
qdq_status qdq_refine_find_gains(qdq_refining *x, const qdq_assign *c, qdq_tune_prices *before,
                                 bool *known, qdq_error *err);

/* Whether builds are left for two profiles, of which the base may have one, and for a trial. */
qdq_status qdq_refine_has_builds(const qdq_refining *x, bool *out, qdq_error *err);

/* The class with the largest detectable saving; QDQ_TUNE_NO_KIND: none. *n: number of such
 * classes. */
uint32_t qdq_refine_best_kind(const qdq_refining *x, size_t *n);

/* *out: the base with changed items: those of class `only`, or of all classes with a detectable
 * saving (QDQ_TUNE_NO_KIND). */
qdq_status qdq_refine_change_kinds(qdq_refining *x, uint32_t only, qdq_assign *out, qdq_error *err);

/* Measures that. */
qdq_status qdq_refine_try_kind(qdq_refining *x, const char *move, uint32_t only, bool *kept,
                               qdq_error *err);

/* Measures `c` against the base (or x->against), and makes it the base if it is accepted. */
qdq_status qdq_refine_try(qdq_refining *x, const char *move, const qdq_assign *c, bool *kept,
                          qdq_error *err);

/* Whether a user's filter of nodes, or a complete result from caches, leaves nothing to refine. */
bool qdq_tune_is_settled(const qdq_tune_state *t);

/* Whether further steps make sense on the best placement: not where it is settled, or without any
 * node in 8 bits. */
bool qdq_tune_may_refine(const qdq_tune_state *t);

#endif /* QDQ_TUNE_PRICES_H */
