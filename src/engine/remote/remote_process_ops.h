/* remote_process_ops.h - what each kind of process is that answers questions: one on this machine
 * (remote_local.c), and one on a device (remote_distant.c). remote_process.h is for callers. */
#ifndef QDQ_REMOTE_PROCESS_OPS_H
#define QDQ_REMOTE_PROCESS_OPS_H

#include "engine/remote/remote_link.h"
#include "engine/remote/remote_process.h"

typedef struct qdq_remote_call {
    const json_t *question;
    /* -1: none */
    int fd;
    double deadline_s;
    const qdq_cancel *cancel;
} qdq_remote_call;

/* Each is as its namesake in remote_process.h, but for end(), which leaves free() to the caller. */
typedef struct qdq_remote_process_ops {
    qdq_status (*ask)(void *self, const qdq_remote_call *c, json_t **answer,
                      qdq_remote_outcome *outcome, qdq_error *err);
    bool (*is_alive)(const void *self);
    const char *(*output)(const void *self, size_t *size);
    void (*kill)(void *self);
    bool (*end)(void *self);
    void (*free)(void *self);
} qdq_remote_process_ops;

extern const qdq_remote_process_ops qdq_remote_local_ops, qdq_remote_distant_ops;

qdq_status qdq_remote_local_start(const char *program, void **out, qdq_error *err);

/* The link is borrowed, and serves one process at a time. */
qdq_status qdq_remote_distant_start(qdq_remote_link *l, const qdq_cancel *cancel, void **out,
                                    qdq_error *err);

#endif /* QDQ_REMOTE_PROCESS_OPS_H */
