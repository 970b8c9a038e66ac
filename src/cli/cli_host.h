/* cli_host.h - the machine that runs the engine: another one with --host. */
#ifndef QDQ_CLI_HOST_H
#define QDQ_CLI_HOST_H

#include "cli/cli_engine.h"
#include "qdq/quant.h"

/* Asks the host of --host once, and keeps the answer in c->host: NULL without --host. `a` may be
 * NULL: this machine. */
qdq_status cli_host_need(cli *c, const cli_engine_args *a, qdq_error *err);

/* As cli_threads(), on the machine that runs the engine. */
qdq_status cli_host_threads(cli *c, const cli_engine_args *a, int64_t asked, int *out,
                            qdq_error *err);

/* The processor of the host instead of QDQ_CPU_AUTO. */
qdq_status cli_host_cpu(cli *c, const cli_engine_args *a, qdq_cpu *cpu, qdq_error *err);

#endif /* QDQ_CLI_HOST_H */
