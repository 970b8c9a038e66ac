/* page.h - one HTML page that needs nothing else: no network, no fonts, no files beside it. Light
 * and dark as the reader's system is. Knows nothing of models: callers hand over text and
 * numbers. */
#ifndef QDQ_PAGE_H
#define QDQ_PAGE_H

#include "base/buf.h"
#include "qdq/tensor.h"

typedef enum qdq_page_tone { QDQ_TONE_PLAIN, QDQ_TONE_GOOD, QDQ_TONE_BAD } qdq_page_tone;

void qdq_page_begin(qdq_buf *b, const char *title, const char *kicker, const char *subtitle);
void qdq_page_end(qdq_buf *b, const char *colophon);

/* A section ends where the next one or the page ends. `note` is a paragraph; may be NULL. */
void qdq_page_section(qdq_buf *b, const char *id, const char *heading, const char *note);

/* Numbers that are read first, side by side. */
typedef struct qdq_page_figure {
    /* unit and note may be NULL */
    const char *value, *unit, *label, *note;
    qdq_page_tone tone;
} qdq_page_figure;
void qdq_page_figures(qdq_buf *b, const qdq_page_figure *f, size_t n);

/* --- tables that sort when a head is clicked, with a field to search in ----------------------- */

typedef struct qdq_page_column {
    /* hint may be NULL */
    const char *head, *hint;
    /* right, sorted as a number */
    bool is_number;
    /* names: fixed width, may break anywhere */
    bool is_code;
    /* a number in 0..1 that is also drawn */
    bool bar;
} qdq_page_column;

typedef struct qdq_page_table {
    const char *id;
    const qdq_page_column *column;
    size_t n_columns;
    /* a short one: neither sorted nor searched */
    bool plain;
} qdq_page_table;

void qdq_page_table_begin(qdq_buf *b, const qdq_page_table *t);
void qdq_page_row_begin(qdq_buf *b, qdq_page_tone tone);
void qdq_page_cell(qdq_buf *b, const qdq_page_table *t, size_t column, const char *text);
/* `fmt` for one double; NaN is shown as a dash, and sorts last. */
void qdq_page_number(qdq_buf *b, double x, const char *fmt);
/* 0.123 as 12.3 % */
void qdq_page_share(qdq_buf *b, const qdq_page_table *t, size_t column, double share);
/* 1234567 as 1.23 M */
void qdq_page_many(qdq_buf *b, double n);
void qdq_page_row_end(qdq_buf *b);
void qdq_page_table_end(qdq_buf *b);

/* --- plots ------------------------------------------------------------------------------------ */

/* How often values lie where, on a logarithmic scale, with the range that codes span. */
typedef struct qdq_page_histogram {
    const char *title, *caption;
    /* of the axis; bins are equally wide */
    double low, high;
    const double *count;
    size_t n;
    /* what lies outside is cut off */
    double range_low, range_high;
} qdq_page_histogram;
void qdq_page_grid_begin(qdq_buf *b);
void qdq_page_histogram_plot(qdq_buf *b, const qdq_page_histogram *h);
void qdq_page_grid_end(qdq_buf *b);

/* Times with their spread, one above the other, from zero. */
typedef struct qdq_page_bar {
    const char *label;
    double value, low, high;
    qdq_page_tone tone;
} qdq_page_bar;
void qdq_page_bars(qdq_buf *b, const qdq_page_bar *bar, size_t n, const char *unit);

/* Something that falls (or rises) in steps: from left to right, one step for each value; those that
 * are marked have a dot. */
void qdq_page_steps(qdq_buf *b, const char *title, const double *value, const bool *marked,
                    size_t n, const char *unit);

/* What is weighed against each other: a dot for each, with its label and a bar from low to high,
 * and one line across. Those without both numbers are left out; an x without bounds stands at the
 * right edge. */
typedef struct qdq_page_dot {
    const char *label;
    /* low and high of y */
    double x, y, low, high;
    qdq_page_tone tone;
} qdq_page_dot;

typedef struct qdq_page_scatter {
    const char *title, *x_unit, *y_unit;
    const qdq_page_dot *dot;
    size_t n;
    /* the label of the line; NULL: there is none */
    const char *line;
    double line_y;
} qdq_page_scatter;
void qdq_page_scatter_plot(qdq_buf *b, const qdq_page_scatter *s);

/* --- a line of the graph: who gives, what stands between, who reads --------------------------- */

typedef struct qdq_page_chip {
    /* operator, name */
    const char *head, *text;
    /* of the kind that the page is about */
    bool lit;
} qdq_page_chip;

void qdq_page_flow_begin(qdq_buf *b);
void qdq_page_flow(qdq_buf *b, const char *name, const qdq_page_chip *from, const char *between,
                   const qdq_page_chip *to, size_t n_to);
void qdq_page_flow_end(qdq_buf *b);

/* " Input 'x' was set to 1x3x224x224." for each of them, cut where `text` ends. Returns `text`. */
const char *qdq_page_shapes_text(const qdq_input_shape *shapes, size_t n, char *text, size_t size);

#endif /* QDQ_PAGE_H */
