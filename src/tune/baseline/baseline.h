/* baseline.h - baselines: models with Q/DQ from the user. Each is measured unchanged, in the search
 * and in the final validation, and is written if no model that reaches the goal is faster. Its
 * placement is a start of the search. */
#ifndef QDQ_TUNE_BASELINE_H
#define QDQ_TUNE_BASELINE_H

#include "tune/state/tune_state.h"

typedef struct qdq_baseline {
    const qdq_model *model;
    /* file whose bytes are written; NULL: the model is saved */
    const qdq_mapping *file;
    /* the imported plan */
    qdq_plan *plan;
    /* the same with names of the clean model; refers to memory of `plan` */
    qdq_plan *placed;
    /* its part that the space's groups can express */
    qdq_assign placement;
    /* its part that the whole space can express, with a bit for each edge; word NULL: not computed
     * yet */
    qdq_assign exact;
    qdq_tune_candidate *candidate;
    qdq_tune_evaluation evaluation;
    qdq_verify_result computed;
    /* it reaches the goal, and no wrong result of the engine is known */
    bool may_ship;
    /* its weights are those of the model: its types and scales are of use for any shapes */
    bool same_weights;
    /* measured before the search (`of_search`, with the clean model), and in the final validation
     * (`of_it`) */
    bool searched, timed;
    qdq_test_result of_search, of_it;
    qdq_tune_baseline *result;
    /* text of result->why */
    char why[300];
} qdq_baseline;

/* Imports all baselines, and finds those that are another model. QDQ_E_FORMAT: one has no Q/DQ, or
 * belongs to another network, or has other weights and a placement that the space cannot
 * express. */
qdq_status qdq_baselines_read(qdq_tune_state *t, qdq_error *err);
void qdq_baselines_free(qdq_tune_state *t);

/* "2:" and hashes of their content; "" without baselines. In the arena; NULL: out of memory. */
const char *qdq_baselines_text(qdq_tune_state *t);

/* Before any other timing: builds, evaluates and verifies each one, and times it in pairs with the
 * model without Q/DQ. The best valid one becomes model.onnx. */
qdq_status qdq_baselines_try(qdq_tune_state *t, qdq_error *err);

/* After the search over groups: tries the placement of each one, edge by edge, against the best so
 * far; an accepted one becomes t->run.found.best. */
qdq_status qdq_baselines_try_exact(qdq_tune_state *t, qdq_error *err);

/* size of a reason, in bytes */
enum { QDQ_BASELINE_WHY = 300 };

/* Defined in baseline_weights.c. Compares the weights of a model, stripped of the Q/DQ of `p`, with
 * those of `given` or of `clean`, within a step of their scales: each weight that the plan
 * quantizes, and each that a linear operator reads. If they differ, `why` names the weight; else it
 * stays unchanged. Biases are not compared, because tools correct them. */
qdq_status qdq_baseline_compare_weights(const qdq_model *given, const qdq_model *clean,
                                        const qdq_model *stripped, const qdq_plan *p,
                                        char why[QDQ_BASELINE_WHY], qdq_error *err);

/* Defined in baseline_names.c. Makes a plan for the graph of `of`, edge by edge in the names of
 * `clean`, for nodes that both have. *removed: number of edges of other nodes, which cleaning
 * folds, fuses or removes. *out refers to memory of p, and is freed with qdq_plan_free(). */
qdq_status qdq_baseline_rename(const qdq_plan *p, const qdq_model *of, const qdq_model *clean,
                               qdq_plan **out, size_t *removed, qdq_error *err);

/* Defined in baseline_unsaid.c. Counts the differences of two plans for the clean model: the
 * imported one, and what the space expresses of it. */
qdq_status qdq_plans_differ(const qdq_space *s, const qdq_plan *imported, const qdq_plan *expressed,
                            qdq_tune_not_expressed *out, qdq_error *err);

#endif /* QDQ_TUNE_BASELINE_H */
