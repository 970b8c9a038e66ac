/* remote_process.c - hands each call to the kind of process that it is for. */
#include "engine/remote/remote_process_ops.h"

#include <stdlib.h>

#include "base/fail.h"

struct qdq_remote_process {
    const qdq_remote_process_ops *ops;
    void *self;
};

const char *qdq_remote_end_name(qdq_remote_end e)
{
    switch (e) {
    case QDQ_REMOTE_FINE:
        return "fine";
    case QDQ_REMOTE_REFUSED:
        return "refused";
    case QDQ_REMOTE_CRASHED:
        return "crashed";
    case QDQ_REMOTE_HUNG:
        return "hung";
    case QDQ_REMOTE_MEMORY:
        return "memory";
    }
    return "?";
}

qdq_status qdq_remote_process_start(const char *program, qdq_remote_link *link,
                                    const qdq_cancel *cancel, qdq_remote_process **out,
                                    qdq_error *err)
{
    qdq_remote_process *p = calloc(1, sizeof *p);

    *out = NULL;
    QDQ_NEED(p != NULL, err);
    p->ops = link != NULL ? &qdq_remote_distant_ops : &qdq_remote_local_ops;
    qdq_status st = link != NULL ? qdq_remote_distant_start(link, cancel, &p->self, err)
                                 : qdq_remote_local_start(program, &p->self, err);
    return QDQ_HAND_OVER(p, st, out, free);
}

qdq_status qdq_remote_process_ask(qdq_remote_process *p, const json_t *question, int fd,
                                  double deadline_s, const qdq_cancel *cancel, json_t **answer,
                                  qdq_remote_outcome *outcome, qdq_error *err)
{
    const qdq_remote_call c = {question, fd, deadline_s, cancel};

    *answer = NULL;
    *outcome = (qdq_remote_outcome){0};
    return p->ops->ask(p->self, &c, answer, outcome, err);
}

bool qdq_remote_process_is_alive(const qdq_remote_process *p)
{
    return p != NULL && p->ops->is_alive(p->self);
}

const char *qdq_remote_process_output(const qdq_remote_process *p, size_t *size)
{
    return p->ops->output(p->self, size);
}

void qdq_remote_process_kill(qdq_remote_process *p)
{
    if (p != NULL)
        p->ops->kill(p->self);
}

void qdq_remote_process_free(qdq_remote_process *p)
{
    if (p == NULL)
        return;
    p->ops->free(p->self);
    free(p);
}

bool qdq_remote_process_end(qdq_remote_process *p)
{
    if (p == NULL)
        return true;
    const bool fine = p->ops->end(p->self);
    qdq_remote_process_free(p);
    return fine;
}
