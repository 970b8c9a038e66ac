/* why.h - what placement says of one node or tensor: every rule that looked at it, with its verdict. Placement calls
 * qdq_why_say() wherever it decides; without a listener that costs one comparison. */
#ifndef QDQ_WHY_H
#define QDQ_WHY_H

#include "base/vec.h"
#include "ir/ir.h"

typedef struct qdq_why_note {
    const char *node;    /* label of the node that was looked at */
    const char *rule;    /* name of the rule, as the target has it */
    bool holds;          /* the rule applies to the node */
    const char *verdict; /* a sentence without full stop: what was found, and what follows */
} qdq_why_note;

typedef struct qdq_why {
    qdq_arena arena;
    const char
        *about;   /* label of a node, or name of a tensor: its producer and its readers are listened to */
    bool is_node; /* there is a node of that label: a tensor of the same name is not meant */
    bool found;   /* there is such a node or tensor */
    bool no_memory;
    QDQ_VEC(qdq_why_note) notes; /* in the order in which they were said */
} qdq_why;

/* Looks for what `about` names among all graphs of m: is_node, found. `w` may be NULL. */
void qdq_why_find(qdq_why *w, const qdq_model *m);

/* `w` may be NULL: nobody listens. `fmt` says the verdict. */
void qdq_why_say(qdq_why *w, const qdq_node *n, const char *rule, bool holds, const char *fmt, ...)
    QDQ_PRINTF(5, 6);

/* Frees the notes, not `w` itself. */
void qdq_why_free(qdq_why *w);

#endif /* QDQ_WHY_H */
