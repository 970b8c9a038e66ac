/* remote_describe.c - what another machine is, for callers that run no engine there yet. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "base/pack.h"
#include "engine/remote/remote_link.h"
#include "qdq/engine.h"

static qdq_status pack(const qdq_remote_device *d, qdq_host_info **out, qdq_error *err)
{
    const char *const texts[] = {d->version, d->processor, d->kernels, d->machine};
    size_t size = sizeof(qdq_host_info);

    for (size_t i = 0; i < QDQ_COUNT(texts); i++)
        size += strlen(texts[i]) + 1;
    qdq_host_info *info = malloc(size);
    QDQ_NEED(info != NULL, err);
    char *place = (char *)(info + 1);
    *info = (qdq_host_info){.version = qdq_pack_text(&place, d->version),
                            .processor = qdq_pack_text(&place, d->processor),
                            .kernels = qdq_pack_text(&place, d->kernels),
                            .machine = qdq_pack_text(&place, d->machine),
                            .threads = d->threads};
    *out = info;
    return QDQ_OK;
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
