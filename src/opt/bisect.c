/* bisect.c - which change made a model bad? Every change has a number, and a pipeline can be told
 * to stop after this many: a search for the first bad number, each probe on a fresh copy. Passes
 * are deterministic, so that the first k changes are the same in every run. */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "base/pack.h"
#include "qdq/pass.h"

/* A change that makes a model bad; number 0: the model itself is. */
typedef struct change {
    uint64_t number;
    char pass[64], where[256], why[400];
} change;

typedef struct search {
    const qdq_model *model;
    /* the caller's, or the defaults */
    const qdq_optimize_opts *opts;
    /* its job, but warnings of passes would come with every probe */
    qdq_job quiet;
    qdq_bisect_fn evaluate;
    void *ctx;
    /* of the probe at hand: the last change that it made, and what was found */
    change last;
    uint64_t probes, expected;
} search;

/* --- one probe -------------------------------------------------------------------------------- */

static void remember_change(void *ctx, uint64_t number, const char *pass, const char *where)
{
    search *s = ctx;

    s->last.number = number;
    snprintf(s->last.pass, sizeof s->last.pass, "%s", pass);
    snprintf(s->last.where, sizeof s->last.where, "%s", where);
}

/* Callbacks share one first argument, which is ours here. */
static qdq_fold ask_caller(void *ctx, const qdq_fold_node *n)
{
    const search *s = ctx;

    return s->opts->should_fold(s->opts->ctx, n);
}

static qdq_status evaluate_model(search *s, const qdq_model *m, bool *bad, qdq_error *err)
{
    *bad = false;
    s->last.why[0] = '\0';
    return s->evaluate(s->ctx, m, bad, s->last.why, sizeof s->last.why, err);
}

/* Runs the pipeline up to change number `most` (0: to the end). */
static qdq_status optimize(search *s, qdq_model *copy, uint64_t most, bool *bad, qdq_error *err)
{
    qdq_optimize_opts o = *s->opts;
    qdq_error own = QDQ_ERROR_INIT;

    o.verify_each = true;
    o.max_applications = most;
    o.on_change = remember_change;
    o.on_pass = NULL;
    o.should_fold = o.should_fold != NULL ? ask_caller : NULL;
    o.ctx = s;
    o.job = &s->quiet;
    qdq_status st = qdq_model_optimize(copy, &o, NULL, &own);
    *bad = st == QDQ_E_BUG;
    if (*bad)
        snprintf(s->last.why, sizeof s->last.why, "%s", own.text);
    else if (st != QDQ_OK)
        return qdq_fail(err, st, "%s", own.text);
    return QDQ_OK;
}

static qdq_status probe(search *s, uint64_t most, bool *bad, qdq_error *err)
{
    qdq_model *copy = NULL;

    memset(&s->last, 0, sizeof s->last);
    *bad = false;
    qdq_job_progress(s->opts->job, "bisect", s->probes++, s->expected);
    QDQ_TRY(qdq_job_poll(s->opts->job, err));
    QDQ_TRY(qdq_model_clone(s->model, &copy, err));
    qdq_status st = optimize(s, copy, most, bad, err);
    if (st == QDQ_OK && !*bad)
        st = evaluate_model(s, copy, bad, err);
    qdq_model_free(copy);
    return st;
}

/* --- the search ------------------------------------------------------------------------------- */

/* `out` holds a bad probe; everything up to change `good` is good. */
static qdq_status halve(search *s, uint64_t good, change *out, qdq_error *err)
{
    while (out->number - good > 1) {
        uint64_t middle = good + (out->number - good) / 2;
        bool bad;

        QDQ_TRY(probe(s, middle, &bad, err));
        if (bad) {
            *out = s->last;
            out->number = middle;
        } else {
            good = middle;
        }
    }
    return QDQ_OK;
}

static qdq_status find_change(search *s, change *out, qdq_bisect_result *result, qdq_error *err)
{
    bool bad;

    QDQ_TRY(probe(s, s->opts->max_applications, &bad, err));
    const uint64_t changes = s->last.number;
    if (bad) {
        const change all = s->last;

        for (uint64_t n = changes; n > 0; n /= 2)
            s->expected++;
        memset(&s->last, 0, sizeof s->last);
        QDQ_TRY(evaluate_model(s, s->model, &bad, err));
        *out = bad ? s->last : all;
        if (!bad)
            QDQ_TRY(halve(s, 0, out, err));
        result->found = true;
    }
    result->changes = changes;
    result->number = out->number;
    return QDQ_OK;
}

static void pack_texts(qdq_pack *p, void *to)
{
    qdq_bisect_result *r = to;

    r->pass = qdq_pack_string(p, r->pass);
    r->where = qdq_pack_string(p, r->where);
    r->why = qdq_pack_string(p, r->why);
}

qdq_status qdq_model_bisect(const qdq_model *m, const qdq_optimize_opts *opts,
                            qdq_bisect_fn evaluate, void *ctx, qdq_bisect_result **out,
                            qdq_error *err)
{
    qdq_optimize_opts own = QDQ_OPTIMIZE_OPTS_INIT;
    search s = {.model = m, .opts = &own, .evaluate = evaluate, .ctx = ctx, .expected = 1};
    change found = {.number = 0};
    qdq_bisect_result r = {.pass = found.pass, .where = found.where, .why = found.why};

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_optimize_opts", &own, sizeof own, opts, err));
    s.quiet = qdq_job_copy(s.opts->job);
    s.quiet.log = NULL;
    QDQ_TRY(find_change(&s, &found, &r, err));
    *out = qdq_pack_struct(&r, sizeof r, pack_texts);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}
