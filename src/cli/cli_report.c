/* cli_report.c - fills the options of qdq_report_write(). */
#include "cli/cli_report.h"

#include <string.h>

#include "base/fail.h"
#include "qdq/report.h"

qdq_status cli_report_check(const char *path, qdq_error *err)
{
    static const char *const known[] = {".html", ".htm", ".json"};

    for (size_t i = 0; path != NULL && i < QDQ_COUNT(known); i++)
        if (cli_has_suffix(path, known[i]))
            return QDQ_OK;
    return path == NULL ? QDQ_OK
                        : qdq_fail(err, QDQ_E_USAGE,
                                   "--report: found '%s'; expected NAME.html or NAME.json", path);
}

qdq_status cli_report_write(cli *c, const cli_report_request *r, qdq_error *err)
{
    qdq_report_opts o = QDQ_REPORT_OPTS_INIT;
    const char *slash = strrchr(r->path, '/');
    const bool evaluates = r->samples->split.evaluate > 0;

    o.name = slash != NULL ? slash + 1 : r->path;
    o.data = evaluates ? cli_samples_eval(r->samples) : r->samples->data;
    o.first = evaluates ? r->samples->split.first : 0;
    o.count = r->samples->split.evaluate;
    o.compared = r->compared;
    o.goal = r->goal;
    o.threads = r->threads;
    o.shapes = r->quant->shape.shapes.at;
    o.n_shapes = r->quant->shape.shapes.n;
    o.job = &c->job;
    o.evaluated_on = r->evaluated_on;
    o.computed = r->computed;
    o.set_shapes = r->quant->set_shape.at;
    o.n_set_shapes = r->quant->set_shape.n;
    o.overlay = r->overlay;
    o.named = r->named;
    o.times = r->times;
    o.no_times = r->no_times;
    o.target = r->target;
    return qdq_report_write(r->model, r->quantized, r->plan, r->engine, &o, r->file, r->force, err);
}
