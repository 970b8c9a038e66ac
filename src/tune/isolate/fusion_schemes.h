/* fusion_schemes.h - what is tried with a fusion group: a handful of ways to put Q/DQ into it, as
 * bits of an assignment with halves (space_partial.h). Which one is best, only the engine knows;
 * each is there for a case in which it wins. */
#ifndef QDQ_FUSION_SCHEMES_H
#define QDQ_FUSION_SCHEMES_H

#include "tune/group/fusions.h"
#include "tune/space/space_partial.h"

typedef enum qdq_scheme_kind {
    /* Nothing: the baseline. Where the kernel in 8 bits is missing or slower (tiny and depthwise
       layers). */
    QDQ_SCHEME_NONE,
    /* All that can be: where there are kernels for it. */
    QDQ_SCHEME_FULL,
    /* Constant weights alone: where most of the time is reading a large one. An engine that decodes
     * it before it runs has the time of none. */
    QDQ_SCHEME_WEIGHT_ONLY,
    /* The activations of such operators alone: rarely faster, for kernels want both; tells which
       half costs. */
    QDQ_SCHEME_ACTIVATION_ONLY,
    /* Full, but for linear operators with fewer than QDQ_SCHEME_SMALL output channels: thin layers
       beside others. */
    QDQ_SCHEME_SKIP_SMALL,
    /* What the target's rules quantize of it: what is known from elsewhere. */
    QDQ_SCHEME_RULES,
    QDQ_SCHEME_COUNT
} qdq_scheme_kind;

#define QDQ_SCHEME_SMALL 64

/* "none", "full", "weight-only", "activation-only", "skip-small", "rules": in reports and
 * stores. */
extern const char *const qdq_scheme_kind_names[QDQ_SCHEME_COUNT];

/* Gives the bits of this group in `a`, of qdq_space_scheme_bits(), this scheme; all others stay.
 * `f` was found in the clean model of `s`. `allowed`: the groups of the space that may be on, of
 * n_groups bits; NULL: all. Skip-small is full where it would take nothing away, or all of the
 * linear operators. Groups of one key have the same bits for one kind, but for the rules', which
 * look at their surroundings. */
void qdq_fusion_set_scheme(const qdq_fusions *f, uint32_t group, const qdq_space *s,
                           const qdq_assign *allowed, qdq_scheme_kind kind, qdq_assign *a);

typedef struct qdq_fusion_scheme {
    qdq_scheme_kind kind;
    qdq_assign bits; /* nothing is on outside of the group */
} qdq_fusion_scheme;

typedef struct qdq_fusion_schemes {
    qdq_fusion_scheme at[QDQ_SCHEME_COUNT];
    size_t n; /* at least 1: the first is none */
} qdq_fusion_schemes;

/* All schemes of a group, in the order of their kinds; of those with equal bits the first. Bits in
 * the arena. */
qdq_status qdq_fusion_list_schemes(const qdq_fusions *f, uint32_t group, const qdq_space *s,
                                   const qdq_assign *allowed, qdq_arena *arena,
                                   qdq_fusion_schemes *out, qdq_error *err);

#endif /* QDQ_FUSION_SCHEMES_H */
