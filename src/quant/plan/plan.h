/* plan.h - the plan in memory: which edges carry Q/DQ, with which scale, and why. Data only: knows
 * neither graphs nor engines. Its JSON form is documented in docs/plan.md.
 *
 * Edges are named by tensor, consumer and input index; a consumer by its label (qdq_node_label). */
#ifndef QDQ_PLAN_H
#define QDQ_PLAN_H

#include "base/arena.h"
#include "base/elem_info.h"
#include "base/file.h"
#include "base/vec.h"
#include "qdq/quant.h"
#include "target/format.h"

#define QDQ_PLAN_VERSION   1
#define QDQ_PLAN_MAX_BYTES ((size_t)1 << 30) /* of its text */

/* Values of the key `method` of weights: computed scales, given ones, clipped ones; ends with
 * NULL. */
extern const char *const qdq_plan_weight_methods[];

typedef struct qdq_edge {
    const char *node;
    uint32_t input;
} qdq_edge;

typedef QDQ_VEC(qdq_edge) qdq_edges;

/* An activation: one Q, and a DQ for its readers. */
typedef struct qdq_plan_tensor {
    const char *tensor;
    /* every reader, the graph output included, gets the dequantized value */
    bool all;
    /* if not all */
    qdq_edges consumers;
    qdq_qparam qparam;
    /* While a plan is made: for each fold, what the samples outside of it give; NULL: the same. */
    qdq_qparam *fold;
    /* while a plan is made: the tensor whose range decides, if it is another one */
    const char *like;
    /* the same: tensors of one group share one range, pooled from all of them; NULL: none */
    const char *group;
    /* the same: the type that placement gave it; see qdq_plan_asked */
    qdq_elem asked;
    /* the same: one of the target's other formats of activations (`other_activations`), of this
     * type; NULL: the first format of this type */
    const qdq_format *form;
    /* the same: the scale is there already, found in the model */
    bool known;
    /* the same: known from an earlier plan (scales.h) */
    bool from_plan;
    /* the same: channels of the last dimension that the range leaves out, as an entry of
     * float_channels computes them; ascending */
    const int64_t *without;
    size_t n_without;
    const char *rule, *origin;
} qdq_plan_tensor;

/* A constant weight, stored as codes. Scales follow from the weight unless they are given. */
typedef struct qdq_plan_weight {
    const char *tensor;
    /* the edges that read the quantized form */
    qdq_edges consumers;
    /* -1: one scale */
    int axis;
    /* indices along `axis` that share a scale; 0: a scale for each index */
    int64_t block;
    qdq_elem type;
    /* how scales follow */
    bool asymmetric, reduced, pow2, pairs;
    qdq_weight_store store;
    /* of MatMulNBits */
    int accuracy_level;
    /* what holds the next three, and other plans may share; NULL: the plan's memory does */
    qdq_mapping *numbers;
    /* given ones, in the order of the scale tensor; NULL: none */
    const float *scales;
    /* beside given scales; NULL: all 0 */
    const int32_t *zero_points;
    size_t n_scales;
    /* the codes as a tensor stores them, which no rule gives (gptq.h); beside given scales; NULL:
     * the nearest */
    const void *codes;
    /* bytes */
    size_t codes_size;
    /* the part of the range that codes span, for each scale: a letter of QDQ_CLIP_LETTERS, each one
     * step less than the whole; NULL: the whole of all */
    const char *clip;
    double clip_step;
    /* while a plan is made: what is still to be searched, */
    qdq_weight_method method;
    /* and how finely, */
    qdq_awq_steps awq;
    /* or how; */
    qdq_gptq_opts gptq;
    /* the same: by GPTQ, for a plan before this one (scales.h) */
    bool is_rounded;
    const char *rule, *origin;
} qdq_plan_weight;

#define QDQ_CLIP_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* An activation that products of matrices read divided by `scales`, one for each index of its last
 * dimension, and their weights multiplied by them: the same products, of weights that lose less
 * when they become codes. */
typedef struct qdq_plan_scaling {
    const char *tensor;
    /* of the activation; all their weights are entries of the plan */
    qdq_edges consumers;
    const float *scales;
    size_t n_scales;
    /* the operator that gives it, whose constants take the division; NULL: a Mul does */
    const char *fold;
} qdq_plan_scaling;

/* An activation that is divided by `scales`, one for each index of its last dimension, in the
 * constants that give it, and the weights of all products that consume it multiplied by them,
 * before anything else of the plan (smooth.h). */
typedef struct qdq_plan_smoothing {
    const char *tensor;
    /* its name after that */
    const char *smoothed;
    const float *scales;
    size_t n_scales;
} qdq_plan_smoothing;

/* Channels of an activation that products of matrices compute in float: their rows of the quantized
 * weights are 0, and a product of these channels and rows is added (LLM.int8(), Dettmers et al.,
 * 2022). */
typedef struct qdq_plan_channels {
    const char *tensor;
    /* of the activation; all their weights are entries of the plan */
    qdq_edges consumers;
    /* of its last dimension, ascending */
    const int64_t *channels;
    size_t n_channels;
} qdq_plan_channels;

/* A constant bias, stored as int32 with the scale of activation times weight. */
typedef struct qdq_plan_bias {
    const char *tensor;
    qdq_edge consumer;
    /* tensors of this plan */
    const char *activation, *weight;
    const char *rule, *origin;
} qdq_plan_bias;

/* What a constant bias is corrected by (bias_correct.h); a bias that the node does not have yet is
 * 0. */
typedef struct qdq_plan_correction {
    const char *tensor;
    qdq_edge consumer;
    /* one for each output channel */
    const float *delta;
    size_t n_delta;
    /* while a plan is made: for each fold, by the samples outside of it; NULL: there are no
     * folds */
    const float **fold;
} qdq_plan_correction;

/* While a plan is made: the mean of each channel of a tensor and its largest magnitude, which
 * corrections and float channels ask for and calibration measures. */
typedef struct qdq_plan_mean {
    const char *tensor;
    /* -1: the last */
    int axis;
    /* channels */
    size_t n;
    /* one for each fold, or one */
    size_t rows;
    /* [rows, n] */
    double *sum;
    uint64_t *count;
    /* the same */
    float *most;
    /* from a plan before this one */
    bool known;
    /* 1 + the index of another one of the same tensor; 0: none */
    size_t next;
} qdq_plan_mean;

/* While a plan is made: an operator whose operands become one tensor with one scale
 * (place_joins.h). */
typedef struct qdq_plan_join {
    /* label; name of a tensor */
    const char *node, *result;
    /* the same */
    const char *const *operands;
    size_t n_operands;
    /* the range of all operands / the narrowest of theirs; 0: not measured */
    double factor;
    /* the operands with the narrowest and the widest range; NULL: not measured */
    const char *narrow, *wide;
    /* `factor` is from a plan before this one */
    bool known;
} qdq_plan_join;

typedef struct qdq_plan_float {
    const char *node, *op, *reason;
} qdq_plan_float;

/* What is not quantized, if it is not float32 (half_precision.h). */
typedef struct qdq_plan_half {
    /* QDQ_FLOAT16, QDQ_BFLOAT16, or QDQ_FLOAT and QDQ_UNDEFINED: as it is */
    qdq_elem type;
    /* graph inputs and outputs, too */
    bool direct_io;
    /* the model is in 16 bits already, and is widened to float32 before anything else */
    bool widened;
    /* nodes that stay float32 */
    QDQ_VEC(qdq_plan_float) keep;
    QDQ_VEC(const char *)
    /* while a plan is made: labels of nodes of a widened model that were float32 */
    was_float;
} qdq_plan_half;

typedef struct qdq_plan_node {
    const char *node, *op;
    /* the model had it in 8 bits before */
    bool preserved;
} qdq_plan_node;

/* Formats that a search for a goal tries for layers besides float and the target's. */
enum { QDQ_MOST_FORMS = 2 };

/* A layer's time, as the engine's profile has it. */
typedef struct qdq_layer_time {
    const char *node;
    /* in microseconds, of one run: in the float and in the quantized model */
    double float_us, eight_us;
    /* in the formats between float and the target's; 0: not measured */
    double other_us[QDQ_MOST_FORMS];
} qdq_layer_time;

/* Of whole runs of a plan that the search might have taken, beside the float model. */
typedef struct qdq_trial_time {
    /* from 1 */
    unsigned trial;
    /* of one run, where the float model takes qdq_plan_times.float_us: the median of paired
     * rounds */
    double us;
} qdq_trial_time;

/* What the search for a goal took from a clock: with it, the same plan is found again. */
typedef struct qdq_plan_times {
    /* NULL: a clock had no part in the plan */
    const char *processor;
    const char *target, *target_sha256;
    /* as many as there was time for */
    unsigned trials;
    /* of all layers */
    double float_us, eight_us;
    /* none: no profile, times were estimated from shapes */
    QDQ_VEC(qdq_layer_time) layers;
    QDQ_VEC(qdq_trial_time) timed;
    /* as many as there was time for, of layers in other formats */
    unsigned other_trials;
} qdq_plan_times;

struct qdq_plan {
    qdq_arena arena;
    /* fingerprint, hexadecimal */
    const char *model;
    const char *target, *created_by;
    /* of the file that the target was read from; NULL: it is built in */
    const char *target_sha256;
    /* the processor that it is for, as qdq_cpu_name() has it; NULL: any */
    const char *cpu;
    /* pipeline that was run before, and is replayed */
    const char *clean;
    /* the model is raised to this; 0: left as it is */
    int opset;
    bool placement_only;
    /* while a plan is made: of tensors[].fold; 0: none */
    unsigned n_folds;
    /* while a plan is made: pairs of Conv (pass "equalize") */
    size_t n_equalized, n_not_equalized;
    /* while a plan is made: fused, since the opset was raised for them */
    size_t n_layernorms;
    /* part of the model that all other entries speak of; ordered by name */
    QDQ_VEC(qdq_plan_smoothing) smoothings;
    QDQ_VEC(qdq_plan_tensor) tensors;
    QDQ_VEC(qdq_plan_weight) weights;
    QDQ_VEC(qdq_plan_scaling) scalings;
    QDQ_VEC(qdq_plan_channels) float_channels;
    QDQ_VEC(qdq_plan_bias) biases;
    QDQ_VEC(qdq_plan_correction) corrections;
    QDQ_VEC(qdq_plan_mean) means;
    QDQ_VEC(qdq_plan_join) joins;
    /* while a plan is made: what came of GPTQ */
    QDQ_VEC(qdq_plan_rounding) rounded;
    /* nodes that run in 8 bits */
    QDQ_VEC(qdq_plan_node) quantized;
    QDQ_VEC(qdq_plan_float) left_float;
    qdq_plan_half half;
    qdq_plan_times times;
    /* of weights, each a reference */
    QDQ_VEC(qdq_mapping *) numbers;
    /* plans whose entries are in this one, and whose memory they need */
    struct qdq_plan *absorbed;
    /* of a finished plan: qdq_plan_finish */
    qdq_plan_summary summary;
};

qdq_plan *qdq_plan_new(void); /* NULL: out of memory */

/* Forgets all entries, but not what they are for. */
void qdq_plan_clear(qdq_plan *p);

/* Entries of `from`, which is empty then, and has to be freed all the same, become entries of p.
 * Places of entries of p change. False: out of memory, and p has some of them. */
bool qdq_plan_absorb(qdq_plan *p, qdq_plan *from);

/* Copies the smoothings of `from`. False: out of memory. */
bool qdq_plan_take_smoothings(qdq_plan *p, const qdq_plan *from);

/* Sorts all entries by name and edge, so that equal plans are equal text, and makes the summary.
 * False: out of memory. */
bool qdq_plan_finish(qdq_plan *p);

/* Exchanges scales and corrections of all samples with those of the samples outside fold k. Twice:
 * as it was. */
void qdq_plan_swap_fold(qdq_plan *p, unsigned k);

/* Does any scale come from the samples? */
bool qdq_plan_needs_samples(const qdq_plan *p);

/* Is any weight one of a dynamically quantized operator? */
bool qdq_plan_has_dynamic(const qdq_plan *p);

/* Is what is not quantized in 16 bits? */
static inline bool qdq_plan_has_half(const qdq_plan *p)
{
    return qdq_elem_is_half(p->half.type);
}

/* Whether scales of a weight follow from it: by these ranges of codes. */
static inline qdq_qscheme qdq_plan_scheme(const qdq_plan_weight *w)
{
    return (qdq_qscheme){w->type, !w->asymmetric, w->reduced, QDQ_FLOAT, w->pow2};
}

/* The type that placement gave an entry, before its range was known. */
static inline qdq_elem qdq_plan_asked(const qdq_plan_tensor *t)
{
    return t->asked != QDQ_UNDEFINED ? t->asked : t->qparam.type;
}

/* Are the values of both quantized alike, once their ranges are the same? */
static inline bool qdq_plan_same_form(const qdq_plan_tensor *a, const qdq_plan_tensor *b)
{
    return qdq_plan_asked(a) == qdq_plan_asked(b) && a->form == b->form;
}

/* Append an entry, with copies of its texts, scales and zero points; edges are taken as they are,
 * in the arena of the plan. False: out of memory. */
bool qdq_plan_add_tensor(qdq_plan *p, qdq_plan_tensor t);
/* Makes the scales of folds of an entry of `from`, which goes into p, copies in the memory of p.
 * Also where both plans live as long: qdq_plan_swap_fold() writes to them. */
bool qdq_plan_take_folds(qdq_plan *p, const qdq_plan *from, qdq_plan_tensor *t);
bool qdq_plan_add_weight(qdq_plan *p, qdq_plan_weight w); /* zero points that are all 0 go */
/* Makes scales, zero points and codes of an entry of p copies in its memory, or shares them. */
bool qdq_plan_own_weight(qdq_plan *p, qdq_plan_weight *w);
/* Takes the caller's reference to what holds numbers of an entry, also where memory runs out. */
bool qdq_plan_take_numbers(qdq_plan *p, qdq_mapping *m);
/* Gives the memory of such numbers back until they are read again. */
void qdq_plan_rest_numbers(const qdq_plan *p);
bool qdq_plan_add_bias(qdq_plan *p, qdq_plan_bias b);
bool qdq_plan_add_quantized(qdq_plan *p, qdq_plan_node n);
bool qdq_plan_add_left_float(qdq_plan *p, qdq_plan_float f);
bool qdq_plan_add_half_keep(qdq_plan *p, qdq_plan_float f);

bool qdq_plan_add_edge(qdq_plan *p, qdq_edges *edges, const char *node, uint32_t input);
bool qdq_edges_have(const qdq_edges *e, const char *node, uint32_t input);

#endif /* QDQ_PLAN_H */
