/* cli_layers.c - the numbers of qdq_compare_layers() for people and for scripts. */
#include "cli/cli_layers.h"

#include <math.h>

#include "base/fail.h"
#include "cli/cli_engine.h"
#include "cli/cli_outputs.h"

static json_t *names_json(cli_json *j, const char *const *names, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        cli_json_add(j, list, cli_json_text(names[i]));
    return list;
}

static json_t *layer_json(cli_json *j, const qdq_compare_layer *l)
{
    json_t *o = json_object();

    cli_json_set(j, o, "node", cli_json_text(l->node));
    cli_json_set(j, o, "op", cli_json_text(l->op));
    cli_json_set(j, o, "quantized", json_boolean(l->quantized));
    cli_json_set(j, o, "error", cli_json_real(l->error));
    cli_json_set(j, o, "introduced_sqnr_db", cli_json_real(l->introduced.sqnr_db));
    cli_json_set(j, o, "tensor", cli_json_text(l->value.name));
    cli_json_set(j, o, "sqnr_db", cli_json_real(l->value.sqnr_db));
    cli_json_set(j, o, "cosine", cli_json_real(l->value.cosine));
    cli_json_set(j, o, "max_abs", cli_json_real(l->value.max_abs));
    cli_json_set(j, o, "read_sqnr_db", cli_json_real(l->read_sqnr_db));
    if (isinf(l->value.sqnr_db))
        cli_json_set(j, o, "equal", json_true());
    return o;
}

void cli_layers_json(cli_json *j, const qdq_compare_layers_result *r, json_t *to)
{
    json_t *layers = json_array(), *unmatched = json_object();

    for (size_t i = 0; i < r->n_layers; i++)
        cli_json_add(j, layers, layer_json(j, &r->layers[i]));
    cli_json_set(j, unmatched, "a", names_json(j, r->unmatched_a, r->n_unmatched_a));
    cli_json_set(j, unmatched, "b", names_json(j, r->unmatched_b, r->n_unmatched_b));
    cli_json_set(j, to, "layers", layers);
    cli_json_set(j, to, "unmatched", unmatched);
}

static void print_unmatched(const char *which, const char *const *names, size_t n, FILE *to)
{
    enum { SHOWN = 6 };

    if (n == 0)
        return;
    fprintf(to, "only in the %s model: %zu tensor%s", which, n, cli_plural(n));
    for (size_t i = 0; i < n && i < SHOWN; i++)
        fprintf(to, "%s %s", i == 0 ? ":" : ",", names[i]);
    fputs(n > SHOWN ? ", ...\n" : "\n", to);
}

qdq_status cli_layers_print(cli *c, const qdq_compare_layers_result *r, FILE *to, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "lllrrr"};
    size_t n_float = 0;
    char text[40];

    fputc('\n', to);
    cli_cell(&table, "layer");
    cli_cell(&table, "op");
    cli_cell(&table, "tensor");
    cli_cell(&table, "introduced dB");
    cli_cell(&table, "SQNR dB");
    cli_cell(&table, "as read dB");
    for (size_t i = 0; i < r->n_layers; i++) {
        const qdq_compare_layer *l = &r->layers[i];

        if (!l->quantized) {
            n_float++;
            continue;
        }
        cli_cell(&table, "%s", l->node);
        cli_cell(&table, "%s", l->op);
        cli_cell(&table, "%s", l->value.name);
        cli_cell(&table, "%s", cli_sqnr_text(l->introduced.sqnr_db, text, sizeof text));
        cli_cell(&table, "%s", cli_sqnr_text(l->value.sqnr_db, text, sizeof text));
        cli_cell(&table, "%s",
                 isnan(l->read_sqnr_db) ? "-" : cli_sqnr_text(l->read_sqnr_db, text, sizeof text));
    }
    QDQ_TRY(cli_table_print(&table, to, err));
    if (n_float > 0)
        fprintf(to, "%zu layer%s without Q/DQ introduce%s nothing (--json lists %s)\n", n_float,
                cli_plural(n_float), n_float == 1 ? "s" : "", n_float == 1 ? "it" : "them");
    print_unmatched("first", r->unmatched_a, r->n_unmatched_a, to);
    print_unmatched("second", r->unmatched_b, r->n_unmatched_b, to);
    return QDQ_OK;
}
