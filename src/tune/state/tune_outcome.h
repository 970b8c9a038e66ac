/* tune_outcome.h - results of a run for its reports, in addition to qdq_tune_result. */
#ifndef QDQ_TUNE_OUTCOME_H
#define QDQ_TUNE_OUTCOME_H

#include "base/vec.h"
#include "qdq/tune.h"
#include "tune/measure/measure.h"

/* The result of changing a single edge, or the type of one tensor's quantized values. */
typedef struct qdq_tune_change {
    /* estimated saving from two profiles, in microseconds: this one's part of the saving of all
     * equal ones; NAN: unknown */
    double saved_us;
    /* number of changes that were estimated together, including this one */
    unsigned n_equal;
    /* the change was tried, and accepted, in a trial */
    bool tried, accepted;
    /* number of edges, tensors or weights that this trial changed */
    unsigned turned;
    /* number of that trial in the report */
    size_t trial;
    /* result of that trial */
    qdq_test_result result;
} qdq_tune_change;

/* Facts for the reports and the drawing, and the memory that qdq_tune_result points to. */
typedef struct qdq_tune_outcome {
    /* memory of t->out */
    char reason[300];
    qdq_verify_result computed;
    QDQ_VEC(qdq_tune_overruled) overruled;
    QDQ_VEC(qdq_tune_typed) typed;
    /* the final validation's last model was slower with the other dims */
    bool slower;
    /* the written model has the placement that the search found */
    bool ships_found;
    /* SQNR of the model that the final validation evaluated last; NAN: none */
    double shipped_db;
    /* metric of the same model */
    double shipped_metric;
    /* SQNR of the written model and of the rules' plan, next to the Pareto front; NAN: unknown, or
     * float */
    double final_db, rules_db;
    /* by edge of the space (tune_edges.c); NULL: not searched */
    qdq_tune_change *edges;
    /* by number of a typed tensor (space_types.h); NULL: not searched */
    qdq_tune_change *types;
    /* by group (tune_weights.c); NULL: not searched */
    qdq_tune_change *weights;
    /* by operator and format of space_forms.h (tune_forms.c); NULL: not searched */
    qdq_tune_change *forms;
    /* Names of the tensors of t->out->typed, and for each the index of its entry there. */
    QDQ_VEC(const char *) typed_name;
    QDQ_VEC(size_t) typed_of;
} qdq_tune_outcome;

/* The accuracy of a model that was not compared. */
extern const qdq_tune_accuracy qdq_tune_no_accuracy;

/* Fills in the result of a run before it begins. */
void qdq_tune_begin_result(qdq_tune_result *r);
/* A copy in one block, freed with qdq_free(); NULL: out of memory. */
qdq_tune_result *qdq_tune_copy_result(qdq_tune_result *r);

#endif /* QDQ_TUNE_OUTCOME_H */
