/* cli_complete.c - completion for bash, zsh and fish. Commands, options, the words of options that
 * take one of few; file names elsewhere. */
#include <string.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_docs.h"
#include "qdq/engine.h"
#include "qdq/pass.h"
#include "qdq/quant.h"

#define FOR_COMMANDS(cmd)                                                                          \
    for (const cli_command *const *cmd##_at = cli_commands, *cmd = *cmd##_at; cmd != NULL;         \
         cmd = *++cmd##_at)                                                                        \
        if (!cmd->hidden)

static bool is_default_on(const cli_opt *o)
{
    return o->kind == CLI_FLAG && o->init != NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

static const char *choice_at(const cli_opt *o, size_t i)
{
    return o->choices[i];
}

static const char *target_at(const cli_opt *o, size_t i)
{
    (void)o;
    return qdq_target_name(i, NULL);
}

static const char *engine_at(const cli_opt *o, size_t i)
{
    (void)o;
    return qdq_engine_name(i, NULL);
}

static const char *pipeline_at(const cli_opt *o, size_t i)
{
    static const char *const groups[] = {"default", "quantize"};

    (void)o;
    return i < QDQ_COUNT(groups) ? groups[i] : qdq_pass_name(i - QDQ_COUNT(groups), NULL);
}

/* The i-th word that an option takes; NULL where it takes any. */
typedef const char *(*word_at)(const cli_opt *o, size_t i);

static word_at words_of(const cli_opt *o)
{
    static const struct {
        const char *name;
        word_at at;
    } lists[] = {{"target", target_at}, {"engine", engine_at}, {"passes", pipeline_at}};

    if (o->kind == CLI_CHOICE)
        return choice_at;
    for (size_t i = 0; i < QDQ_COUNT(lists); i++)
        if (cli_takes_value(o) && strcmp(lists[i].name, o->name) == 0)
            return lists[i].at;
    return NULL;
}

static void put_words(const cli_opt *o, qdq_buf *out)
{
    const word_at at = words_of(o);

    for (size_t i = 0; at(o, i) != NULL; i++)
        qdq_buf_printf(out, "%s%s", i == 0 ? "" : " ", at(o, i));
}

/* --- bash ------------------------------------------------------------------------------------- */

static void put_bash_values(const cli_command *cmd, qdq_buf *out)
{
    qdq_buf_puts(out, "            case $before in\n");
    CLI_FOR_OPTS(o, g, cmd)
    {
        if (!cli_takes_value(o) || o->bare != NULL || (o->kind == CLI_FILE && words_of(o) == NULL))
            continue;
        qdq_buf_puts(out, "            ");
        if (o->letter != 0)
            qdq_buf_printf(out, "-%c|", o->letter);
        qdq_buf_printf(out, "--%s) ", o->name);
        if (words_of(o) != NULL) {
            qdq_buf_puts(out, "mapfile -t COMPREPLY < <(compgen -W '");
            put_words(o, out);
            qdq_buf_puts(out, "' -- \"$word\"); return ;;\n");
        } else {
            qdq_buf_puts(out, "return ;;\n");
        }
    }
    qdq_buf_puts(out, "            esac\n");
}

void cli_docs_bash(qdq_buf *out)
{
    qdq_buf_puts(
        out,
        "# bash completion for qdq, made by qdq __docs bash\n_qdq()\n{\n"
        "    local word=$2 before=$3 options=\n    COMPREPLY=()\n"
        "    if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ $before == help ]]; }; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W '");
    FOR_COMMANDS(cmd)
    {
        qdq_buf_printf(out, "%s ", cmd->name);
    }
    qdq_buf_puts(out, "help --version' -- \"$word\")\n        return\n    fi\n"
                      "    case ${COMP_WORDS[1]} in\n");
    FOR_COMMANDS(cmd)
    {
        qdq_buf_printf(out, "        %s)\n", cmd->name);
        put_bash_values(cmd, out);
        qdq_buf_puts(out, "            options='");
        CLI_FOR_OPTS(o, g, cmd)
        {
            qdq_buf_printf(out, "--%s%s ", is_default_on(o) ? "no-" : "", o->name);
        }
        qdq_buf_puts(out, "' ;;\n");
    }
    qdq_buf_puts(
        out, "    esac\n    if [[ $word == -* ]]; then\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n    else\n"
             "        compopt -o filenames\n        mapfile -t COMPREPLY < <(compgen -f -- "
             "\"$word\")\n    fi\n}\n"
             "complete -F _qdq qdq\n");
}

/* --- zsh -------------------------------------------------------------------------------------- */

/* Inside '...[help]': quotes end the word, brackets the help. */
static void put_zsh_help(const char *text, qdq_buf *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            qdq_buf_puts(out, "'\\''");
        else if (*text == '[' || *text == ']' || *text == ':')
            qdq_buf_printf(out, "\\%c", *text);
        else
            qdq_buf_putc(out, *text);
    }
}

static void put_zsh_option(const cli_opt *o, qdq_buf *out)
{
    bool again = o->kind == CLI_COUNT || o->kind == CLI_LIST || o->kind == CLI_NAMES ||
                 o->kind == CLI_SHAPES;

    qdq_buf_printf(out, "                '%s--%s%s%s[", again ? "*" : "",
                   is_default_on(o) ? "no-" : "", o->name,
                   o->bare != NULL      ? "=-"
                   : cli_takes_value(o) ? "="
                                        : "");
    put_zsh_help(o->help, out);
    qdq_buf_putc(out, ']');
    if (cli_takes_value(o)) {
        qdq_buf_printf(out, "%s:%s:", o->bare != NULL ? ":" : "",
                       words_of(o) != NULL ? "word" : "value");
        if (words_of(o) == NULL && o->kind == CLI_FILE)
            qdq_buf_puts(out, "_files");
        if (words_of(o) != NULL) {
            qdq_buf_putc(out, '(');
            put_words(o, out);
            qdq_buf_putc(out, ')');
        }
    }
    qdq_buf_puts(out, "' \\\n");
}

void cli_docs_zsh(qdq_buf *out)
{
    qdq_buf_puts(out, "#compdef qdq\n# zsh completion for qdq, made by qdq __docs zsh\n_qdq()\n{\n"
                      "    local -a commands\n    commands=(\n");
    FOR_COMMANDS(cmd)
    {
        qdq_buf_printf(out, "        '%s:", cmd->name);
        put_zsh_help(cmd->summary, out);
        qdq_buf_puts(out, "'\n");
    }
    qdq_buf_puts(out, "        'help:explain a command'\n    )\n    if ((CURRENT == 2)) || "
                      "{ ((CURRENT == 3)) && [[ $words[2] == help ]]; }; then\n"
                      "        _describe command commands\n        return\n    fi\n"
                      "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n"
                      "    case $command in\n");
    FOR_COMMANDS(cmd)
    {
        qdq_buf_printf(out, "        %s)\n            _arguments -s \\\n", cmd->name);
        CLI_FOR_OPTS(o, g, cmd)
        {
            put_zsh_option(o, out);
        }
        qdq_buf_puts(out, "                '*:file:_files' ;;\n");
    }
    qdq_buf_puts(out, "    esac\n}\n_qdq \"$@\"\n");
}

/* --- fish ------------------------------------------------------------------------------------- */

static void put_fish_text(const char *text, qdq_buf *out)
{
    qdq_buf_putc(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            qdq_buf_putc(out, '\\');
        qdq_buf_putc(out, *text);
    }
    qdq_buf_putc(out, '\'');
}

void cli_docs_fish(qdq_buf *out)
{
    qdq_buf_puts(out, "# fish completion for qdq, made by qdq __docs fish\n");
    FOR_COMMANDS(cmd)
    {
        qdq_buf_printf(out, "complete -c qdq -n __fish_use_subcommand -f -a %s -d ", cmd->name);
        put_fish_text(cmd->summary, out);
        qdq_buf_putc(out, '\n');
    }
    qdq_buf_puts(out,
                 "complete -c qdq -n __fish_use_subcommand -f -a help -d 'explain a command'\n");
    FOR_COMMANDS(cmd)
    {
        CLI_FOR_OPTS(o, g, cmd)
        {
            qdq_buf_printf(out, "complete -c qdq -n '__fish_seen_subcommand_from %s' -l %s%s",
                           cmd->name, is_default_on(o) ? "no-" : "", o->name);
            if (o->letter != 0)
                qdq_buf_printf(out, " -s %c", o->letter);
            if (cli_takes_value(o) && o->bare == NULL)
                qdq_buf_puts(out, o->kind == CLI_FILE ? " -r -F" : " -x");
            if (words_of(o) != NULL) {
                qdq_buf_puts(out, " -a '");
                put_words(o, out);
                qdq_buf_putc(out, '\'');
            }
            qdq_buf_puts(out, " -d ");
            put_fish_text(o->help, out);
            qdq_buf_putc(out, '\n');
        }
    }
}
