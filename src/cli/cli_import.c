/* cli_import.c - see the header. */
#include "cli/cli_import.h"

/* In the order of qdq_bounds. */
static const char *const bounds[] = {"auto", "restore", "leave", NULL};

const cli_opt cli_import_opts[] = {
    {.name = "bounds",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(cli_import_args, bounds),
     .what = "WHAT",
     .help = "restore Relu and Clip of quantized ranges; auto: in ORT files",
     .init = "auto",
     .choices = bounds},
    CLI_END,
};

qdq_import_opts cli_import_options(cli *c, const struct cli_import_args *a)
{
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;

    opts.bounds = (qdq_bounds)a->bounds;
    opts.job = &c->job;
    return opts;
}
