/* fusion_schemes.h - the schemes to try for a fusion group: a few ways to quantize it, as bits of
 * an assignment with partial decisions (space_partial.h). Each is the fastest in some case, which
 * only measurements show. */
#ifndef QDQ_FUSION_SCHEMES_H
#define QDQ_FUSION_SCHEMES_H

#include "tune/group/fusions.h"
#include "tune/space/space_partial.h"

/* Those that win most often come first. */
typedef enum qdq_scheme_kind {
    /* Nothing is quantized: the baseline. For groups whose 8-bit kernel is missing or slower (tiny
     * and depthwise layers). */
    QDQ_SCHEME_NONE,
    /* Everything is quantized: for groups with 8-bit kernels. */
    QDQ_SCHEME_FULL,
    /* The decisions of the target's rules. */
    QDQ_SCHEME_RULES,
    /* Full, without linear operators of fewer than QDQ_SCHEME_SMALL output channels: for thin
     * layers next to others. */
    QDQ_SCHEME_SKIP_SMALL,
    /* Weight-only: for groups that mostly read a large weight. No gain on an engine that decodes
     * weights before it runs. */
    QDQ_SCHEME_WEIGHT_ONLY,
    /* Activation-only: rarely faster, because kernels need both; it shows which part is slow. */
    QDQ_SCHEME_ACTIVATION_ONLY,
    QDQ_SCHEME_COUNT
} qdq_scheme_kind;

#define QDQ_SCHEME_SMALL 64

/* Names in reports and stores: "none", "full", "rules", "skip-small", "weight-only",
 * "activation-only". */
extern const char *const qdq_scheme_kind_names[QDQ_SCHEME_COUNT];

/* Sets the bits of this group in `a`, of qdq_space_scheme_bits(), to this scheme; other bits stay.
 * `f` belongs to the clean model of `s`. `allowed`: groups of the space that may be on, n_groups
 * bits; NULL: all. Skip-small equals full if it would omit no linear operator, or all of them.
 * Groups of one key have equal bits for a scheme, except for the rules, which depend on the
 * surroundings. */
void qdq_fusion_set_scheme(const qdq_fusions *f, uint32_t group, const qdq_space *s,
                           const qdq_assign *allowed, qdq_scheme_kind kind, qdq_assign *a);

typedef struct qdq_fusion_scheme {
    qdq_scheme_kind kind;
    /* all off outside of the group */
    qdq_assign bits;
} qdq_fusion_scheme;

typedef struct qdq_fusion_schemes {
    qdq_fusion_scheme at[QDQ_SCHEME_COUNT];
    /* at least 1: the first one is "none" */
    size_t n;
} qdq_fusion_schemes;

/* Lists the schemes of a group in the order of their kinds, without those that repeat bits. Bits
 * are in the arena. */
qdq_status qdq_fusion_list_schemes(const qdq_fusions *f, uint32_t group, const qdq_space *s,
                                   const qdq_assign *allowed, qdq_arena *arena,
                                   qdq_fusion_schemes *out, qdq_error *err);

#endif /* QDQ_FUSION_SCHEMES_H */
