/* report_layers.c - the table of all nodes: what runs in 8 bits and what that costs, what stays
 * float and why. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant/goal/node_cost.h"
#include "quant/report/report_state.h"
#include "report/page.h"

enum { NODE, OP, TYPE, SCALE, ERROR, SQNR, MACS, REASON, N_COLUMNS, MOST_ROWS = 5000 };

static const qdq_page_column columns[N_COLUMNS] = {
    {.head = "Node", .is_code = true},
    {.head = "Operator"},
    {.head = "Runs as"},
    {.head = "Scale", .hint = "of the first input that it reads as codes", .is_number = true},
    {.head = "Introduces dB",
     .hint =
         "SQNR of the layer run alone on the float model's values: the lower, the more it loses",
     .is_number = true},
    {.head = "SQNR dB", .hint = "of its result in the run of the whole model", .is_number = true},
    {.head = "MACs", .hint = "multiplications in one run", .is_number = true},
    {.head = "Rule or reason"},
};

static const qdq_page_table table = {"layers", columns, N_COLUMNS, false};

static void put_measured(qdq_reporting *r, const char *label, bool quantized)
{
    const qdq_compare_layer *l = qdq_report_layer(r, label);
    bool own = l != NULL && (quantized || l->quantized) && l->error > 0;

    qdq_page_number(&r->page, own ? -10 * log10(l->error) : (double)NAN, "%.1f");
    qdq_page_number(&r->page, l != NULL ? l->value.sqnr_db : (double)NAN, "%.1f");
}

static void put_macs(qdq_reporting *r, const char *label)
{
    const qdq_node *n = qdq_report_node(r, label);

    qdq_page_many(&r->page, n != NULL ? qdq_node_macs(n) : 0);
}

/* The rule that decided about the node, as the drawing has it: the entry of its input may have that
 * of another consumer. */
static const char *rule_of(const qdq_reporting *r, const char *label, const qdq_plan_tensor *t)
{
    for (size_t i = 0; i < r->picture.n_nodes; i++)
        if (strcmp(r->picture.node[i].name, label) == 0)
            return r->picture.node[i].why != NULL ? r->picture.node[i].why : "";
    return t != NULL ? t->rule : "";
}

static void quantized_row(qdq_reporting *r, const qdq_plan_node *p)
{
    const qdq_plan_tensor *t = qdq_report_input_of(r, qdq_report_node(r, p->node), p->node);

    qdq_page_row_begin(&r->page, QDQ_TONE_GOOD);
    qdq_page_cell(&r->page, &table, NODE, p->node);
    qdq_page_cell(&r->page, &table, OP, p->op);
    qdq_page_cell(&r->page, &table, TYPE, t != NULL ? qdq_elem_name(t->qparam.type) : "codes");
    qdq_page_number(&r->page, t != NULL ? (double)t->qparam.scale : (double)NAN, "%.4g");
    put_measured(r, p->node, true);
    put_macs(r, p->node);
    qdq_page_cell(&r->page, &table, REASON,
                  p->preserved ? "it was in 8 bits before" : rule_of(r, p->node, t));
    qdq_page_row_end(&r->page);
}

static void float_row(qdq_reporting *r, const qdq_plan_float *p)
{
    qdq_page_row_begin(&r->page, QDQ_TONE_PLAIN);
    qdq_page_cell(&r->page, &table, NODE, p->node);
    qdq_page_cell(&r->page, &table, OP, p->op);
    qdq_page_cell(&r->page, &table, TYPE,
                  qdq_plan_has_half(r->plan) ? qdq_elem_name(r->plan->half.type) : "float");
    qdq_page_number(&r->page, (double)NAN, "%g");
    put_measured(r, p->node, false);
    put_macs(r, p->node);
    qdq_page_cell(&r->page, &table, REASON, p->reason);
    qdq_page_row_end(&r->page);
}

typedef struct ranked {
    const qdq_plan_node *node;
    double error;
} ranked;

static int by_error(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->error != y->error)
        return x->error < y->error ? 1 : -1;
    return strcmp(x->node->node, y->node->node);
}

/* Those in 8 bits, the largest error first. */
static void quantized_rows(qdq_reporting *r, size_t *left)
{
    const qdq_plan *p = r->plan;
    ranked *rank = qdq_arena_array(&r->arena, p->quantized.n + 1, sizeof *rank);

    if (rank == NULL) {
        r->page.failed = true;
        return;
    }
    for (size_t i = 0; i < p->quantized.n; i++) {
        const qdq_compare_layer *l = qdq_report_layer(r, p->quantized.at[i].node);

        rank[i] = (ranked){&p->quantized.at[i], l != NULL ? l->error : 0};
    }
    if (p->quantized.n > 1)
        qsort(rank, p->quantized.n, sizeof *rank, by_error);
    for (size_t i = 0; i<p->quantized.n && * left> 0; i++, --*left)
        quantized_row(r, rank[i].node);
}

void qdq_report_layer_table(qdq_reporting *r)
{
    const qdq_plan *p = r->plan;
    size_t left = MOST_ROWS;
    char text[600];

    snprintf(text, sizeof text,
             "Click a head to sort. What a layer introduces is measured on the values that the "
             "float model has in front of it, so errors of earlier layers are not in it.%s%s%s",
             r->layers == NULL ? " Not measured: " : "", r->layers == NULL ? r->no_layers : "",
             p->quantized.n + p->left_float.n > MOST_ROWS
                 ? " Only the first 5,000 nodes are listed."
                 : "");
    qdq_page_section(&r->page, "all", "Layers", text);
    qdq_page_table_begin(&r->page, &table);
    quantized_rows(r, &left);
    for (size_t i = 0; i < p->left_float.n && left > 0; i++, left--)
        float_row(r, &p->left_float.at[i]);
    qdq_page_table_end(&r->page);
}
