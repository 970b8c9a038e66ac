/* compare_same.c - do two models compute the same? What a change that only rearranges may cost: compare.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "ir/ir.h"
#include "qdq/compare.h"

static bool has_qdq(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR ||
                n->op == QDQ_OP_DYNAMICQUANTIZELINEAR)
                return true;
    return false;
}

/* --- one output -------------------------------------------------------------------------------------------------- */

/* How far apart floats may be, as a share of the range. */
static double float_tolerance(qdq_elem e)
{
    unsigned bits = qdq_elem_bits(e);

    return bits >= 32 ? 1e-5 : bits == 16 ? 1e-2 : 1e-1;
}

static bool ints_are_same(const qdq_compare_tensor *t, char *why, size_t size)
{
    bool step = t->elem != QDQ_BOOL && qdq_elem_bits(t->elem) <= 8;

    if (t->unequal == 0 || (step && t->max_abs <= 1))
        return true;
    snprintf(why, size,
             "output '%s': found %" PRIu64 " of %" PRIu64 " elements that differ, by up to %g, expected %s",
             t->name, t->unequal, t->elements, t->max_abs, step ? "one step at most" : "none");
    return false;
}

static bool floats_are_same(const qdq_compare_tensor *t, double tolerance, char *why, size_t size)
{
    if (t->max_abs <= tolerance * t->range)
        return true;
    if (!isfinite(t->max_abs))
        snprintf(why, size, "output '%s': found NaN or infinity where the other has none", t->name);
    else
        snprintf(why, size,
                 "output '%s': found a difference of %.3g, %.3g of its range, expected at most %.3g", t->name,
                 t->max_abs, t->range > 0 ? t->max_abs / t->range : INFINITY, tolerance);
    return false;
}

static bool is_same(const qdq_compare_tensor *t, double tolerance, bool quantized, char *why, size_t size)
{
    if (qdq_elem_is_int(t->elem))
        return ints_are_same(t, why, size);
    if (tolerance > 0)
        return floats_are_same(t, tolerance, why, size);
    if (floats_are_same(t, float_tolerance(t->elem), why, size))
        return true;
    if (!quantized || !isfinite(t->max_abs))
        return false;
    if (t->sqnr_db >= QDQ_SAME_SQNR_DB) {
        why[0] = '\0';
        return true;
    }
    snprintf(why, size, "output '%s': found SQNR %.1f dB, expected at least %g dB where there is Q/DQ",
             t->name, t->sqnr_db, QDQ_SAME_SQNR_DB);
    return false;
}

/* --- all of them ---------------------------------------------------------------------------------------------------- */

/* The optimizer keeps outputs; a model from elsewhere may not. */
static bool outputs_are_same(const qdq_model *a, const qdq_model *b, char *why, size_t size)
{
    qdq_io x, y;

    for (size_t i = 0; qdq_model_output(a, i, &x); i++)
        if (!qdq_model_output(b, i, &y) || strcmp(x.name, y.name) != 0) {
            snprintf(why, size, "output %zu: expected '%s', found %s", i, x.name,
                     i < qdq_model_output_count(b) ? y.name : "none");
            return false;
        }
    return true;
}

/* The comparison failed. If the first model alone runs, that is the second one's doing. */
static qdq_status blame(qdq_engine *e, const qdq_model *a, qdq_data *d, const qdq_compare_opts *opts,
                        qdq_status st, qdq_error *found, qdq_same_result *out, qdq_error *err)
{
    qdq_compare_result *alone = NULL;
    qdq_status own = QDQ_OK;

    if (st == QDQ_E_ENGINE || st == QDQ_E_FORMAT || st == QDQ_E_UNSUPPORTED)
        own = qdq_compare(e, a, a, d, opts, &alone, err);
    else
        own = qdq_fail(err, st, "%s", found->text);
    qdq_free(alone);
    if (own == QDQ_OK)
        snprintf(out->why, sizeof out->why, "%s", found->text);
    return own;
}

qdq_status qdq_compare_same(qdq_engine *e, const qdq_model *a, const qdq_model *b, qdq_data *d,
                            const qdq_compare_opts *opts, double tolerance, qdq_same_result *out,
                            qdq_error *err)
{
    static const qdq_compare_opts defaults = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_opts own = opts != NULL ? *opts : defaults;
    bool quantized = has_qdq(a) || has_qdq(b);
    qdq_error found = QDQ_ERROR_INIT;

    *out = (qdq_same_result){.same = false};
    own.fake_quant = quantized;
    if (!outputs_are_same(a, b, out->why, sizeof out->why))
        return QDQ_OK;
    qdq_status st = qdq_compare(e, a, b, d, &own, &out->compared, &found);
    if (st != QDQ_OK)
        return blame(e, a, d, &own, st, &found, out, err);
    out->same = true;
    for (size_t i = 0; out->same && i < out->compared->n_outputs; i++)
        out->same = is_same(&out->compared->outputs[i], tolerance, quantized, out->why, sizeof out->why);
    return QDQ_OK;
}
