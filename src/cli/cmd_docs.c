/* cmd_docs.c - `qdq __docs md|man|passes|bash|zsh|fish`: the manual and shell completion from the
 * tables that the parser reads, so that they cannot differ from it. docs/cli.md, docs/man/qdq.1 and
 * docs/passes.md are made here. */
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_docs.h"

static const cli_group groups[] = {{"options", cli_common_opts, 0}, {NULL, NULL, 0}};

static const struct {
    const char *name;
    void (*put)(qdq_buf *out);
} forms[] = {
    {"md", cli_docs_markdown}, {"man", cli_docs_man}, {"passes", cli_docs_passes},
    {"bash", cli_docs_bash},   {"zsh", cli_docs_zsh}, {"fish", cli_docs_fish},
};

static qdq_status run_docs(cli *c, const void *args, qdq_error *err)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    (void)args;
    for (size_t i = 0; i < QDQ_COUNT(forms); i++) {
        if (strcmp(forms[i].name, c->operand[0]) != 0)
            continue;
        forms[i].put(&text);
        qdq_status st = text.failed ? qdq_nomem(err) : QDQ_OK;
        if (st == QDQ_OK)
            fwrite(text.data, 1, text.size, stdout);
        qdq_buf_free(&text);
        return st;
    }
    return qdq_fail(err, QDQ_E_USAGE, "found '%s', expected md, man, passes, bash, zsh or fish",
                    c->operand[0]);
}

const cli_command cmd_docs = {
    .name = "__docs",
    .synopsis = "md|man|passes|bash|zsh|fish",
    .operands = "one of md, man, passes, bash, zsh, fish",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "write manual or completion",
    .about = "Writes docs/cli.md, the man page, docs/passes.md, or completion for a shell.",
    .example = "qdq __docs man > qdq.1",
    .groups = groups,
    .args_size = sizeof(cli_common),
    .run = run_docs,
    .hidden = true,
};
