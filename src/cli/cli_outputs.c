/* cli_outputs.c - the numbers of qdq_compare() for people and for scripts. */
#include "cli/cli_outputs.h"

#include <math.h>

#include "base/fail.h"
#include "qdq/goal.h"

void cli_outputs_json(qdq_json_out list, const qdq_compare_tensor *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        qdq_json_out entry = qdq_json_put_object(list, NULL);
        qdq_json_put_text(entry, "name", t[i].name);
        if (t[i].other_shape)
            qdq_json_put_bool(entry, "other_shape", true);
        qdq_json_put_short(entry, "sqnr_db", t[i].sqnr_db);
        qdq_json_put_short(entry, "worst_db", t[i].worst_db);
        qdq_json_put_known(entry, "axis", t[i].axis >= 0, t[i].axis);
        qdq_json_put_known(entry, "index", t[i].axis >= 0, t[i].index);
        qdq_json_put_short(entry, "bound_db", t[i].bound_db);
        qdq_json_put_short(entry, "cosine", t[i].cosine);
        qdq_json_put_short(entry, "max_abs", t[i].max_abs);
        qdq_json_put_short(entry, "top1", t[i].top1);
        qdq_json_put_short(entry, "top1_close", t[i].top1_close);
        qdq_json_put_short(entry, "half_agreement", t[i].half_agreement);
        if (isinf(t[i].sqnr_db) && t[i].sqnr_db > 0)
            qdq_json_put_bool(entry, "equal", true);
        if (isnan(t[i].sqnr_db))
            qdq_json_put_bool(entry, "no_signal", true);
    }
}

const char *cli_sqnr_text(double sqnr_db, char *text, size_t size)
{
    if (isnan(sqnr_db))
        snprintf(text, size, "no signal");
    else if (isinf(sqnr_db))
        snprintf(text, size, sqnr_db > 0 ? "equal" : "not finite");
    else
        snprintf(text, size, "%.2f", sqnr_db);
    return text;
}

const char *cli_worst_text(const qdq_compare_tensor *t, char *text, size_t size)
{
    char number[40];

    if (t->other_shape)
        snprintf(text, size, "another shape");
    else
        snprintf(text, size, "%s%s", cli_sqnr_text(t->worst_db, number, sizeof number),
                 isfinite(t->worst_db) ? " dB" : "");
    return text;
}

/* Columns that only some outputs fill are left out where none does. */
typedef struct columns {
    bool slices, bound, scores, half;
} columns;

static columns find_columns(const qdq_compare_tensor *t, size_t n)
{
    columns c = {false};

    for (size_t i = 0; i < n; i++) {
        c.slices |= t[i].axis >= 0;
        c.bound |= !isnan(t[i].bound_db);
        c.scores |= !isnan(t[i].top1);
        c.half |= !isnan(t[i].half_agreement);
    }
    return c;
}

static void print_heads(cli_table *table, const char *what, const columns *c)
{
    CLI_CELLS(table, what, "SQNR dB");
    if (c->slices)
        CLI_CELLS(table, "worst slice", "axis, index");
    if (c->bound)
        cli_cell(table, "bound");
    CLI_CELLS(table, "cosine", "max error");
    if (c->scores)
        cli_cell(table, "top-1");
    if (c->half)
        cli_cell(table, "at 0.5");
}

static void print_share(cli_table *table, double share, int digits)
{
    if (isnan(share))
        cli_cell(table, "-");
    else
        cli_cell(table, "%.*f", digits, share);
}

static void print_row(cli_table *table, const qdq_compare_tensor *t, const columns *c)
{
    char text[40];

    CLI_CELLS(table, t->name,
              t->other_shape ? "other shape" : cli_sqnr_text(t->sqnr_db, text, sizeof text));
    if (c->slices && t->axis >= 0) {
        cli_cell(table, "%s", cli_sqnr_text(t->worst_db, text, sizeof text));
        cli_cell(table, "%d, %zu", t->axis, t->index);
    } else if (c->slices) {
        CLI_CELLS(table, "-", "-");
    }
    if (c->bound)
        cli_cell(table, "%s",
                 isnan(t->bound_db) || t->other_shape
                     ? "-"
                     : cli_sqnr_text(t->bound_db, text, sizeof text));
    print_share(table, t->cosine, 6);
    cli_cell(table, "%.4g", t->max_abs);
    if (c->scores)
        print_share(table, t->top1, 4);
    if (c->half)
        print_share(table, t->half_agreement, 4);
}

qdq_status cli_outputs_print(cli *c, const char *what, const qdq_compare_tensor *t, size_t n,
                             FILE *to, qdq_error *err)
{
    const columns has = find_columns(t, n);
    char align[] = "lrrrrrrrr";

    align[4 + 2 * has.slices + has.bound + has.scores + has.half] = '\0';
    cli_table table = {.arena = &c->arena, .columns = align};
    print_heads(&table, what, &has);
    for (size_t i = 0; i < n; i++)
        print_row(&table, &t[i], &has);
    return cli_table_print(&table, to, err);
}

const qdq_compare_tensor *cli_outputs_below(const qdq_compare_tensor *t, size_t n, double min_sqnr)
{
    for (size_t i = 0; i < n; i++)
        if (!(t[i].worst_db >= min_sqnr))
            return &t[i];
    return NULL;
}

const char *cli_outputs_unproven(cli *c, const qdq_compare_tensor *t, size_t n)
{
    enum { SHOWN = 3 };
    const char *names = "";
    size_t silent = 0;

    for (size_t i = 0; i < n && names != NULL; i++) {
        if (!isnan(t[i].sqnr_db))
            continue;
        if (silent++ < SHOWN)
            names =
                qdq_arena_printf(&c->arena, "%s%s'%s'", names, silent > 1 ? ", " : "", t[i].name);
    }
    if (silent == 0 || names == NULL)
        return "";
    const char *text =
        silent == n ? "no output has a signal: nothing is proven"
                    : qdq_arena_printf(&c->arena, "no signal in %s%s: nothing is proven there",
                                       names, silent > SHOWN ? ", ..." : "");
    return text != NULL ? text : "";
}

/* 20 dB is the default goal; the error has then a tenth of the signal's size. */
enum { FAIR_DB = 30 };

qdq_status cli_outputs_evaluate(cli *c, const qdq_compare_tensor *t, size_t n,
                                const cli_evidence *on, FILE *to, qdq_error *err)
{
    const qdq_compare_tensor *low = cli_outputs_below(t, n, QDQ_DEFAULT_MIN_SQNR),
                             *fair = cli_outputs_below(t, n, FAIR_DB);
    const char *sameness;
    char text[60];

    QDQ_TRY(qdq_data_find_sameness(on->data, &sameness, err));
    if (n == 0 || cli_outputs_unproven(c, t, n)[0] != '\0' || (on->is_random && low == NULL))
        return QDQ_OK;
    if (sameness != NULL)
        fprintf(to, "accuracy is not proven: %s\n", sameness);
    else if (on->is_random)
        fprintf(to,
                "accuracy on random input is low: output '%s' has %s; --calib DATA tells more\n",
                low->name, cli_worst_text(low, text, sizeof text));
    else if (fair == NULL)
        fprintf(to, "accuracy is good: every output has at least %d dB\n", FAIR_DB);
    else
        fprintf(to, "accuracy is %s: output '%s' has %s; %d dB is usually fine\n",
                low != NULL ? "low" : "fair", (low != NULL ? low : fair)->name,
                cli_worst_text(low != NULL ? low : fair, text, sizeof text), FAIR_DB);
    return QDQ_OK;
}

void cli_outputs_explain_bound(const qdq_compare_tensor *t, size_t n, double goal_db, FILE *to)
{
    if (goal_db != 0 && find_columns(t, n).bound)
        fprintf(to, "goal: %g dB for 'bound', what other samples reach with 90 %% confidence\n",
                goal_db);
}

double cli_unseen_fraction(size_t samples)
{
    return samples > 0 ? 1 - pow(0.1, 1 / (double)samples) : NAN;
}

void cli_tell_unseen(size_t samples, FILE *to)
{
    enum { MANY = 32 };

    if (samples > 1 && samples < MANY)
        fprintf(to, "%zu samples do not show what fewer than %.1f %% of inputs show\n", samples,
                cli_unseen_fraction(samples) * 100);
}
