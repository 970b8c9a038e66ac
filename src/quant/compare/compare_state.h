/* compare_state.h - what a comparison knows while it runs. */
#ifndef QDQ_COMPARE_STATE_H
#define QDQ_COMPARE_STATE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "quant/calib/feedback.h"
#include "quant/compare/compare_output.h"
#include "quant/compare/compare_run.h"

/* An output that both models have. */
typedef struct qdq_compared {
    const char *name;
    qdq_compare_output sums;
    /* it has no numbers */
    bool left_out;
    /* no output: it decides the shape of one */
    bool is_inner;
    /* its shape is decided by an inner value, which is compared in its place */
    bool follows;
    /* then: in a sample it was another one */
    bool other_shape;
    /* of the first model, for this sample */
    qdq_held held;
    /* and the second one gave it, too */
    bool is_done;
} qdq_compared;

struct qdq_comparing {
    qdq_engine *engine;
    /* the second: of the range that runs; NULL: none ran yet */
    const qdq_model *model[2];
    qdq_data *data;
    qdq_compare_opts opts;
    /* samples */
    size_t first, end;
    /* of these */
    bool *has_run;
    size_t n_run;
    qdq_arena arena;
    QDQ_VEC(qdq_compared) outputs;
    /* names of inner ones, and NULL; empty: none */
    QDQ_VEC(const char *) expose;
    qdq_map by_name;
    qdq_safe_session session[2];
    qdq_opt_level level[2];
    /* outputs of the first model, from comparison to comparison; NULL: they are not kept */
    qdq_reference_outputs *reference_outputs;
    /* of the two models */
    qdq_feedback states[2];
    /* NULL: none */
    qdq_compare_looks *looks;
    /* that runs */
    size_t sample, step;
    /* its */
    const int64_t *labels;
    size_t n_labels;
    /* the same: qdq_slices_batch() */
    int64_t batch;
};

/* compare_common.c: lists the outputs that both models have, and inner values that decide the shape
 * of one. */
qdq_status qdq_comparing_find_outputs(qdq_comparing *c, qdq_error *err);

/* Does b have what is fed back, and what the model before it has? */
qdq_status qdq_comparing_need_states(const qdq_comparing *c, const qdq_model *b, qdq_error *err);
qdq_status qdq_comparing_need_outputs(const qdq_comparing *c, const qdq_model *b, qdq_error *err);

#endif /* QDQ_COMPARE_STATE_H */
