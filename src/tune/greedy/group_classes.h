/* group_classes.h - equivalence classes of groups, which are measured in isolation once: groups of
 * one content key with equal surroundings and equal decisions of the rules. Shared by greedy/ and
 * tune_cache.c. */
#ifndef QDQ_TUNE_KINDS_H
#define QDQ_TUNE_KINDS_H

#include "tune/cache/autotune_cache.h"
#include "tune/extract/group_model.h"
#include "tune/isolate/fusion_schemes.h"
#include "tune/isolate/qualify.h"
#include "tune/state/tune_state.h"

/* A sample: times of the group without Q/DQ and with a scheme, measured together. */
typedef struct qdq_tune_isolated {
    double none_us, scheme_us;
    /* part of scheme_us: conversions that 8-bit neighbours would share; 0 if only end-to-end
     * latency is known */
    double boundary_us;
} qdq_tune_isolated;

typedef struct qdq_tune_scheme {
    /* in the first group of the class */
    const qdq_fusion_scheme *what;
    /* plan of the whole model with this scheme; NULL: not made yet */
    qdq_plan *plan;
    /* of the last look at it */
    QDQ_VEC(qdq_tune_isolated) samples;
    /* why it cannot be measured */
    const char *failed;
    /* What samples say, of one group: time without Q/DQ (0: there are none), additional time with
     * float neighbours, */
    double none_us, boundary_us;
    /* and saving with 8-bit neighbours: whether they are is another question. mean_us -INFINITY:
     * there are none; se_us INFINITY: they are those that chose it. */
    qdq_saving saved;
} qdq_tune_scheme;

typedef struct qdq_tune_kind {
    /* number of its pattern */
    uint32_t unit;
    /* n instances of that pattern */
    uint32_t *at;
    size_t n;
    /* group of the first instance */
    uint32_t group;
    /* content key, surroundings, and decisions of the rules: the name of values in the store */
    const char *name;
    /* why it is not measured in isolation; NULL: it is */
    const char *why;
    /* its best scheme comes from a file, so that it is not measured */
    bool settled;
    qdq_group_model *model;
    /* the first one is "none" */
    qdq_tune_scheme *scheme;
    size_t n_schemes;
    /* by the samples so far; 0: none saves time */
    size_t best;
    /* scheme to propose: the best one if it qualifies, else full; 0: none */
    size_t proposed;
} qdq_tune_kind;

typedef struct qdq_tune_kinds {
    qdq_tune_kind *at;
    size_t n;
    /* number of those without times: they cannot be models, or the engine does not accept them */
    size_t n_skipped;
    /* times of layers; false: end-to-end latency, because the engine reports no layers. The two are
     * never mixed */
    bool by_layers;
    /* all classes were measured, and qualified */
    bool measured;
    /* samples of this run, for autotune_cache.json */
    QDQ_VEC(qdq_cached_samples) samples;
    unsigned builds;
} qdq_tune_kinds;

/* Whether an instance of a pattern has a decision. */
bool qdq_tune_has_decision(const qdq_tune_state *t, uint32_t unit, uint32_t instance);

/* Finds all classes with a decision, in the order of their first groups. Call qdq_tune_kinds_free()
 * in every case. */
qdq_status qdq_tune_find_kinds(qdq_tune_state *t, qdq_tune_kinds *out, qdq_error *err);
void qdq_tune_kinds_free(qdq_tune_kinds *k);

/* It is not measured in isolation, which is logged. `why` lives as long as the run. */
void qdq_tune_skip_kind(const qdq_tune_state *t, qdq_tune_kinds *all, qdq_tune_kind *k,
                        const char *why);

/* Whether it has schemes, and is measured. */
static inline bool qdq_tune_is_measured(const qdq_tune_kind *k)
{
    return k->why == NULL && !k->settled && k->n_schemes > 1;
}

/* Its proposed scheme, else the best one, else "none". */
static inline const qdq_tune_scheme *qdq_tune_shown_scheme(const qdq_tune_kind *k)
{
    return &k->scheme[k->proposed != 0 ? k->proposed : k->best];
}

/* Measures schemes in isolation, the most promising ones longer, and finds the best one of each
 * class and its saving. Results of earlier runs, also of other models, are reused. Defined in
 * successive_halving.c. */
qdq_status qdq_tune_isolate(qdq_tune_state *t, qdq_tune_kinds *all, qdq_error *err);

/* The scheme that a kind has in one of its groups: bits over the space with halves, into *a. */
void qdq_tune_apply_scheme(const qdq_tune_state *t, const qdq_tune_kind *k, size_t scheme,
                           uint32_t instance, qdq_assign *a);

/* A scheme to sample. */
typedef struct qdq_tune_entry {
    qdq_tune_kind *kind;
    qdq_tune_scheme *scheme;
} qdq_tune_entry;

/* How: pairs of whole times, or one profile of this many times eight runs; and which time it is,
 * for the store. */
typedef struct qdq_tune_look {
    unsigned amount;
    const char *label;
} qdq_tune_look;

/* Takes samples of each of these. sampling.c */
qdq_status qdq_tune_sample(qdq_tune_state *t, qdq_tune_kinds *k, const qdq_tune_entry *e, size_t n,
                           const qdq_tune_look *look, qdq_error *err);

#endif /* QDQ_TUNE_KINDS_H */
