/* tune_outcome.h - what came out beside qdq_tune_result: for the reports. */
#ifndef QDQ_TUNE_OUTCOME_H
#define QDQ_TUNE_OUTCOME_H

#include "base/vec.h"
#include "qdq/tune.h"
#include "tune/measure/measure.h"

/* What is known of Q/DQ on a single edge, or of another type of a tensor's quantized values. */
typedef struct qdq_tune_change {
    /* what Q/DQ there, or the other type, saves by two profiles: its part of what all like it save;
     * NAN: unknown */
    double saved_us;
    unsigned n_equal;       /* that were priced with it, itself included */
    bool tried, kept;       /* in a trial, */
    unsigned turned;        /* edges or tensors that were changed in that trial */
    size_t trial;           /* its number in the report */
    qdq_test_result result; /* then */
} qdq_tune_change;

/* Facts that the reports and the picture show, and the memory of what qdq_tune_result points to. */
typedef struct qdq_tune_outcome {
    /* of t->out */
    char reason[300];
    qdq_verify_result computed;
    QDQ_VEC(qdq_tune_overruled) overruled;
    QDQ_VEC(qdq_tune_typed) typed;
    bool slower;           /* with the other dims: what the guard asked last */
    double shipped_db;     /* SQNR of what the guard evaluated last; NAN: it evaluated nothing */
    double shipped_metric; /* the same of the metric */
    double final_db, rules_db; /* SQNR beside the front; NAN: not known, or float */
    /* by edge of the space, as tune_edges.c found them; NULL: it was not asked */
    qdq_tune_change *edges;
    qdq_tune_change
        *types; /* by number of a typed tensor (space_types.h); NULL: it was not asked */
    /* Names of the tensors of t->out->typed, and which of these each is one of. */
    QDQ_VEC(const char *) typed_name;
    QDQ_VEC(size_t) typed_of;
} qdq_tune_outcome;

/* Nothing was compared. */
extern const qdq_tune_accuracy qdq_tune_no_accuracy;

/* A result of a run that has not begun. */
void qdq_tune_begin_result(qdq_tune_result *r);
/* In one block, for qdq_free(); NULL: out of memory. */
qdq_tune_result *qdq_tune_copy_result(qdq_tune_result *r);

#endif /* QDQ_TUNE_OUTCOME_H */
