/* cli_opt.c - options by their names. */
#include "cli/cli_opt.h"

#include <string.h>

#include "base/fail.h"
#include "base/suggest.h"

const cli_opt *cli_find_option(const cli_command *cmd, const char *name, size_t size,
                               size_t *offset)
{
    CLI_FOR_OPTS(o, g, cmd)
    {
        if (strlen(o->name) == size && memcmp(o->name, name, size) == 0) {
            *offset = g->offset + o->offset;
            return o;
        }
    }
    return NULL;
}

qdq_status cli_suggest_option(const cli_command *cmd, const char *name, qdq_arena *arena,
                              const char **near, qdq_error *err)
{
    cli_names names = {NULL, 0, 0};

    CLI_FOR_OPTS(o, g, cmd)
    {
        QDQ_NEED(QDQ_PUSH(arena, &names, o->name), err);
    }
    *near = qdq_suggest(name, names.at, names.n);
    return QDQ_OK;
}

bool cli_takes_value(const cli_opt *o)
{
    return o->kind != CLI_FLAG && o->kind != CLI_COUNT;
}
