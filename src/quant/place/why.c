/* why.c - records the verdicts of placement rules for --why. */
#include "quant/place/why.h"

#include <stdarg.h>
#include <stdlib.h>
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

bool qdq_why_matches(qdq_why *w, const qdq_node *n)
{
    return has_label(w, n) || (!w->is_node && touches(n, w->about));
}

void qdq_why_say(qdq_why *w, const qdq_node *n, const char *rule, bool holds, const char *fmt, ...)
{
    qdq_why_note note = {.holds = holds};
    va_list args;

    if (w == NULL)
        return;
    if (!qdq_why_matches(w, n))
        return;
    w->found = true;
    note.node = qdq_arena_strdup(&w->arena, qdq_node_label(n, &w->arena)); /* outlives the node */
    note.rule = qdq_arena_strdup(&w->arena, rule);
    va_start(args, fmt);
    note.verdict = qdq_arena_vprintf(&w->arena, fmt, args);
    va_end(args);
    if (note.node == NULL || note.rule == NULL || note.verdict == NULL ||
        !QDQ_PUSH(&w->arena, &w->notes, note))
        w->no_memory = true;
}

void qdq_why_clear(qdq_why *w)
{
    qdq_arena_free(&w->arena);
}

bool qdq_why_restart(qdq_why *w)
{
    qdq_why fresh = {.arena = QDQ_ARENA_INIT};

    fresh.about = qdq_arena_strdup(&fresh.arena, w->about);
    if (fresh.about == NULL)
        return false;
    qdq_why_clear(w);
    *w = fresh;
    return true;
}

/* --- public ----------------------------------------------------------------------------------- */

qdq_why *qdq_why_new(const char *about)
{
    qdq_why *w = calloc(1, sizeof *w);

    if (w != NULL)
        w->about = qdq_arena_strdup(&w->arena, about);
    if (w != NULL && w->about == NULL) {
        free(w);
        return NULL;
    }
    return w;
}

void qdq_why_free(qdq_why *w)
{
    if (w == NULL)
        return;
    qdq_why_clear(w);
    free(w);
}

const qdq_why_note *qdq_why_notes(const qdq_why *w, size_t *n)
{
    *n = w->notes.n;
    return w->notes.at;
}
