/* cli_report.h - --report, as quantize and autotune have it: one page about the model that was
 * made. */
#ifndef QDQ_CLI_REPORT_H
#define QDQ_CLI_REPORT_H

#include "cli/cli_quant.h"
#include "qdq/check.h"
#include "qdq/compare.h"
#include "qdq/goal.h"

typedef struct cli_report_request {
    const char *path; /* of the model, for the heading */
    const qdq_model *model, *quantized;
    const qdq_plan *plan;
    const qdq_target *target; /* that placed; or NULL */
    qdq_engine *engine;       /* NULL: nothing is measured */
    const cli_quant_args *quant;
    const cli_samples *samples;
    const qdq_compare_result *compared; /* NULL: not measured before */
    const qdq_goal_result *goal;        /* NULL: there was none */
    const char *evaluated_on;           /* what `compared` rests on; or NULL */
    const qdq_verify_result *computed;  /* the engine check; NULL: not asked */
    const qdq_bench_model *times;       /* of both, measured before; NULL */
    const char *no_times;               /* why there are none; NULL: to be measured */
    int threads;
    const char *file;    /* the page; NULL: none */
    const char *overlay; /* for Model Explorer; NULL: none */
    bool named;          /* its nodes got names with --metadata */
    bool force;
} cli_report_request;

/* The name of --report says what is written. */
qdq_status cli_report_check(const char *path, qdq_error *err);

qdq_status cli_report_write(cli *c, const cli_report_request *r, qdq_error *err);

#endif /* QDQ_CLI_REPORT_H */
