/* skip.c - finds where Model-Optimizer would not quantize, in the order in which it asks; and
 * where it should not: constant operands, float64, unknown types. bfloat16 is a float here. */

#include "base/words.h"
#include "tune/scheme/scheme.h"

enum { LEAST_ELEMENTS = 8 };

static bool tests(const char *type)
{
    return QDQ_WORD_IS_IN(type, "Not", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
                          "BitShift", "IsNaN", "IsInf", "Sign", "Abs", "Equal", "Greater",
                          "GreaterOrEqual", "Less", "LessOrEqual", "Where", "All", "Any", "Unique",
                          "NonZero");
}

static bool reduces(const char *type)
{
    return QDQ_WORD_IS_IN(type, "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceSum",
                          "TopK");
}

static bool moves(const char *type)
{
    return QDQ_WORD_IS_IN(type, "Flatten", "Transpose", "Concat", "Split", "Squeeze", "Expand",
                          "ReverseSequence", "Reshape", "Tile", "Gather", "Slice", "GatherElements",
                          "GatherND", "ScatterElements", "ScatterND", "OneHot", "Compress",
                          "Scatter", "ExpandDims", "Unsqueeze", "View", "Pad", "Cast", "Ceil",
                          "Clip", "Identity", "Range", "Shape");
}

static bool is_op(const qdq_node *n, qdq_op op)
{
    return n != NULL && n->op == op;
}

/* --- fused into a convolution ----------------------------------------------------------------- */

static const qdq_node *producer_of(const qdq_node *n, uint32_t i)
{
    const qdq_value *v = qdq_node_in(n, i);

    return v != NULL ? v->producer : NULL;
}

static bool follows_conv(const qdq_node *n)
{
    const qdq_node *before = producer_of(n, 0);

    return is_op(before, QDQ_OP_CONV) || is_op(before, QDQ_OP_CONVTRANSPOSE);
}

static bool fuses(const qdq_node *n)
{
    const qdq_node *before = producer_of(n, 0);

    if (is_op(n, QDQ_OP_BATCHNORMALIZATION))
        return follows_conv(n);
    if ((!is_op(n, QDQ_OP_RELU) && !is_op(n, QDQ_OP_SOFTMAX)) || n->n_in != 1)
        return false;
    return follows_conv(n) || (is_op(before, QDQ_OP_BATCHNORMALIZATION) && follows_conv(before));
}

/* --- what is read ----------------------------------------------------------------------------- */

static const char *skip_value(const qdq_value *v)
{
    const qdq_type *t = v->type;
    int64_t count = 1;

    if (qdq_value_const(v) != NULL)
        return "a constant operand";
    if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->elem == QDQ_UNDEFINED)
        return "its type is not known";
    if (t->elem != QDQ_FLOAT && t->elem != QDQ_FLOAT16 && t->elem != QDQ_BFLOAT16)
        return "not float32, float16 or bfloat16";
    if (t->rank < 0)
        return NULL;
    for (int i = 0; i < t->rank; i++) {
        int64_t dim = t->dim[i].value;

        if (dim < 0)
            return NULL;
        count *= dim < LEAST_ELEMENTS ? dim : LEAST_ELEMENTS;
        count = count < LEAST_ELEMENTS ? count : LEAST_ELEMENTS;
    }
    return count < LEAST_ELEMENTS ? "fewer than 8 elements" : NULL;
}

const char *qdq_skip_reason(const qdq_node *n, uint32_t i)
{
    const qdq_value *v = qdq_node_in(n, i);
    const char *type = n->domain[0] == '\0' ? n->type : "";

    if (v == NULL)
        return "left out";
    if (i > 0 && QDQ_WORD_IS_IN(type, "Conv", "ConvTranspose", "Gemm", "MatMul"))
        return i == 1 ? "goes with the activation" : "a bias";
    if (fuses(n))
        return "fuses into the convolution in front";
    if (tests(type))
        return "the operator tests, compares or selects";
    if (reduces(type))
        return "the operator reduces";
    if (moves(type))
        return "the operator moves or converts data";
    if ((is_op(n, QDQ_OP_BATCHNORMALIZATION) || is_op(n, QDQ_OP_RESIZE)) && i > 0)
        return "a parameter of the operator";
    return skip_value(v);
}
