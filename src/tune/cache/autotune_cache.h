/* autotune_cache.h - autotune_cache.json, in the layout of Model-Optimizer's subgraph mode: what
 * each fusion group's best scheme is, and which of them were proven on the whole model. An import
 * and an export: what counts is in tune.db. Knows no models: groups are numbers and names of the
 * engine's layers, schemes are names of tensors. */
#ifndef QDQ_AUTOTUNE_CACHE_H
#define QDQ_AUTOTUNE_CACHE_H

#include "base/arena.h"
#include "base/vec.h"

/* Milliseconds that are not known are NAN. Texts are never NULL where nothing else is said. */
typedef struct qdq_cached_group {
    /* "group_id": Model-Optimizer counts the engine's layers from 0 */
    int64_t id;
    /* "trt_layer_name": as the engine calls it */
    const char *layer;
    /* "best_scheme_name": "baseline" is the one without Q/DQ */
    const char *scheme;
    /* "best_scheme_description" */
    const char *what;
    /* "best_scheme_target_tensors": what it quantizes; may be NULL if there are none */
    const char *const *tensor;
    size_t n_tensors;
    /* the group as a model of its own */
    double base_ms, best_ms;
    /* its layers alone, without conversions at its borders */
    double base_compute_ms, best_compute_ms;
    /* "in_progress": its schemes are still measured; absent where they are not */
    bool in_progress;
} qdq_cached_group;

/* Samples of one scheme in isolation, as tune.db names them. */
typedef struct qdq_cached_samples {
    const char *key;
    /* n numbers */
    const double *us;
    size_t n;
} qdq_cached_samples;

typedef struct qdq_cached_decision {
    int64_t group;
    bool accepted;
    /* of the whole model with it */
    double ms;
    /* why it was not kept without being timed; NULL: it was timed */
    const char *reason;
    /* "verdict": qdq_validate_verdict_name(); NULL: not written, as in files of Model-Optimizer */
    const char *verdict;
} qdq_cached_decision;

typedef struct qdq_autotune_cache {
    /* everything that a reader made; who fills one in may use it, too */
    qdq_arena arena;
    const char *model;
    /* "run.fingerprint": model, engine, device and options; "": unknown */
    const char *fingerprint;
    /* "run.number": of the run in its tune.db; 0: unknown */
    int64_t run;
    QDQ_VEC(qdq_cached_group) groups;
    /* of all groups, finished or in progress */
    QDQ_VEC(qdq_cached_samples) samples;
    /* of the whole model: without Q/DQ; with what is kept so far */
    double base_ms, current_ms;
    /* numbers of groups, in the order in which they are tried */
    QDQ_VEC(int64_t) candidates;
    QDQ_VEC(qdq_cached_decision) decisions;
    /* number of the group that is tried next; -1: none, or unknown */
    int64_t next;
    bool completed;
} qdq_autotune_cache;

/* An empty one: nothing is known. Free it in every case, also after a failed read. */
void qdq_autotune_cache_init(qdq_autotune_cache *c);
void qdq_autotune_cache_free(qdq_autotune_cache *c);

/* Reads what Model-Optimizer or this program wrote; `name` stands in messages. Members that are not
 * there are not known, but for numbers of groups and what was decided; others than those above are
 * ignored; NaN, Infinity, null and 0 are unknown times. QDQ_E_FORMAT, with the place:
 * torn, no JSON, or something else than such a file. */
qdq_status qdq_autotune_cache_parse(const char *text, size_t size, const char *name,
                                    qdq_autotune_cache *out, qdq_error *err);
/* The same from a file. QDQ_E_IO: it is not there, or cannot be read. */
qdq_status qdq_autotune_cache_read(const char *path, qdq_autotune_cache *out, qdq_error *err);

/* Strict JSON: null where nothing is known. qdq_free(). */
qdq_status qdq_autotune_cache_text(const qdq_autotune_cache *c, char **text, qdq_error *err);
/* Puts it in place whole: what is read at `path` is this or what was there before, whatever happens
 * meanwhile. A file that is not this run's is to be moved out of the way first: qdq_set_aside(),
 * base/quarantine.h. */
qdq_status qdq_autotune_cache_write(const qdq_autotune_cache *c, const char *path, qdq_error *err);

#endif /* QDQ_AUTOTUNE_CACHE_H */
