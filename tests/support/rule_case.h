/* rule_case.h - a model that a rule changes. */
#ifndef QDQ_TEST_RULE_CASE_H
#define QDQ_TEST_RULE_CASE_H

typedef struct rule_case {
    int opset;
    const char *rule; /* a pipeline */
    const char *graph;
} rule_case;

#endif /* QDQ_TEST_RULE_CASE_H */
