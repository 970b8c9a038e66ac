/* ruled.h - one walk of rewrite rules over a model, with rules made for the test. */
#ifndef QDQ_TEST_RULED_H
#define QDQ_TEST_RULED_H

#include "opt/opt_state.h"
#include "opt/rules/rule.h"
#include "support/test.h"

enum { TEST_RULES = 4 }; /* in one walk, at most */

#define RULE_OF(pattern, asks, edits)                                                              \
    {                                                                                              \
        QDQ_RULE_PAT(pattern), .check = (asks), .build = (edits)                                   \
    }

/* What rules of a test build. The root becomes what is bound to x; the root is marked, and found no
 * more. */
qdq_status test_become_x(qdq_match *m, qdq_error *err);
qdq_status test_mark(qdq_match *m, qdq_error *err);

extern const qdq_rule test_two_negs;  /* y = Neg(Neg(x)) becomes x */
extern const qdq_rule test_only_relu; /* y = Relu(Abs(x)), whose Abs nothing else reads, too */

/* What one walk over all graphs did. */
typedef struct test_ruled {
    qdq_opt_state state;
    uint64_t n;
    /* "first Neg@y;" */
    char where[200];
} test_ruled;

void test_run_rules(qdq_model *m, const qdq_rule *const *rules, size_t n, uint64_t limit,
                    test_ruled *out);
void test_free_ruled(test_ruled *r);

#endif /* QDQ_TEST_RULED_H */
