/* cli_tune.h - tuning, as the commands autotune and quantize do it: the folder, the call, what is
 * seen meanwhile, and the report of a run for people. */
#ifndef QDQ_CLI_TUNE_H
#define QDQ_CLI_TUNE_H

#include "cli/cli_engine.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_metric.h"
#include "cli/cli_quant.h"
#include "qdq/tune.h"

/* "default", "quick", "extensive": by qdq_tune_preset. */
extern const char *const cli_tune_presets[];

/* Before the work begins: `dir` is a folder or can be made, and what lies in it is from a run or
 * from no one. With `force`, whatever lies in it. `model`: a file that is read, which must not be
 * one of those that are written; `what` it is, for the message. */
qdq_status cli_tune_check_folder(const char *dir, const char *model, const char *what, bool force,
                                 qdq_error *err);

/* Adds the files that a run writes into this folder to those of the command line. */
qdq_status cli_tune_add_files(cli *c, const char *dir, qdq_error *err);

typedef struct cli_tune_request {
    /* of the model, for messages */
    const char *path;
    const qdq_model *model;
    const qdq_target *target;
    const cli_quant_args *quant;
    const cli_engine_args *engine;
    const cli_samples *samples;
    const char *dir;
    int calibration_threads;
    /* no operator has its data quantized at run time */
    bool one_format;
    /* below 0: none */
    double max_drop;
    /* of --metric-command; it may be none */
    const cli_metric *metric;
} cli_tune_request;

/* Runs the tuner: `o` has what is peculiar to it, the rest is made of the request. Ctrl-C: the
 * message says what is in the folder. */
qdq_status cli_tune_run(cli *c, const cli_tune_request *r, qdq_tune_opts *o, qdq_error *err);

/* cli_tune_view.c: the line that shows how far a run is. */
typedef struct cli_tune_view {
    cli_ui *ui;
    bool begun;
    /* what is under way */
    char phase[24];
    size_t number;
    /* and how far it came */
    char text[200];
} cli_tune_view;

void cli_tune_view_live(void *view, const qdq_tune_live *now);

/* cli_tune_report.c: report.json of the folder as it is (qdq_free()), and read (released by the
 * caller). */
qdq_status cli_tune_report_text(const char *dir, char **out, qdq_error *err);
qdq_status cli_tune_report_load(const char *dir, json_t **out, qdq_error *err);
/* How long things took and what was found. */
qdq_status cli_tune_report_print(cli *c, json_t *report, FILE *to, qdq_error *err);
/* The measurement of a run that ended, as a page shows it: of the input, and of what was written.
 * False: there is none. */
bool cli_tune_report_times(json_t *report, qdq_bench_model times[2]);
/* The last line: verdict, speedup with its interval, "placement only". Nothing for a run that has
 * not ended. */
void cli_tune_report_verdict(json_t *report, FILE *to);

#endif /* QDQ_CLI_TUNE_H */
