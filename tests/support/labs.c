/* worker clients.c - see the header. */
#include "support/labs.h"

#include "support/test.h"

int test_worker_client_build(qdq_worker_client *worker_client, const char *path)
{
    qdq_error err;
    qdq_remote_outcome outcome;
    int handle;

    assert_ok(qdq_worker_client_build(worker_client, path, &handle, &outcome, &err));
    if (outcome.end != QDQ_REMOTE_FINE)
        fail_msg("%s: %s", qdq_remote_end_name(outcome.end), outcome.text);
    return handle;
}
