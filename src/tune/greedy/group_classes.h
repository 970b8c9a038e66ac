/* group_classes.h - groups that are measured apart, once for all that are alike: those of one
 * content key with equal surroundings, of which the rules want the same. Shared by greedy/ and
 * tune_cache.c. */
#ifndef QDQ_TUNE_KINDS_H
#define QDQ_TUNE_KINDS_H

#include "tune/cache/autotune_cache.h"
#include "tune/extract/group_model.h"
#include "tune/isolate/fusion_schemes.h"
#include "tune/isolate/qualify.h"
#include "tune/state/tune_state.h"

/* The group without Q/DQ and with a scheme, beside each other. */
typedef struct qdq_tune_isolated {
    double none_us, scheme_us;
    /* part of scheme_us: conversions that neighbours in 8 bits would share; 0 where only whole
     * times are known */
    double boundary_us;
} qdq_tune_isolated;

typedef struct qdq_tune_scheme {
    const qdq_fusion_scheme *what; /* in the first group of the kind */
    qdq_plan *plan;                /* of the whole model with it; NULL: not requested yet */
    QDQ_VEC(qdq_tune_isolated) samples;
    const char *failed; /* why it cannot be had */
} qdq_tune_scheme;

typedef struct qdq_tune_kind {
    uint32_t unit; /* number of its pattern */
    uint32_t *at;  /* n of that pattern's instances */
    size_t n;
    uint32_t group; /* of the first of them */
    /* content key, surroundings, and what the rules want: names values in the store */
    const char *name;
    const char *why; /* it is not measured apart; NULL: it is */
    bool settled;    /* its best scheme is known from a file: it is not measured, either */
    qdq_group_model *model;
    qdq_tune_scheme *scheme; /* the first is "none" */
    size_t n_schemes;
    size_t best; /* 0: none */
    /* what it gets if it pays beside its neighbours: the best if that qualifies, else full; 0:
     * nothing */
    size_t proposed;
    /* as `saved.mean_us`, `border_us` and `none_us`, of full after the first look; NAN: unknown */
    double full_us, full_boundary_us, full_none_us;
    qdq_saving saved; /* by the best, with its neighbours in 8 bits */
    /* of the group without Q/DQ; what neighbours in float cost besides */
    double none_us, boundary_us;
} qdq_tune_kind;

typedef struct qdq_tune_kinds {
    qdq_tune_kind *at;
    size_t n;
    size_t n_skipped; /* of them: no models, or none that the engine takes: they have no times */
    bool by_layers;   /* else whole times of groups: the engine tells no others. Never mixed */
    bool measured;    /* all of them, and it is known which save time */
    QDQ_VEC(qdq_cached_samples) samples; /* of this run, for autotune_cache.json */
    unsigned builds;
} qdq_tune_kinds;

/* Is there anything to decide in an instance of a pattern? */
bool qdq_tune_has_decision(const qdq_tune_state *t, uint32_t unit, uint32_t instance);

/* All kinds with a decision in them, in the order of their first groups; qdq_tune_kinds_free() in
 * any case. */
qdq_status qdq_tune_find_kinds(qdq_tune_state *t, qdq_tune_kinds *out, qdq_error *err);
void qdq_tune_kinds_free(qdq_tune_kinds *k);

/* Measures schemes apart, those that promise most longer, and finds the best of each kind and what
 * it saves. What an earlier run measured, of this model or another one, is not measured again.
 * successive_halving.c */
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
qdq_status qdq_tune_sit(qdq_tune_state *t, qdq_tune_kinds *k, const qdq_tune_entry *e, size_t n,
                        unsigned amount, const char *label, qdq_error *err);

#endif /* QDQ_TUNE_KINDS_H */
