/* cli_args.c - reads a command line by its option tables. Values are read in cli_values.c. */
#include "cli/cli_args.h"

#include <string.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_config.h"
#include "cli/cli_values.h"

#define ARGS cli_common
#include "cli/cli_tables.def"
#include "cli/cli_common.def"

/* --- parsing ---------------------------------------------------------------------------------- */

typedef struct parser {
    const cli_command *cmd;
    qdq_arena *arena;
    char *args;
    int argc;
    char *const *argv;
    int at;
    cli_names operands;
    QDQ_VEC(const cli_opt *) seen;
    qdq_error *err;
} parser;

static const cli_opt *find_letter(const cli_command *cmd, char letter, size_t *offset)
{
    CLI_FOR_OPTS(o, g, cmd)
    {
        if (o->letter != 0 && o->letter == letter) {
            *offset = g->offset + o->offset;
            return o;
        }
    }
    return NULL;
}

static qdq_status note_given(parser *p, const cli_opt *o)
{
    return QDQ_PUSH(p->arena, &p->seen, o) ? QDQ_OK : qdq_nomem(p->err);
}

static bool is_given(void *ctx, const cli_opt *o)
{
    const parser *p = ctx;

    for (size_t i = 0; i < p->seen.n; i++)
        if (p->seen.at[i] == o)
            return true;
    return false;
}

/* Options of other tools and of other commands, with what they are here. */
static const struct {
    const char *name, *here;
} synonyms[] = {
    {"fp16", "--rest fp16"},
    {"bf16", "--rest bf16"},
    {"int8", "--format int8"},
    {"int4", "--format int4"},
    {"fp8", "--format fp8"},
    {"calibration-data-path", "--calib"},
    {"calibration-method", "--method"},
};

static const char *synonym_of(const char *name)
{
    for (size_t i = 0; i < QDQ_COUNT(synonyms); i++)
        if (strcmp(synonyms[i].name, name) == 0)
            return synonyms[i].here;
    return NULL;
}

/* --calib and --data name samples: each command takes either word. */
static const char *twin_of(const char *name, size_t size)
{
    return size == 5 && memcmp(name, "calib", 5) == 0  ? "data"
           : size == 4 && memcmp(name, "data", 4) == 0 ? "calib"
                                                       : NULL;
}

/* A command that has the option: it was taken for this one. NULL: there is none. */
static const char *other_command_with(const char *name)
{
    size_t offset;

    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (!cli_commands[i]->hidden &&
            cli_find_option(cli_commands[i], name, strlen(name), &offset) != NULL)
            return cli_commands[i]->name;
    return NULL;
}

static qdq_status unknown_option(const parser *p, const char *name, size_t size)
{
    char *word = qdq_arena_strndup(p->arena, name, size);
    const char *near;

    QDQ_NEED(word != NULL, p->err);
    const char *here = synonym_of(word);
    const size_t here_size = here != NULL ? strcspn(here + 2, " ") : 0;
    size_t offset;
    if (here != NULL && cli_find_option(p->cmd, here + 2, here_size, &offset) != NULL)
        return qdq_fail(p->err, QDQ_E_USAGE, "unknown option '--%s', did you mean '%s'?", word,
                        here);
    const char *other = other_command_with(word);
    if (other != NULL)
        return qdq_fail(p->err, QDQ_E_USAGE, "unknown option '--%s', which 'qdq %s' has", word,
                        other);
    QDQ_TRY(cli_suggest_option(p->cmd, word, p->arena, &near, p->err));
    if (near != NULL)
        return qdq_fail(p->err, QDQ_E_USAGE, "unknown option '--%s', did you mean '--%s'?", word,
                        near);
    return qdq_fail(p->err, QDQ_E_USAGE, "unknown option '--%s': 'qdq help %s' lists what there is",
                    word, p->cmd->name);
}

static qdq_status set_value(parser *p, const cli_opt *o, size_t offset, const char *text)
{
    qdq_status st = cli_value_read(o, text, p->arena, p->args + offset, p->err);
    return st == QDQ_OK ? st : qdq_within(p->err, st, "--%s", o->name);
}

/* The value in the next argument. Two dashes in front of it are far more often a forgotten value
 * than a file of that name. */
static qdq_status next_value(parser *p, const cli_opt *o, const char **text)
{
    const char *next = p->at < p->argc ? p->argv[p->at] : NULL;

    if (next == NULL)
        return qdq_fail(p->err, QDQ_E_USAGE, "--%s: missing value; expected %s", o->name, o->what);
    if (strncmp(next, "--", 2) == 0 && o->kind != CLI_WORDS)
        return qdq_fail(p->err, QDQ_E_USAGE,
                        "--%s: found '%s' after it, expected %s (--%s=%s if that is meant)",
                        o->name, next, o->what, o->name, next);
    p->at++;
    *text = next;
    return QDQ_OK;
}

static qdq_status parse_long(parser *p, const char *arg)
{
    const char *name = arg + 2;
    size_t size = strcspn(name, "=");
    const char *value = name[size] == '=' ? name + size + 1 : NULL;
    size_t offset = 0;
    const cli_opt *o = cli_find_option(p->cmd, name, size, &offset);
    const char *twin = twin_of(name, size);
    bool negated = false;

    if (o == NULL && twin != NULL)
        o = cli_find_option(p->cmd, twin, strlen(twin), &offset);
    if (o == NULL && size > 3 && strncmp(name, "no-", 3) == 0) {
        o = cli_find_option(p->cmd, name + 3, size - 3, &offset);
        negated = o != NULL;
        if (negated && o->kind != CLI_FLAG)
            return qdq_fail(p->err, QDQ_E_USAGE,
                            "'%s': --%s is not a flag, there is nothing to turn off", arg, o->name);
    }
    if (o == NULL)
        return unknown_option(p, name, size);
    QDQ_TRY(note_given(p, o));
    if (!cli_takes_value(o)) {
        if (value != NULL)
            return qdq_fail(p->err, QDQ_E_USAGE, "'%s': --%.*s takes no value", arg, (int)size,
                            name);
        cli_value_count(o, negated, p->args + offset);
        return QDQ_OK;
    }
    if (value == NULL)
        value = o->bare;
    if (value == NULL)
        QDQ_TRY(next_value(p, o, &value));
    return set_value(p, o, offset, value);
}

/* -v, -vv, -ofile, -o file. */
static qdq_status parse_letters(parser *p, const char *arg)
{
    for (const char *c = arg + 1; *c != '\0'; c++) {
        size_t offset = 0;
        const cli_opt *o = find_letter(p->cmd, *c, &offset);
        if (o == NULL)
            return qdq_fail(p->err, QDQ_E_USAGE,
                            "unknown option '-%c' in '%s': 'qdq help %s' lists what there is", *c,
                            arg, p->cmd->name);
        QDQ_TRY(note_given(p, o));
        if (!cli_takes_value(o)) {
            cli_value_count(o, false, p->args + offset);
            continue;
        }
        const char *value = c + 1;
        if (*value == '=') /* a file named "=x" is far more often a slip */
            return qdq_fail(p->err, QDQ_E_USAGE, "'%s': expected '-%c %s' or '--%s%s'", arg, *c,
                            value + 1, o->name, value);
        if (*value == '\0' && o->bare != NULL)
            value = o->bare;
        else if (*value == '\0')
            QDQ_TRY(next_value(p, o, &value));
        return set_value(p, o, offset, value);
    }
    return QDQ_OK;
}

static qdq_status parse_all(parser *p)
{
    bool only_operands = false;

    while (p->at < p->argc) {
        const char *arg = p->argv[p->at++];
        if (!only_operands && strcmp(arg, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && strncmp(arg, "--", 2) == 0) {
            QDQ_TRY(parse_long(p, arg));
        } else if (!only_operands && arg[0] == '-' && arg[1] != '\0') {
            QDQ_TRY(parse_letters(p, arg));
        } else if (!QDQ_PUSH(p->arena, &p->operands, arg)) {
            return qdq_nomem(p->err);
        }
    }
    return QDQ_OK;
}

static qdq_status set_defaults(parser *p)
{
    CLI_FOR_OPTS(o, g, p->cmd)
    {
        if (o->init != NULL)
            QDQ_TRY(o->kind == CLI_FLAG
                        ? (cli_value_count(o, false, p->args + g->offset + o->offset), QDQ_OK)
                        : set_value(p, o, g->offset + o->offset, o->init));
    }
    return QDQ_OK;
}

static qdq_status count_operands(const parser *p)
{
    const cli_command *cmd = p->cmd;

    if (p->operands.n < cmd->min_operands)
        return qdq_fail(p->err, QDQ_E_USAGE, "found %zu argument%s, expected %s", p->operands.n,
                        p->operands.n == 1 ? "" : "s", cmd->operands);
    if (p->operands.n > cmd->max_operands)
        return qdq_fail(p->err, QDQ_E_USAGE, "unexpected argument '%s': expected %s",
                        p->operands.at[cmd->max_operands],
                        cmd->max_operands == 0 ? "none" : cmd->operands);
    for (size_t i = 0; i < p->operands.n; i++)
        if (p->operands.at[i][0] == '\0')
            return qdq_fail(p->err, QDQ_E_USAGE, "argument %zu is empty, expected %s", i + 1,
                            cmd->operands);
    return QDQ_OK;
}

static const cli_common *common_of(const parser *p)
{
    return (const cli_common *)(const void *)p->args;
}

/* Defaults, then the file, then the command line; `config` NULL: no file. */
static qdq_status parse_over(parser *p, const char *config, const parser *first)
{
    p->args = qdq_arena_alloc(p->arena, p->cmd->args_size);
    QDQ_NEED(p->args != NULL, p->err);
    QDQ_TRY(set_defaults(p));
    if (config != NULL)
        QDQ_TRY(
            cli_config_read(p->cmd, config, is_given, (void *)first, p->arena, p->args, p->err));
    return parse_all(p);
}

/* The command line is read twice where it names a file: to find that, and to win over it. */
qdq_status cli_parse(const cli_command *cmd, int argc, char *const *argv, qdq_arena *arena,
                     cli_parsed *out, qdq_error *err)
{
    const parser fresh = {.cmd = cmd, .arena = arena, .argc = argc, .argv = argv, .err = err};
    parser p = fresh;

    memset(out, 0, sizeof *out);
    qdq_status st = parse_over(&p, NULL, NULL);
    if (st == QDQ_OK && common_of(&p)->config != NULL && common_of(&p)->help == NULL) {
        parser first = p;

        p = fresh;
        st = parse_over(&p, common_of(&first)->config, &first);
    }
    if (st == QDQ_OK && common_of(&p)->help == NULL)
        st = count_operands(&p);
    if (st != QDQ_OK)
        return qdq_within(err, st, "%s", cmd->name);
    out->args = p.args;
    out->operand = p.operands.at;
    out->n_operands = p.operands.n;
    return QDQ_OK;
}
