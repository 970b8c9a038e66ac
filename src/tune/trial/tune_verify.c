/* tune_verify.c - does the engine compute what a candidate says? Asked before a candidate becomes
 * the best so far, and of what is shipped. The answer is kept in the store, for this model, engine
 * and processor: what was wrong once is not tried again. */
#include "tune/trial/tune_verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/json_write.h"
#include "quant/check/verify_texts.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_plans.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_values.h"
#include "tune/trial/tune_engines.h"

/* --- remembering ------------------------------------------------------------------------------ */

static const char *key_of(qdq_tune_state *t, const char *name, bool shipped)
{
    return qdq_arena_printf(&t->arena, "computes %s%s", name, shipped ? ", shipped" : "");
}

/* NULL: out of memory. */
static json_t *write_answer(const qdq_verify_result *r)
{
    qdq_json_doc doc = {0};
    qdq_json_out o = qdq_json_object(&doc);

    qdq_json_put_int(o, "verdict", r->verdict);
    qdq_json_put_text(o, "why", r->why);
    qdq_json_put_text(o, "reference", r->reference);
    qdq_json_put_text(o, "output", r->output);
    qdq_json_put_real(o, "sqnr_db", r->sqnr_db);
    qdq_json_put_size(o, "samples", r->samples);
    return qdq_json_take(&doc);
}

/* With texts that live as long as j. */
static bool read_answer(const json_t *j, qdq_verify_result *r)
{
    const char *why, *reference, *output;
    int verdict, samples;

    if (j == NULL ||
        json_unpack((json_t *)(uintptr_t)j, "{s:i, s:s, s:s, s:s, s:i}", "verdict", &verdict, "why",
                    &why, "reference", &reference, "output", &output, "samples", &samples) != 0)
        return false;
    *r = qdq_verify_bare((qdq_verify_verdict)verdict, why);
    r->samples = (size_t)samples;
    r->reference = reference;
    r->output = output;
    const json_t *db = json_object_get(j, "sqnr_db");
    r->sqnr_db = json_is_number(db) ? json_number_value(db) : (double)INFINITY;
    return verdict >= QDQ_VERIFY_UNKNOWN && verdict <= QDQ_VERIFY_WRONG;
}

static qdq_status recall_answer(qdq_tune_state *t, const char *key, qdq_verify_result *out,
                                bool *found, qdq_error *err)
{
    json_t *j = NULL;

    QDQ_NEED(key != NULL, err);
    QDQ_TRY(qdq_tune_recall(t, key, &j, err));
    *found = read_answer(j, out);
    const bool ok = !*found || qdq_verify_copy_texts(out, &t->arena);
    json_decref(j);
    return qdq_allocated(ok, err);
}

/* --- asking ----------------------------------------------------------------------------------- */

static qdq_status conclude(qdq_verify_verdict verdict, const char *why, qdq_verify_result *out,
                           qdq_error *err)
{
    *out = qdq_verify_bare(verdict, why);
    return qdq_allocated(why != NULL, err);
}

/* ONNX Runtime, where it is not the engine itself; none: the verdicts say so. */
static qdq_engine *open_reference(qdq_tune_state *t)
{
    const unsigned can = qdq_engine_get_info(t->tools.engine)->capabilities;
    qdq_engine_opts ort;

    if (t->tools.sought_reference || (can & QDQ_RUNS_AS_WRITTEN) != 0)
        return t->tools.reference;
    t->tools.sought_reference = true;
    qdq_tune_engine_opts(t, &ort);
    ort.plugins = ort.providers = NULL;
    ort.host = NULL;
    if (qdq_engine_open("ort", &ort, &t->tools.reference, NULL) != QDQ_OK)
        t->tools.reference = NULL;
    return t->tools.reference;
}

static qdq_status verify_samples(qdq_tune_state *t, const qdq_model *m,
                                 const qdq_input_shape *shapes, size_t n_shapes, size_t count,
                                 qdq_verify_result *out, qdq_error *err)
{
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;
    qdq_verify_result *given = NULL;
    qdq_error own = QDQ_ERROR_INIT;
    qdq_compare_opts evaluating;
    qdq_data *data;

    enum { CONFIRM = 6 };

    QDQ_TRY(qdq_tune_evaluation_data(t, &data, &evaluating, err));
    o.reference = open_reference(t);
    o.original = t->task.m;
    o.threads = t->task.quantize.threads;
    o.shapes = shapes;
    o.n_shapes = n_shapes;
    o.first = evaluating.first;
    const size_t all = qdq_data_count(data), left = all > o.first ? all - o.first : 0;
    o.count = count < left ? count : left;
    o.confirm = left - o.count < CONFIRM ? left - o.count : CONFIRM;
    o.job = &t->tools.timed;
    qdq_status st = qdq_verify_engine(m, t->tools.engine, data, &o, &given, &own);
    if (st == QDQ_E_ENGINE && !qdq_tune_caller_failed(t))
        return conclude(QDQ_VERIFY_WRONG,
                        qdq_arena_printf(&t->arena, "the engine fails on the model%s: %.700s",
                                         n_shapes == 0 ? " as it is written" : "", own.text),
                        out, err);
    if (st != QDQ_OK)
        return qdq_fail(err, st, "%s", own.text);
    *out = *given;
    const bool ok = qdq_verify_copy_texts(out, &t->arena);
    qdq_free(given);
    return qdq_allocated(ok, err);
}

/* Does the engine fail on the input, too, if it fixes these shapes? Then they are none that anybody
 * runs. */
static qdq_status fails_as_given(qdq_tune_state *t, const qdq_input_shape *shapes, size_t n,
                                 const qdq_verify_result *r, bool *out, qdq_error *err)
{
    qdq_verify_result given;

    *out = false;
    if (r->verdict != QDQ_VERIFY_WRONG || r->samples > 0)
        return QDQ_OK;
    QDQ_TRY(verify_samples(t, t->task.m, shapes, n, 1, &given, err));
    *out = given.verdict == QDQ_VERIFY_WRONG && given.samples == 0;
    return QDQ_OK;
}

/* As it is written, and with the shapes that it is timed with. Of a candidate fewer samples, and no
 * more than one question once the time is up: what ships is asked in any case. */
static qdq_status ask_all_shapes(qdq_tune_state *t, const qdq_model *m, bool shipped,
                                 qdq_verify_result *out, qdq_error *err)
{
    enum { SEARCHED = 2, SHIPPED = 4 };
    const qdq_input_shape *shapes = t->task.quantize.shapes;
    size_t n = t->task.quantize.n_shapes;
    qdq_verify_result fixed;
    bool fails;

    if ((qdq_worker_client_engine(t->tools.worker_client)->capabilities & QDQ_CAN_RUN) == 0)
        return conclude(QDQ_VERIFY_UNKNOWN,
                        qdq_arena_printf(&t->arena, "engine '%s' computes no outputs",
                                         qdq_worker_client_engine(t->tools.worker_client)->name),
                        out, err);
    QDQ_TRY(verify_samples(t, m, NULL, 0, shipped ? SHIPPED : SEARCHED, out, err));
    if (!out->open || out->verdict == QDQ_VERIFY_WRONG || (!shipped && qdq_tune_time_is_up(t)))
        return QDQ_OK;
    if (n == 0)
        QDQ_TRY(qdq_tune_sample_shapes(t, &shapes, &n, err));
    if (n == 0)
        return QDQ_OK;
    QDQ_TRY(verify_samples(t, m, shapes, n, SEARCHED, &fixed, err));
    QDQ_TRY(fails_as_given(t, shapes, n, &fixed, &fails, err));
    if (fixed.verdict == QDQ_VERIFY_WRONG && !fails)
        *out = fixed;
    return QDQ_OK;
}

/* *cut: there was no time for an answer. */
static qdq_status ask_engine(qdq_tune_state *t, const qdq_model *m, bool shipped,
                             qdq_verify_result *out, bool *cut, qdq_error *err)
{
    const double start = qdq_clock_seconds();

    qdq_tune_begin_timed(t);
    qdq_status st = ask_all_shapes(t, m, shipped, out, err);
    QDQ_TRY(qdq_tune_end_timed(t, st, cut));
    if (*cut)
        *out = qdq_verify_bare(QDQ_VERIFY_UNKNOWN, "the budget of time was used up");
    else if (shipped)
        t->run.verify_s = fmax(t->run.verify_s, qdq_clock_seconds() - start);
    return QDQ_OK;
}

static void log_wrong(qdq_tune_state *t, const qdq_verify_result *r)
{
    if (t->out->n_wrong++ == 0)
        t->out->wrong = r->why;
    qdq_job_log(t->job, QDQ_LOG_WARNING, "a candidate is refused: %s", r->why);
}

/* --- candidates of the search ----------------------------------------------------------------- */

static void reject_candidate(qdq_tune_state *t, qdq_tune_candidate *c, const qdq_verify_result *r)
{
    if (c->wrong)
        return;
    c->failed = c->wrong = true;
    c->misses = false; /* by an engine's defect, which is another reason */
    snprintf(c->why, sizeof c->why, "engine check: %.380s", r->why);
    log_wrong(t, r);
}

qdq_status qdq_tune_recall_wrong(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    qdq_verify_result r;
    bool found = false;

    if (c->failed || c == t->run.base)
        return QDQ_OK;
    QDQ_TRY(recall_answer(t, key_of(t, c->name, false), &r, &found, err));
    if (found && r.verdict == QDQ_VERIFY_WRONG)
        reject_candidate(t, c, &r);
    return QDQ_OK;
}

qdq_status qdq_tune_verify(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    const char *key = key_of(t, c->name, false);
    qdq_verify_result r;
    qdq_model *m = NULL;
    qdq_plan *p = NULL;
    bool found, cut = false;

    if (c == t->run.base || c->assign.word == NULL)
        return QDQ_OK;
    QDQ_TRY(recall_answer(t, key, &r, &found, err));
    if (!found) {
        QDQ_TRY(qdq_tune_plan_of(t, &c->assign, &p, err));
        qdq_status st = qdq_candidate_model(t->tools.files, p, &m, err);
        qdq_plan_free(p);
        if (st == QDQ_OK)
            st = ask_engine(t, m, false, &r, &cut, err);
        qdq_model_free(m);
        QDQ_TRY(st);
        if (!cut)
            QDQ_TRY(qdq_tune_remember(t, key, write_answer(&r), err));
    }
    if (r.verdict == QDQ_VERIFY_WRONG)
        reject_candidate(t, c, &r);
    return QDQ_OK;
}

/* --- what is shipped -------------------------------------------------------------------------- */

qdq_status qdq_tune_verify_model(qdq_tune_state *t, const qdq_model *m, const char *name,
                                 qdq_verify_result *r, bool *cut, qdq_error *err)
{
    const char *key = key_of(t, name, true);
    bool found;

    *cut = false;
    QDQ_TRY(recall_answer(t, key, r, &found, err));
    if (found)
        return QDQ_OK;
    QDQ_TRY(ask_engine(t, m, true, r, cut, err));
    return *cut ? QDQ_OK : qdq_tune_remember(t, key, write_answer(r), err);
}

/* The model of a plan, or a file of the folder. */
static qdq_status answer_for_model(qdq_tune_state *t, const qdq_plan *p, const char *file,
                                   const char *name, qdq_verify_result *r, bool *cut,
                                   qdq_error *err)
{
    const char *key = key_of(t, name, true), *path = qdq_tune_path(t, file);
    qdq_model *m = NULL;
    bool found;

    *cut = false;
    QDQ_NEED(path != NULL, err);
    QDQ_TRY(recall_answer(t, key, r, &found, err));
    if (found)
        return QDQ_OK;
    qdq_status st = p != NULL ? qdq_candidate_model(t->tools.files, p, &m, err)
                              : qdq_model_load(path, NULL, &m, err);
    if (st == QDQ_OK)
        st = qdq_tune_verify_model(t, m, name, r, cut, err);
    qdq_model_free(m);
    return st;
}

qdq_status qdq_tune_verify_shipped(qdq_tune_state *t, const qdq_plan *p, bool *right,
                                   qdq_error *err)
{
    qdq_plan *best = NULL;
    qdq_verify_result r;
    char name[33];
    bool cut;

    if (p == NULL)
        QDQ_TRY(qdq_tune_plan_of(t, &t->run.found.best, &best, err));
    qdq_status st = qdq_tune_name_plan(p != NULL ? p : best, name, err);
    qdq_plan_free(best);
    if (st == QDQ_OK)
        st = answer_for_model(t, p, "model.onnx", name, &r, &cut, err);
    QDQ_TRY(st);
    t->run.cut = t->run.cut || cut;
    *right = r.verdict != QDQ_VERIFY_WRONG && !cut;
    if (cut)
        return QDQ_OK;
    if (*right)
        t->outcome.computed = r;
    else
        log_wrong(t, &r);
    return QDQ_OK;
}

qdq_status qdq_tune_verify_float(qdq_tune_state *t, qdq_error *err)
{
    qdq_verify_result *r = &t->outcome.computed;
    bool cut;

    QDQ_TRY(answer_for_model(t, NULL, "baseline.onnx", "baseline", r, &cut, err));
    if (r->verdict == QDQ_VERIFY_WRONG)
        qdq_job_log(t->job, QDQ_LOG_WARNING, "the model without Q/DQ: %s", r->why);
    return QDQ_OK;
}
