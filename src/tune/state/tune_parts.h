/* tune_parts.h - the units of decision, and what is known of them before the search. */
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

/* Executed layers; `at` is freed with qdq_free(). */
typedef struct qdq_tune_layers {
    qdq_layer *at;
    size_t n;
} qdq_tune_layers;

/* Patterns of regions or of fusion groups, and the search problem made from them. */
typedef struct qdq_tune_parts {
    /* region mode */
    qdq_regions *regions;
    /* subgraph mode, also the next one */
    qdq_fusions *fusions;
    qdq_fusion_keys *keys;
    /* times of the model with all Q/DQ; NULL: unknown */
    const qdq_tune_times *full_times;
    /* output of the engine for the layers of the model without Q/DQ; NULL: none */
    const char *base_log;
    /* hash of the file of layers from the user; "": none */
    char layers_name[33];
    /* patterns of regions, or of fusion groups */
    qdq_patterns *patterns;
    /* wildcards on names of nodes: a region needs a node that matches one; empty: no filter */
    QDQ_VEC(const char *) filter;
    /* by pattern */
    qdq_choices *choices;
    /* models with Q/DQ from the user: baseline/baseline.h */
    struct qdq_baseline *baselines;
    size_t n_baselines;
    /* all schemes in the user's files */
    qdq_pattern_cache known;
    /* those of them that are tried */
    qdq_pattern_cache thin;
    /* schemes that this run has measured */
    qdq_pattern_cache learnt;
    /* patterns.yaml of the process whose run is resumed */
    qdq_pattern_cache before;
    /* by pattern: hash of its canonical form */
    char (*canon)[33];
    /* hash of the model with all its decisions */
    char whole[33];
    /* the options that determine the length of the search, as text */
    const char *effort;
    /* The complete result of another run for this model on this machine; NULL: none. If it is set,
     * the search explores nothing. */
    const qdq_pattern_schemes *settled;
    /* cache at the beginning of the run; NULL: none */
    struct qdq_autotune_cache *cached;
    /* the cache has the run's fingerprint */
    bool cached_is_mine;
    qdq_search_problem problem;
    /* by decision: noise over signal at the outputs; NULL: unknown */
    const double *sensitivity;
    /* of minimum cuts: tensors between decisions, and the final costs */
    qdq_hyperedge_map hyperedges;
    qdq_mincut_costs costs;
    bool has_costs;
    /* a start that reaches the goal, if the rules' plan misses it */
    qdq_assign reached;
    bool has_reached;
} qdq_tune_parts;

#endif /* QDQ_TUNE_PARTS_H */
