/* tune_prices.h - what kinds of tensors cost in a placement, by its profile: for what is tried
 * behind the search, tune_edges.c and tune_types.c. */
#ifndef QDQ_TUNE_PRICES_H
#define QDQ_TUNE_PRICES_H

#include "tune/state/tune_state.h"

#define QDQ_TUNE_NO_KIND UINT32_MAX

typedef struct qdq_tune_kinds {
    qdq_tuning *t;      /* its nets are known */
    const uint32_t *of; /* by tensor of t->parts.nets: its kind; QDQ_TUNE_NO_KIND */
    size_t n;
    bool by_reader; /* a kernel's time belongs to what it reads alone, not to what it gives */
} qdq_tune_kinds;

/* Puts the tensors of t->parts.nets into *n kinds: alike are those of one size, from one operator,
 * whose edges are described alike. `describe` appends what tells an edge of the space apart; false:
 * the edge has no part in it. *of in the arena. */
qdq_status qdq_tune_find_alike(const qdq_tuning *t,
                               bool (*describe)(const void *ctx, size_t edge, qdq_buf *text),
                               const void *ctx, qdq_arena *arena, uint32_t **of, size_t *n,
                               qdq_error *err);

typedef struct qdq_tune_prices {
    double *time; /* us by kind */
    double rest;  /* us of kernels that no kind takes part in */
    double sum;   /* us of the model */
    bool known;   /* else nobody knows anything of the above */
} qdq_tune_prices;

/* Conversions and copies of each kind, and the kernels at both ends. A build, where there is no
 * profile yet. Arrays in the arena. */
qdq_status qdq_tune_price(const qdq_tune_kinds *k, const qdq_assign *a, qdq_arena *arena,
                          qdq_tune_prices *out, qdq_error *err);

/* What times of `after` are multiplied by: what is the same in both took as long in both, or else
 * the machine's pace was another one. 1, where too little is the same. */
double qdq_tune_pace(const qdq_tune_prices *before, const qdq_tune_prices *after);

/* May more be explored than the search has? Not with a filter of nodes, where caches say what is to
 * be done, or where nothing is in 8 bits. */
bool qdq_tune_may_refine(const qdq_tuning *t);

bool qdq_tune_can_profile(const qdq_tuning *t);

/* *out: t->run.found.best, with a bit for each edge. t->parts.nets are known then. */
qdq_status qdq_tune_best_with_edges(qdq_tuning *t, qdq_arena *arena, qdq_assign *out,
                                    qdq_error *err);

#endif /* QDQ_TUNE_PRICES_H */
