/* cli_why.c - see the header. */
#include "cli/cli_why.h"

#include <string.h>

#include "base/fail.h"

/* KEY=VALUE */
static qdq_status set_key(qdq_target *t, const char *text, qdq_error *err)
{
    const char *equals = strchr(text, '=');
    char key[128];

    if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof key)
        return qdq_fail(err, QDQ_E_USAGE, "--set: found '%s', expected KEY=VALUE, as activation.type=int8",
                        text);
    memcpy(key, text, (size_t)(equals - text));
    key[equals - text] = '\0';
    qdq_status st = qdq_target_set(t, key, equals + 1, err);
    /* a key that a file must not have is a mistake on the command line here */
    return st == QDQ_E_FORMAT ? qdq_within(err, QDQ_E_USAGE, "--set") : st;
}

qdq_status cli_target_open(const char *name, const cli_names *set, qdq_target **out, qdq_error *err)
{
    qdq_target *t = NULL;

    QDQ_TRY(qdq_target_load(name != NULL ? name : "ort-cpu", &t, err));
    for (size_t i = 0; i < set->n; i++) {
        qdq_status st = set_key(t, set->at[i], err);
        if (st != QDQ_OK) {
            qdq_target_free(t);
            return st;
        }
    }
    *out = t;
    return QDQ_OK;
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
