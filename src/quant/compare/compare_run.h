/* compare_run.h - compares one model with others, part by part, into one result: in
 * cross-validation, each range of samples has a model of its own. */
#ifndef QDQ_COMPARE_RUN_H
#define QDQ_COMPARE_RUN_H

#include "quant/compare/reference_outputs.h"
#include "quant/half_precision/safe_session.h"

/* A session with the options of a comparison, not yet open; `which` is for errors. */
qdq_safe_session qdq_compare_session(qdq_engine *e, const qdq_model *m, const qdq_compare_opts *o,
                                     const char *which);

/* The samples of the options: [*first, *end). QDQ_E_USAGE: the data has fewer. */
qdq_status qdq_compare_range(const qdq_data *d, const qdq_compare_opts *opts, size_t *first,
                             size_t *end, qdq_error *err);

typedef struct qdq_comparing qdq_comparing;

/* Begins a comparison of of->a on the samples of the options. All that `of` points to, except the
 * options, must outlive it. *out is freed with qdq_comparing_free(). */
qdq_status qdq_comparing_begin(const qdq_comparison *of, qdq_comparing **out, qdq_error *err);

/* Runs a and b on samples [first, first + count) of the data; count 0: all samples of the
 * comparison. It compares the outputs that a and the first b have in common; a later b that lacks
 * one is QDQ_E_FORMAT. A sample that was added before, or is outside of the comparison, is
 * QDQ_E_BUG. */
qdq_status qdq_comparing_add(qdq_comparing *c, const qdq_model *b, size_t first, size_t count,
                             qdq_error *err);

/* Sets the engine's optimizations for model 0 or 1, before the first qdq_comparing_add(); default:
 * all. */
void qdq_comparing_set_level(qdq_comparing *c, int model, qdq_opt_level level);

enum { QDQ_MOST_LOOKS = 4 };

/* What one look finds: the worst SQNR so far, slices included, and the least one of whole outputs.
 * As a limit: the comparison ends where the worst is below the one, and that of whole outputs not
 * above the other. -INFINITY: it goes on; INFINITY: the other one decides. */
typedef struct qdq_compare_look {
    double worst_db, whole_db;
} qdq_compare_look;

/* Looks at the samples so far, after each `every` of them but the last. */
typedef struct qdq_compare_looks {
    /* 0: there are none */
    size_t every;
    /* by look; all have to be set */
    qdq_compare_look limit[QDQ_MOST_LOOKS];
    qdq_compare_look found[QDQ_MOST_LOOKS];
    /* that were made, */
    size_t n;
    /* of which the last one ended it */
    bool has_ended;
} qdq_compare_looks;

/* Before the first qdq_comparing_add(). `looks` is filled as samples run, and has to live until
 * then. */
void qdq_comparing_look(qdq_comparing *c, qdq_compare_looks *looks);

/* The least SQNR of outputs as wholes; INFINITY: none has one. */
double qdq_compare_whole_db(const qdq_compare_result *r);

/* The result for the samples so far. *out is freed with qdq_free() (one block). */
qdq_status qdq_comparing_get(const qdq_comparing *c, qdq_compare_result **out, qdq_error *err);
/* Its samples; borrowed. */
const qdq_data *qdq_comparing_data(const qdq_comparing *c);
/* NULL is allowed. */
void qdq_comparing_free(qdq_comparing *c);

#endif /* QDQ_COMPARE_RUN_H */
