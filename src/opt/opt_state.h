/* opt_state.h - what the manager keeps while a pipeline runs: records for the report, the count of
 * changes, facts. Passes see opt.h only. */
#ifndef QDQ_OPT_STATE_H
#define QDQ_OPT_STATE_H

#include "base/vec.h"
#include "opt/opt.h"
#include "opt/pipeline.h"

enum { QDQ_REFUSAL_EXAMPLES = 5, QDQ_REFUSAL_REASONS = 32 };

typedef struct qdq_refusal_record {
    const char *reason;
    size_t n, n_examples;
    const char *example[QDQ_REFUSAL_EXAMPLES];
} qdq_refusal_record;

/* Of one step of the pipeline, over all rounds. */
typedef struct qdq_step_record {
    uint64_t changes;
    /* of the last round in which it ran */
    QDQ_VEC(qdq_refusal_record) refusals;
    int64_t nodes, bytes;
    double seconds;
} qdq_step_record;

typedef struct qdq_model_count {
    size_t nodes, q, dq;
    uint64_t bytes;
} qdq_model_count;

struct qdq_opt_state {
    qdq_arena memory;
    qdq_pipeline pipeline;
    qdq_step_record record[QDQ_MAX_STEPS];
    /* the step at work */
    size_t current;
    uint64_t changes;
    qdq_facts *facts;
    qdq_model_count before, last;
    double start;
    /* found where no status could say so: in a report, in the check of a rule */
    bool nomem;
};

qdq_status qdq_opt_begin(qdq_opt *o, qdq_error *err);
void qdq_opt_end(qdq_opt *o);

/* Changes and refusals from here on are those of this step. */
void qdq_opt_enter(qdq_opt *o, size_t step);
void qdq_opt_begin_record(qdq_opt *o, size_t step);
/* Steps [first, first + n) ran together: nodes, bytes and time are known for all of them only,
 * unless n is 1; rules book their own. */
void qdq_opt_end_record(qdq_opt *o, size_t first, size_t n, double seconds);
void qdq_opt_book(qdq_opt *o, size_t step, int64_t nodes, int64_t bytes, double seconds);

qdq_model_count qdq_opt_count(const qdq_model *m);
qdq_status qdq_opt_report(qdq_opt *o, bool settled, int rounds, qdq_optimize_report **out,
                          qdq_error *err);

/* The text form, with constants of up to 64 elements; freed with qdq_free(). */
qdq_status qdq_opt_text(const qdq_model *m, char **text, qdq_error *err);

/* Calls on_pass with the lines of the text form that differ from `before`. */
qdq_status qdq_opt_report_lines(qdq_opt *o, const char *pass, const char *before, qdq_error *err);

#endif /* QDQ_OPT_STATE_H */
