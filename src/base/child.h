/* child.h - run a program with a deadline: its own process group, no shell, bounded output. */
#ifndef QDQ_CHILD_H
#define QDQ_CHILD_H

#include <stddef.h>

#include "qdq/status.h"

typedef struct qdq_child_opts {
    /* argv[0] is looked up in PATH if it has no slash; ends with NULL */
    const char *const *argv;
    /* NULL: the caller's */
    const char *cwd;
    /* NULL: the caller's; ends with NULL */
    const char *const *env;
    /* 0: none. Then SIGTERM to the group, 2 s later SIGKILL */
    double deadline_s;
    /* of stdout and of stderr each; what is beyond is read and dropped */
    size_t max_output;
    /* what is beyond pushes out the beginning instead: last words stand at the end */
    bool keep_last;
    /* gets all it prints as it comes, both streams; a descriptor above 2, 0: none */
    int log;
    /* bytes of that; what is beyond is dropped */
    size_t max_log;
    const qdq_cancel *cancel;
} qdq_child_opts;

typedef struct qdq_child_result {
    /* -1 if it died of a signal */
    int exit_code;
    /* 0 if it exited */
    int signal;
    bool timed_out;
    /* output beyond max_output was dropped */
    bool truncated;
    /* NUL-terminated, qdq_free() each */
    char *out, *err;
    size_t out_size, err_size;
} qdq_child_result;

/* Runs it to its end. A child that fails is not a failure of this call; a program that cannot be
 * started is QDQ_E_IO, a set cancel flag kills the group and is QDQ_E_INTERRUPTED. */
qdq_status qdq_child_run(const qdq_child_opts *opts, qdq_child_result *result, qdq_error *err);
void qdq_child_result_free(qdq_child_result *result);

#endif /* QDQ_CHILD_H */
