/* use.h - use lists and deaths, shared by the files of ir/ that edit, and by nothing else. */
#ifndef QDQ_USE_H
#define QDQ_USE_H

#include "ir/ir.h"

static inline void qdq_use_link(qdq_use *u, qdq_value *v)
{
    u->value = v;
    u->next = NULL;
    u->prev = v->last;
    if (v->last != NULL)
        v->last->next = u;
    else
        v->first = u;
    v->last = u;
    v->n_use++;
}

static inline void qdq_use_unlink(qdq_use *u)
{
    qdq_value *v = u->value;

    if (u->prev != NULL)
        u->prev->next = u->next;
    else
        v->first = u->next;
    if (u->next != NULL)
        u->next->prev = u->prev;
    else
        v->last = u->prev;
    v->n_use--;
    u->value = NULL;
    u->prev = u->next = NULL;
}

/* Marks it dead and frees its name. Uses and lists are the caller's business. */
void qdq_value_kill(qdq_value *v);

/* Everything in it dies: nodes, values, graphs inside. */
void qdq_graph_kill(qdq_graph *g);

#endif /* QDQ_USE_H */
