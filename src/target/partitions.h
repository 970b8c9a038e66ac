/* partitions.h - what a target says of kernels that its engine fuses over several nodes (key
 * "partitions"). */
#ifndef QDQ_PARTITIONS_H
#define QDQ_PARTITIONS_H

#include "base/json_read.h"
#include "base/vec.h"

enum { QDQ_PATH_WORDS = 15, QDQ_PATH_CHOICES = 4 };

/* Operators one behind the other: "Relu? BatchNormalization Conv|ConvTranspose". BiasAdd, ConstMul:
 * an Add or Mul of a constant; NonBiasAdd: any other Add. */
typedef struct qdq_path {
    const char *text;
    struct {
        /* either of them; NULL behind the last */
        const char *op[QDQ_PATH_CHOICES];
        bool optional;
    } word[QDQ_PATH_WORDS];
    size_t n;
    /* operators that may stand between; or NULL */
    const char *const *through;
    /* NULL where the list that it is of has none */
    const char *rule, *reason;
} qdq_path;

typedef QDQ_VEC(qdq_path) qdq_paths;

typedef enum qdq_layernorm_input {
    QDQ_LAYERNORM_OFF,
    QDQ_LAYERNORM_CONV,
    QDQ_LAYERNORM_ANY
} qdq_layernorm_input;

/* A Conv stays float. 0: no bound. */
typedef struct qdq_conv_filter {
    const char *rule;
    /* fewer, on either side of the weight, are few */
    int64_t channels_min;
    /* few ones are kept if they divide by this (group 1), with a square kernel; 0: never */
    int64_t few_multiple;
    /* and with more groups, if every dim of the kernel is at least so much */
    int64_t depthwise_kernel;
    /* product of the dims of the kernel */
    int64_t kernel_volume_max;
} qdq_conv_filter;

/* A MatMul or Gemm stays float. */
typedef struct qdq_gemm_filter {
    const char *rule;
    /* of the second operand */
    int64_t columns_min, depth_min;
    /* a product with a vector stays float, too */
    bool vectors;
} qdq_gemm_filter;

/* The two MatMul of an attention stay float. 0: no bound. */
typedef struct qdq_attention_filter {
    const char *rule;
    /* forward: MatMul, Softmax, MatMul */
    qdq_path path;
    /* backward from the Softmax: else the engine has no kernel for it; n 0: not asked */
    qdq_path fused;
    int64_t length_max, head_min, head_max;
} qdq_attention_filter;

typedef struct qdq_partitions {
    /* join the kernel whose results they read, constants aside */
    const char *const *pointwise;
    /* run in 8 bits beside neighbours that do */
    const char *const *pooling;
    /* linear operators that a residual Add is fused into */
    const char *const *convolutions;
    /* join a kernel with a backbone */
    const char *const *behind_convolution;
    /* a kernel of their own behind a linear one */
    const char *const *resize;
    /* what they give is worth 8 bits in a pointwise kernel */
    const char *const *sources;
    /* run in 8 bits though they give a graph output */
    const char *const *kept_outputs;
    /* backward, to a convolution */
    qdq_paths backbones;
    /* backward from a Mul of two activations */
    qdq_paths mul_joins, mul_stays;
    /* forward: nodes that are in no kernel with Q/DQ */
    qdq_paths frozen;
    /* the main branch of a residual Add stays float */
    bool residual_add;
    /* forward from an Add that stays float; n 0: none */
    qdq_path mask_add;
    /* pass operators between a kernel and what follows it */
    int64_t trace_depth;
    /* what a Concat joins has one scale */
    bool concat_groups;
    /* results of nodes that run in 8 bits get Q/DQ, too, whoever reads them */
    bool quantize_outputs;
    /* rule NULL: none */
    qdq_conv_filter conv;
    qdq_gemm_filter gemm;
    qdq_attention_filter attention;
} qdq_partitions;

/* The object `partitions`; NULL after an error. */
const qdq_partitions *qdq_partitions_read(const qdq_json_place *p);

#endif /* QDQ_PARTITIONS_H */
