/* rule_match.h - between the driver of rules (rule.c) and the matcher (match.c). */
#ifndef QDQ_RULE_MATCH_H
#define QDQ_RULE_MATCH_H

#include "opt/rule.h"

/* Binds m->rule's pattern with `root` as its first row; m->n_names is 0 and m->node empty before. */
bool qdq_match_bind(qdq_match *m, qdq_node *root);

#endif /* QDQ_RULE_MATCH_H */
