/* import_dynamic.c - products whose data is quantized while the model runs, once they are spelt in
 * Q/DQ (pass qoperator-to-qdq, strip_lstm.c): their weights say all that a plan has to. */
#include "quant/import/import_state.h"
#include "quant/weights/linear_form.h"

bool qdq_import_is_dynamic(const qdq_value *v)
{
    const qdq_node *dq = v != NULL ? v->producer : NULL;
    const qdq_value *codes =
        dq != NULL && dq->op == QDQ_OP_DEQUANTIZELINEAR ? qdq_node_in(dq, 0) : NULL;

    return codes != NULL && codes->producer != NULL &&
           codes->producer->op == QDQ_OP_DYNAMICQUANTIZELINEAR;
}

bool qdq_import_reads_dynamic(const qdq_importer *im, const qdq_node *dq, const qdq_tensor *codes,
                              const qdq_found_weight *w)
{
    if (qdq_map_get_int(&im->lstm_of, (uint64_t)(uintptr_t)dq) != NULL)
        return true;
    QDQ_FOR_USES (u, dq->out[0])
        if (u->node->op != QDQ_OP_MATMUL || !qdq_import_is_dynamic(qdq_node_in(u->node, 0)) ||
            qdq_dynamic_lacks(u->node, u->index, codes) != NULL)
            return false;
    return (w->type == QDQ_INT8 || w->type == QDQ_UINT8) && w->block == 0 &&
           (w->axis < 0 || (codes->rank == 2 && w->axis == 1));
}
