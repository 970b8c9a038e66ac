/* target_fit.c - fits a target to a model and a processor. Without VNNI, kernels for u8 x s8 add
 * pairs of products in int16: 255 * 127 * 2 does not fit. Scales that keep pairs of codes below
 * the limit make them fit, and so do weights of 7 bits; uint8 weights have kernels that add in
 * 32 bits. Then the rules for other processors go. */
#include "quant/target_fit.h"

#include "base/cpu.h"
#include "base/fail.h"
#include "base/processor.h"
#include "quant/half_precision/half_precision.h"

qdq_cpu qdq_target_cpu(qdq_cpu asked)
{
    return asked == QDQ_CPU_AUTO ? qdq_cpu_detect() : asked;
}

/* Would kernels of this target saturate there? Formats that users chose are not changed: they fit,
 * or saturate no kernel. */
static bool is_changed(const qdq_target *t, qdq_cpu cpu)
{
    const qdq_format *f = &t->format;

    return t->without_vnni > QDQ_WITHOUT_VNNI_AS_IT_IS && qdq_cpu_saturates(cpu) &&
           f->weight.type == QDQ_INT8 && !f->weight.reduced && !f->weight_pairs &&
           (qdq_format_dynamic(f) ||
            (f->activation.type != QDQ_FLOAT && qdq_elem_bits(f->activation.type) == 8));
}

/* int8 activations have no kernels beside uint8 weights, and pairs are those of symmetric codes. */
static qdq_status change_weights(const qdq_target *t, const qdq_job *job, qdq_target **out,
                                 qdq_error *err)
{
    static const struct {
        const char *key, *value, *what;
    } changes[] = {
        [QDQ_WITHOUT_VNNI_UINT8] = {"weight.type", "uint8", "uint8"},
        [QDQ_WITHOUT_VNNI_REDUCED] = {"weight.reduced", "true", "int8 with one bit less"},
        [QDQ_WITHOUT_VNNI_PAIRS] = {"weight.pairs", "true",
                                    "int8 with scales that keep sums of two below the limit"},
    };
    const qdq_format *f = &t->format;
    qdq_without_vnni how = t->without_vnni;

    if ((how == QDQ_WITHOUT_VNNI_UINT8 && f->activation.type != QDQ_UINT8 &&
         !qdq_format_dynamic(f)) ||
        (how == QDQ_WITHOUT_VNNI_PAIRS && !f->weight.symmetric))
        how = QDQ_WITHOUT_VNNI_REDUCED;
    qdq_job_log(job, QDQ_LOG_INFO, "without VNNI products of int8 weights saturate: weights are %s",
                changes[how].what);
    return qdq_target_with(t, changes[how].key, changes[how].value, out, err);
}

/* The name is that of the processor that runs. A model for a kind of processors is made for all of
 * them, with the same bytes wherever it is made. */
static qdq_status leave_out_rules(const qdq_target *t, qdq_cpu asked, qdq_target **out,
                                  qdq_error *err)
{
    char name[300];

    qdq_processor_name(name, sizeof name);
    return qdq_target_for_cpu(t, qdq_cpu_name(qdq_target_cpu(asked)),
                              asked == QDQ_CPU_AUTO ? name : NULL, out, err);
}

typedef qdq_status (*fit_step)(const qdq_target *t, qdq_cpu asked, const qdq_job *job,
                               qdq_target **out, qdq_error *err);

static qdq_status fit_weights(const qdq_target *t, qdq_cpu asked, const qdq_job *job,
                              qdq_target **out, qdq_error *err)
{
    return is_changed(t, qdq_target_cpu(asked)) ? change_weights(t, job, out, err) : QDQ_OK;
}

static qdq_status fit_rules(const qdq_target *t, qdq_cpu asked, const qdq_job *job,
                            qdq_target **out, qdq_error *err)
{
    (void)job;
    return t->has_cpu && t->cpu_kind == NULL ? leave_out_rules(t, asked, out, err) : QDQ_OK;
}

qdq_status qdq_target_fit_rules(const qdq_target *t, qdq_cpu asked, qdq_target **out,
                                qdq_error *err)
{
    *out = NULL;
    return fit_rules(t, asked, NULL, out, err);
}

qdq_status qdq_target_fit(const qdq_model *m, const qdq_target *t, qdq_cpu asked,
                          const qdq_job *job, qdq_target **out, qdq_error *err)
{
    static const fit_step steps[] = {fit_weights, fit_rules};

    QDQ_TRY(qdq_half_follow(m, t, job, out, err));
    for (size_t i = 0; i < QDQ_COUNT(steps); i++) {
        qdq_target *own = NULL;
        qdq_status st = steps[i](*out != NULL ? *out : t, asked, job, &own, err);

        if (own == NULL && st == QDQ_OK)
            continue;
        qdq_target_free(*out);
        *out = own;
        QDQ_TRY(st);
    }
    return QDQ_OK;
}
