/* cli_config.c - a YAML file as a command line: every value becomes the text that would stand
 * behind its option, and is read by the same code, so that both know the same and refuse the
 * same. */
#include "cli/cli_config.h"

#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/yaml_read.h"
#include "cli/cli_values.h"

#define CONFIG_MAX (1 << 20)

typedef struct config {
    const cli_command *cmd;
    const char *path;
    cli_config_is_given *is_given;
    void *ctx;
    qdq_arena *arena;
    char *args;
    qdq_error *err;
} config;

/* "FILE:LINE:COLUMN: key 'K': " in front of what is in err. */
static qdq_status at_value(const config *c, const qdq_yaml *key, const qdq_yaml *at, qdq_status st)
{
    return st == QDQ_OK || st == QDQ_E_NOMEM
               ? st
               : qdq_within(c->err, QDQ_E_FORMAT, "%s:%zu:%zu: key '%s'", c->path, at->line,
                            at->column, key->key);
}

static qdq_status wrong_kind(const config *c, const qdq_yaml *at, const char *expected)
{
    return qdq_fail(c->err, QDQ_E_FORMAT, "found %s, expected %s", qdq_yaml_kind_name(at->kind),
                    expected);
}

/* --- one key ---------------------------------------------------------------------------------- */

static qdq_status unknown_key(const config *c, const qdq_yaml *m)
{
    const char *near;

    QDQ_TRY(cli_suggest_option(c->cmd, m->key, c->arena, &near, c->err));
    if (near != NULL)
        return qdq_fail(c->err, QDQ_E_FORMAT, "%s:%zu:%zu: unknown key '%s', did you mean '%s'?",
                        c->path, m->key_line, m->key_column, m->key, near);
    return qdq_fail(c->err, QDQ_E_FORMAT,
                    "%s:%zu:%zu: unknown key '%s', expected the long name of an option of 'qdq %s'",
                    c->path, m->key_line, m->key_column, m->key, c->cmd->name);
}

static qdq_status set_flag(const config *c, const cli_opt *o, size_t offset, const qdq_yaml *v)
{
    bool yes = v->plain && strcmp(v->text, "true") == 0;

    if (v->kind != QDQ_YAML_SCALAR)
        return wrong_kind(c, v, "true or false");
    if (!yes && !(v->plain && strcmp(v->text, "false") == 0))
        return qdq_fail(c->err, QDQ_E_FORMAT, "found '%s', expected true or false", v->text);
    cli_value_count(o, !yes, c->args + offset);
    return QDQ_OK;
}

static qdq_status set_count(const config *c, size_t offset, const qdq_yaml *v)
{
    if (v->kind != QDQ_YAML_SCALAR)
        return wrong_kind(c, v, "a whole number from 0 to 9");
    if (v->text[0] < '0' || v->text[0] > '9' || v->text[1] != '\0')
        return qdq_fail(c->err, QDQ_E_FORMAT, "found '%s', expected a whole number from 0 to 9",
                        v->text);
    *(int *)(void *)(c->args + offset) = v->text[0] - '0';
    return QDQ_OK;
}

/* An item of a list is one name: its commas are its own. */
static const char *escape_commas(const config *c, const char *text)
{
    char *out = qdq_arena_alloc(c->arena, 2 * strlen(text) + 1);
    char *to = out;

    for (; out != NULL && *text != '\0'; text++) {
        if (*text == ',')
            *to++ = '\\';
        *to++ = *text;
    }
    return out;
}

static qdq_status set_text(const config *c, const cli_opt *o, size_t offset, const char *text)
{
    return text != NULL ? cli_value_read(o, text, c->arena, c->args + offset, c->err)
                        : qdq_nomem(c->err);
}

/* A value of a list or map of values: NAME=VALUE for members of a map. */
static qdq_status set_member(const config *c, const cli_opt *o, size_t offset, const qdq_yaml *key,
                             const qdq_yaml *v)
{
    const char *text = v->text;

    if (v->kind != QDQ_YAML_SCALAR)
        return at_value(c, key, v, wrong_kind(c, v, "a value"));
    if (o->kind == CLI_NAMES)
        text = escape_commas(c, text);
    if (v->key != NULL)
        text = qdq_arena_printf(c->arena, "%s=%s", v->key, text);
    return at_value(c, key, v, set_text(c, o, offset, text));
}

/* 127, or [127, 127, 127] */
static qdq_status set_reals(const config *c, const cli_opt *o, size_t offset, const qdq_yaml *v)
{
    const char *text = NULL;

    for (const qdq_yaml *i = v->first; i != NULL; i = i->next) {
        if (i->kind != QDQ_YAML_SCALAR)
            return at_value(c, v, i, wrong_kind(c, i, "a number"));
        text = text == NULL ? i->text : qdq_arena_printf(c->arena, "%s,%s", text, i->text);
        QDQ_NEED(text != NULL, c->err);
        if (strlen(text) > 256) /* far beyond what the option takes; longer lists are not joined */
            break;
    }
    return at_value(c, v, v, set_text(c, o, offset, text != NULL ? text : ""));
}

static qdq_status set_option(const config *c, const cli_opt *o, size_t offset, const qdq_yaml *v)
{
    bool many = o->kind == CLI_LIST || o->kind == CLI_NAMES || o->kind == CLI_SHAPES;
    bool pairs = o->kind == CLI_SHAPES || (o->kind == CLI_LIST && strchr(o->what, '=') != NULL &&
                                           strchr(o->what, '|') == NULL);

    if (v->kind == QDQ_YAML_SCALAR && v->plain &&
        (v->text[0] == '\0' || strcmp(v->text, "null") == 0 || strcmp(v->text, "~") == 0))
        return at_value(c, v, v, qdq_fail(c->err, QDQ_E_FORMAT, "found nothing, expected a value"));
    if (o->kind == CLI_FLAG)
        return at_value(c, v, v, set_flag(c, o, offset, v));
    if (o->kind == CLI_COUNT)
        return at_value(c, v, v, set_count(c, offset, v));
    if (o->bare != NULL && v->kind == QDQ_YAML_SCALAR && v->plain && strcmp(v->text, "true") == 0)
        return at_value(c, v, v, set_text(c, o, offset, o->bare));
    if (v->kind == QDQ_YAML_SCALAR)
        return at_value(c, v, v, set_text(c, o, offset, v->text));
    if (o->kind == CLI_REALS && v->kind == QDQ_YAML_LIST)
        return set_reals(c, o, offset, v);
    if (!(v->kind == QDQ_YAML_LIST ? many : pairs))
        return at_value(c, v, v, wrong_kind(c, v, o->what));
    for (const qdq_yaml *i = v->first; i != NULL; i = i->next)
        QDQ_TRY(set_member(c, o, offset, v, i));
    return QDQ_OK;
}

static qdq_status set_key(const config *c, const qdq_yaml *m)
{
    size_t offset = 0;
    const cli_opt *o = cli_find_option(c->cmd, m->key, strlen(m->key), &offset);

    if (o == NULL)
        return unknown_key(c, m);
    if (strcmp(o->name, "config") == 0 || strcmp(o->name, "help") == 0)
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "%s:%zu:%zu: key '%s' has its place on the command line", c->path,
                        m->key_line, m->key_column, m->key);
    if (!c->is_given(c->ctx, o))
        return set_option(c, o, offset, m);
    config unread = *c; /* not taken, but not left unread: an error in it is one */
    unread.args = qdq_arena_alloc(c->arena, c->cmd->args_size);
    return unread.args != NULL ? set_option(&unread, o, offset, m) : qdq_nomem(c->err);
}

/* --- the file --------------------------------------------------------------------------------- */

static qdq_status set_all(const config *c, const qdq_yaml *top)
{
    if (top == NULL)
        return QDQ_OK;
    if (top->kind != QDQ_YAML_MAP)
        return qdq_fail(c->err, QDQ_E_FORMAT, "%s:%zu:%zu: found %s, expected a map of options",
                        c->path, top->line, top->column, qdq_yaml_kind_name(top->kind));
    for (const qdq_yaml *m = top->first; m != NULL; m = m->next)
        QDQ_TRY(set_key(c, m));
    return QDQ_OK;
}

qdq_status cli_config_read(const cli_command *cmd, const char *path, cli_config_is_given *given,
                           void *ctx, qdq_arena *arena, void *args, qdq_error *err)
{
    config c = {cmd, path, given, ctx, arena, args, err};
    const qdq_yaml *top = NULL;
    char *text = NULL;
    size_t size = 0;

    QDQ_TRY(qdq_read_file(path, CONFIG_MAX, &text, &size, err));
    qdq_status st = qdq_yaml_parse(text, size, path, arena, &top, err);
    if (st == QDQ_OK)
        st = set_all(&c, top);
    qdq_free(text);
    return st;
}
