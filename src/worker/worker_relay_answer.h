/* worker_relay_answer.h - answers to the frames of a link: files are stored, and questions handed
 * to a process of the engine on this machine. Knows no streams. */
#ifndef QDQ_WORKER_RELAY_ANSWER_H
#define QDQ_WORKER_RELAY_ANSWER_H

#include "base/shared.h"
#include "engine/remote/remote_frame.h"
#include "engine/remote/remote_process.h"
#include "worker/worker_place.h"

typedef struct qdq_relay {
    qdq_arena arena;
    /* qdq-worker, which is started for engines */
    const char *program;
    /* of trtexec: timings of its builds, kept from run to run */
    const char *timing_cache;
    qdq_worker_blobs blobs;
    qdq_worker_places places;
    /* private folder of this connection, locked while it lives */
    const char *dir;
    int lock;
    /* set when the link has ended */
    qdq_cancel *gone;
    /* NULL: none was started */
    qdq_remote_process *process;
    /* folder of that one */
    const char *work;
    qdq_shared exchange;
    unsigned n_processes;
} qdq_relay;

typedef struct qdq_relay_opts {
    /* of qdq-worker; NULL: the running program */
    const char *program;
    const char *cache_dir;
    uint64_t cache_limit;
} qdq_relay_opts;

qdq_status qdq_relay_open(qdq_relay *r, const qdq_relay_opts *opts, qdq_error *err);
/* Ends the process and removes its folder. */
void qdq_relay_close(qdq_relay *r);

/* Answers a frame, whose JSON may be changed. `binary` is appended to. The answer goes to
 * qdq_json_drop(). A failure is for the sender of the frame. */
qdq_status qdq_relay_answer(qdq_relay *r, const qdq_frame *frame, qdq_json_out answer,
                            qdq_buf *binary, qdq_error *err);

#endif /* QDQ_WORKER_RELAY_ANSWER_H */
