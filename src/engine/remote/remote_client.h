/* remote_client.h - asks a worker (`qdq-worker`, exec'd), and starts another one where it has died.
 * The engine `remote` and the worker client of the tuner have one each.
 *
 * What a worker is asked, and what it answers, is in remote_message.h. */
#ifndef QDQ_REMOTE_CLIENT_H
#define QDQ_REMOTE_CLIENT_H

#include "engine/remote/remote_message.h"
#include "engine/remote/remote_process.h"
#include "qdq/engine.h"

typedef struct qdq_remote_client {
    qdq_arena arena;
    /* NULL, or asked whether to go on, and told what the engine logs */
    const qdq_job *job;
    /* what every new worker is asked first */
    json_t *hello;
    /* and the descriptor that goes with it; -1: none */
    int hello_fd;
    /* of the engine, as the spec has it */
    const char *name;
    /* of the worker */
    const char *program;
    /* set before the start; NULL: this machine. 0: 60 */
    const char *host;
    double host_timeout_s;
    /* to the host; NULL: this machine */
    qdq_remote_link *link;
    /* until the engine is loaded */
    double start_deadline_s;
    /* NULL: the next question starts one */
    qdq_remote_process *process;
    /* number of the newest worker, from 1; 0: there has been none */
    unsigned worker;
    /* of the first worker; the others have the same */
    qdq_engine_info info;
    /* of the machine that they run on */
    const char *processor;
    /* options that the engine's program refuses: every new worker is told; NULL: none */
    const char *refused;
} qdq_remote_client;

/* An answer that is being read; `top` is good as long as the rest. */
typedef struct qdq_remote_answer {
    /* NULL: there is none */
    json_t *json;
    qdq_arena arena;
    qdq_json_reader reader;
    qdq_json_place top;
} qdq_remote_answer;

/* The beginning of a greeting: version, and what `opts` says but for its folders, the worker and
 * the job (NULL: the defaults). */
qdq_json_out qdq_remote_hello(qdq_json_doc *d, const qdq_engine_opts *opts);

/* Starts the first worker, with the engine of this spec. Takes `hello`, also where it fails.
 * `program` NULL: "qdq-worker" beside the running program, then in PATH. QDQ_E_ENGINE where there
 * is no such program or no such engine: the text says which. */
qdq_status qdq_remote_start(qdq_remote_client *c, const char *spec, qdq_json_doc *hello,
                            const char *program, qdq_error *err);

/* They are known from before: tells the worker, which is there, and every new one. */
qdq_status qdq_remote_refuse(qdq_remote_client *c, const char *options, qdq_error *err);

/* Lets the worker end in peace. False: it did not. */
bool qdq_remote_close(qdq_remote_client *c);

/* A worker is there afterwards. */
qdq_status qdq_remote_need_worker(qdq_remote_client *c, qdq_error *err);

/* Asks the worker, which is there, and takes the question; `fd` goes with it (-1: none). An answer
 * that is not fine is an outcome or a failed call. The answer goes to qdq_remote_answer_free() in
 * every case. */
qdq_status qdq_remote_ask(qdq_remote_client *c, qdq_json_doc *question, int fd, double deadline_s,
                          qdq_remote_answer *answer, qdq_remote_outcome *outcome, qdq_error *err);

/* An outcome as an error: "engine 'ort' crashed (SIGSEGV) while it was loaded: LAST WORDS".
 * QDQ_E_ENGINE, or the status of a refusal; QDQ_OK: it is fine. */
qdq_status qdq_remote_fail(const qdq_remote_client *c, const qdq_remote_outcome *outcome,
                           const char *doing, qdq_error *err);

/* After its members were read: QDQ_OK, or the answer was not what it should be. */
qdq_status qdq_remote_answer_check(qdq_remote_client *c, const qdq_remote_answer *answer,
                                   qdq_error *err);
/* It was not: ends the worker. QDQ_E_ENGINE, with what was wrong from *err. */
qdq_status qdq_remote_not_as_agreed(qdq_remote_client *c, qdq_error *err);
void qdq_remote_answer_free(qdq_remote_answer *answer);

/* The key `layers` of an answer, as qdq_session_profile() and qdq_session_layers() give them. */
qdq_status qdq_remote_answer_layers(qdq_remote_client *c, const qdq_remote_answer *answer,
                                    qdq_layer **out, size_t *n, qdq_error *err);

#endif /* QDQ_REMOTE_CLIENT_H */
