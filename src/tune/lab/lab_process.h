/* lab_process.h - the worker's process as the lab sees it: started, asked, ended. Knows no models and no engines.
 *
 * Whatever way it ends while it is asked something, that is a fate. Its output is kept. */
#ifndef QDQ_LAB_PROCESS_H
#define QDQ_LAB_PROCESS_H

#include "base/json.h"
#include "tune/lab/lab.h"

typedef struct qdq_lab_process qdq_lab_process;

/* QDQ_E_ENGINE where the program cannot be started. */
qdq_status qdq_lab_process_start(const char *program, qdq_lab_process **out, qdq_error *err);

/* Sends a question and waits for its answer, which goes to json_decref(). If there is none (*answer NULL), the worker is
 * dead, and the fate says of what. QDQ_E_ENGINE: what it sent was no answer, so that it was killed. */
qdq_status qdq_lab_process_ask(qdq_lab_process *p, const json_t *question, double deadline_s,
                               const qdq_cancel *cancel, json_t **answer, qdq_lab_fate *fate, qdq_error *err);

bool qdq_lab_process_is_alive(const qdq_lab_process *p); /* NULL: no */

/* What it printed since the last question: lent until the next one. */
const char *qdq_lab_process_output(const qdq_lab_process *p, size_t *size);

/* Kills it at once if it lives. Its output stays to be read. NULL is allowed. */
void qdq_lab_process_kill(qdq_lab_process *p);
void qdq_lab_process_free(qdq_lab_process *p); /* kills, too */

/* Lets it free its models and go, for two seconds, then kills it, and frees. False: it ended with a complaint, or did not. */
bool qdq_lab_process_end(qdq_lab_process *p);

#endif /* QDQ_LAB_PROCESS_H */
