/* picture.c - writes the drawing's nodes and edges as JSON for its script. Texts that repeat are
 * in the data once, so that pages of thousands of nodes stay small. */
#include "report/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "report/html.h"
#include "report/page.h"

enum { MOST_ROWS = 500 };

static const struct {
    const char *name, *help, *text;
} asset[] = {
#include "picture_data.inc"
};

static const char *find_asset(const char *name)
{
    for (size_t i = 0; i < sizeof asset / sizeof asset[0]; i++)
        if (strcmp(asset[i].name, name) == 0)
            return asset[i].text;
    return "";
}

void qdq_picture_put_style(qdq_buf *b)
{
    qdq_buf_puts(b, find_asset("picture_style"));
}

void qdq_picture_put_script(qdq_buf *b)
{
    qdq_buf_puts(b, "'use strict';\n(function () {\n");
    qdq_buf_puts(b, find_asset("picture_model"));
    qdq_buf_puts(b, find_asset("picture_draw"));
    qdq_buf_puts(b, find_asset("picture_events"));
    qdq_buf_puts(b, "})();\n");
}

/* --- data ------------------------------------------------------------------------------------- */

typedef struct texts {
    qdq_buf *b;
    /* text -> its number */
    qdq_map index;
} texts;

static void put_text(texts *t, const char *text)
{
    bool is_new;

    if (text == NULL || text[0] == '\0')
        return;
    qdq_map_value *v = qdq_map_put(&t->index, text, &is_new);
    if (v == NULL) {
        t->b->failed = true;
        return;
    }
    if (!is_new)
        return;
    v->num = t->index.n_live;
    qdq_buf_putc(t->b, ',');
    qdq_html_json(t->b, text);
}

static void put_price_texts(texts *t, const qdq_picture_price *p)
{
    put_text(t, p->measured);
    put_text(t, p->figures);
    put_text(t, p->rules);
}

/* Text 0 is none. */
static void list_texts(texts *t, const qdq_picture *p)
{
    qdq_buf_puts(t->b, "\"texts\":[\"\"");
    for (size_t i = 0; i < p->n_nodes; i++) {
        const qdq_picture_node *n = &p->node[i];
        put_text(t, n->op);
        put_text(t, n->block);
        put_text(t, n->why);
        put_text(t, n->within != 0 ? n->body : NULL);
        put_price_texts(t, &n->price);
    }
    for (size_t i = 0; i < p->n_edges; i++) {
        put_text(t, p->edge[i].tensor);
        put_text(t, p->edge[i].why);
        put_price_texts(t, &p->edge[i].price);
    }
    qdq_buf_puts(t->b, "]");
}

static void text(const texts *t, const char *s)
{
    const qdq_map_value *v = s != NULL && s[0] != '\0' ? qdq_map_get(&t->index, s) : NULL;

    qdq_buf_printf(t->b, ",%u", v != NULL ? (unsigned)v->num : 0);
}

static void number(qdq_buf *b, double x)
{
    if (isfinite(x))
        qdq_buf_printf(b, ",%.4g", x);
    else
        qdq_buf_puts(b, ",null");
}

/* The end of a row; one number where nothing is known. */
static void put_price(const texts *t, const qdq_picture_price *p)
{
    const bool has_texts = p->measured != NULL || p->figures != NULL || p->rules != NULL;

    qdq_buf_printf(t->b, ",%u", (unsigned)p->source);
    if (p->source == QDQ_PRICE_NONE && !has_texts)
        return;
    number(t->b, p->saved_us);
    number(t->b, p->doubt_us);
    if (!has_texts)
        return;
    text(t, p->measured);
    text(t, p->figures);
    text(t, p->rules);
}

static void put_node(const texts *t, const qdq_picture_node *n)
{
    qdq_buf_putc(t->b, '[');
    qdq_html_json(t->b, n->name);
    text(t, n->op);
    text(t, n->block);
    qdq_buf_printf(t->b, ",%u,%u,%u", (unsigned)n->input, (unsigned)n->chosen, (unsigned)n->weight);
    number(t->b, n->given_us);
    number(t->b, n->chosen_us);
    text(t, n->why);
    put_price(t, &n->price);
    qdq_buf_puts(t->b, "]");
}

/* [[node, node whose body it is in, body], ...] */
static void list_subgraphs(const texts *t, const qdq_picture *p)
{
    const char *comma = "";

    qdq_buf_puts(t->b, ",\n\"within\":[");
    for (size_t i = 0; i < p->n_nodes; i++) {
        if (p->node[i].within == 0)
            continue;
        qdq_buf_printf(t->b, "%s[%zu,%u", comma, i, (unsigned)p->node[i].within - 1);
        text(t, p->node[i].body);
        qdq_buf_putc(t->b, ']');
        comma = ",";
    }
    qdq_buf_putc(t->b, ']');
}

static void put_end(qdq_buf *b, uint32_t i)
{
    qdq_buf_printf(b, i == QDQ_PICTURE_OUTSIDE ? "-1" : "%u", (unsigned)i);
}

static void put_edge(const texts *t, const qdq_picture_edge *e)
{
    qdq_buf_putc(t->b, '[');
    put_end(t->b, e->from);
    qdq_buf_putc(t->b, ',');
    put_end(t->b, e->to);
    text(t, e->tensor);
    qdq_buf_printf(t->b, ",%u,%d", (unsigned)e->format, e->coded ? 1 : 0);
    number(t->b, e->scale);
    number(t->b, e->convert_us);
    text(t, e->why);
    qdq_buf_printf(t->b, ",%d", e->joint ? 1 : 0);
    put_price(t, &e->price);
    qdq_buf_puts(t->b, "]");
}

static void put_formats(qdq_buf *b)
{
    qdq_buf_puts(b, "\"formats\":[");
    for (int i = 0; i < QDQ_ELEM_COUNT; i++) {
        const char *name = qdq_elem_name((qdq_elem)i);
        qdq_buf_printf(b, "%s\"%s\"", i > 0 ? "," : "", name != NULL ? name : "");
    }
    qdq_buf_puts(b, "],");
}

static void put_data(qdq_buf *b, const qdq_picture *p)
{
    texts t = {.b = b, .index = QDQ_MAP_INIT};

    qdq_buf_printf(b, "{\"relative\":%s,", p->relative ? "true" : "false");
    put_formats(b);
    list_texts(&t, p);
    qdq_buf_puts(b, ",\n\"nodes\":[");
    for (size_t i = 0; i < p->n_nodes; i++) {
        qdq_buf_puts(b, i > 0 ? ",\n" : "");
        put_node(&t, &p->node[i]);
    }
    qdq_buf_putc(b, ']');
    list_subgraphs(&t, p);
    qdq_buf_puts(b, ",\n\"edges\":[");
    for (size_t i = 0; i < p->n_edges; i++) {
        qdq_buf_puts(b, i > 0 ? ",\n" : "");
        put_edge(&t, &p->edge[i]);
    }
    qdq_buf_puts(b, "]}");
    qdq_map_free(&t.index);
}

/* --- a table for readers without scripts ------------------------------------------------------ */

typedef struct ranked {
    const qdq_picture_node *node;
    double us;
    size_t place;
} ranked;

static int by_time(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->us != y->us)
        return x->us < y->us ? 1 : -1;
    return x->place < y->place ? -1 : 1;
}

static void put_row(qdq_buf *b, const qdq_page_table *t, const qdq_picture_node *n, double per_unit)
{
    const bool coded = n->chosen != n->input;

    qdq_page_row_begin(b, coded ? QDQ_TONE_GOOD : QDQ_TONE_PLAIN);
    qdq_page_cell(b, t, 0, n->name);
    qdq_page_cell(b, t, 1, n->op);
    qdq_page_cell(b, t, 2, qdq_elem_name(n->chosen));
    qdq_page_number(b, n->given_us / per_unit, "%.4g");
    qdq_page_number(b, n->chosen_us / per_unit, "%.4g");
    qdq_page_number(b, n->price.saved_us / per_unit, "%.3g");
    qdq_page_cell(b, t, 6, n->why);
    qdq_page_cell(b, t, 7, n->price.rules);
    qdq_page_row_end(b);
}

/* The nodes that take the most time. */
static void put_table(qdq_buf *b, const qdq_picture *p)
{
    const qdq_page_column columns[] = {
        {.head = "Node", .is_code = true},
        {.head = "Operator"},
        {.head = "Runs as"},
        {.head = p->relative ? "Input, %" : "Input, ms", .is_number = true},
        {.head = p->relative ? "Chosen, %" : "Chosen, ms", .is_number = true},
        {.head = "Saves", .is_number = true, .hint = "if it is quantized"},
        {.head = "Rule or reason"},
        {.head = "Overruled rule", .hint = "by a measurement"}};
    const qdq_page_table table = {"model-table", columns, sizeof columns / sizeof columns[0],
                                  false};
    ranked *rank = calloc(p->n_nodes + 1, sizeof *rank);
    char head[120];

    if (rank == NULL) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < p->n_nodes; i++)
        rank[i] =
            (ranked){&p->node[i], isfinite(p->node[i].given_us) ? p->node[i].given_us : -1, i};
    qsort(rank, p->n_nodes, sizeof *rank, by_time);
    const size_t n = p->n_nodes < MOST_ROWS ? p->n_nodes : MOST_ROWS;
    snprintf(head, sizeof head,
             n < p->n_nodes ? "The %zu slowest of %zu nodes as a table" : "The same as a table", n,
             p->n_nodes);
    qdq_buf_puts(b, "<details><summary>");
    qdq_html_text(b, head);
    qdq_buf_puts(b, "</summary>\n");
    qdq_page_table_begin(b, &table);
    for (size_t i = 0; i < n; i++)
        put_row(b, &table, rank[i].node, p->relative ? 1 : 1000);
    qdq_page_table_end(b);
    qdq_buf_puts(b, "</details>\n");
    free(rank);
}

static bool has_subgraphs(const qdq_picture *p)
{
    for (size_t i = 0; i < p->n_nodes; i++)
        if (p->node[i].within != 0)
            return true;
    return false;
}

void qdq_page_picture(qdq_buf *b, const qdq_picture *p)
{
    char note[600];

    if (p->n_nodes == 0)
        return;
    snprintf(note, sizeof note,
             "Nodes along the flow, in modules. Of two bars the upper one is the input model, the "
             "lower one the chosen model; colours are formats. Thick lines carry quantized values. "
             "%.300s%s",
             p->times != NULL ? p->times : "",
             has_subgraphs(p) && !p->relative
                 ? " Nodes inside of If, Loop and Scan divide the time "
                   "of that node as estimates have it."
                 : "");
    qdq_page_section(b, "model", "The model", note);
    qdq_buf_puts(b,
                 "<div id=\"picture\" class=\"picture\"></div>\n<script type=\"application/json\" "
                 "id=\"picture-data\">");
    put_data(b, p);
    qdq_buf_puts(b, "</script>\n");
    put_table(b, p);
}
