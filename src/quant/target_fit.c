/* target_fit.c - see the header. Without VNNI, kernels for u8 x s8 add pairs of products in int16: 255 * 127 * 2 does not
 * fit. uint8 weights have kernels that add in 32 bits; weights of 7 bits fit. */
#include "quant/target_fit.h"

#include "base/cpu.h"
#include "base/fail.h"
#include "quant/rest/rest.h"

qdq_cpu qdq_target_cpu(qdq_cpu asked)
{
    return asked == QDQ_CPU_AUTO ? qdq_cpu_detect() : asked;
}

/* Would kernels of this target saturate there? Formats that users chose are not changed: they fit, or saturate no
 * kernel. */
static bool is_changed(const qdq_target *t, qdq_cpu cpu)
{
    const qdq_format *f = &t->format;

    return t->without_vnni > QDQ_WITHOUT_VNNI_AS_IT_IS && qdq_cpu_saturates(cpu) &&
           f->weight.type == QDQ_INT8 && !f->weight.reduced && f->activation.type != QDQ_FLOAT &&
           qdq_elem_bits(f->activation.type) == 8;
}

/* int8 activations have no kernels beside uint8 weights. */
static qdq_status change(const qdq_target *t, const qdq_job *job, qdq_target **out, qdq_error *err)
{
    const bool is_uint8 = t->without_vnni == QDQ_WITHOUT_VNNI_UINT8 && t->format.activation.type == QDQ_UINT8;

    qdq_job_log(job, QDQ_LOG_INFO, "without VNNI products of int8 weights saturate: weights are %s",
                is_uint8 ? "uint8" : "int8 with one bit less");
    return is_uint8 ? qdq_target_with(t, "weight.type", "uint8", out, err)
                    : qdq_target_with(t, "weight.reduced", "true", out, err);
}

qdq_status qdq_target_fit(const qdq_model *m, const qdq_target *t, qdq_cpu cpu, const qdq_job *job,
                          qdq_target **out, qdq_error *err)
{
    qdq_target *own = NULL;

    QDQ_TRY(qdq_rest_follow(m, t, job, out, err));
    const qdq_target *now = *out != NULL ? *out : t;
    if (!is_changed(now, qdq_target_cpu(cpu)))
        return QDQ_OK;
    qdq_status st = change(now, job, &own, err);
    qdq_target_free(*out);
    *out = own;
    return st;
}
