/* cli_fold.c - see the header. */
#include "cli/cli_fold.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/fail.h"

enum { DEFAULT_BYTES = 1 << 20, MAX_TEXT = 1 << 20 };

const cli_opt cli_fold_opts[] = {
    {.name = "no-fold",
     .kind = CLI_NAMES,
     .offset = CLI_AT(cli_fold_args, no_fold),
     .what = "A,B",
     .help = "do not compute these operators"},
    {.name = "fold-only",
     .kind = CLI_NAMES,
     .offset = CLI_AT(cli_fold_args, fold_only),
     .what = "A,B",
     .help = "compute only these operators"},
    {.name = "fold-input-bytes",
     .kind = CLI_SIZE,
     .offset = CLI_AT(cli_fold_args, input),
     .what = "SIZE",
     .help = "skip larger inputs, unless folding makes them smaller",
     .init = "1MiB"},
    {.name = "fold-output-bytes",
     .kind = CLI_SIZE,
     .offset = CLI_AT(cli_fold_args, output),
     .what = "SIZE",
     .help = "skip larger results, unless they replace as much",
     .init = "1MiB"},
    CLI_END,
};

const char *cli_fold_given(const cli_fold_args *a, uint64_t growth)
{
    if (a->no_fold.n > 0)
        return "--no-fold";
    if (a->fold_only.n > 0)
        return "--fold-only";
    if (a->input != DEFAULT_BYTES)
        return "--fold-input-bytes";
    if (a->output != DEFAULT_BYTES)
        return "--fold-output-bytes";
    return a->growth != growth ? "--growth-budget" : NULL;
}

qdq_status cli_fold_pipeline(cli *c, const char *passes, const cli_fold_args *a, uint64_t growth,
                             const char **out, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(MAX_TEXT);
    char *text;

    *out = passes;
    if (cli_fold_given(a, growth) == NULL)
        return QDQ_OK;
    qdq_buf_printf(&b, "%s,fold-constants:input=%" PRIu64 "+output=%" PRIu64 "+growth=%" PRIu64,
                   passes, a->input, a->output, a->growth);
    for (size_t i = 0; i < a->fold_only.n; i++)
        qdq_buf_printf(&b, "+only=%s", a->fold_only.at[i]);
    for (size_t i = 0; i < a->no_fold.n; i++)
        qdq_buf_printf(&b, "+no=%s", a->no_fold.at[i]);
    text = qdq_buf_take(&b);
    qdq_buf_free(&b);
    *out = text != NULL ? qdq_arena_strdup(&c->arena, text) : NULL;
    qdq_free(text);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}
