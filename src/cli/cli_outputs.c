/* cli_outputs.c - the numbers of qdq_compare() for people and for scripts. */
#include "cli/cli_outputs.h"

#include <math.h>

#include "base/fail.h"

json_t *cli_outputs_json(cli_json *j, const qdq_compare_tensor *t, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *entry = json_object();
        cli_json_set(j, entry, "name", cli_json_text(t[i].name));
        cli_json_set(j, entry, "sqnr_db", cli_json_real(t[i].sqnr_db));
        cli_json_set(j, entry, "cosine", cli_json_real(t[i].cosine));
        cli_json_set(j, entry, "max_abs", cli_json_real(t[i].max_abs));
        cli_json_set(j, entry, "top1", cli_json_real(t[i].top1));
        if (isinf(t[i].sqnr_db))
            cli_json_set(j, entry, "equal", json_true());
        cli_json_add(j, list, entry);
    }
    return list;
}

const char *cli_sqnr_text(double sqnr_db, char *text, size_t size)
{
    if (isnan(sqnr_db))
        snprintf(text, size, "no signal");
    else if (isinf(sqnr_db))
        snprintf(text, size, "equal");
    else
        snprintf(text, size, "%.2f", sqnr_db);
    return text;
}

qdq_status cli_outputs_print(cli *c, const char *what, const qdq_compare_tensor *t, size_t n, FILE *to,
                             qdq_error *err)
{
    bool scores = false;
    char text[40];

    for (size_t i = 0; i < n; i++)
        scores |= !isnan(t[i].top1);
    cli_table table = {.arena = &c->arena, .columns = scores ? "lrrrr" : "lrrr"};

    cli_cell(&table, "%s", what);
    cli_cell(&table, "SQNR dB");
    cli_cell(&table, "cosine");
    cli_cell(&table, "max error");
    if (scores)
        cli_cell(&table, "top-1");
    for (size_t i = 0; i < n; i++) {
        cli_cell(&table, "%s", t[i].name);
        cli_cell(&table, "%s", cli_sqnr_text(t[i].sqnr_db, text, sizeof text));
        if (isnan(t[i].cosine))
            cli_cell(&table, "-");
        else
            cli_cell(&table, "%.6f", t[i].cosine);
        cli_cell(&table, "%.4g", t[i].max_abs);
        if (scores && isnan(t[i].top1))
            cli_cell(&table, "-");
        else if (scores)
            cli_cell(&table, "%.4f", t[i].top1);
    }
    return cli_table_print(&table, to, err);
}

const qdq_compare_tensor *cli_outputs_below(const qdq_compare_tensor *t, size_t n, double min_sqnr)
{
    for (size_t i = 0; i < n; i++)
        if (!(t[i].worst_db >= min_sqnr))
            return &t[i];
    return NULL;
}
