/* float_types.c - looks up in float_types.def which tensors of a node may be 16-bit floats. */
#include "onnx/float_types.h"

#include "base/fail.h"

typedef struct entry {
    qdq_op op;
    int since;
    qdq_float_slots float16, bfloat16;
} entry;

static const entry entries[] = {
#define FLOATS(ENUM, since, in16, out16, inb, outb)                                                \
    {QDQ_OP_##ENUM, (since), {(in16), (out16)}, {(inb), (outb)}},
#include "onnx/float_types.def"
#undef FLOATS
};

/* The first entry of an operator: the enumerators are in the order of the list. */
static size_t first_of(qdq_op op)
{
    size_t low = 0, high = QDQ_COUNT(entries);

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (entries[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

qdq_float_slots qdq_float_slots_of(const qdq_node *n, qdq_elem type)
{
    const entry *found = NULL;
    int64_t opset = qdq_graph_opset(n->graph);

    if (n->op == QDQ_OP_UNKNOWN)
        return (qdq_float_slots){0, 0};
    for (size_t i = first_of(n->op); i < QDQ_COUNT(entries) && entries[i].op == n->op; i++)
        if (entries[i].since <= opset)
            found = &entries[i];
    if (found == NULL)
        return (qdq_float_slots){0, 0};
    return type == QDQ_FLOAT16 ? found->float16 : found->bfloat16;
}
