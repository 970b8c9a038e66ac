/* report_borders.c - where floats become codes and codes floats: who gives a tensor, and who reads
 * it how. Inside a chain of 8-bit nodes there is nothing to tell. */
#include <stdio.h>

#include "quant/report/report_state.h"
#include "report/page.h"

enum { MOST_BORDERS = 150, MOST_READERS = 6 };

typedef struct border {
    const qdq_plan_tensor *t;
    const qdq_value *v;
    bool eight_producer, float_reader;
} border;

/* Marks in `eight` the labels that run on codes. */
static bool mark_eight(const qdq_plan *p, qdq_map *eight)
{
    for (size_t i = 0; i < p->quantized.n; i++)
        if (qdq_map_put(eight, p->quantized.at[i].node, NULL) == NULL)
            return false;
    return true;
}

static const char *label(qdq_reporting *r, const qdq_node *n)
{
    return qdq_node_label(n, &r->arena);
}

static bool look_at_tensor(qdq_reporting *r, const qdq_map *eight, const qdq_plan_tensor *t,
                           border *out)
{
    const qdq_value *v = qdq_graph_find(r->clean->graph, t->tensor);

    *out = (border){.t = t, .v = v};
    if (v == NULL || qdq_value_const(v) != NULL)
        return false;
    out->eight_producer = v->producer != NULL && qdq_map_get(eight, label(r, v->producer)) != NULL;
    QDQ_FOR_USES (u, v)
        out->float_reader |= qdq_map_get(eight, label(r, u->node)) == NULL;
    return !out->eight_producer || out->float_reader;
}

static void show_border(qdq_reporting *r, const qdq_map *eight, const border *b)
{
    qdq_page_chip from = {.head = "graph input", .text = b->v->name}, to[MOST_READERS + 1];
    char between[120];
    size_t n = 0, more = 0;

    if (b->v->producer != NULL)
        from = (qdq_page_chip){b->v->producer->type, label(r, b->v->producer), b->eight_producer};
    QDQ_FOR_USES (u, b->v) {
        const char *name = label(r, u->node);

        if (n < MOST_READERS)
            to[n++] = (qdq_page_chip){u->node->type, name, qdq_map_get(eight, name) != NULL};
        else
            more++;
    }
    char rest[40];
    snprintf(rest, sizeof rest, "%zu more", more + (b->v->n_output > 0 ? 1 : 0));
    if (more > 0)
        to[n++] = (qdq_page_chip){.head = "", .text = rest};
    else if (b->v->n_output > 0)
        to[n++] = (qdq_page_chip){.head = "graph output", .text = b->v->name};
    snprintf(between, sizeof between, "Q \xc2\xb7 %s \xc2\xb7 %.3g \xc2\xb7 DQ",
             qdq_elem_name(b->t->qparam.type), (double)b->t->qparam.scale);
    qdq_page_flow(&r->page, b->t->tensor, &from, between, to, n);
}

void qdq_report_borders(qdq_reporting *r)
{
    qdq_map eight = QDQ_MAP_INIT;
    size_t n = 0, found = 0;
    char text[300];
    border b;

    if (!mark_eight(r->plan, &eight)) {
        r->page.failed = true;
        qdq_map_free(&eight);
        return;
    }
    for (size_t i = 0; i < r->plan->tensors.n; i++)
        found += look_at_tensor(r, &eight, &r->plan->tensors.at[i], &b);
    snprintf(text, sizeof text,
             "%zu of %zu quantized tensors lie between a node that runs on codes (blue) and one "
             "that does not. Each is a Q or a DQ that the engine runs for itself, unless it fuses "
             "it.%s",
             found, r->plan->tensors.n, found > MOST_BORDERS ? " The first 150 are shown." : "");
    qdq_page_section(&r->page, "borders", "Where floats become codes", text);
    qdq_page_flow_begin(&r->page);
    for (size_t i = 0; i < r->plan->tensors.n && n < MOST_BORDERS; i++)
        if (look_at_tensor(r, &eight, &r->plan->tensors.at[i], &b)) {
            show_border(r, &eight, &b);
            n++;
        }
    qdq_page_flow_end(&r->page);
    qdq_map_free(&eight);
}
