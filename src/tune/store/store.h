/* store.h - tune.db: runs, trials, every sample, verdicts. SQLite in WAL mode; each sample is
 * committed before the next one is taken. A search is a pure function of its options and of the
 * samples: a run that was cut off goes on by being run again, with the samples that are here handed
 * out in place of measurements. */
#ifndef QDQ_TUNE_STORE_H
#define QDQ_TUNE_STORE_H

#include "tune/measure/measure.h"

#define QDQ_TUNE_STORE_VERSION 1

enum { QDQ_TUNE_STORE_DIFFERENCE = 300 }; /* bytes of a text of qdq_tune_store_differ() */

typedef struct qdq_tune_store qdq_tune_store;

/* Makes the file if it is not there. QDQ_E_FORMAT: no store, or of a newer version (both versions
 * are named); QDQ_E_IO: full disk, read-only, locked by another process for longer than 5 s. A torn
 * WAL is what SQLite recovers. */
qdq_status qdq_tune_store_open(const char *path, qdq_tune_store **out, qdq_error *err);
/* To look at only: the file must be there, and nothing in its folder is changed, which may be
 * read-only. */
qdq_status qdq_tune_store_open_to_read(const char *path, qdq_tune_store **out, qdq_error *err);
void qdq_tune_store_close(qdq_tune_store *s); /* NULL is allowed */

/* What makes two measurements comparable. All are text, none NULL but the last. */
typedef struct qdq_tune_store_context {
    /* fingerprint of graph and weights */
    const char *model;
    /* "ort 1.31.1 cpu": its fingerprint */
    const char *engine;
    /* processor, its features, its number of cores */
    const char *device;
    /* canonical text of all that a time depends on: shapes, threads, level, runs per sample,
     * warm-up */
    const char *options;
    /* what values by content depend on besides: types of codes, the target; NULL: nothing */
    const char *quant;
} qdq_tune_store_context;

typedef struct qdq_tune_store_run {
    int64_t id, context;
    /* samples belong to a context and a beginning: `restart` starts over */
    int64_t since;
    /* the same for values by content */
    int64_t content, content_since;
    /* an unfinished or finished run with the same context and search was there */
    bool resumed;
    bool finished;
    /* that it has already */
    uint64_t n_samples;
    /* not resumed although the folder has runs: in what the newest one differs */
    char other[QDQ_TUNE_STORE_DIFFERENCE];
} qdq_tune_store_run;

/* `search` is the canonical text of all that the search depends on besides (mode, seed, presets,
 * target). `restart`: a new run even if one is there; its samples are not handed out again. */
qdq_status qdq_tune_store_begin(qdq_tune_store *s, const qdq_tune_store_context *c,
                                const char *search, bool restart, qdq_tune_store_run *out,
                                qdq_error *err);
/* In what a run (0: the newest) differs from one with this context and search; "" where it does
 * not, or there is none. */
qdq_status qdq_tune_store_differ(qdq_tune_store *s, int64_t run, const qdq_tune_store_context *c,
                                 const char *search, char out[QDQ_TUNE_STORE_DIFFERENCE],
                                 qdq_error *err);
qdq_status qdq_tune_store_finish(qdq_tune_store *s, const qdq_tune_store_run *r,
                                 const char *report_json, qdq_error *err);

/* The models of a trial: hashes of assignments, or names ("float", "rules"). `nth` separates trials
 * of the same models that must be measured again (final validation, A/A tests). */
typedef struct qdq_tune_store_models {
    const char *incumbent, *candidate;
    unsigned nth;
} qdq_tune_store_models;

/* A trial. They belong to a context, so that runs share them. */
typedef struct qdq_tune_store_trial {
    int64_t id;
    /* that are known already */
    unsigned n_pairs;
    /* a candidate that the engine did not survive: `why` says how; until a run goes on, which tries
     * it once more */
    bool failed;
    char why[400];
} qdq_tune_store_trial;

qdq_status qdq_tune_store_trial_get(qdq_tune_store *s, const qdq_tune_store_run *r,
                                    const qdq_tune_store_models *models, qdq_tune_store_trial *out,
                                    qdq_error *err);
qdq_status qdq_tune_store_pair_get(qdq_tune_store *s, const qdq_tune_store_trial *t, unsigned pair,
                                   double *incumbent_ns, double *candidate_ns, qdq_error *err);

/* Committed when it returns. Where another run that shares the store was first, its sample counts,
 * and is handed out. */
qdq_status qdq_tune_store_pair_add(qdq_tune_store *s, const qdq_tune_store_trial *t, unsigned pair,
                                   double *incumbent_ns, double *candidate_ns, qdq_error *err);
qdq_status qdq_tune_store_trial_fail(qdq_tune_store *s, const qdq_tune_store_trial *t,
                                     const char *why, qdq_error *err);
qdq_status qdq_tune_store_trial_verdict(qdq_tune_store *s, const qdq_tune_store_trial *t,
                                        const qdq_test_result *r, qdq_error *err);

/* Values that are expensive, as profiles: by key, in the run's context. *value is NULL if it is not
 * there; qdq_free(). */
qdq_status qdq_tune_store_value_get(qdq_tune_store *s, const qdq_tune_store_run *r, const char *key,
                                    char **value, qdq_error *err);
qdq_status qdq_tune_store_value_put(qdq_tune_store *s, const qdq_tune_store_run *r, const char *key,
                                    const char *value, qdq_error *err);

/* The same for what does not depend on the model, as times of a fusion group apart, by its content
 * key: another model finds it, too. Not another engine, device, text of options or of `quant`. A
 * key is not "". */
qdq_status qdq_tune_store_content_get(qdq_tune_store *s, const qdq_tune_store_run *r,
                                      const char *key, char **value, qdq_error *err);
qdq_status qdq_tune_store_content_put(qdq_tune_store *s, const qdq_tune_store_run *r,
                                      const char *key, const char *value, qdq_error *err);

/* What happened, for `autotune --status` and the report: one row each, in order. */
qdq_status qdq_tune_store_event(qdq_tune_store *s, const qdq_tune_store_run *r, const char *kind,
                                const char *json, qdq_error *err);
typedef qdq_status (*qdq_tune_store_event_fn)(void *ctx, double time, const char *kind,
                                              const char *json, qdq_error *err);
qdq_status qdq_tune_store_events(qdq_tune_store *s, int64_t run, qdq_tune_store_event_fn fn,
                                 void *ctx, qdq_error *err);

/* A run in the store, also one that another process is writing. */
typedef struct qdq_tune_store_found_run {
    bool found, finished;
    int64_t id, pid;
    /* JSON, of a finished one; qdq_free() */
    char *report;
} qdq_tune_store_found_run;

/* The run of this number; 0: the newest. */
qdq_status qdq_tune_store_find(qdq_tune_store *s, int64_t run, qdq_tune_store_found_run *out,
                               qdq_error *err);

#endif /* QDQ_TUNE_STORE_H */
