/* tune_report_front.c - the part of report.html about models between speed and accuracy. */
#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "report/page.h"
#include "tune/outcome/outcome.h"

static void draw_front(const qdq_tune_state *t, qdq_buf *b)
{
    enum { OTHERS = 2 };
    const qdq_tune_result *r = t->out;
    qdq_page_dot dot[QDQ_TUNE_MOST_POINTS + OTHERS];
    char label[QDQ_TUNE_MOST_POINTS][24];
    size_t n = 0;

    for (; n < r->n_pareto; n++) {
        const qdq_tune_point *p = &r->pareto[n];
        snprintf(label[n], sizeof label[n], "%zu", n + 1);
        dot[n] = (qdq_page_dot){label[n],  p->sqnr_db, p->ms,
                                p->ms_low, p->ms_high, p->dominated ? QDQ_TONE_BAD : QDQ_TONE_GOOD};
    }
    dot[n++] = (qdq_page_dot){"rules", t->outcome.rules_db, r->rules_ms, NAN, NAN, QDQ_TONE_PLAIN};
    dot[n++] =
        (qdq_page_dot){"written", t->outcome.final_db, r->final_ms, NAN, NAN, QDQ_TONE_PLAIN};
    qdq_page_scatter_plot(
        b,
        &(qdq_page_scatter){.title = "Time of one run over SQNR of the worst output: further down "
                                     "is faster, further right is nearer to the input model",
                            .x_unit = "SQNR, dB",
                            .y_unit = "ms",
                            .dot = dot,
                            .n = n,
                            .line = "input",
                            .line_y = r->baseline_ms});
}

void qdq_tune_show_front(const qdq_tune_state *t, qdq_buf *b)
{
    static const qdq_page_column columns[] = {
        {.head = "Model", .is_code = true},
        {.head = "ms", .is_number = true, .hint = "measured in pairs with the input model"},
        {.head = "from", .is_number = true, .hint = "95 % interval"},
        {.head = "to", .is_number = true},
        {.head = "Predicted, ms",
         .is_number = true,
         .hint = "by the costs that the search ended with"},
        {.head = "SQNR, dB",
         .is_number = true,
         .hint = "of the worst output, on all evaluation samples"},
        {.head = "Accuracy", .is_number = true, .hint = "on labels"},
        {.head = "Nodes", .is_number = true, .hint = "in 8 bits"},
        {.head = "Note"}};
    static const qdq_page_table table = {"pareto", columns, QDQ_COUNT(columns), false};

    if (t->out->n_pareto == 0)
        return;
    qdq_page_section(b, "front", "Latency against accuracy",
                     "Placements of which none is better than another in both, by the costs of the "
                     "search and by what each decision does to the outputs; then measured and "
                     "evaluated. A goal does not bound them.");
    draw_front(t, b);
    qdq_page_table_begin(b, &table);
    for (size_t i = 0; i < t->out->n_pareto; i++) {
        const qdq_tune_point *p = &t->out->pareto[i];
        qdq_page_row_begin(b, p->dominated ? QDQ_TONE_BAD : QDQ_TONE_GOOD);
        qdq_page_cell(b, &table, 0, p->file);
        qdq_page_number(b, p->ms, "%.4g");
        qdq_page_number(b, p->ms_low, "%.4g");
        qdq_page_number(b, p->ms_high, "%.4g");
        qdq_page_number(b, p->predicted_ms, "%.4g");
        qdq_page_number(b, p->sqnr_db, "%.2f");
        qdq_page_number(b, p->accuracy, "%.4f");
        qdq_page_number(b, p->nodes, "%.0f");
        qdq_page_cell(b, &table, 8, p->dominated ? "another one is as fast and as accurate" : "");
        qdq_page_row_end(b);
    }
    qdq_page_table_end(b);
}
