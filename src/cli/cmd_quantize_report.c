/* cmd_quantize_report.c - quantize --report and --overlay: a page, and a file for a viewer, beside
 * the model. */
#include "cli/cli_report.h"
#include "cli/cmd_quantize.h"

qdq_status cmd_quantize_report(const quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
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
                                  .threads = cli_threads(a->threads),
                                  .file = a->report,
                                  .overlay = a->overlay,
                                  .named = a->metadata,
                                  .force = a->out.force};

    return a->report != NULL || a->overlay != NULL ? cli_report_write(q->c, &r, err) : QDQ_OK;
}
