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
    QDQ_VEC(qdq_tune_isolated) samples;
    /* why it cannot be measured */
    const char *failed;
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
    /* 0: none */
    size_t best;
    /* scheme to propose: the best one if it qualifies, else full; 0: none */
    size_t proposed;
    /* `saved.mean_us`, `boundary_us` and `none_us` of scheme full after its first samples; NAN:
     * unknown */
    double full_us, full_boundary_us, full_none_us;
    /* saving of the best scheme, with 8-bit neighbours */
    qdq_saving saved;
    /* time of the group without Q/DQ, and additional time with float neighbours */
    double none_us, boundary_us;
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

/* Measures schemes in isolation, the most promising ones longer, and finds the best one of each
 * class and its saving. Results of earlier runs, also of other models, are reused. Defined in
 * successive_halving.c. */
qdq_status qdq_tune_isolate(qdq_tune_state *t, qdq_tune_kinds *all, qdq_error *err);

/* The best scheme by the samples so far (0: none saves time), what the group takes without Q/DQ,
 * and what the scheme saves; NAN: nothing was measured yet. */
void qdq_tune_kind_so_far(const qdq_tune_kind *k, size_t *best, double *none_us, double *saved_us);

/* The scheme that a kind has in one of its groups: bits over the space with halves, into *a. */
void qdq_tune_apply_scheme(const qdq_tune_state *t, const qdq_tune_kind *k, size_t scheme,
                           uint32_t instance, qdq_assign *a);

/* What a sample, and all samples of a scheme so far, say that the scheme saves with its neighbours
 * in 8 bits: whether they are is another question. -INFINITY: nothing, or it failed. */
double qdq_tune_saved_us(const qdq_tune_isolated *a);
double qdq_tune_mean_saved(const qdq_tune_scheme *s);

/* Takes what the autotune_cache.json that the run began with has of them: samples of its own,
 * schemes of another one. cache_import.c */
void qdq_tune_import_cache(const qdq_tune_state *t, qdq_tune_kinds *k);

/* Takes `amount` samples more of each of these: pairs of whole times, or one profile of this many
 * times eight runs. `label`: which time it is, for the store. sampling.c */
typedef struct qdq_tune_entry {
    qdq_tune_kind *kind;
    qdq_tune_scheme *scheme;
} qdq_tune_entry;
qdq_status qdq_tune_sample(qdq_tune_state *t, qdq_tune_kinds *k, const qdq_tune_entry *e, size_t n,
                           unsigned amount, const char *label, qdq_error *err);

#endif /* QDQ_TUNE_KINDS_H */
