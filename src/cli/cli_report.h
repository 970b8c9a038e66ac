/* cli_report.h - --report, as quantize and autotune have it: one page about the model that was
 * made. */
#ifndef QDQ_CLI_REPORT_H
#define QDQ_CLI_REPORT_H

#include "cli/cli_quant.h"
#include "qdq/check.h"
#include "qdq/compare.h"
#include "qdq/goal.h"

typedef struct cli_report_request {
    /* of the model, for the heading */
    const char *path;
    const qdq_model *model, *quantized;
    const qdq_plan *plan;
    /* that placed; or NULL */
    const qdq_target *target;
    /* NULL: nothing is measured */
    qdq_engine *engine;
    const cli_quant_args *quant;
    const cli_samples *samples;
    /* NULL: not measured before */
    const qdq_compare_result *compared;
    /* NULL: there was none */
    const qdq_goal_result *goal;
    /* what `compared` rests on; or NULL */
    const char *evaluated_on;
    /* the engine check; NULL: not asked */
    const qdq_verify_result *computed;
    /* of both, measured before; NULL */
    const qdq_bench_model *times;
    /* why there are none; NULL: to be measured */
    const char *no_times;
    int threads;
    /* the page; NULL: none */
    const char *file;
    /* for Model Explorer; NULL: none */
    const char *overlay;
    /* its nodes got names with --metadata */
    bool named;
    bool force;
} cli_report_request;

/* The name of --report says what is written. */
qdq_status cli_report_check(const char *path, qdq_error *err);

qdq_status cli_report_write(cli *c, const cli_report_request *r, qdq_error *err);

#endif /* QDQ_CLI_REPORT_H */
