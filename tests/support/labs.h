/* labs.h - what tests of the lab do with any engine. */
#ifndef QDQ_TEST_LABS_H
#define QDQ_TEST_LABS_H

#include "tune/worker_client/worker_client.h"

/* The handle of a model that the engine takes. */
int test_lab_build(qdq_worker_client *lab, const char *path);

#endif /* QDQ_TEST_LABS_H */
