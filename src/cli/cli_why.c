/* cli_why.c - see the header. */
#include "cli/cli_why.h"

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
