/* cmd_quantize_report.c - quantize --report and --overlay: a page, and a file for a viewer, beside
 * the model. */
#include "cli/cli_report.h"
#include "cli/cli_tune.h"
#include "cli/cmd_quantize.h"

#include "base/fail.h"

qdq_status cmd_quantize_report(const quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
    qdq_bench_model times[2] = {q->speed.before, q->speed.after};
    const bool is_json = a->report != NULL && cli_has_suffix(a->report, ".json"),
               timed =
                   q->tuned != NULL ? cli_tune_report_times(q->tuned, times) : q->speed.measured;
    const cli_report_request r = {.path = q->path,
                                  .model = q->model,
                                  .quantized = q->quantized,
                                  .plan = q->plan,
                                  .target = q->target,
                                  .engine = q->engine,
                                  .quant = &a->quant,
                                  .samples = &q->samples,
                                  .compared = q->compared,
                                  .goal = q->goal,
                                  .judged = cmd_quantize_judged(q),
                                  .computed = q->computed,
                                  .times = timed ? times : NULL,
                                  .no_times = a->bench ? q->speed.why_not : "--no-bench",
                                  .threads = cli_threads(a->threads),
                                  .file = is_json ? NULL : a->report,
                                  .overlay = a->overlay,
                                  .named = a->metadata,
                                  .force = a->out.force};

    if (r.file != NULL || r.overlay != NULL)
        QDQ_TRY(cli_report_write(q->c, &r, err));
    return is_json ? cmd_quantize_write_json(q, err) : QDQ_OK;
}
