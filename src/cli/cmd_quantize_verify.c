/* cmd_quantize_verify.c - what quantize ships is computed by the engine as the graph says: what is
 * not goes back to float. */
#include "base/fail.h"
#include "cli/cmd_quantize.h"

/* --- is it asked? ----------------------------------------------------------------------------- */

/* Only with samples, and where the engine is the one that will run the model. */
static qdq_status is_asked(quantize *q, bool *asked, qdq_error *err)
{
    const char *why;

    *asked = q->engine != NULL && q->quantized != NULL && q->samples.data != NULL &&
             !qdq_data_is_random(q->samples.data) && q->a->quant.sqnr;
    if (!*asked)
        return QDQ_OK;
    QDQ_TRY(cmd_quantize_own_engine(q, &why, err));
    *asked = why == NULL;
    return QDQ_OK;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* A model that does not run at all is told where outputs are judged. */
static qdq_status ask_engine(quantize *q, qdq_error *err)
{
    enum { SAMPLES = 2, CONFIRM = 6 };
    qdq_error own = QDQ_ERROR_INIT;
    const size_t judge = q->samples.split.judge;
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;

    o.original = q->model;
    o.threads = cli_threads(q->a->threads);
    o.first = judge > 0 ? q->samples.split.first : 0;
    o.count = judge == 0 ? 1 : judge < SAMPLES ? judge : SAMPLES;
    o.confirm = judge > o.count ? judge - o.count : 0;
    o.confirm = o.confirm < CONFIRM ? o.confirm : CONFIRM;
    o.job = &q->c->job;
    qdq_free(q->computed);
    qdq_status st = cli_verify(q->c, &q->a->engine, q->engine, q->quantized,
                               judge > 0 ? cli_samples_judge(&q->samples) : q->samples.data, &o,
                               &q->computed, &own);
    return st == QDQ_OK || st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED
               ? QDQ_OK
               : qdq_fail(err, st, "%s: %s", q->path, own.text);
}

/* The nodes of that form stay float from now on. What did not help at first was not all of it. */
static qdq_status leave_out(quantize *q, bool wide, size_t *n, qdq_error *err)
{
    const char **labels;

    QDQ_TRY(qdq_verify_equivalent(q->quantized, q->computed, wide, &labels, n, err));
    qdq_status st = QDQ_OK;
    for (size_t i = 0; i < *n && st == QDQ_OK; i++) {
        const char *entry = qdq_arena_strdup(&q->c->arena, labels[i]);

        if (entry == NULL || !QDQ_PUSH(&q->c->arena, &q->wrong, entry))
            st = qdq_nomem(err);
    }
    qdq_free(labels);
    return st;
}

/* What is known of the plan before, --why included. */
static qdq_status drop_plan(quantize *q, qdq_error *err)
{
    qdq_plan_free(q->plan);
    qdq_model_free(q->quantized);
    qdq_goal_result_free(q->goal);
    q->plan = NULL;
    q->quantized = NULL;
    q->goal = NULL;
    if (q->why == NULL)
        return QDQ_OK;
    qdq_why_free(q->why);
    q->why = qdq_why_new(q->a->why);
    return q->why != NULL ? QDQ_OK : qdq_nomem(err);
}

/* --- the interface ---------------------------------------------------------------------------- */

qdq_status cmd_quantize_verify_opts(quantize *q, qdq_quantize_opts *o, qdq_error *err)
{
    if (q->wrong.n == 0)
        return QDQ_OK;
    if (!QDQ_PUSH(&q->c->arena, &q->wrong, NULL))
        return qdq_nomem(err);
    o->wrong = q->wrong.at;
    q->wrong.n--; /* the end of the list is none */
    return QDQ_OK;
}

qdq_status cmd_quantize_verified(quantize *q, qdq_status (*make)(quantize *, qdq_error *),
                                 qdq_error *err)
{
    enum { TRIES = 4 };
    const bool may_change = q->a->plan == NULL;

    for (int i = 0;; i++) {
        size_t n = 0;
        bool asked;

        QDQ_TRY(make(q, err));
        QDQ_TRY(is_asked(q, &asked, err));
        if (!asked)
            return QDQ_OK;
        QDQ_TRY(ask_engine(q, err));
        if (q->computed == NULL)
            return QDQ_OK;
        if (q->computed->verdict == QDQ_VERIFY_UNKNOWN)
            cli_warn(&q->c->ui, "unknown whether the engine computes the model correctly: %s",
                     q->computed->why);
        if (q->computed->verdict != QDQ_VERIFY_WRONG)
            return QDQ_OK;
        if (may_change && i + 1 < TRIES)
            QDQ_TRY(leave_out(q, i > 0, &n, err));
        if (n == 0)
            return qdq_fail(err, QDQ_E_ENGINE, "%s: nothing is written: %s", q->path,
                            q->computed->why);
        cli_warn(&q->c->ui, "%zu node%s of that form stay%s float: %s", n, cli_plural(n),
                 n == 1 ? "s" : "", q->computed->why);
        QDQ_TRY(drop_plan(q, err));
    }
}
