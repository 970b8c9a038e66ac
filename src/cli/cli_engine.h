/* cli_engine.h - options for engines, and where their libraries are looked for. */
#ifndef QDQ_CLI_ENGINE_H
#define QDQ_CLI_ENGINE_H

#include "cli/cli.h"
#include "qdq/engine.h"

typedef struct cli_engine_args {
#include "cli/cli_members.def"
#include "cli/cli_engine.def"
    /* the program that runs engines; NULL: the usual one */
    const char *worker;
} cli_engine_args;

extern const cli_opt cli_engine_opts[];
extern const cli_opt
    cli_trtexec_opts[]; /* for commands that need no outputs of the engine; the same struct */

/* Does --provider mean anything to this engine? */
bool cli_engine_takes_provider(const char *spec);

/* Does all of --trtexec-args mean something to this engine? To others, shapes do. NULL: ort. */
bool cli_engine_takes_trtexec_args(const char *spec);

/* Where engines are looked for, from options and environment; borrowed texts live as long as `c`.
 */
qdq_status cli_engine_opts_fill(cli *c, const cli_engine_args *a, qdq_engine_opts *opts,
                                qdq_error *err);

qdq_status cli_engine_open(cli *c, const cli_engine_args *a, qdq_engine **out, qdq_error *err);

/* Threads for an option that was given as `asked`; 0: the processors that this process may use. */
int cli_threads(int64_t asked);

/* "1 thread", "4 threads". */
const char *cli_plural(size_t n);

#endif /* QDQ_CLI_ENGINE_H */
