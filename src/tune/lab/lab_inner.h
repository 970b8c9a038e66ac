/* lab_inner.h - what the files of this room share. */
#ifndef QDQ_LAB_INNER_H
#define QDQ_LAB_INNER_H

#include "base/vec.h"
#include "tune/lab/lab.h"
#include "tune/lab/lab_log.h"
#include "tune/lab/lab_message.h"
#include "tune/lab/lab_process.h"

typedef struct qdq_lab_model {
    const char *path;
    const char *log;  /* of its newest session; NULL: none */
    unsigned open_in; /* the worker that has a session of it, by number; 0: none */
    unsigned warm_in; /* and that has run it until it was warm */
    bool dropped;
} qdq_lab_model;

struct qdq_lab {
    qdq_arena arena;
    qdq_lab_opts opts; /* with the defaults put in; of the texts only those of the logs may be used */
    json_t *hello;     /* what every new worker is told */
    const char *program;
    qdq_lab_process *process; /* NULL: the next call starts one */
    unsigned worker;          /* number of the newest worker, from 1 */
    qdq_engine_info info;
    QDQ_VEC(qdq_lab_model) models; /* by handle */
    qdq_lab_logs logs;
    unsigned builds;
};

/* An answer that is being read; `top` is good as long as the rest. */
typedef struct qdq_lab_answer {
    json_t *json; /* NULL: there is none */
    qdq_arena arena;
    qdq_json_reader reader;
    qdq_json_place top;
} qdq_lab_answer;

/* Asks the worker, which is there, and takes the question. An answer that is no fine one is a fate or a failed call. The
 * answer goes to qdq_lab_answer_free() in every case. */
qdq_status qdq_lab_ask(qdq_lab *lab, qdq_lab_object *question, double deadline_s, qdq_lab_answer *answer,
                       qdq_lab_fate *fate, qdq_error *err);

/* After its members were read: QDQ_OK, or the answer was not what it should be. */
qdq_status qdq_lab_answer_check(qdq_lab *lab, const qdq_lab_answer *answer, qdq_error *err);
void qdq_lab_answer_free(qdq_lab_answer *answer);

/* A worker is there afterwards. */
qdq_status qdq_lab_need_worker(qdq_lab *lab, qdq_error *err);

/* Both models have sessions afterwards (they may be the same), and are warm if that is wanted. If memory runs out while
 * others are open, these two are tried without them: a model is not to blame for its neighbours. */
qdq_status qdq_lab_ready(qdq_lab *lab, int a, int b, bool warm, qdq_lab_fate *fate, qdq_error *err);

/* QDQ_E_USAGE for a handle that is none. */
qdq_status qdq_lab_check_handle(const qdq_lab *lab, int handle, qdq_error *err);

/* Into a log: how the call ended that built a session, as st, fate and err say. */
void qdq_lab_note_build(qdq_lab *lab, const char *log, qdq_status st, const qdq_lab_fate *fate,
                        const qdq_error *err, double seconds);

/* Into the log of a model: how something ended that was no build; nothing is said of what went well in silence. */
void qdq_lab_note(qdq_lab *lab, int handle, const char *what, const qdq_lab_fate *fate, double seconds);

#endif /* QDQ_LAB_INNER_H */
