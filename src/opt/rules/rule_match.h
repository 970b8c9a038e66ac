/* rule_match.h - between the driver of rules (rule.c) and the matcher (match.c). */
#ifndef QDQ_RULE_MATCH_H
#define QDQ_RULE_MATCH_H

#include "opt/rules/rule.h"

/* Binds one pattern, `n` rows from `pat` on, with `root` as its first node, and asks the rule's
 * check. False: it does not fit, or (*why) the check of the first way in which it does gives this
 * reason. */
bool qdq_match_bind(qdq_match *m, const qdq_pat *pat, size_t n, qdq_node *root, const char **why);

#endif /* QDQ_RULE_MATCH_H */
