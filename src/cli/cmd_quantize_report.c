/* cmd_quantize_report.c - quantize --report and --overlay: a page, and a file for a viewer, beside
 * the model. */
#include "cli/cli_report.h"
#include "cli/cli_tune.h"
#include "cli/cmd_quantize.h"

#include "base/fail.h"

qdq_status cmd_quantize_report(const quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
    const qdq_ptq_speed *speed = q->r->speed;
    qdq_bench_model times[2] = {{0}};
    const bool is_json = a->report != NULL && cli_has_suffix(a->report, ".json"),
               timed = q->tuned != NULL ? cli_tune_report_times(q->tuned, times)
                                        : speed != NULL && speed->measured;

    if (timed && q->tuned == NULL) {
        times[0] = speed->before;
        times[1] = speed->after;
    }
    const cli_report_request r = {.path = q->path,
                                  .model = q->model,
                                  .quantized = q->quantized,
                                  .plan = q->plan,
                                  .target = q->target,
                                  .engine = q->engine,
                                  .quant = &a->quant,
                                  .samples = &q->samples,
                                  .compared = q->r->compared,
                                  .goal = q->r->goal,
                                  .evaluated_on = cmd_quantize_evaluated_on(q),
                                  .computed = q->r->engine_check,
                                  .times = timed ? times : NULL,
                                  .no_times = !a->bench                 ? "--no-bench"
                                              : speed != NULL && !timed ? speed->why_not
                                                                        : NULL,
                                  .threads = cli_threads(a->threads),
                                  .file = is_json ? NULL : a->report,
                                  .overlay = a->overlay,
                                  .named = a->metadata,
                                  .force = a->out.force};

    if (r.file != NULL || r.overlay != NULL)
        QDQ_TRY(cli_report_write(q->c, &r, err));
    return is_json ? cmd_quantize_json(q, a->report, err) : QDQ_OK;
}
