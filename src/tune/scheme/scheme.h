/* scheme.h - which points of a pattern carry Q/DQ, as Model-Optimizer says it: points relative to a
 * pattern, resolved in each of its instances. */
#ifndef QDQ_SCHEME_H
#define QDQ_SCHEME_H

#include "base/vec.h"
#include "tune/region/pattern.h"
#include "tune/space/space.h"

#define QDQ_POINT_NONE (-1)

typedef struct qdq_point {
    /* of a node input: node; of a child input: region; of an output: one of both, else -1 */
    int32_t region, node;
    /* of the input or output */
    int32_t index;
} qdq_point;

typedef QDQ_VEC(qdq_point) qdq_points;

enum { QDQ_POINT_LISTS = 3 };

typedef struct qdq_scheme {
    union { /* each sorted, none twice; "none" before any number */
        struct {
            qdq_points node_inputs, child_inputs, outputs;
        };
        qdq_points list[QDQ_POINT_LISTS];
    };
    /* INFINITY: not measured */
    double latency_ms;
    bool error;
    /* ISO 8601 UTC, or NULL */
    const char *timestamp;
    /* An assignment of a whole model in hexadecimal digits, which has no points; NULL: points of a
     * pattern. */
    const char *placement;
} qdq_scheme;

/* What a list of points has of each. */
typedef struct qdq_point_list {
    /* in files */
    const char *key, *index_key;
    /* both: one of them is QDQ_POINT_NONE */
    bool has_region, has_node;
} qdq_point_list;

extern const qdq_point_list qdq_point_lists[QDQ_POINT_LISTS];

void qdq_scheme_hash(const qdq_scheme *s, char hash[33]); /* of its points */
/* Points that one of both has alone; of placements, 0 or SIZE_MAX. */
size_t qdq_scheme_distance(const qdq_scheme *a, const qdq_scheme *b);
/* Into the order above; false: it had a point twice, which is taken out. */
bool qdq_scheme_sort(qdq_scheme *s);

/* How many of n schemes, the fastest first, are worth going on from: a share of them, but `least`
 * if there are this many. */
size_t qdq_scheme_pool(size_t n, double share, size_t least);

/* --- what a pattern offers, and what that is in the space ------------------------------------- */

/* A decision of a pattern: the same slot group in each of its instances. */
typedef struct qdq_choice {
    /* the node input that names it: (canonical node, the first of its canonical inputs) */
    qdq_point point;
    /* bit by bit: canonical inputs of the node that it is about, in any instance */
    uint32_t inputs;
    /* by instance: of the space; QDQ_NO_GROUP where the instance cannot take it */
    uint32_t *group;
    /* activation and weight, which are one decision */
    bool linear;
    /* of its nodes in float, over all instances */
    double cost_ns;
} qdq_choice;

typedef struct qdq_choices {
    qdq_choice *choice;
    size_t n;
} qdq_choices;

/* Only points that can matter: slots of the space, in core nodes. By node, then by input. */
qdq_status qdq_choices_find(const qdq_pattern *p, const qdq_space *s, qdq_arena *arena,
                            qdq_choices *out, qdq_error *err);

/* Sets the groups of one instance (or of all: SIZE_MAX) as the bits say, one bit for each choice.
 * No others: what regions inside of this one chose stays. */
void qdq_choices_apply(const qdq_choices *c, const qdq_pattern *p, size_t instance,
                       const qdq_assign *bits, qdq_assign *a);

/* What most instances that can take a choice have in `whole`, or at least one of them. `bits` has
 * one for each. */
void qdq_choices_vote(const qdq_choices *c, const qdq_pattern *p, const qdq_assign *whole,
                      qdq_assign *bits);
void qdq_choices_union(const qdq_choices *c, const qdq_pattern *p, const qdq_assign *whole,
                       qdq_assign *bits);

/* Bits as a scheme of node inputs: the first of a linear operator, for Model-Optimizer adds the
 * weight; all that a choice is about of others. Not measured. */
qdq_status qdq_choices_to_scheme(const qdq_choices *c, const qdq_assign *bits, qdq_arena *arena,
                                 qdq_scheme *out, qdq_error *err);

/* A scheme as bits: outputs become the choices whose slots they resolve to, in any instance; what
 * other regions decide about, and child inputs, qdq_scheme_boundary() has. Points that mean nothing
 * here are left out: a file's signature may be that of another pattern. */
qdq_status qdq_choices_from_scheme(const qdq_choices *c, const qdq_pattern *p, const qdq_space *s,
                                   const qdq_scheme *scheme, qdq_arena *arena, qdq_assign *bits,
                                   qdq_error *err);

/* Child inputs and outputs of a scheme, resolved: slot groups of the space that read these tensors
 * in any instance, each once, whichever region they belong to. n_lost of the n_points have no such
 * reader. */
typedef struct qdq_boundary_points {
    uint32_t *group;
    size_t n_groups;
    size_t n_points, n_lost;
} qdq_boundary_points;

/* A composite's scheme is a delta: these groups get codes, all others stay as their regions chose
 * them. */
qdq_status qdq_scheme_boundary(const qdq_scheme *scheme, const qdq_pattern *p, const qdq_space *s,
                               qdq_arena *arena, qdq_boundary_points *out, qdq_error *err);

/* --- composites ------------------------------------------------------------------------------- */

/* What a composite decides beyond its children: a tensor at a boundary of theirs, which goes from
 * one of them to another, into the composite or out of it. Its scheme is a delta: the slots of all
 * readers of the tensor in all instances get or lose codes together; what is at other boundaries,
 * and all that the children chose, is inherited. */
typedef struct qdq_boundary {
    /* in the first instance */
    const qdq_value *value;
    /* of the space: what reads the tensor, in all instances, each once */
    uint32_t *group;
    size_t n_groups;
    /* of their nodes in float */
    double cost_ns;
} qdq_boundary;

typedef QDQ_VEC(qdq_boundary) qdq_boundaries;

/* Of all patterns of composites, and, as the whole model is one, of leaves on top, whose inputs
 * they are. In the order of the patterns; of one pattern by (first reader's canonical place,
 * input), then those that go out by their producer's. A tensor that nothing reads in 8 bits is
 * none, nor one with more than 64 readers. */
qdq_status qdq_boundaries_find(const qdq_patterns *p, const qdq_space *s, qdq_arena *arena,
                               qdq_boundaries *out, qdq_error *err);

/* --- skip table ------------------------------------------------------------------------------- */

/* Is input `i` of n a place where Model-Optimizer would not quantize? A reason, or NULL. */
const char *qdq_skip_reason(const qdq_node *n, uint32_t i);

#endif /* QDQ_SCHEME_H */
