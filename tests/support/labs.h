/* labs.h - what tests of the lab do with any engine. */
#ifndef QDQ_TEST_LABS_H
#define QDQ_TEST_LABS_H

#include "tune/lab/lab.h"

/* The handle of a model that the engine takes. */
int test_lab_build(qdq_lab *lab, const char *path);

#endif /* QDQ_TEST_LABS_H */
