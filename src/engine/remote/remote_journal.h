/* remote_journal.h - what a process on a device has been asked so far, as far as its state depends
 * on it: another process is brought into that state by the same questions. Knows no links. */
#ifndef QDQ_REMOTE_JOURNAL_H
#define QDQ_REMOTE_JOURNAL_H

#include "base/vec.h"
#include "engine/remote/remote_message.h"

typedef struct qdq_remote_entry {
    json_t *question;
    /* descriptor that goes with it, a copy; -1: none */
    int fd;
    double deadline_s;
    /* contents of its arrays, one after the other */
    qdq_buf arrays;
    /* of a run whose outputs come in pieces: pieces that were taken after the first */
    unsigned taken;
} qdq_remote_entry;

typedef struct qdq_remote_journal {
    qdq_arena arena;
    QDQ_VEC(qdq_remote_entry) entries;
} qdq_remote_journal;

void qdq_remote_entry_free(qdq_remote_entry *e);

/* The value of `do`; "": none. */
const char *qdq_remote_entry_name(const qdq_remote_entry *e);

/* Notes a question after its answer: takes the entry if it is needed again (it is empty then), and
 * removes what it makes needless. */
qdq_status qdq_remote_journal_note(qdq_remote_journal *j, qdq_remote_entry *e, const json_t *answer,
                                   qdq_error *err);

/* The run that has outputs left; NULL: none. */
qdq_remote_entry *qdq_remote_journal_run(const qdq_remote_journal *j);

void qdq_remote_journal_free(qdq_remote_journal *j);

#endif /* QDQ_REMOTE_JOURNAL_H */
