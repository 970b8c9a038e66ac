/* pattern_cache.h - what earlier runs found out about patterns, for a warm start: a YAML file that Model-Optimizer reads
 * and writes, too (region-autotune.md 1.7, 6.4). Latencies are not compared across models or machines: only the order
 * within a pattern counts, as seeds. */
#ifndef QDQ_PATTERN_CACHE_H
#define QDQ_PATTERN_CACHE_H

#include "base/map.h"
#include "tune/scheme/scheme.h"

typedef struct qdq_pattern_schemes {
    const char *signature;
    size_t size; /* nodes */
    QDQ_VEC(qdq_scheme) schemes;
} qdq_pattern_schemes;

typedef struct qdq_pattern_cache {
    qdq_arena arena;
    unsigned minimum_distance;               /* 4 */
    unsigned max_entries;                    /* of a pattern: 32; 0: no limit */
    QDQ_VEC(qdq_pattern_schemes *) patterns; /* in the order in which they came */
    qdq_map by_signature;                    /* -> index into patterns */
} qdq_pattern_cache;

#define QDQ_PATTERN_CACHE_INIT                                                                               \
    {                                                                                                        \
        .minimum_distance = 4, .max_entries = 32                                                             \
    }

/* Reads a cache file or a state file (section 6.3, key "patterns"; its limits are in "config"). Mistakes are QDQ_E_FORMAT
 * with line and key; a malformed pattern is left out, and the job is told. Schemes that failed are left out: they are to
 * be tried again. Nothing is thinned out; a signature that comes again adds its schemes to the first. On failure *out is
 * empty; it goes to qdq_pattern_cache_free() in every case. */
qdq_status qdq_pattern_cache_load(const char *path, const qdq_job *job, qdq_pattern_cache *out,
                                  qdq_error *err);
qdq_status qdq_pattern_cache_parse(const char *text, size_t size, const char *name, const qdq_job *job,
                                   qdq_pattern_cache *out, qdq_error *err);

/* As Model-Optimizer would write it, in ASCII. *text goes to qdq_free(). */
qdq_status qdq_pattern_cache_text(const qdq_pattern_cache *c, char **text, qdq_error *err);
void qdq_pattern_cache_free(qdq_pattern_cache *c);

/* Adds schemes to those of a pattern: without errors, each once with its least latency, by latency, at least
 * minimum_distance apart, at most max_entries. Nothing of `ps` is kept: all is copied. On failure the cache is as it
 * was. */
qdq_status qdq_pattern_cache_add(qdq_pattern_cache *c, const qdq_pattern_schemes *ps, qdq_error *err);

/* Adds the patterns of `other`; those that are known only if existing ones are not preferred. */
qdq_status qdq_pattern_cache_merge(qdq_pattern_cache *c, const qdq_pattern_cache *other, bool prefer_existing,
                                   qdq_error *err);
const qdq_pattern_schemes *qdq_pattern_cache_find(const qdq_pattern_cache *c, const char *signature);

#endif /* QDQ_PATTERN_CACHE_H */
