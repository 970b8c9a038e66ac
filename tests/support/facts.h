/* facts.h - one graph in, what can be proven of its values out. */
#ifndef QDQ_TEST_FACTS_H
#define QDQ_TEST_FACTS_H

#include "ir/facts.h"
#include "support/shapes.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* A model and its facts. */
typedef struct test_known {
    qdq_model *m;
    qdq_facts *f;
} test_known;

test_known test_know_model(qdq_model *m); /* takes the model over; nothing may be logged */
test_known test_know(const char *text);
void test_forget(test_known *k);

qdq_value *test_value(const test_known *k, const char *name); /* of any graph of the model */
void test_assert_type(const test_known *k, const char *name,
                      const char *type); /* as test_type_of() writes it */

/* "2,N,?" for rank 1, "(3)" for rank 0, "-" where nothing is known. Static storage. */
const char *test_elems_of(const test_known *k, const char *name);
void test_assert_elems(const test_known *k, const char *name, const char *want);

#endif /* QDQ_TEST_FACTS_H */
