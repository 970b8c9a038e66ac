/* place_format.c - see the header. */
#include "quant/place/place_format.h"

#include <string.h>

#include "base/fail.h"
#include "base/regexp.h"

/* Gives `o` to the nodes that it fits and that have no other override yet. */
static qdq_status apply_override(const qdq_override *o, qdq_node *const *order, size_t n_order,
                                 qdq_arena *scratch, const qdq_format **format, qdq_error *err)
{
    qdq_status st = QDQ_OK;
    qdq_regexp re;

    if (o->node != NULL)
        QDQ_TRY(qdq_regexp_open(o->node, false, &re, err));
    for (size_t i = 0; i < n_order && st == QDQ_OK; i++) {
        const qdq_node *n = order[i];
        bool fits = format[n->id] == NULL && (o->op == NULL || strcmp(o->op, n->type) == 0);

        if (fits && o->node != NULL)
            st = qdq_regexp_match(&re, qdq_node_label(n, scratch), &fits, err);
        if (st == QDQ_OK && fits)
            format[n->id] = &o->format;
    }
    if (o->node != NULL)
        qdq_regexp_close(&re);
    return st;
}

qdq_status qdq_place_formats(const qdq_model *m, const qdq_target *t, qdq_node *const *order,
                             size_t n_order, qdq_arena *scratch, const qdq_format *const **out,
                             qdq_error *err)
{
    const qdq_format **format =
        qdq_arena_array(scratch, (size_t)m->graph->next_node_id + 1, sizeof *format);

    if (format == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < t->overrides.n; i++)
        QDQ_TRY(apply_override(&t->overrides.at[i], order, n_order, scratch, format, err));
    for (size_t i = 0; i < n_order; i++)
        if (format[order[i]->id] == NULL)
            format[order[i]->id] = &t->format;
    *out = format;
    return QDQ_OK;
}
