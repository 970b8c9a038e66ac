/* text_groups.h - groups of layers of a graph of tests/text, and what they are as models of their
 * own. */
#ifndef QDQ_TEST_TEXT_GROUPS_H
#define QDQ_TEST_TEXT_GROUPS_H

#include "text/text_place.h"

/* See tests/README.md; as the functions of text_ways.h. */
qdq_status text_group(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_fusions(qdq_model **m, const char *arg, text_result *out, qdq_error *err);
qdq_status text_legal_inputs(qdq_model **m, const char *arg, text_result *out, qdq_error *err);

#endif /* QDQ_TEST_TEXT_GROUPS_H */
