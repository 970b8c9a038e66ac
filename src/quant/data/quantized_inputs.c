/* quantized_inputs.c - finds graph inputs with quantized values, and their scales. */
#include "quant/data/quantized_inputs.h"

#include "base/fail.h"
#include "target/existing_qdq.h"

static bool takes_quantized_values(const qdq_value *v)
{
    return v != NULL && v->is_input && v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR &&
           qdq_elem_is_code(v->type->elem) && qdq_elem_bits(v->type->elem) >= 8;
}

static qdq_status read_quantized_use(const qdq_use *u, qdq_elem type, qdq_arena *scratch,
                                     qdq_qparam *out, qdq_error *err)
{
    qdq_found f = {.type = QDQ_UNDEFINED};

    out->type = QDQ_UNDEFINED;
    if (u->node->op != QDQ_OP_DEQUANTIZELINEAR || u->index != 0)
        return QDQ_OK;
    QDQ_TRY(qdq_found_read(u->node, scratch, &f, err));
    if (!f.blocked && f.fault == NULL && f.params.count == 1)
        *out = (qdq_qparam){type, f.params.scale[0], qdq_params_zero(&f.params, 0)};
    return QDQ_OK;
}

static qdq_status read_quantized_uses(const qdq_value *v, qdq_arena *scratch, qdq_qparam *out,
                                      qdq_error *err)
{
    qdq_qparam one;
    bool first = true;

    QDQ_FOR_USES (u, v) {
        QDQ_TRY(read_quantized_use(u, v->type->elem, scratch, &one, err));
        if (!first && (one.scale != out->scale || one.zero_point != out->zero_point))
            one.type = QDQ_UNDEFINED;
        *out = one;
        first = false;
        if (one.type == QDQ_UNDEFINED)
            return QDQ_OK;
    }
    return QDQ_OK;
}

qdq_status qdq_input_codes(const qdq_model *m, const char *name, qdq_qparam *out, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_value *v = qdq_graph_find(m->graph, name);
    qdq_status st = QDQ_OK;

    *out = (qdq_qparam){.type = QDQ_UNDEFINED};
    if (takes_quantized_values(v))
        st = read_quantized_uses(v, &scratch, out, err);
    qdq_arena_free(&scratch);
    return st;
}
