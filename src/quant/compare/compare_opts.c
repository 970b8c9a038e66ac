/* compare_opts.c - what the options of a comparison mean: its samples and its sessions. */
#include "base/fail.h"
#include "quant/compare/compare_run.h"
#include "quant/data/data_source.h"

qdq_safe_session qdq_compare_session(qdq_engine *e, const qdq_model *m, const qdq_compare_opts *o,
                                     const char *which)
{
    qdq_safe_session s = {
        .engine = e, .model = m, .opts = QDQ_SESSION_OPTS_INIT, .which = which, .job = o->job};

    s.opts.threads = o->threads;
    s.opts.shapes = o->shapes;
    s.opts.n_shapes = o->n_shapes;
    s.opts.fake_quant = o->fake_quant;
    return s;
}

qdq_status qdq_compare_range(const qdq_data *d, const qdq_compare_opts *opts, size_t *first,
                             size_t *end, qdq_error *err)
{
    size_t n = qdq_data_count(d);

    if (opts->first >= n || opts->count > n - opts->first)
        return qdq_fail(err, QDQ_E_USAGE, "samples %zu to %zu, the data have %zu", opts->first,
                        opts->first + opts->count, n);
    *first = opts->first;
    *end = opts->count > 0 ? opts->first + opts->count : n;
    return QDQ_OK;
}
