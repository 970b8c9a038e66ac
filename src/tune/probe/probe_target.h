/* probe_target.h - the description of a target as JSON, changed: both sides of a probe, and what
 * came of it. Must not know how anything is measured. */
#ifndef QDQ_PROBE_TARGET_H
#define QDQ_PROBE_TARGET_H

#include "target/target.h"

/* The target in which the rule of the probe holds (`with`), whatever its threshold and its
 * condition `cpu` are, or does not. Other rules with probes hold in stay_float only if the probe
 * lists them (`beside`). */
qdq_status qdq_probe_side(const qdq_target *t, const qdq_probe *p, bool with, qdq_target **out,
                          qdq_error *err);

/* What a probe is about: "off", its threshold, or the first key of its `without`. In the arena.
 * NULL: out of memory. */
const char *qdq_probe_key(const json_t *root, const qdq_probe *p, qdq_arena *arena);

/* Value of that key in the rule, as JSON on one line; in the arena. NULL: out of memory. */
const char *qdq_probe_value_now(const json_t *root, const qdq_probe *p, const char *key,
                                qdq_arena *arena);

/* Does the rule hold today for the size `at` of its threshold (0: it has none)? */
bool qdq_probe_holds_now(const json_t *root, const qdq_probe *p, int64_t at);

/* In `root`: the rule of the probe is as it pays, or as it does without. */
qdq_status qdq_probe_apply(json_t *root, const qdq_probe *p, bool pays, qdq_error *err);

/* The rule holds up to this value of its threshold. */
qdq_status qdq_probe_apply_threshold(json_t *root, const qdq_probe *p, int64_t value,
                                     qdq_error *err);

/* Puts figures beside the rule, in place of those of this probe, key, engine, version and
 * processor. */
qdq_status qdq_probe_put_figures(json_t *root, const qdq_probe *p, const qdq_measured *m, size_t n,
                                 qdq_error *err);

#endif /* QDQ_PROBE_TARGET_H */
