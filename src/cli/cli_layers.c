/* cli_layers.c - the numbers of qdq_compare_layers() for people and for scripts. */
#include "cli/cli_layers.h"

#include <math.h>

#include "base/fail.h"
#include "cli/cli_engine.h"
#include "cli/cli_outputs.h"

static void layer_json(qdq_json_out o, const qdq_compare_layer *l)
{
    qdq_json_put_text(o, "node", l->node);
    qdq_json_put_text(o, "op", l->op);
    qdq_json_put_bool(o, "quantized", !l->in_float);
    qdq_json_put_bool(o, "has_qdq", l->quantized);
    qdq_json_put_short(o, "error", l->error);
    qdq_json_put_short(o, "introduced_sqnr_db", l->introduced.sqnr_db);
    qdq_json_put_text(o, "tensor", l->value.name);
    qdq_json_put_short(o, "sqnr_db", l->value.sqnr_db);
    qdq_json_put_short(o, "cosine", l->value.cosine);
    qdq_json_put_short(o, "max_abs", l->value.max_abs);
    qdq_json_put_short(o, "read_sqnr_db", l->read_sqnr_db);
    if (isinf(l->value.sqnr_db))
        qdq_json_put_bool(o, "equal", true);
}

void cli_layers_json(qdq_json_out to, const qdq_compare_layers_result *r)
{
    qdq_json_out layers = qdq_json_put_list(to, "layers");
    for (size_t i = 0; i < r->n_layers; i++)
        layer_json(qdq_json_put_object(layers, NULL), &r->layers[i]);
    qdq_json_out unmatched = qdq_json_put_object(to, "unmatched");
    qdq_json_put_texts(unmatched, "a", r->unmatched_a, r->n_unmatched_a);
    qdq_json_put_texts(unmatched, "b", r->unmatched_b, r->n_unmatched_b);
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

static void print_rest(size_t n, FILE *to)
{
    fputs("SQNR in dB, low is bad: of the layer alone, of the whole run, and as it is read\n", to);
    if (n > 0)
        fprintf(to, "%zu more layer%s with a smaller error (--top 0 lists all)\n", n,
                cli_plural(n));
    fputs("layers without Q/DQ have no error of their own (--json lists them)\n", to);
}

qdq_status cli_layers_print(cli *c, const qdq_compare_layers_result *r, size_t top, FILE *to,
                            qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "lllrrr"};
    size_t n_quantized = 0;
    const char *worst = NULL;
    char text[40];

    fputc('\n', to);
    CLI_CELLS(&table, "layer", "op", "tensor", "own error, dB", "accumulated", "after Q/DQ");
    for (size_t i = 0; i < r->n_layers; i++) {
        const qdq_compare_layer *l = &r->layers[i];

        if (!l->quantized || (n_quantized++ >= top && top > 0))
            continue;
        worst = worst == NULL && !l->in_float ? l->node : worst;
        cli_cell(&table, "%s", l->node);
        cli_cell(&table, "%s%s", l->op, l->in_float ? ", float" : "");
        cli_cell(&table, "%s", l->value.name);
        cli_cell(&table, "%s", cli_sqnr_text(l->introduced.sqnr_db, text, sizeof text));
        cli_cell(&table, "%s", cli_sqnr_text(l->value.sqnr_db, text, sizeof text));
        cli_cell(&table, "%s",
                 isnan(l->read_sqnr_db) ? "-" : cli_sqnr_text(l->read_sqnr_db, text, sizeof text));
    }
    QDQ_TRY(cli_table_print(&table, to, err));
    print_rest(top > 0 && n_quantized > top ? n_quantized - top : 0, to);
    if (worst != NULL)
        fprintf(to, "keep one float: qdq quantize ... --exclude '=%s'\n", worst);
    print_unmatched("first", r->unmatched_a, r->n_unmatched_a, to);
    print_unmatched("second", r->unmatched_b, r->n_unmatched_b, to);
    return QDQ_OK;
}
