/* format.h - the number formats of a target: how activations and weights become codes, and where
 * other nodes than most get other formats. */
#ifndef QDQ_FORMAT_H
#define QDQ_FORMAT_H

#include "base/json_read.h"
#include "base/vec.h"
#include "target/qparam.h"

typedef enum qdq_weight_store {
    /* codes -> DQ */
    QDQ_WEIGHT_AS_CODES,
    /* float -> Q -> DQ: engines that read scales off Q and fold both */
    QDQ_WEIGHT_AS_FLOAT,
    /* inside ONNX Runtime's MatMulNBits and GatherBlockQuantized */
    QDQ_WEIGHT_AS_NBITS,
    /* inside MatMulInteger, behind a DynamicQuantizeLinear of its data */
    QDQ_WEIGHT_AS_DYNAMIC
} qdq_weight_store;

typedef enum qdq_weight_method {
    /* the range of the weights */
    QDQ_WEIGHT_ABSMAX,
    /* the part of it with the least error of the weights */
    QDQ_WEIGHT_MSE,
    /* input channels scaled by what activations hold */
    QDQ_WEIGHT_AWQ_LITE,
    /* the part of the range with the least error of the products */
    QDQ_WEIGHT_AWQ_CLIP,
    /* both */
    QDQ_WEIGHT_AWQ_FULL,
    /* what rounding a row loses is made up for by the rows after it (gptq.h), */
    QDQ_WEIGHT_GPTQ,
    /* with parts of the range as of QDQ_WEIGHT_MSE */
    QDQ_WEIGHT_GPTQ_MSE,
    /* and then moved, value by value and scale by scale */
    QDQ_WEIGHT_GPTQ_REFINE
} qdq_weight_method;

static inline bool qdq_weight_method_is_awq(qdq_weight_method m)
{
    return m >= QDQ_WEIGHT_AWQ_LITE && m <= QDQ_WEIGHT_AWQ_FULL;
}

static inline bool qdq_weight_method_is_gptq(qdq_weight_method m)
{
    return m >= QDQ_WEIGHT_GPTQ && m <= QDQ_WEIGHT_GPTQ_REFINE;
}

static inline bool qdq_weight_method_reads_samples(qdq_weight_method m)
{
    return qdq_weight_method_is_awq(m) || qdq_weight_method_is_gptq(m);
}

/* Are ranges searched by the squared error of the weights, where nothing better is found? */
static inline bool qdq_weight_method_is_mse(qdq_weight_method m)
{
    return m == QDQ_WEIGHT_MSE || m == QDQ_WEIGHT_GPTQ_MSE || m == QDQ_WEIGHT_GPTQ_REFINE;
}

/* What AWQ tries: exponents of what activations hold from 0 to 1, and parts of the range from 1
 * down. */
typedef struct qdq_awq_steps {
    /* from one exponent to the next */
    double alpha;
    /* from one part to the next, and the smallest one */
    double clip, clip_lowest;
} qdq_awq_steps;

/* How GPTQ rounds. */
typedef struct qdq_gptq_opts {
    /* added to the diagonal of the Hessian, as a share of its mean */
    double damping;
    /* channels with most input first, not one after the other */
    bool act_order;
} qdq_gptq_opts;

typedef struct qdq_format {
    /* 0: the target's; else that of override id - 1 */
    uint32_t id;
    /* type QDQ_FLOAT: activations stay float, weights alone are quantized */
    qdq_qscheme activation;
    /* of symmetric signed activations; see qdq_format_unsigned */
    bool unsigned_if_non_negative;
    /* of activations: highest less lowest value is at least that much; for all nodes */
    double min_range;
    qdq_qscheme weight;
    bool weight_per_channel;
    /* scales keep the sum of two codes that kernels add first at 128 or less, for kernels that
     * saturate (quant/weights/pairs.h) */
    bool weight_pairs;
    /* input channels that share a scale; 0: all of them */
    int64_t weight_block;
    qdq_weight_store weight_store;
    qdq_weight_method weight_method;
    qdq_awq_steps awq;
    qdq_gptq_opts gptq;
    /* tables of embeddings, too */
    bool weight_tables;
    /* of MatMulNBits: what activations are rounded to; 0: left to the engine */
    int accuracy_level;
    bool int32_bias;
} qdq_format;

/* Nodes that have another format than the target's; of several that fit a node, the first
 * counts. */
typedef struct qdq_override {
    /* POSIX extended regular expression on labels, or NULL */
    const char *node;
    /* operator, or NULL */
    const char *op;
    qdq_format format;
} qdq_override;

typedef QDQ_VEC(qdq_override) qdq_overrides;

/* Reads "activation", "weight" and "bias" of the object p into *f; what is missing stays as it is
 * in *f, which is all zero at first: then the types are needed. Combinations that no engine runs
 * are errors. */
void qdq_format_read(const qdq_json_place *p, qdq_format *f);

/* Reads "activation" of the object p alone. *f has a type already, and p the key. */
void qdq_format_read_activation(const qdq_json_place *p, qdq_format *f);

/* Does some kernel multiply activations of this format with its weights? */
bool qdq_format_has_kernels(const qdq_format *f);

/* Do activations of the same range have the same codes in both? */
bool qdq_format_same_activation(const qdq_format *a, const qdq_format *b);

enum { QDQ_ACTIVATION_NAME = 80 }; /* bytes that are enough for it */

/* What distinguishes activations of this format from others of their type, as "symmetric int8".
 * Returns text, of `size` bytes. */
const char *qdq_format_describe_activation(const qdq_format *f, char *text, size_t size);

/* The list "overrides": each begins with `base`. */
void qdq_overrides_read(const qdq_json_place *p, const qdq_format *base, qdq_overrides *out);

/* The opset that Q/DQ need for codes of a type, or in blocks; and for all that a format can
 * give. */
int qdq_codes_opset(qdq_elem type, bool blocked);
int qdq_format_opset(const qdq_format *f);

/* Have tensors with nothing below 0 other codes than most? Then *out has them: unsigned ones of as
 * many bits, from 0. */
bool qdq_format_unsigned(const qdq_format *f, qdq_qscheme *out);

/* May integer codes of an activation have that type, with that zero point? */
bool qdq_format_takes(const qdq_format *f, qdq_elem type, int32_t zero_point);

/* Do weights alone become codes? */
static inline bool qdq_format_weight_only(const qdq_format *f)
{
    return f->activation.type == QDQ_FLOAT;
}

/* Do codes lie inside of operators, so that each that reads them has them in its own way? */
static inline bool qdq_store_is_inside(qdq_weight_store store)
{
    return store == QDQ_WEIGHT_AS_NBITS || store == QDQ_WEIGHT_AS_DYNAMIC;
}

/* Is the data of an operator quantized while the model runs, by the range of that run? */
static inline bool qdq_format_dynamic(const qdq_format *f)
{
    return f->weight_store == QDQ_WEIGHT_AS_DYNAMIC;
}

/* Are biases int32 codes? Only beside integers, 8-bit weights with one scale per channel. */
static inline bool qdq_format_has_int32_bias(const qdq_format *f)
{
    unsigned bits = qdq_elem_bits(f->activation.type);

    return f->int32_bias && (bits == 8 || bits == 16) && f->activation.type != QDQ_FLOAT8E4M3FN &&
           (f->weight.type == QDQ_INT8 || f->weight.type == QDQ_UINT8) && f->weight_block == 0;
}

/* The names that target descriptions and plans use; lists end with NULL. */
extern const char *const qdq_code_type_names[];
extern const char *const qdq_weight_store_names[];

#endif /* QDQ_FORMAT_H */
