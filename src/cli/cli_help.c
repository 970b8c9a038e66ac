/* cli_help.c - the text of --help, from the option tables. */
#include "cli/cli_args.h"

#include <string.h>

#define HELP_COLUMN 34

void cli_opt_label(const cli_opt *o, qdq_buf *out)
{
    if (o->letter != 0)
        qdq_buf_printf(out, "-%c, ", o->letter);
    qdq_buf_printf(out, o->kind == CLI_FLAG && o->init != NULL ? "--[no-]%s" : "--%s", o->name);
    if (o->what == NULL && o->kind != CLI_CHOICE)
        return;
    qdq_buf_puts(out, o->bare != NULL ? "[=" : " ");
    if (o->kind == CLI_CHOICE) {
        for (size_t i = 0; o->choices[i] != NULL; i++)
            qdq_buf_printf(out, "%s%s", i == 0 ? "" : "|", o->choices[i]);
    } else {
        qdq_buf_puts(out, o->what);
    }
    if (o->bare != NULL)
        qdq_buf_putc(out, ']');
}

void cli_opt_default(const cli_opt *o, qdq_buf *out)
{
    if (o->init != NULL)
        qdq_buf_printf(out, " [%s]", o->init);
}

static void put_option(const cli_opt *o, qdq_buf *out)
{
    size_t start = out->size;

    qdq_buf_puts(out, o->letter != 0 ? "  " : "      ");
    cli_opt_label(o, out);
    if (out->size - start + 2 > HELP_COLUMN) {
        qdq_buf_putc(out, '\n');
        start = out->size;
    }
    while (out->size - start < HELP_COLUMN && !out->failed)
        qdq_buf_putc(out, ' ');
    qdq_buf_puts(out, o->help);
    cli_opt_default(o, out);
    qdq_buf_putc(out, '\n');
}

/* Every line of `text` behind two blanks. */
static void put_indented(const char *text, qdq_buf *out)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        if (n > 0)
            qdq_buf_puts(out, "  ");
        qdq_buf_append(out, text, n);
        qdq_buf_putc(out, '\n');
        text += n + (text[n] == '\n');
    }
}

/* `name` is a word of `list`; NULL lists every name. */
static bool is_listed(const char *list, const char *name)
{
    const size_t size = strlen(name);
    const char *at = list;

    while (at != NULL && (at = strstr(at, name)) != NULL) {
        if ((at == list || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
            return true;
        at += size;
    }
    return list == NULL;
}

static void put_common_help(const cli_command *cmd, qdq_buf *out)
{
    const char *rest = strstr(cmd->about, "\n\n");

    qdq_buf_printf(out, "usage: qdq %s %s\n\n", cmd->name, cmd->synopsis);
    qdq_buf_append(out, cmd->about,
                   rest != NULL ? (size_t)(rest - cmd->about) : strlen(cmd->about));
    qdq_buf_puts(out, "\n\nexample:\n");
    put_indented(cmd->example, out);
    qdq_buf_puts(out, "\ncommon options:\n");
    CLI_FOR_OPTS(o, g, cmd)
    {
        if (is_listed(cmd->common, o->name))
            put_option(o, out);
    }
    qdq_buf_printf(out, "\n'qdq help %s' lists all options and explains the result.\n", cmd->name);
}

void cli_help(const cli_command *cmd, bool all, qdq_buf *out)
{
    if (!all && cmd->common != NULL) {
        put_common_help(cmd, out);
        return;
    }
    qdq_buf_printf(out, "usage: qdq %s %s\n\n%s\n", cmd->name, cmd->synopsis, cmd->about);
    for (const cli_group *g = cmd->groups; g->title != NULL; g++) {
        if (*g->title != '\0')
            qdq_buf_printf(out, "\n%s:\n", g->title);
        for (const cli_opt *o = g->opts; o->name != NULL; o++)
            put_option(o, out);
    }
    if (cmd->json != NULL) {
        qdq_buf_puts(out, "\nwith --json:\n");
        put_indented(cmd->json, out);
    }
    qdq_buf_puts(out, "\nexample:\n");
    put_indented(cmd->example, out);
}
