/* cli_import.c - the option --bounds, and what the library gets of it. */
#include "cli/cli_import.h"

const cli_opt cli_import_opts[] = {
    CLI_ENTRY(cli_import_args, CHOICE, 0, "bounds", bounds, "WHAT",
              "restore Relu and Clip of quantized ranges; auto: in ORT files", .init = "auto",
              .choices = CLI_OF("auto", "restore", "leave")),
    CLI_END,
};

qdq_import_opts cli_import_options(cli *c, const struct cli_import_args *a)
{
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;

    opts.bounds = (qdq_bounds)a->bounds;
    opts.job = &c->job;
    return opts;
}
