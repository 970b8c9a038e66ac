/* cli_host.c - what depends on the machine that runs the engine, asked of a host. */
#include "cli/cli_host.h"

#include <string.h>

#include "base/fail.h"

static qdq_status keep(cli *c, const qdq_host_info *info, qdq_error *err)
{
    qdq_host_info *own = qdq_arena_alloc(&c->arena, sizeof *own);

    QDQ_NEED(own != NULL, err);
    *own = (qdq_host_info){.version = qdq_arena_strdup(&c->arena, info->version),
                           .processor = qdq_arena_strdup(&c->arena, info->processor),
                           .kernels = qdq_arena_strdup(&c->arena, info->kernels),
                           .machine = qdq_arena_strdup(&c->arena, info->machine),
                           .threads = info->threads};
    QDQ_NEED(own->version != NULL && own->processor != NULL && own->kernels != NULL &&
                 own->machine != NULL,
             err);
    c->host = own;
    return QDQ_OK;
}

qdq_status cli_host_need(cli *c, const cli_engine_args *a, qdq_error *err)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_host_info *info;

    if (a == NULL || a->host == NULL || c->host != NULL)
        return QDQ_OK;
    opts.host = a->host;
    opts.host_timeout_s = a->host_timeout_s;
    opts.job = &c->job;
    QDQ_TRY(qdq_host_describe(&opts, &info, err));
    qdq_status st = keep(c, info, err);
    qdq_free(info);
    return st;
}

qdq_status cli_host_threads(cli *c, const cli_engine_args *a, int64_t asked, int *out,
                            qdq_error *err)
{
    *out = cli_threads(asked);
    if (a->host == NULL || asked > 0)
        return QDQ_OK;
    QDQ_TRY(cli_host_need(c, a, err));
    *out = c->host->threads;
    return QDQ_OK;
}

qdq_status cli_host_cpu(cli *c, const cli_engine_args *a, qdq_cpu *cpu, qdq_error *err)
{
    static const qdq_cpu all[] = {QDQ_CPU_AVX2, QDQ_CPU_AVX512, QDQ_CPU_VNNI, QDQ_CPU_ARM};

    if (a->host == NULL || *cpu != QDQ_CPU_AUTO)
        return QDQ_OK;
    QDQ_TRY(cli_host_need(c, a, err));
    for (size_t i = 0; i < QDQ_COUNT(all); i++)
        if (strcmp(qdq_cpu_name(all[i]), c->host->kernels) == 0)
            *cpu = all[i];
    return QDQ_OK;
}
