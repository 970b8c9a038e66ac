/* compare_same.c - do two models compute the same? What a change that only rearranges may cost:
 * compare.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "ir/ir.h"
#include "qdq/compare.h"
#include "quant/compare/compare_run.h"

static bool has_qdq(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR ||
                n->op == QDQ_OP_DYNAMICQUANTIZELINEAR)
                return true;
    return false;
}

/* --- one output ------------------------------------------------------------------------------- */

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
             "output '%s': found %" PRIu64 " of %" PRIu64
             " elements that differ, by up to %g, expected %s",
             t->name, t->unequal, t->elements, t->max_abs, step ? "one step at most" : "none");
    return false;
}

/* By how much the engine differs from itself with and without its optimizations, as a share of the
 * range: nothing can be nearer. An engine that computes something else is no measure. */
static double own_tolerance(const qdq_compare_result *own, const char *name)
{
    const double times = 2, most = 1e-2;

    for (size_t i = 0; own != NULL && i < own->n_outputs; i++) {
        const qdq_compare_tensor *t = &own->outputs[i];

        if (strcmp(t->name, name) == 0 && t->range > 0 && isfinite(t->max_abs))
            return fmin(times * t->max_abs / t->range, most);
    }
    return 0;
}

static bool floats_are_same(const qdq_compare_tensor *t, double tolerance, char *why, size_t size)
{
    if (t->max_abs <= tolerance * t->range)
        return true;
    if (!isfinite(t->max_abs))
        snprintf(why, size, "output '%s': found NaN or infinity where the other has none", t->name);
    else
        snprintf(
            why, size,
            "output '%s': found a difference of %.3g, %.3g of its range, expected at most %.3g",
            t->name, t->max_abs, t->range > 0 ? t->max_abs / t->range : INFINITY, tolerance);
    return false;
}

/* `own`: the engine's own differences; NULL: not known yet. */
static bool is_same(const qdq_compare_tensor *t, double tolerance, bool quantized,
                    const qdq_compare_result *own, char *why, size_t size)
{
    if (qdq_elem_is_int(t->elem))
        return ints_are_same(t, why, size);
    if (tolerance > 0)
        return floats_are_same(t, tolerance, why, size);
    if (floats_are_same(t, fmax(float_tolerance(t->elem), own_tolerance(own, t->name)), why,
                        size)) {
        why[0] = '\0';
        return true;
    }
    if (!quantized || !isfinite(t->max_abs))
        return false;
    if (t->sqnr_db >= QDQ_SAME_SQNR_DB) {
        why[0] = '\0';
        return true;
    }
    snprintf(why, size,
             "output '%s': found SQNR %.1f dB, expected at least %g dB where there is Q/DQ",
             t->name, t->sqnr_db, QDQ_SAME_SQNR_DB);
    return false;
}

/* --- all of them ------------------------------------------------------------------------------ */

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

/* A result with its text. */
typedef struct same_room {
    /* the first member */
    qdq_same_result head;
    char why[400];
} same_room;

typedef struct sameness {
    qdq_engine *engine;
    const qdq_model *a, *b;
    qdq_data *data;
    qdq_compare_opts opts;
    double tolerance;
    /* one of the models has Q or DQ */
    bool quantized;
    same_room *out;
} sameness;

/* The comparison failed. If the first model alone runs, that is the second one's doing. */
static qdq_status record_second_failure(const sameness *s, qdq_status st, const qdq_error *found,
                                        qdq_error *err)
{
    qdq_compare_result *alone = NULL;
    qdq_status own = QDQ_OK;

    if (st == QDQ_E_ENGINE || st == QDQ_E_FORMAT || st == QDQ_E_UNSUPPORTED)
        own = qdq_compare(s->engine, s->a, s->a, s->data, &s->opts, &alone, err);
    else
        own = qdq_fail(err, st, "%s", found->text);
    qdq_free(alone);
    if (own == QDQ_OK)
        snprintf(s->out->why, sizeof s->out->why, "%.399s", found->text);
    return own;
}

static void check_outputs(const sameness *s, const qdq_compare_result *own)
{
    const qdq_compare_result *c = s->out->head.compared;
    qdq_same_result *out = &s->out->head;

    out->same = true;
    out->proven = false;
    s->out->why[0] = '\0';
    for (size_t i = 0; i < c->n_outputs; i++)
        out->proven |= !isnan(c->outputs[i].sqnr_db);
    for (size_t i = 0; out->same && i < c->n_outputs; i++)
        out->same = is_same(&c->outputs[i], s->tolerance, s->quantized, own, s->out->why,
                            sizeof s->out->why);
}

/* The model on the engine with and without optimizations. Where it does not run without, *own stays
 * NULL. */
static qdq_status find_own(const sameness *s, qdq_compare_result **own, qdq_error *err)
{
    qdq_error found = QDQ_ERROR_INIT;
    qdq_comparing *c = NULL;

    qdq_status st = qdq_comparing_begin(&(qdq_comparison){s->engine, s->a, s->data, &s->opts, NULL},
                                        &c, &found);
    if (st == QDQ_OK) {
        qdq_comparing_set_level(c, 1, QDQ_LEVEL_NONE);
        st = qdq_comparing_add(c, s->a, 0, 0, &found);
    }
    if (st == QDQ_OK)
        st = qdq_comparing_get(c, own, &found);
    qdq_comparing_free(c);
    return st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED ? qdq_fail(err, st, "%s", found.text)
                                                        : QDQ_OK;
}

static qdq_status compare_both(const sameness *s, qdq_error *err)
{
    qdq_compare_result *own = NULL;
    qdq_error found = QDQ_ERROR_INIT;

    if (!outputs_are_same(s->a, s->b, s->out->why, sizeof s->out->why))
        return QDQ_OK;
    qdq_status st =
        qdq_compare(s->engine, s->a, s->b, s->data, &s->opts, &s->out->head.compared, &found);
    if (st != QDQ_OK)
        return record_second_failure(s, st, &found, err);
    check_outputs(s, NULL);
    if (s->out->head.same || s->tolerance > 0)
        return QDQ_OK;
    QDQ_TRY(find_own(s, &own, err));
    check_outputs(s, own);
    qdq_free(own);
    return QDQ_OK;
}

void qdq_same_result_free(qdq_same_result *r)
{
    if (r != NULL)
        qdq_free(r->compared);
    qdq_free(r);
}

qdq_status qdq_compare_same(qdq_engine *e, const qdq_model *a, const qdq_model *b, qdq_data *d,
                            const qdq_compare_opts *opts, double tolerance, qdq_same_result **out,
                            qdq_error *err)
{
    sameness s = {.engine = e,
                  .a = a,
                  .b = b,
                  .data = d,
                  .opts = QDQ_COMPARE_OPTS_INIT,
                  .tolerance = tolerance,
                  .quantized = has_qdq(a) || has_qdq(b)};

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_compare_opts", &s.opts, sizeof s.opts, opts, err));
    s.opts.fake_quant = s.quantized;
    s.out = calloc(1, sizeof *s.out);
    QDQ_NEED(s.out != NULL, err);
    s.out->head.why = s.out->why;
    qdq_status st = compare_both(&s, err);
    if (st == QDQ_OK)
        *out = &s.out->head;
    else
        qdq_same_result_free(&s.out->head);
    return st;
}
