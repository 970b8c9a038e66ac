/* signature.h - what callers of a model see of it: inputs and outputs with names, types and
 * order. */
#ifndef QDQ_TEST_SIGNATURE_H
#define QDQ_TEST_SIGNATURE_H

#include <stdbool.h>

#include "qdq/model.h"

/* One line for each, data of inputs marked (below IR 4, where all data is listed as input and none
 * can be replaced, inputs with data are left out); freed with qdq_free(). NULL: out of memory. */
char *test_signature(const qdq_model *m);

/* Nothing else has become of them; what had no type may have got one. */
bool test_same_signature(const char *before, const char *after);

#endif /* QDQ_TEST_SIGNATURE_H */
