/* check_saturation.c - int8 weights on processors without VNNI. Kernels multiply uint8 activations
 * with int8 weights and add the products of two neighbours in int16, with saturation (vpmaddubsw;
 * Intel SDM, volume 2C). Two neighbours are adjacent in the order in which products are added up:
 * rows of a matrix, or, for a convolution, which engines compute with channels last, input channels
 * and then the kernel's dims. int8 activations are shifted to uint8 on x86. */
#include "base/cpu.h"
#include "quant/check/check_state.h"
#include "quant/target_fit.h"

/* Where the numbers of one output channel are in a weight: `n` of them, number k at first +
 * offset_of(k). */
typedef struct column {
    const qdq_tensor *t;
    /* [out, in, ...]; else a matrix */
    bool is_conv;
    /* products that are added up */
    int64_t n;
    /* of a matrix: from row to row, from column to column */
    int64_t step, outer;
    /* of a convolution: input channels of a group, and the kernel's size */
    int64_t channels, area;
} column;

static int64_t index_of(const column *c, int64_t out, int64_t k)
{
    if (!c->is_conv)
        return out * c->outer + k * c->step;
    return (out * c->channels + k % c->channels) * c->area + k / c->channels;
}

/* Conv, Gemm, MatMul with a matrix; false: another form, of which nothing is known here. */
static bool find_column(const qdq_node *n, const qdq_tensor *t, column *c, int64_t *n_out)
{
    *c = (column){.t = t};
    if (n->op == QDQ_OP_CONV && t->rank > 2) {
        *n_out = t->dim[0];
        c->is_conv = true;
        c->channels = t->dim[1];
        c->n = *n_out > 0 ? t->count / *n_out : 0;
        c->area = c->channels > 0 ? c->n / c->channels : 0;
        return c->channels > 1; /* depthwise kernels add in 32 bits */
    }
    if ((n->op != QDQ_OP_GEMM && n->op != QDQ_OP_MATMUL) || t->rank != 2)
        return false;
    const bool transposed = n->op == QDQ_OP_GEMM && qdq_node_int(n, "transB", 0) != 0;
    *n_out = t->dim[transposed ? 0 : 1];
    c->n = t->dim[transposed ? 1 : 0];
    c->step = transposed ? 1 : *n_out;
    c->outer = transposed ? c->n : 1;
    return true;
}

/* Can 255 * a + 255 * b, or the part of it of one sign, leave int16? */
static bool overflows(int64_t a, int64_t b)
{
    const int64_t up = (a > 0 ? a : 0) + (b > 0 ? b : 0), down = (a < 0 ? a : 0) + (b < 0 ? b : 0);

    return 255 * up > INT16_MAX || 255 * down < INT16_MIN;
}

static int64_t count_pairs(const column *c, int64_t n_out, const void *codes)
{
    int64_t found = 0;

    for (int64_t out = 0; out < n_out; out++)
        for (int64_t k = 0; k + 1 < c->n; k += 2)
            found += overflows(qdq_elem_int(QDQ_INT8, codes, index_of(c, out, k)),
                               qdq_elem_int(QDQ_INT8, codes, index_of(c, out, k + 1)));
    return found;
}

qdq_status qdq_check_saturation(qdq_checking *c, const qdq_node *n, const qdq_tensor *codes)
{
    const qdq_cpu cpu = qdq_target_cpu(c->opts->cpu);
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span bytes = {NULL, 0};
    int64_t n_out = 0, found = 0;
    column col;

    if (c->t->without_vnni == QDQ_WITHOUT_VNNI_ANY || !qdq_cpu_saturates(cpu) ||
        codes->elem != QDQ_INT8 || !find_column(n, codes, &col, &n_out))
        return QDQ_OK;
    if (qdq_tensor_data(codes, &scratch, &bytes, NULL) == QDQ_OK)
        found = count_pairs(&col, n_out, bytes.data);
    qdq_arena_free(&scratch);
    if (found == 0)
        return QDQ_OK;
    const int64_t pairs = n_out * (col.n / 2);
    return qdq_check_add(
        c, QDQ_CHECK_SATURATES, n, 0,
        "on %s, the sums of %lld of %lld pairs of its int8 weights can saturate, expected uint8 "
        "weights or one bit less",
        qdq_cpu_name(cpu), (long long)found, (long long)pairs);
}
