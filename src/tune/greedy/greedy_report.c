/* greedy_report.c - what greedy measured apart and what became of it: in report.json and in
 * report.html. */
#include <math.h>

#include "base/buf.h"
#include "base/fail.h"
#include "tune/greedy/greedy.h"

/* --- report.json ------------------------------------------------------------------------------ */

static qdq_validate_verdict verdict_of(const qdq_tune_greedy *g, size_t item)
{
    return g->result.item != NULL ? g->result.item[item].verdict : QDQ_VALIDATE_UNDECIDED;
}

static void put_decision(qdq_json_out list, const qdq_tune_greedy *g, size_t item)
{
    const qdq_tune_scheme *s = qdq_tune_shown_scheme(g->kind[item]);
    qdq_json_out j = qdq_json_put_object(list, NULL);

    qdq_json_put_int(j, "group", g->problem.item[item].place);
    qdq_json_put_text(j, "node", g->problem.item[item].name);
    qdq_json_put_text(j, "scheme", qdq_scheme_kind_names[s->what->kind]);
    qdq_json_put_real(j, "saves_us", s->saved.mean_us);
    qdq_json_put_real(j, "se_us", s->saved.se_us);
    qdq_json_put_text(j, "verdict", qdq_validate_verdict_name(verdict_of(g, item)));
}

void qdq_tune_put_greedy(const qdq_tune_state *t, qdq_json_out report)
{
    const qdq_tune_greedy *g = t->run.greedy;

    qdq_json_put_int(report, "apart_builds", t->out->isolated_builds);
    qdq_json_put_int(report, "not_apart", t->out->not_isolated);
    qdq_json_put_text(report, "apart_by",
                      g == NULL            ? NULL
                      : g->kinds.by_layers ? "layers"
                                           : "whole times");
    qdq_json_out list = qdq_json_put_list(report, "decisions");
    for (size_t i = 0; g != NULL && i < g->problem.n_items; i++)
        put_decision(list, g, i);
}

/* --- report.html ------------------------------------------------------------------------------ */

static size_t count_groups(const qdq_tune_greedy *g, const qdq_tune_kind *kind,
                           qdq_validate_verdict verdict)
{
    size_t n = 0;

    for (size_t i = 0; i < g->problem.n_items; i++)
        n += g->kind[i] == kind && verdict_of(g, i) == verdict;
    return n;
}

static void show_kind(const qdq_tune_state *t, const qdq_tune_kind *k, const qdq_page_table *table,
                      qdq_buf *b)
{
    const qdq_tune_greedy *g = t->run.greedy;
    const qdq_tune_scheme *s = qdq_tune_shown_scheme(k);
    const bool saves = s != k->scheme;
    const size_t kept = count_groups(g, k, QDQ_VALIDATE_KEPT);

    qdq_page_row_begin(b, kept > 0 ? QDQ_TONE_GOOD : QDQ_TONE_PLAIN);
    qdq_page_cell(b, table, 0, t->parts.patterns->pattern[k->unit].signature);
    qdq_page_number(b, (double)k->n, "%.0f");
    qdq_page_cell(b, table, 2, qdq_scheme_kind_names[s->what->kind]);
    qdq_page_number(b, saves ? s->none_us : NAN, "%.3g");
    qdq_page_number(b, saves ? s->saved.mean_us : NAN, "%.3g");
    qdq_page_number(b, saves ? s->saved.se_us : NAN, "%.2g");
    qdq_page_number(b, saves ? s->boundary_us : NAN, "%.3g");
    qdq_page_number(b, (double)kept, "%.0f");
    qdq_page_cell(b, table, 8,
                  k->why != NULL ? k->why
                  : k->settled   ? "known from autotune_cache.json"
                  : count_groups(g, k, QDQ_VALIDATE_FAILED) > 0
                      ? "a model with it could not be built"
                  : s->saved.qualifies ? ""
                  : kept > 0           ? "for its neighbours' sake"
                  : saves              ? "saves nothing that counts"
                                       : "");
    qdq_page_row_end(b);
}

void qdq_tune_show_kinds(const qdq_tune_state *t, qdq_buf *b)
{
    static const qdq_page_column columns[] = {
        {.head = "Kind of group",
         .is_code = true,
         .hint = "operators, and the first digits of its key"},
        {.head = "Groups", .is_number = true},
        {.head = "Best scheme"},
        {.head = "Float, us", .is_number = true, .hint = "one group without Q/DQ"},
        {.head = "Saves, us", .is_number = true, .hint = "with its neighbours in 8 bits"},
        {.head = "\xc2\xb1", .is_number = true, .hint = "standard error"},
        {.head = "Borders, us",
         .is_number = true,
         .hint = "conversions that neighbours in float cost besides"},
        {.head = "Kept", .is_number = true, .hint = "groups in which the whole model proved it"},
        {.head = "Note"}};
    static const qdq_page_table table = {"apart", columns, QDQ_COUNT(columns), false};

    qdq_page_section(
        b, "apart", "What was measured apart",
        t->run.greedy->kinds.by_layers
            ? "Each kind of group with its neighbours as a model of its own, with each scheme: the "
              "time of its layers."
            : "Each kind of group with its neighbours as a model of its own, with each scheme: the "
              "time of that whole model, because the engine reports no times of layers.");
    qdq_page_table_begin(b, &table);
    for (size_t i = 0; i < t->run.greedy->kinds.n; i++)
        if (t->run.greedy->kinds.at[i].n_schemes > 1)
            show_kind(t, &t->run.greedy->kinds.at[i], &table, b);
    qdq_page_table_end(b);
}
