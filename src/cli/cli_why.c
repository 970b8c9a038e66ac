/* cli_why.c - see the header. */
#include "cli/cli_why.h"

#include <string.h>

#include "base/fail.h"

/* "weight.type=int8" */
static qdq_status read_change(const char *text, qdq_arena *arena, qdq_target_change *out, qdq_error *err)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text)
        return qdq_fail(err, QDQ_E_USAGE, "--set: found '%s', expected KEY=VALUE, as activation.type=int8",
                        text);
    out->key = qdq_arena_strndup(arena, text, (size_t)(equals - text));
    out->value = equals + 1;
    return out->key != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status change_target(cli *c, qdq_target *t, const cli_names *set, qdq_error *err)
{
    qdq_target_change *changes = qdq_arena_array(&c->arena, set->n + 1, sizeof *changes);

    if (changes == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < set->n; i++)
        QDQ_TRY(read_change(set->at[i], &c->arena, &changes[i], err));
    qdq_status st = set->n > 0 ? qdq_target_set_all(t, changes, set->n, err) : QDQ_OK;
    /* a key that a file must not have is a mistake on the command line here */
    return st == QDQ_E_FORMAT ? qdq_within(err, QDQ_E_USAGE, "--set") : st;
}

qdq_status cli_target_open(cli *c, const char *name, const cli_names *set, qdq_target **out, qdq_error *err)
{
    qdq_target *t = NULL;

    QDQ_TRY(qdq_target_load(name != NULL ? name : "ort-cpu", &t, err));
    qdq_status st = change_target(c, t, set, err);
    if (st == QDQ_OK)
        *out = t;
    else
        qdq_target_free(t);
    return st;
}

qdq_status cli_why_print(cli *c, const qdq_why *w, FILE *to, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "llll"};
    size_t n;
    const qdq_why_note *note = qdq_why_notes(w, &n);

    for (size_t i = 0; i < n; i++) {
        cli_cell(&table, "%s", note[i].node);
        cli_cell(&table, "%s", note[i].rule);
        cli_cell(&table, "%s", note[i].holds ? "yes" : "no");
        cli_cell(&table, "%s", note[i].verdict);
    }
    return cli_table_print(&table, to, err);
}

json_t *cli_why_json(cli_json *j, const qdq_why *w)
{
    json_t *list = json_array();
    size_t n;
    const qdq_why_note *note = qdq_why_notes(w, &n);

    for (size_t i = 0; i < n; i++) {
        json_t *o = json_object();
        cli_json_set(j, o, "node", cli_json_text(note[i].node));
        cli_json_set(j, o, "rule", cli_json_text(note[i].rule));
        cli_json_set(j, o, "holds", json_boolean(note[i].holds));
        cli_json_set(j, o, "verdict", cli_json_text(note[i].verdict));
        cli_json_add(j, list, o);
    }
    return list;
}
