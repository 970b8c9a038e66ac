/* remote_process.h - the process of a worker as who asks it sees it: started, asked, ended. Knows
 * no models and no engines.
 *
 * Whatever way it ends during a request, that is an outcome. Its output is kept. */
#ifndef QDQ_REMOTE_PROCESS_H
#define QDQ_REMOTE_PROCESS_H

#include "base/json.h"
#include "engine/remote/remote_link.h"
#include "qdq/status.h"

/* How something failed inside the worker: it is a result, not an error of the call. */
typedef enum qdq_remote_end {
    QDQ_REMOTE_FINE,
    /* the engine said no: text */
    QDQ_REMOTE_REFUSED,
    /* signal in text */
    QDQ_REMOTE_CRASHED,
    /* past its deadline */
    QDQ_REMOTE_HUNG,
    /* out of memory */
    QDQ_REMOTE_MEMORY
} qdq_remote_end;

typedef struct qdq_remote_outcome {
    qdq_remote_end end;
    /* of a refusal, and of memory that ran out while the worker lived */
    qdq_status code;
    /* of a process that has ended: so much of the text says of what; last words follow */
    size_t n_cause;
    char text[400];
} qdq_remote_outcome;

/* "fine", "refused", "crashed", "hung", "memory" */
const char *qdq_remote_end_name(qdq_remote_end e);

typedef struct qdq_remote_process qdq_remote_process;

/* Starts `program` here or, with a link, qdq-worker on the device, where `program` does not count.
 * The link is borrowed. QDQ_E_ENGINE where it cannot be started. */
qdq_status qdq_remote_process_start(const char *program, qdq_remote_link *link,
                                    const qdq_cancel *cancel, qdq_remote_process **out,
                                    qdq_error *err);

/* Sends a question, with a descriptor that the worker gets a copy of (-1: none), and waits for the
 * answer, which goes to json_decref(). If there is none (*answer NULL), the worker is dead, and the
 * outcome says of what. QDQ_E_ENGINE: what it sent was no answer, so that it was killed. */
qdq_status qdq_remote_process_ask(qdq_remote_process *p, const json_t *question, int fd,
                                  double deadline_s, const qdq_cancel *cancel, json_t **answer,
                                  qdq_remote_outcome *outcome, qdq_error *err);

bool qdq_remote_process_is_alive(const qdq_remote_process *p); /* NULL: no */

/* What it printed since the last question: borrowed until the next one. */
const char *qdq_remote_process_output(const qdq_remote_process *p, size_t *size);

/* Kills it at once if it lives. Its output stays to be read. NULL is allowed. */
void qdq_remote_process_kill(qdq_remote_process *p);
void qdq_remote_process_free(qdq_remote_process *p); /* kills, too */

/* Lets it free its models and go, for two seconds, then kills it, and frees. False: it ended with a
 * complaint, or did not. */
bool qdq_remote_process_end(qdq_remote_process *p);

#endif /* QDQ_REMOTE_PROCESS_H */
