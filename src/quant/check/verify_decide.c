/* verify_decide.c - the verdict of qdq_verify_engine(): slice by slice, by the two rules of
 * check.h, and in words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "qdq/compare.h"
#include "quant/check/verify_state.h"

/* The slice of an output that is furthest off. */
typedef struct finding {
    /* how far it is below what it may be; 0 and less: it is right */
    double excess_db;
    double sqnr_db, engine_db, reference_db;
    /* of the slice, -1: the whole */
    int axis;
    size_t index;
    bool is_set;
    /* slices that prove nothing, for the plan is noise there */
    bool has_noise;
    /* of them: the most that the reference has */
    double noise_ref_db;
} finding;

/* --- slices ----------------------------------------------------------------------------------- */

/* Of one slice: engine against reference, engine and reference against the original; NAN: not
 * known. */
typedef struct slice_db {
    double same, engine, reference;
} slice_db;

/* How much more than allowed is lost against the original. */
static double lost_of(double engine, double reference)
{
    const double cap = QDQ_SAME_SQNR_DB + QDQ_VERIFY_LOSS_DB;
    const double lost = fmin(reference, cap) - QDQ_VERIFY_LOSS_DB - engine;

    return isnan(lost) ? (double)-INFINITY : lost; /* not known, or both are infinite */
}

/* The same without the sample without which it is least: one alone is chance. Of one sample there
 * is nothing to leave out. */
static double least_lost(const qdq_verify_tensor *t, bool whole, size_t k, double all)
{
    double least = all;
    size_t blocks = 0;

    for (size_t b = 0; b < QDQ_SLICES_BLOCKS; b++)
        blocks += t->of_engine.block[b] != NULL;
    for (size_t b = 0; b < QDQ_SLICES_BLOCKS && blocks > 1 && least > 0; b++) {
        qdq_slice_list engine, reference;

        if (t->of_engine.block[b] == NULL)
            continue;
        qdq_slices_list(&t->of_engine, whole, false, b, &engine);
        qdq_slices_list(&t->of_reference, whole, true, b, &reference);
        if (k < engine.n && k < reference.n)
            least = fmin(least, lost_of(engine.db[k], reference.db[k]));
    }
    return least;
}

/* *is_noise: engine and reference are apart, and the reference itself is too far from the original
 * for that to mean anything. */
static double excess_of(const qdq_verify_tensor *t, bool whole, size_t k, const slice_db *s,
                        bool *is_noise)
{
    const double apart = isnan(s->same) ? (double)-INFINITY : QDQ_VERIFY_SAME_DB - s->same;
    const double lost = least_lost(t, whole, k, lost_of(s->engine, s->reference));

    *is_noise = apart > 0 && lost <= 0 && s->reference < QDQ_VERIFY_SAME_DB + QDQ_VERIFY_LOSS_DB;
    return *is_noise ? lost : fmax(lost, apart);
}

static void look_at_slice(double excess, bool is_noise, const slice_db *s, int axis, size_t index,
                          finding *f)
{
    if (is_noise) {
        f->noise_ref_db = f->has_noise ? fmax(f->noise_ref_db, s->reference) : s->reference;
        f->has_noise = true;
        return;
    }
    if (f->is_set && !(excess > f->excess_db))
        return;
    f->is_set = true;
    f->excess_db = excess;
    f->sqnr_db = s->same;
    f->engine_db = s->engine;
    f->reference_db = s->reference;
    f->axis = axis;
    f->index = index;
}

static void look_at_slices(const qdq_verify_tensor *t, bool whole, finding *f)
{
    qdq_slice_list same, engine, reference;

    qdq_slices_list(&t->same, whole, false, QDQ_SLICES_BLOCKS, &same);
    qdq_slices_list(&t->of_engine, whole, false, QDQ_SLICES_BLOCKS, &engine);
    qdq_slices_list(&t->of_reference, whole, true, QDQ_SLICES_BLOCKS, &reference);
    const size_t n = same.n > 0 ? same.n : engine.n;
    const bool has_original = engine.n == n && reference.n == n;
    for (size_t k = 0; k < n; k++) {
        const slice_db s = {same.n > 0 ? same.db[k] : (double)NAN,
                            has_original ? engine.db[k] : (double)NAN,
                            has_original ? reference.db[k] : (double)NAN};

        bool is_noise;

        if (isnan(s.same) && isnan(s.engine))
            continue;
        const double excess = excess_of(t, whole, k, &s, &is_noise);
        look_at_slice(excess, is_noise, &s, same.n > 0 ? same.axis : engine.axis, k, f);
    }
}

static finding look_at(const qdq_verify_tensor *t)
{
    finding f = {
        .excess_db = -INFINITY, .axis = -1, .sqnr_db = NAN, .engine_db = NAN, .reference_db = NAN};

    if (t->is_exact) {
        f.is_set = t->is_compared && !t->differs;
        f.sqnr_db = INFINITY;
        return f;
    }
    look_at_slices(t, true, &f);
    look_at_slices(t, false, &f);
    return f;
}

/* --- what was not compared -------------------------------------------------------------------- */

static void list_not_compared(qdq_verifying *v, const qdq_verify_tensor *t, const finding *f)
{
    const size_t used = strlen(v->not_compared);
    char why[200] = "";

    if (t->other_shape)
        snprintf(why, sizeof why, "its shape depends on data, and is another one on the engine");
    else if (t->is_exact && t->differs)
        snprintf(why, sizeof why, "its integers differ, and need not be values near each other");
    else if (f->has_noise && f->is_set)
        snprintf(why, sizeof why,
                 "in slices where the graph as it is written has %.1f dB or less itself",
                 f->noise_ref_db);
    else if (f->has_noise)
        snprintf(why, sizeof why, "the graph as it is written has %.1f dB itself", f->noise_ref_db);
    else if (!f->is_set)
        snprintf(why, sizeof why, t->is_compared ? "it is zero everywhere" : "it has no numbers");
    if (why[0] != '\0')
        snprintf(v->not_compared + used, sizeof v->not_compared - used, "%soutput '%s': %s",
                 used > 0 ? "; " : "", t->name, why);
}

/* --- verdict ---------------------------------------------------------------------------------- */

static void conclude_output(qdq_verifying *v, const qdq_verify_tensor *t, const finding *f)
{
    qdq_verify_result *r = v->out;

    r->verdict = f->excess_db > 0 ? QDQ_VERIFY_WRONG : QDQ_VERIFY_RIGHT;
    v->worst = f->excess_db > 0 ? t : NULL;
    snprintf(v->output_name, sizeof v->output_name, "%s", t->name);
    r->axis = f->axis;
    r->index = f->index;
    r->sqnr_db = f->sqnr_db;
    r->engine_db = f->engine_db;
    r->reference_db = f->reference_db;
}

void qdq_verify_decide(qdq_verifying *v)
{
    const qdq_verify_tensor *furthest = NULL;
    finding worst = {.excess_db = -INFINITY};

    v->worst = NULL;
    v->out->verdict = QDQ_VERIFY_UNKNOWN;
    v->not_compared[0] = '\0';
    for (size_t i = 0; i < v->n_outputs; i++) {
        const finding f = look_at(&v->output[i]);

        list_not_compared(v, &v->output[i], &f);
        if (!f.is_set || (furthest != NULL && !(f.excess_db > worst.excess_db)))
            continue;
        furthest = &v->output[i];
        worst = f;
    }
    if (furthest != NULL)
        conclude_output(v, furthest, &worst);
    else
        snprintf(v->why, sizeof v->why, "no output can be compared: %s", v->out->not_compared);
}

/* --- in words --------------------------------------------------------------------------------- */

/* Of engine and graph against the original. */
static void numbers_text(const qdq_verify_result *r, char *text, size_t size)
{
    char engine[60] = "has values that are not finite", graph[60] = "has none of them";

    if (isfinite(r->engine_db))
        snprintf(engine, sizeof engine, "has an SQNR of %.1f dB", r->engine_db);
    if (r->reference_db > 0 && isinf(r->reference_db))
        snprintf(graph, sizeof graph, "has no error");
    else if (isfinite(r->reference_db))
        snprintf(graph, sizeof graph, "%.1f dB", r->reference_db);
    snprintf(text, size, "%s, the graph as it is written %s", engine, graph);
}

void qdq_verify_explain(qdq_verifying *v)
{
    const qdq_engine_info *info = qdq_engine_get_info(v->engine);
    qdq_verify_result *r = v->out;
    char place[700] = "its first wrong node was not found", numbers[200], slice[60];
    const qdq_compare_tensor at = {.axis = r->axis, .index = r->index};

    if (!isnan(r->reference_db))
        numbers_text(r, numbers, sizeof numbers);
    else if (isfinite(r->sqnr_db))
        snprintf(numbers, sizeof numbers,
                 "has an SQNR of %.1f dB against the graph as it is written", r->sqnr_db);
    else
        snprintf(numbers, sizeof numbers, "has values that are not finite");
    qdq_compare_place(&at, slice, sizeof slice);
    if (r->node[0] != '\0')
        snprintf(place, sizeof place, "first at %s '%s' (%s)", r->op, r->node, r->form);
    snprintf(v->why, sizeof v->why,
             "engine %s %s computes the model wrongly%s: output '%s'%s %s; %s: a defect of "
             "the engine",
             info->name, info->version, r->open ? ", with open dims" : "", r->output, slice,
             numbers, place);
    if (r->saturates)
        snprintf(v->why, sizeof v->why,
                 "this processor adds products of u8 and s8 with saturation: output '%s'%s %s; %s: "
                 "weights that quantize makes for this processor avoid it",
                 r->output, slice, numbers, place);
}

const char *qdq_verify_text(const qdq_verify_result *r, const char *engine, const char *data,
                            char *text, size_t size)
{
    char agreement[80] = "is equal to that of", samples[300];

    if (!isinf(r->sqnr_db))
        snprintf(agreement, sizeof agreement, "has an SQNR of %.1f dB against", r->sqnr_db);
    snprintf(samples, sizeof samples, "on %zu sample%s%s%.200s", r->samples,
             r->samples == 1 ? "" : "s", data != NULL ? " of " : "", data != NULL ? data : "");
    if (r->verdict == QDQ_VERIFY_RIGHT)
        snprintf(text, size, "engine %s computes what the model says: output '%s' %s %s, %s%s%s",
                 engine, r->output, agreement, r->reference, samples,
                 r->not_compared[0] != '\0' ? "; not compared: " : "", r->not_compared);
    else if (r->verdict == QDQ_VERIFY_WRONG)
        snprintf(text, size, "%s; compared with %s, %s", r->why, r->reference, samples);
    else
        snprintf(text, size, "whether engine %s computes what the model says is not known: %s",
                 engine, r->why);
    return text;
}
