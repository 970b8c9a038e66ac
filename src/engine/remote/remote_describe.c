/* remote_describe.c - what another machine is, for callers that run no engine there yet. */
#include "base/fail.h"
#include "base/opts.h"
#include "base/pack.h"
#include "engine/remote/remote_link.h"
#include "qdq/engine.h"

static void pack_texts(qdq_pack *p, void *to)
{
    qdq_host_info *info = to;

    info->version = qdq_pack_string(p, info->version);
    info->processor = qdq_pack_string(p, info->processor);
    info->kernels = qdq_pack_string(p, info->kernels);
    info->machine = qdq_pack_string(p, info->machine);
}

static qdq_status pack(const qdq_remote_device *d, qdq_host_info **out, qdq_error *err)
{
    qdq_host_info info = {.version = d->version,
                          .processor = d->processor,
                          .kernels = d->kernels,
                          .machine = d->machine,
                          .threads = d->threads};

    *out = qdq_pack_struct(&info, sizeof info, pack_texts);
    return qdq_allocated(*out != NULL, err);
}

qdq_status qdq_host_describe(const qdq_engine_opts *opts, qdq_host_info **out, qdq_error *err)
{
    qdq_engine_opts own = QDQ_ENGINE_OPTS_INIT;
    qdq_remote_link *link = NULL;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_engine_opts", &own, sizeof own, opts, err));
    if (own.host == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "no host; expected qdq_engine_opts.host");
    QDQ_TRY(qdq_remote_link_open(own.host, own.host_timeout_s, &link, err));
    qdq_status st = qdq_remote_link_need(link, qdq_job_cancel(own.job), err);
    if (st == QDQ_OK)
        st = pack(qdq_remote_link_device(link), out, err);
    qdq_remote_link_close(link);
    return st;
}
