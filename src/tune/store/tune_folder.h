/* tune_folder.h - the folder of a run: one run at a time, what dead runs left in it, and a note
 * (DIR/.run) for whoever asks how the run stands. Knows nothing of models. */
#ifndef QDQ_TUNE_FOLDER_H
#define QDQ_TUNE_FOLDER_H

#include <stdint.h>

#include "base/file.h"

typedef struct qdq_tune_folder qdq_tune_folder;

/* Makes the folder, and logs/ and, if wanted, region_models/ in it; removes what dead runs left.
 * QDQ_E_IO: cannot be made or written into, or another run is at work in it, in whatever process.
 * `store`: where samples go; NULL: into the folder; QDQ_E_USAGE: it has the name of something else
 * that a run writes there. */
qdq_status qdq_tune_folder_open(const char *dir, bool keep_models, const char *store,
                                qdq_tune_folder **out, qdq_error *err);
/* `why`: of a run that failed, for the note; NULL: it did not. A NULL folder is allowed. */
void qdq_tune_folder_close(qdq_tune_folder *f, const char *why);

/* A private folder in it, that vanishes at the end. */
qdq_tempdir *qdq_tune_folder_work(const qdq_tune_folder *f);

/* The run in the store. */
qdq_status qdq_tune_folder_began(qdq_tune_folder *f, int64_t run, qdq_error *err);

/* The run that the folder was left by, 0: none; *store is borrowed: its store, NULL: in the folder.
 */
int64_t qdq_tune_folder_run_before(const qdq_tune_folder *f, const char **store);
/* The folder stays what it was: its note is that run's again, and says nothing of this one. */
qdq_status qdq_tune_folder_restore(qdq_tune_folder *f, qdq_error *err);

/* Is DIR/NAME what qdq_tune_folder_wrote() has noted, in this run or in one before, made of the
 * same thing? False, too, where memory is too short to tell. */
bool qdq_tune_folder_has(const qdq_tune_folder *f, const char *name, const char *of);
qdq_status qdq_tune_folder_wrote(qdq_tune_folder *f, const char *name, const char *of,
                                 qdq_error *err);

typedef struct qdq_tune_note {
    /* there is a note: the rest says something */
    bool found;
    /* now */
    bool running;
    /* run: 0 before it has one */
    int64_t process, run;
    /* malloc'ed; NULL: in the folder; it did not */
    char *store, *failed;
} qdq_tune_note;

/* What the note of the newest run says. */
qdq_status qdq_tune_note_read(const char *dir, qdq_tune_note *out, qdq_error *err);
void qdq_tune_note_free(qdq_tune_note *n);

#endif /* QDQ_TUNE_FOLDER_H */
