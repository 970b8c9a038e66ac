/* page.c - writes the head, figures and tables of a page. */
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "report/html.h"
#include "report/page_style.h"
#include "report/picture.h"

static const char *tone_class(qdq_page_tone tone)
{
    switch (tone) {
    case QDQ_TONE_PLAIN:
        return "";
    case QDQ_TONE_GOOD:
        return " good";
    case QDQ_TONE_BAD:
        return " bad";
    }
    return "";
}

/* <tag class="class">text</tag>; nothing for NULL. */
static void element(qdq_buf *b, const char *tag, const char *class, const char *text)
{
    if (text == NULL)
        return;
    qdq_buf_printf(b, class != NULL ? "<%s class=\"%s\">" : "<%s>", tag, class);
    qdq_html_text(b, text);
    qdq_buf_printf(b, "</%s>", tag);
}

/* --- the frame -------------------------------------------------------------------------------- */

/* The policy lets nothing in from anywhere: what is in the page is all there is. */
void qdq_page_begin(qdq_buf *b, const char *title, const char *kicker, const char *subtitle)
{
    qdq_buf_puts(
        b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
           "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    element(b, "title", NULL, title);
    qdq_buf_puts(b, "\n<style>");
    for (size_t i = 0; qdq_page_css[i] != NULL; i++)
        qdq_buf_puts(b, qdq_page_css[i]);
    qdq_picture_put_style(b);
    qdq_buf_puts(b, "</style>\n</head>\n<body>\n<main>\n<header>");
    element(b, "p", "kicker", kicker);
    element(b, "h1", NULL, title);
    element(b, "p", "sub", subtitle);
    qdq_buf_puts(b, "</header>\n");
}

void qdq_page_end(qdq_buf *b, const char *colophon)
{
    element(b, "footer", NULL, colophon);
    qdq_buf_puts(b, "\n</main>\n<script>");
    qdq_buf_puts(b, qdq_page_script);
    qdq_buf_putc(b, '\n');
    qdq_picture_put_script(b);
    qdq_buf_puts(b, "</script>\n</body>\n</html>\n");
}

void qdq_page_section(qdq_buf *b, const char *id, const char *heading, const char *note)
{
    qdq_buf_puts(b, "<h2 id=\"");
    qdq_html_text(b, id);
    qdq_buf_puts(b, "\">");
    qdq_html_text(b, heading);
    qdq_buf_puts(b, "</h2>\n");
    element(b, "p", "note", note);
    qdq_buf_putc(b, '\n');
}

void qdq_page_figures(qdq_buf *b, const qdq_page_figure *f, size_t n)
{
    qdq_buf_puts(b, "<div class=\"figures\">\n");
    for (size_t i = 0; i < n; i++) {
        qdq_buf_printf(b, "<div class=\"figure%s\"><b>", tone_class(f[i].tone));
        qdq_html_text(b, f[i].value);
        element(b, "i", NULL, f[i].unit);
        qdq_buf_puts(b, "</b>");
        element(b, "span", NULL, f[i].label);
        element(b, "small", NULL, f[i].note);
        qdq_buf_puts(b, "</div>\n");
    }
    qdq_buf_puts(b, "</div>\n");
}

/* --- tables ----------------------------------------------------------------------------------- */

static void head(qdq_buf *b, const qdq_page_table *t, size_t i)
{
    const qdq_page_column *c = &t->column[i];

    qdq_buf_printf(b, "<th scope=\"col\"%s", c->is_number ? " class=\"num\"" : "");
    if (c->hint != NULL) {
        qdq_buf_puts(b, " title=\"");
        qdq_html_text(b, c->hint);
        qdq_buf_putc(b, '"');
    }
    qdq_buf_putc(b, '>');
    if (t->plain)
        qdq_html_text(b, c->head);
    else {
        qdq_buf_puts(b, "<button type=\"button\">");
        qdq_html_text(b, c->head);
        qdq_buf_puts(b, "</button>");
    }
    qdq_buf_puts(b, "</th>");
}

void qdq_page_table_begin(qdq_buf *b, const qdq_page_table *t)
{
    if (!t->plain)
        qdq_buf_printf(
            b,
            "<div class=\"find\"><input id=\"%s-find\" type=\"search\" placeholder=\"Search\" "
            "aria-label=\"Search in the table\"><span id=\"%s-shown\" "
            "aria-live=\"polite\"></span></div>\n",
            t->id, t->id);
    qdq_buf_printf(b, "<div class=\"wrap\"><table id=\"%s\"%s>\n<thead><tr>", t->id,
                   t->plain ? "" : " class=\"sortable\"");
    for (size_t i = 0; i < t->n_columns; i++)
        head(b, t, i);
    qdq_buf_puts(b, "</tr></thead>\n<tbody>\n");
}

void qdq_page_row_begin(qdq_buf *b, qdq_page_tone tone)
{
    qdq_buf_puts(b, tone == QDQ_TONE_GOOD  ? "<tr class=\"q\">"
                    : tone == QDQ_TONE_BAD ? "<tr class=\"x\">"
                                           : "<tr>");
}

void qdq_page_cell(qdq_buf *b, const qdq_page_table *t, size_t column, const char *text)
{
    const qdq_page_column *c = &t->column[column];

    qdq_buf_puts(b, c->is_number ? "<td class=\"num\">"
                    : c->is_code ? "<td class=\"code\">"
                                 : "<td>");
    qdq_html_text(b, text);
    qdq_buf_puts(b, "</td>");
}

/* What the script sorts by. */
static void number_begin(qdq_buf *b, double x)
{
    if (isnan(x))
        qdq_buf_puts(b, "<td class=\"num\" data-v=\"\">");
    else
        qdq_buf_printf(b, "<td class=\"num\" data-v=\"%s%.9g\">", isinf(x) && x < 0 ? "-" : "",
                       isinf(x) ? 1e300 : x);
}

void qdq_page_number(qdq_buf *b, double x, const char *fmt)
{
    char text[64];

    number_begin(b, x);
    if (isnan(x))
        qdq_buf_puts(b, "\xe2\x80\x93");
    else if (isinf(x))
        qdq_buf_puts(b, x > 0 ? "\xe2\x88\x9e" : "-\xe2\x88\x9e");
    else {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, fmt, x);
#pragma GCC diagnostic pop
        qdq_html_text(b, text);
    }
    qdq_buf_puts(b, "</td>");
}

void qdq_page_share(qdq_buf *b, const qdq_page_table *t, size_t column, double share)
{
    number_begin(b, share);
    if (t->column[column].bar && !isnan(share))
        qdq_buf_printf(b, "<span class=\"meter\"><i style=\"width:%.1f%%\"></i></span>",
                       share < 0   ? 0
                       : share > 1 ? 100
                                   : share * 100);
    if (isnan(share))
        qdq_buf_puts(b, "\xe2\x80\x93");
    else
        qdq_buf_printf(b, "%.1f %%", share * 100);
    qdq_buf_puts(b, "</td>");
}

void qdq_page_many(qdq_buf *b, double n)
{
    number_begin(b, n > 0 ? n : (double)NAN);
    if (n > 0)
        qdq_html_count(b, n);
    else
        qdq_buf_puts(b, "\xe2\x80\x93");
    qdq_buf_puts(b, "</td>");
}

void qdq_page_row_end(qdq_buf *b)
{
    qdq_buf_puts(b, "</tr>\n");
}

void qdq_page_table_end(qdq_buf *b)
{
    qdq_buf_puts(b, "</tbody></table></div>\n");
}

/* --- flows ------------------------------------------------------------------------------------ */

static void chip(qdq_buf *b, const qdq_page_chip *c)
{
    qdq_buf_printf(b, "<span class=\"chip%s\">", c->lit ? " lit" : "");
    element(b, "b", NULL, c->head);
    element(b, "span", "code", c->text);
    qdq_buf_puts(b, "</span>");
}

void qdq_page_flow_begin(qdq_buf *b)
{
    qdq_buf_puts(b, "<ul class=\"flows\">\n");
}

void qdq_page_flow(qdq_buf *b, const char *name, const qdq_page_chip *from, const char *between,
                   const qdq_page_chip *to, size_t n_to)
{
    qdq_buf_puts(b, "<li class=\"flow\">");
    element(b, "span", "name code", name);
    chip(b, from);
    element(b, "span", "between", between);
    qdq_buf_puts(b, "<span class=\"to\">");
    for (size_t i = 0; i < n_to; i++)
        chip(b, &to[i]);
    qdq_buf_puts(b, "</span></li>\n");
}

void qdq_page_flow_end(qdq_buf *b)
{
    qdq_buf_puts(b, "</ul>\n");
}

const char *qdq_page_shapes_text(const qdq_input_shape *shapes, size_t n, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        qdq_text_add(text, size, " Input '%.100s' was set to ", shapes[i].name);
        for (int k = 0; k < shapes[i].rank; k++)
            qdq_text_add(text, size, "%s%" PRId64, k > 0 ? "x" : "", shapes[i].dim[k]);
        qdq_text_add(text, size, ".");
    }
    return text;
}
