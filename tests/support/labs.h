/* worker clients.h - what tests of the worker client do with any engine. */
#ifndef QDQ_TEST_LABS_H
#define QDQ_TEST_LABS_H

#include "tune/worker_client/worker_client.h"

/* The handle of a model that the engine takes. */
int test_worker_client_build(qdq_worker_client *worker_client, const char *path);

#endif /* QDQ_TEST_LABS_H */
