/* cli_fold.c - writes the options of constant folding as a step of a pipeline. */
#include "cli/cli_fold.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/cli_values.h"

enum { MAX_TEXT = 1 << 20 };

#define ARGS cli_fold_args
#include "cli/cli_tables.def"
#include "cli/cli_fold.def"

const char *cli_fold_given(const cli_fold_args *a)
{
    const char *given = cli_first_given(cli_fold_opts, a);

    return given != NULL ? given : cli_first_given(cli_fold_growth_opts, a);
}

qdq_status cli_fold_pipeline(cli *c, const char *passes, const cli_fold_args *a, const char **out,
                             qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(MAX_TEXT);
    char *text;

    *out = passes;
    if (cli_fold_given(a) == NULL)
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
