/* cmd_quantize_report.c - quantize --report: one page beside the model. */
#include <string.h>

#include "base/fail.h"
#include "cli/cmd_quantize.h"
#include "qdq/report.h"

qdq_status cmd_quantize_report(const quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
    qdq_report_opts o = QDQ_REPORT_OPTS_INIT;
    const char *slash;

    if (a->report == NULL)
        return QDQ_OK;
    slash = strrchr(q->path, '/');
    o.name = slash != NULL ? slash + 1 : q->path;
    o.data = q->samples.split.judge > 0 ? cli_samples_judge(&q->samples) : q->samples.data;
    o.first = q->samples.split.judge > 0 ? q->samples.split.first : 0;
    o.count = q->samples.split.judge;
    o.compared = q->compared;
    o.goal = q->goal;
    o.threads = cli_threads(a->threads);
    o.shapes = a->quant.shape.shapes.at;
    o.n_shapes = a->quant.shape.shapes.n;
    o.job = &q->c->job;
    return qdq_report_write(q->model, q->quantized, q->plan, q->engine, &o, a->report, a->out.force, err);
}
