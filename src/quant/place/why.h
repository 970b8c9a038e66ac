/* why.h - what placement says of one node or tensor: every rule that looked at it, with its
 * verdict. Placement calls qdq_why_say() wherever it decides; without a listener that costs one
 * comparison. */
#ifndef QDQ_WHY_H
#define QDQ_WHY_H

#include "base/vec.h"
#include "ir/ir.h"
#include "qdq/quant.h"

struct qdq_why {
    qdq_arena arena;
    /* as in qdq_why_new() */
    const char *about;
    /* there is a node of that label: a tensor of the same name is not meant */
    bool is_node;
    /* there is such a node or tensor */
    bool found;
    /* something that was said is lost */
    bool no_memory;
    /* in the order in which they were said */
    QDQ_VEC(qdq_why_note) notes;
};

/* Looks for what `about` names among all graphs of m: is_node, found. `w` may be NULL. */
void qdq_why_find(qdq_why *w, const qdq_model *m);

/* Is n the node that is asked about, or at the tensor? */
bool qdq_why_matches(qdq_why *w, const qdq_node *n);

/* `w` may be NULL: no listener. `fmt` says the verdict. */
void qdq_why_say(qdq_why *w, const qdq_node *n, const char *rule, bool holds, const char *fmt, ...)
    QDQ_PRINTF(5, 6);

/* Frees the notes, not `w` itself. */
void qdq_why_clear(qdq_why *w);

/* Forgets all that was said, for another plan. False: out of memory. */
bool qdq_why_restart(qdq_why *w);

/* --- why_plan.c: before the rules speak, and behind them -------------------------------------- */

/* Is what is asked about in the cleaned model? QDQ_E_USAGE: no, and what is near, or what became of
 * it: `m` is the input model. `w` may be NULL. */
qdq_status qdq_why_look(qdq_why *w, const qdq_model *m, const qdq_model *cleaned, qdq_error *err);

/* Adds what the plan, which is finished, says of it. `w` may be NULL. */
qdq_status qdq_why_conclude(qdq_why *w, const qdq_model *cleaned, const qdq_plan *p,
                            qdq_error *err);

#endif /* QDQ_WHY_H */
