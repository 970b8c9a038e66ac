/* place_rule.c - names of rules, from what a plan says of a node. */
#include <string.h>

#include "quant/place/place.h"

/* Partitions name their filters by operator, frozen paths by reason. */
static const char *rule_of_partitions(const qdq_partitions *p, const char *op, const char *reason)
{
    for (size_t i = 0; i < p->frozen.n; i++)
        if (p->frozen.at[i].reason != NULL && strcmp(p->frozen.at[i].reason, reason) == 0)
            return p->frozen.at[i].rule;
    if (strcmp(op, "Conv") == 0)
        return p->conv.rule;
    return strcmp(op, "MatMul") == 0 || strcmp(op, "Gemm") == 0 ? p->gemm.rule : NULL;
}

const char *qdq_place_rule_against(const qdq_target *t, const char *op, const char *reason)
{
    const qdq_target_op *on = qdq_target_find(t, op), *off = qdq_target_find_off(t, op);

    if (on == NULL)
        return off != NULL ? off->rule : NULL;
    for (size_t i = 0; i < t->stay.n; i++)
        if (strcmp(t->stay.at[i].op, op) == 0 && strcmp(t->stay.at[i].reason, reason) == 0)
            return t->stay.at[i].rule;
    if (on->only_between && strcmp(reason, QDQ_PLACE_UNREAD) == 0)
        return on->rule;
    return t->partitions != NULL ? rule_of_partitions(t->partitions, op, reason) : NULL;
}
