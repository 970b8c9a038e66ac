/* fusions_build.h - what the files that find fusion groups share: a number for each node, by its
 * place in the graph, which one step after the other changes until all have one and all groups are
 * convex. */
#ifndef QDQ_FUSIONS_BUILD_H
#define QDQ_FUSIONS_BUILD_H

#include "tune/group/fusions.h"

/* One layer, as far as it is in this graph. */
typedef struct qdq_fusion_layer {
    const qdq_layer *from;
    /* of the nodes that it computes, each once */
    uint32_t *place;
    uint32_t n;
} qdq_fusion_layer;

typedef struct qdq_fusion_builder {
    qdq_fusions *f;
    qdq_region_graph *g;
    const qdq_fusion_opts *opts;
    qdq_arena scratch;
    qdq_fusion_layer *layer;
    size_t n_layers;

    /* By place. */
    /* QDQ_NO_FUSION: not yet. Any numbers below n_groups */
    uint32_t *group;
    /* can be quantized */
    bool *linear;
    /* its layer was cut */
    bool *cut;
    /* a layer that computes names it */
    bool *named;
    /* the last walk that met it */
    uint32_t *seen;
    uint32_t n_seen, n_groups;
} qdq_fusion_builder;

typedef qdq_fusion_builder qdq_fb;
typedef QDQ_VEC(uint32_t) qdq_fusion_places;

/* Members of groups, by place within each: member[first[k]] to member[first[k + 1] - 1]. In the
 * scratch arena. */
typedef struct qdq_fusion_members {
    uint32_t *first, *member, n;
} qdq_fusion_members;

/* Empty arrays for a graph. */
qdq_status qdq_fb_open(qdq_fb *b, qdq_fusions *f, const qdq_model *m, const qdq_fusion_opts *opts,
                       qdq_error *err);

/* The steps, in this order. */
qdq_status qdq_fb_read_layers(qdq_fb *b, const qdq_layer *layer, size_t n, qdq_error *err);
qdq_status qdq_fb_join_layers(qdq_fb *b, qdq_error *err);
qdq_status qdq_fb_cut_large(qdq_fb *b, qdq_error *err);
void qdq_fb_attach(qdq_fb *b); /* kernels without a layer, and what belongs to a group beside it */
qdq_status qdq_fb_by_structure(qdq_fb *b, qdq_error *err); /* all others */
qdq_status qdq_fb_make_convex(qdq_fb *b, qdq_error *err);
/* the groups of b->f; sources and times are empty */
qdq_status qdq_fb_finish(qdq_fb *b, qdq_error *err);
/* and sources, and what is known of how many */
qdq_status qdq_fb_set_times(qdq_fb *b, qdq_error *err);

/* Copies. False: out of memory. */
bool qdq_fusion_keep_texts(qdq_fusion *f, qdq_arena *arena, const char *layer, const char *in,
                           const char *out);

/* us more, if that is known; NAN: nothing is known yet. */
double qdq_fusion_add_time(double sum, double us);

/* Numbers become dense, in the order of first places. */
qdq_status qdq_fb_number(qdq_fb *b, qdq_error *err);
qdq_status qdq_fb_members(qdq_fb *b, qdq_fusion_members *out, qdq_error *err);

/* Moves numbers, or Q and DQ: of no weight of its own. */
bool qdq_fusion_is_light(const qdq_node *n);

#endif /* QDQ_FUSIONS_BUILD_H */
