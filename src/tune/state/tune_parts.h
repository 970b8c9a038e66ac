/* tune_parts.h - what is decided together, and what is known of it beforehand. */
#ifndef QDQ_TUNE_PARTS_H
#define QDQ_TUNE_PARTS_H

#include "base/vec.h"
#include "tune/mincut/costs.h"
#include "tune/mincut/hyperedges.h"
#include "tune/group/keys.h"
#include "tune/measure/layer_times.h"
#include "tune/region/pattern.h"
#include "tune/scheme/pattern_cache.h"
#include "tune/scheme/scheme.h"
#include "tune/search/search.h"

/* Executed layers: qdq_free(). */
typedef struct qdq_tune_layers {
    qdq_layer *at;
    size_t n;
} qdq_tune_layers;

/* Patterns of regions or of fusion groups, as the search's problem. */
typedef struct qdq_tune_parts {
    qdq_regions *regions; /* of region mode */
    qdq_fusions *fusions; /* of subgraph mode, like the next two */
    qdq_fusion_keys *keys;
    /* of the model without Q/DQ, and with all, as the engine told them; may be none */
    qdq_tune_layers layers, full_layers;
    /* of the model with all Q/DQ; NULL: not known */
    const qdq_tune_times *full_times;
    /* what the engine printed with `layers`; NULL: nothing */
    const char *base_log;
    char layers_name[33];   /* of the file that users handed in; "" */
    qdq_patterns *patterns; /* of regions, or of fusion groups */
    /* wildcards on names of nodes: a region must have one that fits; none: any will do */
    QDQ_VEC(const char *) filter;
    qdq_choices *choices;           /* by pattern */
    struct qdq_baseline *baselines; /* models with Q/DQ that were given: baseline/baseline.h */
    size_t n_baselines;
    qdq_pattern_cache known;  /* all of the files that users gave, */
    qdq_pattern_cache thin;   /* and what is tried of it */
    qdq_pattern_cache learnt; /* what this run measured so far */
    qdq_pattern_cache before; /* patterns.yaml of the process that a resumed run goes on after */
    char (*canon)[33];        /* digits of the canonical form of each pattern, */
    char whole[33];           /* and of the model with all that there is to decide */
    const char *effort;       /* what the length of the search depends on, as text */
    /* What another run found out about this model here, to its end; NULL: nothing. While it is not
     * NULL, nothing is explored. */
    const qdq_pattern_schemes *settled;
    struct qdq_autotune_cache *cached; /* that the run began with; NULL: none */
    bool cached_is_mine;               /* it has the run's fingerprint */
    qdq_search_problem problem;
    const double *harm; /* by decision: noise over signal at the outputs; NULL: not known */
    /* of minimum cuts: tensors between decisions, and what all cost in the end */
    qdq_nets nets;
    qdq_mincut_costs costs;
    bool has_costs;
    qdq_assign reached; /* a start that holds the goal, where the rules' plan misses it */
    bool has_reached;
} qdq_tune_parts;

#endif /* QDQ_TUNE_PARTS_H */
