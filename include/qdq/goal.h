/* qdq/goal.h - quantization that keeps an accuracy: layers go back to float until a goal holds. */
#ifndef QDQ_GOAL_H
#define QDQ_GOAL_H

#include "compare.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The goal where nobody asks for one: dB that every output keeps on real data. */
#define QDQ_DEFAULT_MIN_SQNR 20.0

typedef struct qdq_goal_opts {
    size_t size;
    double
        min_sqnr; /* dB that every output and every slice of it has at least: qdq_compare_tensor; 0: no such goal */
    double
        max_drop; /* how much lower than the float model's the accuracy may be, as a share (0.005: half a point);
                        below 0: no such goal. Needs labels. */
    qdq_data *eval;           /* what is judged on; NULL: the data of calibration */
    size_t first, count;      /* of its samples; count 0: to the end */
    unsigned max_evaluations; /* 0: 16 */
    /* Nobody asked for a goal: min_sqnr is QDQ_DEFAULT_MIN_SQNR where real data judge a model that came without Q/DQ, else none;
     * with Q/DQ of its own a result below it is only warned of. */
    bool by_default;
} qdq_goal_opts;

#define QDQ_GOAL_OPTS_INIT                                                                                   \
    {                                                                                                        \
        sizeof(qdq_goal_opts), 0, -1, NULL, 0, 0, 0, false                                                   \
    }

/* One evaluation: a plan was made, applied, and run on the samples. */
typedef struct qdq_goal_step {
    size_t n_float;    /* layers that were taken back in it */
    double sqnr_db;    /* of the slice that has least; NAN: an output is zero everywhere */
    double accuracy;   /* NAN without labels */
    double time_share; /* of the float model's time, estimated from shapes */
    bool holds;
} qdq_goal_step;

/* A layer that could go back. */
typedef struct qdq_goal_layer {
    const char *node, *op;
    double error;       /* that it introduces: qdq_compare_layer */
    double saved_share; /* of the float model's time that 8 bits save in it, estimated from shapes */
    bool is_float;      /* it went back */
} qdq_goal_layer;

typedef struct qdq_goal_result {
    bool reached;
    char why[300];         /* if not: what was found, what was expected */
    double float_accuracy; /* NAN without labels */
    qdq_goal_step *steps;  /* in the order of the evaluations */
    size_t n_steps;
    qdq_goal_layer *layers; /* worst ratio of error to saved time first; none if all could stay */
    size_t n_layers;
} qdq_goal_result;

/* Quantizes as qdq_quantize() does. If that misses the goal, layers go back to float, those first whose error is
 * largest for the time that they save: in steps that double, then by bisection; then groups come back as far as the
 * goal allows. Each time everything is placed anew around them, for they change their neighbours; what was calibrated
 * is kept, and so are outputs of the float model, as far as `memory` of the options allows. A goal that only a float
 * model would reach is not reached: then *plan and *out are what came nearest. *result goes to qdq_goal_result_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_quantize_goal(const qdq_model *m, const qdq_target *t, qdq_engine *e,
                                                  qdq_data *data, const qdq_quantize_opts *opts,
                                                  const qdq_goal_opts *goal, qdq_plan **plan, qdq_model **out,
                                                  qdq_goal_result **result, qdq_error *err);
QDQ_API void qdq_goal_result_free(qdq_goal_result *r); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif /* QDQ_GOAL_H */
