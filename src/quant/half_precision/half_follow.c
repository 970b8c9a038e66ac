/* half_follow.c - targets whose rest has the type of the model's floats: a model in 16 bits is
 * quantized as it is. */
#include "base/fail.h"
#include "ir/shape.h"
#include "quant/half_precision/half_precision.h"
#include "quant/half_precision/widen.h"

/* Results of operators by type. A Cast is a border, and Q and DQ have the type of their
 * neighbours. */
static void count_results(const qdq_model *m, size_t *floats, size_t *halves, size_t *brains)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g) {
            const qdq_value *out = qdq_node_out(n, 0);

            if (n->op == QDQ_OP_CAST || qdq_node_is_qdq(n))
                continue;
            *floats += qdq_value_elem(out) == QDQ_FLOAT;
            *halves += qdq_value_elem(out) == QDQ_FLOAT16;
            *brains += qdq_value_elem(out) == QDQ_BFLOAT16;
        }
}

/* The type that most results have, as targets name it; NULL: float32, or both 16-bit ones, of which
 * one would have to become the other. */
static const char *most_common_type(const qdq_model *m)
{
    size_t floats = 0, halves = 0, brains = 0;

    count_results(m, &floats, &halves, &brains);
    if (halves > 0 && brains > 0)
        return NULL;
    return halves > floats ? "float16" : brains > floats ? "bfloat16" : NULL;
}

qdq_status qdq_half_follow(const qdq_model *m, const qdq_target *t, const qdq_job *job,
                           qdq_target **out, qdq_error *err)
{
    qdq_model *copy;

    *out = NULL;
    if (!t->half.follows || !qdq_model_has_half(m))
        return QDQ_OK;
    QDQ_TRY(qdq_model_clone_typed(m, NULL, &copy, err));
    const char *type = most_common_type(copy);
    qdq_model_free(copy);
    if (type == NULL)
        return QDQ_OK;
    qdq_job_log(job, QDQ_LOG_INFO, "the model is %s: what is not quantized stays that", type);
    return qdq_target_with(t, "rest.type", type, out, err);
}
