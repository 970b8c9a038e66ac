/* why.c - see the header. */
#include "quant/why.h"

#include <stdarg.h>
#include <string.h>

static bool touches(const qdq_node *n, const char *tensor)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && strcmp(n->out[i]->name, tensor) == 0)
            return true;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL && strcmp(n->in[i].value->name, tensor) == 0)
            return true;
    return false;
}

static bool has_label(qdq_why *w, const qdq_node *n)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&w->arena);
    bool same = strcmp(qdq_node_label(n, &w->arena), w->about) == 0;

    qdq_arena_reset(&w->arena, mark);
    return same;
}

void qdq_why_find(qdq_why *w, const qdq_model *m)
{
    for (size_t i = 0; w != NULL && i < m->graphs.n; i++) {
        const qdq_graph *g = m->graphs.at[i];

        if (g->dead)
            continue;
        w->found |= qdq_graph_find(g, w->about) != NULL;
        QDQ_FOR_NODES (n, g)
            w->is_node |= has_label(w, n);
    }
    if (w != NULL)
        w->found |= w->is_node;
}

void qdq_why_say(qdq_why *w, const qdq_node *n, const char *rule, bool holds, const char *fmt, ...)
{
    qdq_why_note note = {.holds = holds};
    va_list args;

    if (w == NULL)
        return;
    qdq_arena_mark mark = qdq_arena_get_mark(&w->arena);
    note.node = qdq_node_label(n, &w->arena);
    if (strcmp(note.node, w->about) != 0 && (w->is_node || !touches(n, w->about))) {
        qdq_arena_reset(&w->arena, mark);
        return;
    }
    w->found = true;
    note.node = qdq_arena_strdup(&w->arena, note.node); /* the node may go before the note does */
    note.rule = qdq_arena_strdup(&w->arena, rule);
    va_start(args, fmt);
    note.verdict = qdq_arena_vprintf(&w->arena, fmt, args);
    va_end(args);
    if (note.node == NULL || note.rule == NULL || note.verdict == NULL ||
        !QDQ_PUSH(&w->arena, &w->notes, note))
        w->no_memory = true;
}

void qdq_why_free(qdq_why *w)
{
    qdq_arena_free(&w->arena);
}
