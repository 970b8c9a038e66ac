/* target_rule.h - the keys that every rule of a target has: does it hold, on which processors, what
 * was measured, and which models show it (docs/targets.md, "Measured rules"). Must not know the
 * conditions of a rule, or how a probe is measured. */
#ifndef QDQ_TARGET_RULE_H
#define QDQ_TARGET_RULE_H

#include "base/json_read.h"

typedef enum qdq_rule_verdict {
    /* the interval of the factor holds 1 */
    QDQ_RULE_UNDECIDED,
    QDQ_RULE_PAYS,
    QDQ_RULE_HARMS
} qdq_rule_verdict;

/* "undecided", "pays", "harms" */
const char *qdq_rule_verdict_name(qdq_rule_verdict v);

typedef struct qdq_measured {
    qdq_rule_verdict verdict;
    /* time with the rule / time without it, and its 95 % interval; low 0: not known */
    double factor, low, high;
    const char *engine, *version, *processor;
    /* the key of the rule that the probe decides: "off", "output", "out_channels_max", ... */
    const char *key;
    /* the size that was measured, where `key` is a threshold; else 0 */
    int64_t at;
    /* which of the rule's probes: its name; "" if it has none */
    const char *probe;
} qdq_measured;

typedef struct qdq_probe_value { /* of a parameter */
    const char *name;
    int64_t value;
} qdq_probe_value;

typedef struct qdq_probe_size {
    const qdq_probe_value *value;
    size_t n;
} qdq_probe_size;

/* A small model, or a family of them, in which a rule decides. */
typedef struct qdq_probe {
    /* of the description: "operators", "stay_float" */
    const char *list;
    /* of the rule in this list */
    size_t index;
    /* of the probe in the rule */
    size_t number;
    const char *op, *rule, *name;
    /* text form; "$n" stands for the parameter n */
    const char *graph;
    /* the key that the sizes decide; NULL: none */
    const char *threshold;
    /* both sides have weights with `store` 'dynamic' */
    bool dynamic;
    /* names of rules of stay_float that hold in it, too; or NULL */
    const char *const *beside;
    /* the rule keeps accuracy: times do not switch it off */
    bool for_accuracy;
    /* rising by the threshold; one empty size where there is no parameter */
    const qdq_probe_size *size;
    size_t n_sizes;
} qdq_probe;

/* What a rule says of itself. */
typedef struct qdq_rule_facts {
    /* it does not hold */
    bool off;
    /* kinds of processors (qdq_cpu_name()), or parts of their names; NULL: all */
    const char *const *cpu;
    const qdq_measured *measured;
    size_t n_measured;
} qdq_rule_facts;

/* The rule is object `index` of `list`. `keys`: all that it may have, ends with NULL. */
void qdq_rule_read(const qdq_json_place *p, const char *const *keys, qdq_rule_facts *out);

/* Reads probe `i` of the rule; false: there is none, or an error. */
bool qdq_probe_read(const qdq_json_place *p, const char *list, size_t index, size_t i,
                    const char *const *keys, qdq_probe *out);

/* The newest figures that have this verdict on the whole rule, not on one of its keys: those of
 * `processor` before others (qdq_processor_name(), whose count of cores may differ; or NULL).
 * NULL: there are none. */
const qdq_measured *qdq_rule_newest(const qdq_rule_facts *r, qdq_rule_verdict v,
                                    const char *processor);

/* "0.823 (0.802 to 0.845) at 48 on ENGINE VERSION, PROCESSOR", in the arena; NULL: out of memory.
 */
const char *qdq_measured_text(const qdq_measured *m, qdq_arena *arena);

/* Does the rule hold on a processor? `kind` as qdq_cpu_name() has it; `name`: NULL if not known. */
bool qdq_rule_is_for(const qdq_rule_facts *r, const char *kind, const char *name);

#endif /* QDQ_TARGET_RULE_H */
