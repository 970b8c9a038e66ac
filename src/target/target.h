/* target.h - what an engine can run in 8 bits, read from a description (docs/targets.md explains
 * each key). Knows operators by name only; the graph is placement's business. */
#ifndef QDQ_TARGET_H
#define QDQ_TARGET_H

#include "base/arena.h"
#include "base/vec.h"
#include "qdq/quant.h"
#include "target/format.h"
#include "target/partitions.h"
#include "target/target_rule.h"

typedef enum qdq_op_kind {
    /* activation and constant weight: the reason to quantize at all */
    QDQ_KIND_LINEAR,
    /* hands out rows of a constant table, whose rows can be quantized on their own */
    QDQ_KIND_TABLE,
    /* LSTM: two constant weights, multiplied in a loop inside of it; in 8 bits it is another
     * operator, whose data is quantized while it runs */
    QDQ_KIND_RECURRENT,
    /* 8-bit kernel when every data input is 8-bit already */
    QDQ_KIND_JOINT,
    /* moves 8-bit data; output has the input's scale */
    QDQ_KIND_PASS
} qdq_op_kind;

typedef enum qdq_axis_rule {
    /* one scale for the whole weight */
    QDQ_AXIS_TENSOR,
    QDQ_AXIS_0,
    QDQ_AXIS_1,
    /* MatMul: the columns of a matrix; another rank has one scale */
    QDQ_AXIS_LAST,
    /* 0 with transB, else 1 */
    QDQ_AXIS_GEMM
} qdq_axis_rule;

typedef enum qdq_bias_rule {
    QDQ_BIAS_NONE,
    /* an input of the operator itself */
    QDQ_BIAS_INPUT,
    /* the constant of a following Add, when the shape is fixed */
    QDQ_BIAS_ADD_IF_STATIC
} qdq_bias_rule;

typedef struct qdq_attr_is { /* an attribute that is there must have this value */
    const char *attribute;
    double value;
} qdq_attr_is;

#define QDQ_INPUTS_ALL UINT32_MAX

typedef struct qdq_target_op {
    const char *op;
    qdq_op_kind kind;
    const char *rule;
    /* the data input of linear and pass operators, the first if there are several */
    uint32_t data;
    /* all data inputs, bit by bit, or QDQ_INPUTS_ALL */
    uint32_t inputs;
    /* of recurrent operators the first of two */
    uint32_t weight;
    qdq_axis_rule axis;
    qdq_bias_rule bias;
    uint32_t bias_input;
    /* the kernel needs a Q behind it */
    bool quantize_output;
    /* it gives floats as well as codes: a Q where an 8-bit kernel reads them */
    bool quantize_if_read;
    /* linear and recurrent: it has a form for weights with `store` 'dynamic' */
    bool dynamic;
    /* pays only with an 8-bit reader */
    bool only_between;
    /* copies codes if operands and result have one scale */
    bool tied;
    /* operators that the engine fuses behind it; ends with NULL */
    const char *const *epilogue;
    const qdq_attr_is *require;
    size_t n_require;
    qdq_rule_facts facts;
} qdq_target_op;

/* Its weights, bit by bit. */
static inline uint32_t qdq_target_weights(const qdq_target_op *op)
{
    return (op->kind == QDQ_KIND_RECURRENT ? 3U : 1U) << op->weight;
}

typedef enum qdq_data_is {
    QDQ_DATA_ANY,
    QDQ_DATA_GRAPH_INPUT,
    /* of a node that such a rule left float */
    QDQ_DATA_LEFT_FLOAT,
    /* not in 8 bits yet */
    QDQ_DATA_FLOAT
} qdq_data_is;

/* A linear node that all given conditions hold for stays float. Numbers: 0 stands for any. */
typedef struct qdq_stay_float {
    const char *op, *rule, *reason;
    /* where its data comes from */
    qdq_data_is data_is;
    int64_t in_channels_max, out_channels_max;
    /* it has groups (but is not depthwise) with this many input channels at most */
    int64_t group_channels_max;
    /* products that are added up for one number of the result */
    int64_t sum_max;
    /* numbers in its weight */
    int64_t weight_max;
    /* multiplications in one matrix product of two activations */
    int64_t work_max;
    /* multiplications of what runs in 8 bits around it, for each number converted at the border */
    int64_t island_work_max;
    /* operators that the engine fuses into it in float, and how often a number at the border that
     * one of them reads counts; NULL: none */
    const char *const *fused_in_float;
    int64_t fused_in_float_counts;
    bool depthwise;
    /* about nodes whose data the model quantizes; other rules about the rest */
    bool dynamic;
    /* it multiplies two activations; other rules are about constant weights */
    bool activations;
    /* neither what it reads nor what reads it is in 8 bits */
    bool alone;
    /* its result, epilogue included, is read once */
    bool one_reader;
    /* a linear operator reads its result, epilogue and what must not follow left out */
    bool linear_reader;
    /* operators, one of which gives one of its operands; NULL: any */
    const char *const *reads;
    /* operators that must not follow (its epilogue left out); NULL: any */
    const char *const *not_before;
    /* Versions of the engine, by their first parts ("2026.4"), that compute such a node wrongly: a
     * rule of correctness, which the tuner and users' wishes do not switch off. NULL: a rule of
     * speed. */
    const char *const *engine;
    /* a dim of its data is open */
    bool open;
    /* it has none, or one of zeros */
    bool no_bias;
    /* Operators, one of which reads its result in float while something else reads it, too; NULL:
     * any. Known only when all nodes are placed. */
    const char *const *float_reader;
    qdq_rule_facts facts;
} qdq_stay_float;

/* What becomes of int8 weights on x86-64 without VNNI. */
typedef enum qdq_without_vnni {
    /* its kernels compute the same on all processors */
    QDQ_WITHOUT_VNNI_ANY,
    /* they stay, and saturate */
    QDQ_WITHOUT_VNNI_AS_IT_IS,
    /* beside int8 activations they lose a bit */
    QDQ_WITHOUT_VNNI_UINT8,
    /* they lose a bit */
    QDQ_WITHOUT_VNNI_REDUCED,
    /* their scales keep the sums of pairs below the limit */
    QDQ_WITHOUT_VNNI_PAIRS
} qdq_without_vnni;

/* Another format of activations that the engine runs: the target's, with other activations. */
typedef struct qdq_other_activation {
    qdq_format format;
    qdq_rule_facts facts;
    /* for other processors (qdq_target_for_cpu) */
    bool elsewhere;
} qdq_other_activation;

typedef struct qdq_no_kernel {
    const char *op, *reason;
    /* of the rule, if it is off, or for other processors */
    qdq_rule_facts facts;
} qdq_no_kernel;

/* What becomes of what is not quantized. */
typedef struct qdq_target_half {
    /* QDQ_FLOAT: as it is; QDQ_FLOAT16, QDQ_BFLOAT16 */
    qdq_elem type;
    /* it is that of the model; `type` is QDQ_FLOAT then */
    bool follows;
    /* graph inputs and outputs, too */
    bool direct_io;
    /* operators that add up many numbers stay float32 */
    bool keep_sums;
    /* operators, or regular expressions on labels, that stay float32; or NULL */
    const char *const *keep;
} qdq_target_half;

/* Where the rules were measured; see qdq_target_measure(). */
typedef struct qdq_measured_on {
    const char *engine, *version, *processor;
} qdq_measured_on;

struct qdq_target {
    qdq_arena arena;
    const char *text;
    const char *name, *help, *engine;
    int min_opset, max_opset;
    qdq_format format;
    qdq_target_half half;
    /* of calibration, where the caller has none; never QDQ_METHOD_DEFAULT */
    qdq_method method;
    qdq_overrides overrides;
    /* the most hopeful first, those for other processors last, without those that are off; no two
     * are alike, and none is like that of `format` or an override */
    QDQ_VEC(qdq_other_activation) others;
    /* what the optimizer does for this engine beyond `default`; or NULL */
    const char *const *passes;
    /* ranges that one scale joins differ by at most so much; 0: no limit */
    double join_factor_max;
    qdq_without_vnni without_vnni;
    /* int8 activations run in 8 bits only where one node reads them */
    bool int8_one_reader;
    /* a quantized graph output is the DQ's; else its producer stays float */
    bool dequantized_outputs;
    /* float operators that the engine quantizes itself between DQ and Q; or NULL */
    const char *const *requantizes;
    /* operators over which the engine moves a Q to their data, so that a graph output there
     * changes; or NULL */
    const char *const *moves_q_over;
    /* NULL: placement by chains */
    const qdq_partitions *partitions;
    qdq_layernorm_input layernorm_input;
    /* the engine has float kernels that read 8-bit weights: autotune tries weights alone;
     * default: false */
    bool weights_alone;
    /* the MatMul of attentions stay float */
    bool disable_mha_qdq;
    /* rules without figures have " (not measured)" at the end of name and reason; default: false */
    bool unmeasured;
    /* NULL: its rules were not measured as a whole */
    qdq_measured_on measured_on;
    /* without rules that are off; those below, too */
    QDQ_VEC(qdq_target_op) ops;
    /* rules of operators that are off, or for other processors */
    QDQ_VEC(qdq_target_op) off;
    QDQ_VEC(qdq_stay_float) stay;
    QDQ_VEC(qdq_no_kernel) none;
    /* operators whose dynamic form is missing or slower */
    QDQ_VEC(qdq_no_kernel) no_dynamic;
    /* of all rules, those that are off included */
    QDQ_VEC(qdq_probe) probes;
    /* a rule has the condition `cpu` */
    bool has_cpu;
    const char *cpu_kind,
        /* rules for other processors are left out (qdq_target_for_cpu); or NULL */
        *cpu_name;
    /* of the file that it was read from, whatever was changed since; NULL: there is none */
    const char *sha256;
};

enum { QDQ_FORM_NAME = 64, QDQ_TARGET_MOST_FORMS = 8 };

/* A format that operators may have beside the target's own. */
typedef struct qdq_target_form {
    qdq_format format;
    /* for people */
    char name[QDQ_FORM_NAME];
    /* a layer that a goal would make float may hold it with this format; QDQ_MOST_FORMS at most */
    bool for_goals;
} qdq_target_form;

typedef struct qdq_target_forms {
    qdq_target_form at[QDQ_TARGET_MOST_FORMS];
    size_t n;
} qdq_target_forms;

/* *out is the target with one key changed, as by qdq_target_set(). */
qdq_status qdq_target_with(const qdq_target *t, const char *key, const char *value,
                           qdq_target **out, qdq_error *err);

/* *out is the target of a description in memory; `name` stands for its file in messages. */
qdq_status qdq_target_parse(const char *text, size_t size, const char *name, qdq_target **out,
                            qdq_error *err);

/* *out is the target with the rules that hold on this processor alone, and with the activations of
 * other processors last, as are targets made of it: `kind` as qdq_cpu_name() has it, `name` of the
 * model, NULL if it is not known. Its text still has all rules. */
qdq_status qdq_target_for_cpu(const qdq_target *t, const char *kind, const char *name,
                              qdq_target **out, qdq_error *err);

/* What the format number k of activations is called, 0 being the target's own and k one of its
 * others [k - 1]: its type, and more where several have that type. Returns text, of `size`
 * bytes. */
const char *qdq_target_activation_name(const qdq_target *t, size_t k, char *text, size_t size);

/* Do samples decide what weights are rounded to, by AWQ or GPTQ? */
bool qdq_target_rounds_by_samples(const qdq_target *t);

const qdq_target_op *qdq_target_find(const qdq_target *t, const char *op); /* NULL: not listed */
/* The first rule of `op` that does not hold; NULL: there is none. */
const qdq_target_op *qdq_target_find_off(const qdq_target *t, const char *op);
/* the least that its formats need */
int qdq_target_opset(const qdq_target *t);
/* why `op` has no rule; never NULL */
const char *qdq_target_reason(const qdq_target *t, const char *op);
/* Lists the formats that operators may have beside the target's: data that is quantized at run time
 * where the target quantizes activations, other bits, blocks, zero points and levels where it has
 * weights alone in blocks. None with overrides: the target's author chose. */
void qdq_target_list_forms(const qdq_target *t, qdq_target_forms *out);
/* why `op`, whose rule is `rule` or NULL, has no dynamic form; never NULL */
const char *qdq_target_no_dynamic(const qdq_target *t, const char *op, const qdq_target_op *rule);

/* The newest figures of the rule that wants `op` in 8 bits, or, with the reason that a plan gives
 * for it, leaves it float. NULL: there are none. */
const qdq_measured *qdq_target_figures(const qdq_target *t, const char *op, const char *reason);

#endif /* QDQ_TARGET_H */
