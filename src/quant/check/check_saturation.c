/* check_saturation.c - int8 weights on processors without VNNI, whose kernels add two products in
 * int16 (pairs.h). */
#include "base/cpu.h"
#include "quant/check/check_state.h"
#include "quant/target_fit.h"
#include "quant/weights/pairs.h"

static int output_axis(const qdq_node *n)
{
    if (n->op == QDQ_OP_CONV)
        return 0;
    return n->op == QDQ_OP_GEMM && qdq_node_int(n, "transB", 0) != 0 ? 0 : 1;
}

qdq_status qdq_check_saturation(qdq_checking *c, const qdq_node *n, const qdq_tensor *codes)
{
    const qdq_cpu cpu = qdq_target_cpu(c->opts->cpu);
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span bytes = {NULL, 0};
    int64_t found = 0;
    qdq_pair_order order;

    if (c->t->without_vnni == QDQ_WITHOUT_VNNI_ANY || !qdq_cpu_saturates(cpu) ||
        codes->elem != QDQ_INT8 || qdq_pair_kind_of(n, codes) != QDQ_PAIRS_KNOWN ||
        !qdq_pair_order_of(codes, output_axis(n), &order))
        return QDQ_OK;
    if (qdq_tensor_data(codes, &scratch, &bytes, NULL) == QDQ_OK)
        found = qdq_pairs_saturating(&order, bytes.data);
    qdq_arena_free(&scratch);
    if (found == 0)
        return QDQ_OK;
    const long long n_pairs = order.n_out * (order.n / 2);
    return qdq_check_add(c, QDQ_CHECK_SATURATES, n, 0,
                         "on %s, the sums of %lld of %lld pairs of its int8 weights can saturate, "
                         "expected scales that keep them below (`pairs`), or uint8 weights",
                         qdq_cpu_name(cpu), (long long)found, n_pairs);
}
