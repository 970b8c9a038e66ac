/* pattern_cache.h - results of earlier runs for patterns, as seeds of a search: a YAML file that
 * Model-Optimizer reads and writes too (docs/pattern-cache.md). Latencies of different models or
 * machines are not compared: only the order within an entry counts.
 *
 * Entries of this program name the canonical form of the pattern and the conditions of the
 * measurement. Entries of one signature with different ones are separate. */
#ifndef QDQ_PATTERN_CACHE_H
#define QDQ_PATTERN_CACHE_H

#include "base/map.h"
#include "tune/scheme/scheme.h"

/* Identifies an entry of a cache. */
typedef struct qdq_pattern_key {
    const char *signature;
    /* hash of the canonical form, the engine's fingerprint, the device, and other conditions of the
     * times; NULL: unknown, as in files of Model-Optimizer */
    const char *canon, *engine, *device, *options;
} qdq_pattern_key;

/* The signature of entries for a whole model, whose schemes are placements. No operator has this
 * name. */
#define QDQ_PATTERN_MODEL "(model)"

typedef struct qdq_pattern_schemes {
    qdq_pattern_key key;
    /* number of nodes */
    size_t size;
    /* of a model: the placement at the end of a complete search; NULL: none */
    const char *best;
    /* with `best`: qdq_pattern_schemes_seal() of this entry */
    const char *settled;
    QDQ_VEC(qdq_scheme) schemes;
} qdq_pattern_schemes;

typedef struct qdq_pattern_cache {
    qdq_arena arena;
    /* 4 */
    unsigned minimum_distance;
    /* of a pattern: 32; 0: no limit */
    unsigned max_entries;
    /* in the order of their addition */
    QDQ_VEC(qdq_pattern_schemes *) patterns;
    /* key to index in `patterns` */
    qdq_map by_key;
} qdq_pattern_cache;

#define QDQ_PATTERN_CACHE_INIT                                                                     \
    {                                                                                              \
        .minimum_distance = 4, .max_entries = 32                                                   \
    }

/* Reads a cache file, or a state file with the key "patterns" (its limits are in "config"). An
 * error is QDQ_E_FORMAT with line and key. A malformed pattern is skipped, with a message to the
 * job. Failed schemes are skipped, so that they are tried again. All valid schemes are read; a
 * repeated signature adds its schemes to the first one. On failure *out is empty; call
 * qdq_pattern_cache_free() in every case. */
qdq_status qdq_pattern_cache_load(const char *path, const qdq_job *job, qdq_pattern_cache *out,
                                  qdq_error *err);
qdq_status qdq_pattern_cache_parse(const char *text, size_t size, const char *name,
                                   const qdq_job *job, qdq_pattern_cache *out, qdq_error *err);

/* Writes the form of Model-Optimizer, in ASCII. *text is freed with qdq_free(). */
qdq_status qdq_pattern_cache_text(const qdq_pattern_cache *c, char **text, qdq_error *err);
void qdq_pattern_cache_free(qdq_pattern_cache *c);

/* Adds schemes to those of a pattern: without errors, each once with its lowest latency, in order
 * of latency, at least minimum_distance apart, at most max_entries. All of `ps` is copied. On
 * failure the cache is unchanged. */
qdq_status qdq_pattern_cache_add(qdq_pattern_cache *c, const qdq_pattern_schemes *ps,
                                 qdq_error *err);

/* Adds the entries of `other`; with prefer_existing, only those of patterns that `c` lacks. */
qdq_status qdq_pattern_cache_merge(qdq_pattern_cache *c, const qdq_pattern_cache *other,
                                   bool prefer_existing, qdq_error *err);

/* The entry of a key, or NULL. */
const qdq_pattern_schemes *qdq_pattern_cache_find(const qdq_pattern_cache *c,
                                                  const qdq_pattern_key *key);

/* Whether the key is of a whole model. */
bool qdq_pattern_is_model(const qdq_pattern_key *key);

/* Whether both keys name the same form, engine, device and options. */
bool qdq_pattern_key_equal(const qdq_pattern_key *a, const qdq_pattern_key *b);

/* Hash of an entry, without times of day, and of the search that made it. An entry that was edited
 * has another hash. */
qdq_status qdq_pattern_schemes_seal(const qdq_pattern_schemes *ps, const char *search,
                                    char digits[33], qdq_error *err);

#endif /* QDQ_PATTERN_CACHE_H */
