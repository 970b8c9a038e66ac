/* text_rules.h - rules that are made for tests, on a graph of tests/text. */
#ifndef QDQ_TEST_TEXT_RULES_H
#define QDQ_TEST_TEXT_RULES_H

#include "text/text_place.h"

/* `arg`: names of rules, apart by commas, and "limit=N". See tests/README.md; as the functions of
 * text_ways.h. */
qdq_status text_rules(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
/* `arg`: the rows of one pattern. Its root becomes Identity of what is bound to x, once at most. */
qdq_status text_match(qdq_model **m, const char *arg, text_result *out, qdq_error *err);

#endif /* QDQ_TEST_TEXT_RULES_H */
