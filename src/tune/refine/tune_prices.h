/* tune_prices.h - what kinds of tensors cost in a placement, by its profile: for what is tried
 * behind the search, tune_edges.c and tune_types.c. */
#ifndef QDQ_TUNE_PRICES_H
#define QDQ_TUNE_PRICES_H

#include "base/buf.h"
#include "tune/trial/tune_trials.h"

#define QDQ_TUNE_NO_KIND UINT32_MAX

typedef struct qdq_refining qdq_refining;

/* The best placement, and what it may still gain where edges or tensors of a kind are made
 * otherwise: those are the items. */
struct qdq_refining {
    qdq_tune_state *t; /* its nets are known */
    qdq_arena arena;
    qdq_assign base; /* the best placement so far, with a bit for each edge */
    bool is_better;  /* than what came in */
    bool (*may_build)(const qdq_tune_state *t);
    /* Appends what tells an edge of the space apart; false: it has no part in it. */
    bool (*describe)(const qdq_refining *x, size_t edge, qdq_buf *text);
    /* Makes an item otherwise in `c`; is it otherwise there than in the base? */
    void (*change)(const qdq_refining *x, size_t item, qdq_assign *c);
    bool (*differs)(const qdq_refining *x, size_t item, const qdq_assign *c);
    bool by_reader;       /* a kernel's time belongs to what it reads alone, not to what it gives */
    uint32_t *kind_of;    /* by tensor of t->parts.nets: its kind; QDQ_TUNE_NO_KIND */
    size_t n;             /* items */
    uint32_t *kind;       /* by item; QDQ_TUNE_NO_KIND */
    const bool *is_off;   /* by item: changed it is off, and is priced as what is on; NULL: none */
    qdq_tune_change *out; /* by item */
    /* by kind: us that its other form saves, below 0: costs; and whether that is more than noise */
    QDQ_VEC(double) gain;
    QDQ_VEC(bool) pays;
};

/* x->base: t->run.found.best. There are n items, of which nothing is known yet. */
qdq_status qdq_refine_begin(qdq_refining *x, size_t n, qdq_error *err);

/* The end, after `st`: the base becomes t->run.found.best, if it is better. */
qdq_status qdq_refine_end(qdq_refining *x, qdq_status st, qdq_error *err);

/* Puts the tensors of t->parts.nets into kinds, which gain nothing yet: alike are those of one
 * size, from one operator, whose edges are described alike. */
qdq_status qdq_refine_find_kinds(qdq_refining *x, qdq_error *err);

/* The kind of a value's tensor. */
uint32_t qdq_refine_kind_of(const qdq_refining *x, const qdq_value *v);

typedef struct qdq_tune_prices {
    double *time; /* us by kind: conversions and copies, and the kernels at both ends */
    double rest;  /* us of kernels that no kind takes part in */
    double sum;   /* us of the model */
    bool known;   /* else the above is unknown */
} qdq_tune_prices;

/* Fills in what kinds gain by the profile of `c` beside that of the base, of which *before is told,
 * and tells it of their items: up to two builds. *known: false where there are not both. */
qdq_status qdq_refine_find_gains(qdq_refining *x, const qdq_assign *c, qdq_tune_prices *before,
                                 bool *known, qdq_error *err);

/* The kind that pays most; QDQ_TUNE_NO_KIND: none pays. *n: kinds that pay. */
uint32_t qdq_refine_best_kind(const qdq_refining *x, size_t *n);

/* Measures the base with the items of kind `only` changed, or of each kind that pays
 * (QDQ_TUNE_NO_KIND). */
qdq_status qdq_refine_try_kind(qdq_refining *x, const char *move, uint32_t only, bool *kept,
                               qdq_error *err);

/* Measures `c` beside the base, which it becomes where it is kept. */
qdq_status qdq_refine_try(qdq_refining *x, const char *move, const qdq_assign *c, bool *kept,
                          qdq_error *err);

/* May more be explored than the search has? Not with a filter of nodes, where caches say what is to
 * be done, or where nothing is in 8 bits. */
bool qdq_tune_may_refine(const qdq_tune_state *t);

bool qdq_tune_can_profile(const qdq_tune_state *t);

#endif /* QDQ_TUNE_PRICES_H */
