/* cli_why.c - prints the rules of a --why as a table or as JSON. */
#include "cli/cli_why.h"

qdq_status cli_why_print(cli *c, const qdq_why *w, FILE *to, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "llll"};
    size_t n;
    const qdq_why_note *note = qdq_why_notes(w, &n);

    for (size_t i = 0; i < n; i++)
        CLI_CELLS(&table, note[i].node, note[i].rule, note[i].holds ? "yes" : "no",
                  note[i].verdict);
    return cli_table_print(&table, to, err);
}

void cli_why_json(qdq_json_out list, const qdq_why *w)
{
    size_t n;
    const qdq_why_note *note = qdq_why_notes(w, &n);

    for (size_t i = 0; i < n; i++) {
        qdq_json_out o = qdq_json_put_object(list, NULL);
        qdq_json_put_text(o, "node", note[i].node);
        qdq_json_put_text(o, "rule", note[i].rule);
        qdq_json_put_bool(o, "holds", note[i].holds);
        qdq_json_put_text(o, "verdict", note[i].verdict);
    }
}

qdq_status cli_why_print_json(const qdq_why *w, qdq_error *err)
{
    qdq_json_doc d = {0};

    cli_why_json(qdq_json_list(&d), w);
    return cli_json_print(&d, err);
}
