/* pattern_cache.h - what earlier runs found out about patterns, for a warm start: a YAML file that
 * Model-Optimizer reads and writes, too. Latencies are not compared across models or machines: only
 * the order within an entry counts, as seeds.
 *
 * Entries of this program name the canonical form of the pattern and what it was measured on and
 * with. Entries of one signature that differ in these stand beside each other. */
#ifndef QDQ_PATTERN_CACHE_H
#define QDQ_PATTERN_CACHE_H

#include "base/map.h"
#include "tune/scheme/scheme.h"

/* What an entry is about; two entries of a cache differ in one of these. */
typedef struct qdq_pattern_key {
    const char *signature;
    /* 32 digits of the canonical form, the engine's fingerprint, the device, and what times depend
     * on besides; NULL: not known, as in files of Model-Optimizer. */
    const char *canon, *engine, *device, *options;
} qdq_pattern_key;

/* The signature of an entry about a whole model, whose schemes are placements. No operator has such
 * a name. */
#define QDQ_PATTERN_MODEL "(model)"

typedef struct qdq_pattern_schemes {
    qdq_pattern_key key;
    size_t size; /* nodes */
    /* of a model: the placement that a search ended with, which has come to its end; NULL: none
     * has */
    const char *best;
    const char *settled; /* then: qdq_pattern_schemes_seal() of it */
    QDQ_VEC(qdq_scheme) schemes;
} qdq_pattern_schemes;

typedef struct qdq_pattern_cache {
    qdq_arena arena;
    unsigned minimum_distance;               /* 4 */
    unsigned max_entries;                    /* of a pattern: 32; 0: no limit */
    QDQ_VEC(qdq_pattern_schemes *) patterns; /* in the order in which they came */
    qdq_map by_key;                          /* -> index into patterns */
} qdq_pattern_cache;

#define QDQ_PATTERN_CACHE_INIT                                                                     \
    {                                                                                              \
        .minimum_distance = 4, .max_entries = 32                                                   \
    }

/* Reads a cache file or a state file (section 6.3, key "patterns"; its limits are in "config").
 * Mistakes are QDQ_E_FORMAT with line and key; a malformed pattern is left out, and the job is
 * told. Schemes that failed are left out: they are to be tried again. Nothing is thinned out; a
 * signature that comes again adds its schemes to the first. On failure *out is empty; it goes to
 * qdq_pattern_cache_free() in every case. */
qdq_status qdq_pattern_cache_load(const char *path, const qdq_job *job, qdq_pattern_cache *out,
                                  qdq_error *err);
qdq_status qdq_pattern_cache_parse(const char *text, size_t size, const char *name,
                                   const qdq_job *job, qdq_pattern_cache *out, qdq_error *err);

/* As Model-Optimizer would write it, in ASCII. *text goes to qdq_free(). */
qdq_status qdq_pattern_cache_text(const qdq_pattern_cache *c, char **text, qdq_error *err);
void qdq_pattern_cache_free(qdq_pattern_cache *c);

/* Adds schemes to those of a pattern: without errors, each once with its least latency, by latency,
 * at least minimum_distance apart, at most max_entries. Nothing of `ps` is kept: all is copied. On
 * failure the cache is as it was. */
qdq_status qdq_pattern_cache_add(qdq_pattern_cache *c, const qdq_pattern_schemes *ps,
                                 qdq_error *err);

/* Adds the entries of `other`; those that are known only if existing ones are not preferred. */
qdq_status qdq_pattern_cache_merge(qdq_pattern_cache *c, const qdq_pattern_cache *other,
                                   bool prefer_existing, qdq_error *err);

/* NULL: it has none. */
const qdq_pattern_schemes *qdq_pattern_cache_find(const qdq_pattern_cache *c,
                                                  const qdq_pattern_key *key);

/* Is it about a whole model? */
bool qdq_pattern_is_model(const qdq_pattern_key *key);

/* Is it of this form, measured on this engine and device with these options? */
bool qdq_pattern_key_equal(const qdq_pattern_key *a, const qdq_pattern_key *b);

/* 32 digits of all that an entry says, but for times of day, and of the search that it is the
 * result of: an entry that was changed by hand has others. */
qdq_status qdq_pattern_schemes_seal(const qdq_pattern_schemes *ps, const char *search,
                                    char digits[33], qdq_error *err);

#endif /* QDQ_PATTERN_CACHE_H */
