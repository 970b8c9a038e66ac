/* tune_models.c - models of candidates: written, built, their outputs compared with the float
 * model's once, and dropped. */
#include "tune/candidate/tune_models.h"

#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/worker_client/tune_fault.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_refused.h"

void qdq_tune_give_up(qdq_tune_candidate *c, const char *what, const char *why)
{
    c->failed = true;
    snprintf(c->why, sizeof c->why, "%s: %.300s", what, why);
    c->died = qdq_tune_is_death(c->why);
}

void qdq_tune_give_up_by_outcome(qdq_tune_candidate *c, const qdq_remote_outcome *outcome)
{
    const bool system = outcome->end == QDQ_REMOTE_REFUSED &&
                        (outcome->code == QDQ_E_IO || outcome->code == QDQ_E_NOMEM);

    qdq_tune_give_up(c, system ? QDQ_TUNE_SYSTEM : qdq_remote_end_name(outcome->end),
                     outcome->text);
}

void qdq_tune_count_deaths(const qdq_tune_state *t, unsigned *died, unsigned *tried)
{
    *died = t->run.isolated_died;
    *tried = t->run.isolated_tried;
    for (size_t i = 0; i < t->run.candidates.n; i++) {
        const qdq_tune_candidate *c = t->run.candidates.at[i];

        if (c == t->run.base || !c->tried || c->shapes != NULL)
            continue;
        (*tried)++;
        *died += c->died;
    }
}

static qdq_status write_model(qdq_tune_state *t, qdq_tune_candidate *c, const char *file,
                              qdq_error *err)
{
    qdq_plan *p = NULL;
    qdq_status st = QDQ_OK;

    if (c->assign.word != NULL && qdq_assign_count(&c->assign) > 0)
        st = qdq_tune_plan_of(t, &c->assign, &p, err);
    if (st == QDQ_OK)
        st = qdq_candidate_write(t->tools.files, p != NULL ? p : t->task.nothing, file, err);
    if (st == QDQ_OK && t->details->keep_models && p != NULL) {
        const char *path =
            qdq_arena_printf(&t->arena, "%s/region_models/%s.onnx", t->tools.dir, c->name);
        qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
        qdq_model *m = NULL;
        so.allow_overwrite = true;
        st = path != NULL ? qdq_candidate_model(t->tools.files, p, &m, err) : qdq_nomem(err);
        if (st == QDQ_OK)
            st = qdq_model_save(m, path, &so, err);
        qdq_model_free(m);
    }
    qdq_plan_free(p);
    return st;
}

static bool has_own_reference(const qdq_tune_state *t)
{
    return t->task.converted && !t->task.nothing->half.direct_io;
}

/* What outputs are compared with: the model as it was given, or its clean copy, which is the
 * baseline. Where inputs have another type than in the input model, no sample is the same for
 * both. */
static qdq_status build_reference(qdq_tune_state *t, const qdq_tune_candidate **out, qdq_error *err)
{
    qdq_tune_candidate *c = t->run.base;
    qdq_remote_outcome outcome = {0};

    if (has_own_reference(t))
        QDQ_TRY(qdq_tune_candidate_named(t, "given", &c, err));
    *out = c;
    if (!has_own_reference(t))
        QDQ_TRY(qdq_tune_build(t, c, NULL, err));
    else if (c->handle < 0 && !c->failed) {
        const char *path =
            qdq_arena_printf(&t->arena, "%s/given.onnx", qdq_tempdir_path(t->tools.work));
        QDQ_NEED(path != NULL, err);
        QDQ_TRY(qdq_model_save(t->task.m, path, NULL, err));
        QDQ_TRY(qdq_worker_client_build(t->tools.worker_client, path, &c->handle, &outcome, err));
        if (outcome.end != QDQ_REMOTE_FINE)
            qdq_tune_give_up_by_outcome(c, &outcome);
    }
    return c->failed ? qdq_fail(err, QDQ_E_ENGINE, "the model itself: %s", c->why) : QDQ_OK;
}

/* No placement can reach a goal that is missed without any. */
static qdq_status check_precision(const qdq_tune_candidate *base, double least, qdq_error *err)
{
    return least != 0 && !(base->sqnr_db >= least)
               ? qdq_fail(err, QDQ_E_GOAL,
                          "in the precision that ships, without any Q/DQ: found SQNR %.2f dB, "
                          "expected at least %g dB",
                          base->sqnr_db, least)
               : QDQ_OK;
}

/* Are its outputs those of the float model, as far as the user wants? Asked once for each model
 * that is built. */
static qdq_status check_outputs(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    const double least = !t->run.in_front ? t->opts->goal->min_sqnr : 0;
    const qdq_tune_candidate *reference;
    qdq_worker_client_accuracy a;
    qdq_remote_outcome outcome = {0};
    char text[64];
    double sqnr_db;

    if (c->checked || (c == t->run.base && !has_own_reference(t)))
        return QDQ_OK;
    if ((qdq_worker_client_engine(t->tools.worker_client)->capabilities & QDQ_CAN_RUN) == 0)
        return QDQ_OK; /* the final validation evaluates what is to be shipped, on an engine that
                          can */
    c->checked = true;
    QDQ_TRY(build_reference(t, &reference, err));
    QDQ_TRY(qdq_worker_client_compare(t->tools.worker_client, reference->handle, c->handle, &a,
                                      &outcome, err));
    c->sqnr_db = a.sqnr_db;
    /* of all evaluation samples, where it was asked */
    sqnr_db = c->evaluated ? c->evaluation.goal_db : a.sqnr_db;
    if (outcome.end != QDQ_REMOTE_FINE)
        qdq_tune_give_up_by_outcome(c, &outcome);
    else if (!a.finite)
        qdq_tune_give_up(c, "outputs", "not finite");
    else if (c == t->run.base)
        return check_precision(c, least, err);
    else if (least != 0 && !(sqnr_db >= least)) {
        if (sqnr_db == -(double)INFINITY)
            snprintf(text, sizeof text, "not finite, or of another shape");
        else
            snprintf(text, sizeof text, "SQNR %.2f dB, expected at least %g dB", sqnr_db, least);
        qdq_tune_give_up(c, "outputs", text);
        c->misses = true;
    }
    return QDQ_OK;
}

qdq_status qdq_tune_model_file(qdq_tune_state *t, qdq_tune_candidate *c, const char **path,
                               qdq_error *err)
{
    const char *file = qdq_arena_printf(&t->arena, "%s.onnx", c->name);

    *path = c->file;
    if (c->file != NULL)
        return QDQ_OK;
    *path = qdq_arena_printf(&t->arena, "%s/%s.onnx", qdq_tempdir_path(t->tools.work), c->name);
    return file != NULL && *path != NULL ? write_model(t, c, file, err) : qdq_nomem(err);
}

qdq_status qdq_tune_build(qdq_tune_state *t, qdq_tune_candidate *c, const char *path,
                          qdq_error *err)
{
    qdq_remote_outcome outcome = {0};

    if (c->failed || c->handle >= 0)
        return QDQ_OK;
    if (path == NULL)
        QDQ_TRY(qdq_tune_model_file(t, c, &path, err));
    QDQ_TRY(qdq_worker_client_build_shaped(t->tools.worker_client, path, c->shapes, &c->handle,
                                           &outcome, err));
    QDQ_TRY(qdq_tune_note_refused(t, t->tools.worker_client, err));
    if (outcome.end != QDQ_REMOTE_FINE) {
        c->handle = -1;
        qdq_tune_give_up_by_outcome(c, &outcome);
        return QDQ_OK;
    }
    return c->shapes != NULL ? QDQ_OK : check_outputs(t, c, err);
}

/* What is no incumbent any more takes memory only. */
void qdq_tune_drop(qdq_tune_state *t, qdq_tune_candidate *c)
{
    if (c == t->run.base || c == t->run.raw)
        return;
    c->counted =
        /* the next time is another build, also in a run that goes on and has it all on disk */
        false;
    if (c->handle < 0)
        return;
    qdq_worker_client_drop(t->tools.worker_client, c->handle);
    c->handle = -1;
}

void qdq_tune_drop_idle(qdq_tune_state *t)
{
    if (t->run.idle != NULL)
        qdq_tune_drop(t, t->run.idle);
    t->run.idle = NULL;
}

qdq_status qdq_tune_build_written(qdq_tune_state *t, const char *name, const char *file,
                                  qdq_tune_candidate **out, qdq_error *err)
{
    const char *path = qdq_tune_path(t, file);

    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_tune_candidate_named(t, name, out, err));
    return qdq_tune_build(t, *out, path, err);
}

qdq_status qdq_tune_build_input(qdq_tune_state *t, qdq_tune_candidate **input, qdq_error *err)
{
    const char *name = t->task.converted
                           ? qdq_arena_printf(&t->arena, "input-%.26s", t->task.nothing_name)
                           : "input";

    QDQ_NEED(name != NULL, err);
    qdq_tune_set_deadline(t, t->tools.worker_client);
    return qdq_tune_build_written(t, name, "baseline.onnx", input, err);
}
