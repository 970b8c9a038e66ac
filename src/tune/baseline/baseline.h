/* baseline.h - models with Q/DQ that users hand in beside MODEL: each is measured as it is, in the
 * search and in the guard, and ships where nothing that holds the goal beats it. Its placement is a
 * start. */
#ifndef QDQ_TUNE_BASELINE_H
#define QDQ_TUNE_BASELINE_H

#include "tune/state/tune_state.h"

typedef struct qdq_baseline {
    const qdq_model *model;
    const qdq_mapping *file; /* whose bytes ship; NULL: the model is saved */
    qdq_plan *plan;          /* what was imported */
    /* the same in the clean model's names; it needs the memory of `plan` */
    qdq_plan *placed;
    qdq_assign placement; /* what slot groups have of it */
    /* what the whole space has of it, with a bit for each edge; word NULL: not asked yet */
    qdq_assign exact;
    qdq_tune_candidate *candidate;
    qdq_tune_evaluation evaluation;
    qdq_verify_result computed;
    /* it holds the goal, and the engine computes what its graph says, as far as is known */
    bool may_ship;
    /* before the search: `of_search`, with the clean model; in the guard: `of_it` */
    bool searched, timed;
    qdq_test_result of_search, of_it;
    qdq_tune_baseline *result;
    char why[300]; /* of `result` */
} qdq_baseline;

/* Imports all, and finds which of them are another model. QDQ_E_FORMAT: one has no Q/DQ, is of
 * another network, or of other weights and with a placement of which the space has nothing. */
qdq_status qdq_baselines_read(qdq_tune_state *t, qdq_error *err);
void qdq_baselines_free(qdq_tune_state *t);

/* "2:" and some digits of their content; "" where there are none. In the arena; NULL: out of
 * memory. */
const char *qdq_baselines_text(qdq_tune_state *t);

/* Once nothing was timed: builds, evaluates and verifies each, and times it in pairs with the model
 * without Q/DQ. The best of those that may ship becomes model.onnx. */
qdq_status qdq_baselines_try(qdq_tune_state *t, qdq_error *err);

/* After the search among slot groups: the placement of each, edge by edge, against the best so far;
 * what is kept becomes t->run.found.best. */
qdq_status qdq_baselines_try_exact(qdq_tune_state *t, qdq_error *err);

enum { QDQ_BASELINE_WHY = 300 }; /* bytes of a reason */

/* baseline_weights.c: are the weights of a model, stripped of the Q/DQ that `p` has, those of
 * `given` as it came or as `clean` leaves them, within a step of their scales? Asked of each weight
 * that the plan quantizes, and of each that a linear operator reads. Not so: `why` says which; else
 * it stays as it is. Biases are not asked: tools correct them. */
qdq_status qdq_baseline_compare_weights(const qdq_model *given, const qdq_model *clean,
                                        const qdq_model *stripped, const qdq_plan *p,
                                        char why[QDQ_BASELINE_WHY], qdq_error *err);

/* baseline_names.c: a plan for the graph of `of`, edge by edge in the names of `clean`, as far as
 * its nodes are in both. *gone: edges of other nodes, which cleaning folds, fuses or drops. *out
 * needs the memory of p, and goes to qdq_plan_free(). */
qdq_status qdq_baseline_rename(const qdq_plan *p, const qdq_model *of, const qdq_model *clean,
                               qdq_plan **out, size_t *removed, qdq_error *err);

/* baseline_unsaid.c: in what two plans for the clean model differ: the first as it was imported,
 * the second as the space has it. */
qdq_status qdq_plans_differ(const qdq_space *s, const qdq_plan *imported, const qdq_plan *expressed,
                            qdq_tune_not_expressed *out, qdq_error *err);

#endif /* QDQ_TUNE_BASELINE_H */
