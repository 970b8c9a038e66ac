/* tune_files.c - what a run writes into its folder on its way. Every file appears whole, by
 * rename: a reader never sees half of one. */
#include "tune/candidate/tune_files.h"

#include "base/fail.h"
#include "onnx/onnx_io.h"
#include "quant/report/annotate.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"

const char *qdq_tune_path(qdq_tune_state *t, const char *name)
{
    return qdq_arena_printf(&t->arena, "%s/%s", t->tools.dir, name);
}

static qdq_status save_model(qdq_tune_state *t, const qdq_model *m, const char *name,
                             qdq_error *err)
{
    const char *path = qdq_tune_path(t, name);

    return path != NULL ? qdq_tune_write_file(t, m, NULL, path, err) : qdq_nomem(err);
}

static qdq_status save_plan_as_model(qdq_tune_state *t, const qdq_plan *p, const char *name,
                                     qdq_error *err)
{
    qdq_model *m = NULL;

    QDQ_TRY(qdq_candidate_model(t->tools.files, p, &m, err));
    qdq_status st = save_model(t, m, name, err);
    qdq_model_free(m);
    return st;
}

qdq_status qdq_tune_write_baseline(qdq_tune_state *t, const char *name, qdq_error *err)
{
    return t->task.converted ? save_plan_as_model(t, t->task.nothing, name, err)
                             : save_model(t, t->task.m, name, err);
}

static qdq_status save_plan(qdq_tune_state *t, const qdq_plan *p, const char *name, qdq_error *err)
{
    const char *path = qdq_tune_path(t, name);

    return path != NULL ? qdq_plan_save(p, path, true, err) : qdq_nomem(err);
}

qdq_status qdq_tune_write_best(qdq_tune_state *t, const qdq_plan *p, qdq_error *err)
{
    QDQ_TRY(p != NULL ? save_plan_as_model(t, p, "model.onnx", err)
                      : qdq_tune_write_baseline(t, "model.onnx", err));
    return save_plan(t, p != NULL ? p : t->task.nothing, "plan.json", err);
}

qdq_status qdq_tune_write_file(qdq_tune_state *t, const qdq_model *m, const qdq_mapping *file,
                               const char *path, qdq_error *err)
{
    qdq_save_opts so = QDQ_SAVE_OPTS_INIT;

    so.allow_overwrite = true;
    so.external = t->opts->external;
    return file != NULL && so.external != QDQ_EXTERNAL_ALWAYS
               ? qdq_onnx_save_copy(file, path, t->job, err)
               : qdq_model_save(m, path, &so, err);
}

qdq_status qdq_tune_write_model(qdq_tune_state *t, const qdq_model *m, const qdq_mapping *file,
                                const qdq_plan *p, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "model.onnx");

    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_tune_write_file(t, m, file, path, err));
    return save_plan(t, p, "plan.json", err);
}

qdq_status qdq_tune_write_plan(qdq_tune_state *t, const qdq_plan *p, const char *model,
                               const char *plan, qdq_error *err)
{
    QDQ_TRY(save_plan_as_model(t, p, model, err));
    return save_plan(t, p, plan, err);
}

qdq_status qdq_tune_write_annotated(qdq_tune_state *t, const qdq_plan *p, const qdq_picture *x,
                                    qdq_error *err)
{
    qdq_model *m = NULL;

    QDQ_TRY(qdq_candidate_model(t->tools.files, p, &m, err));
    qdq_status st = qdq_annotate(m, x, !x->relative, err);
    if (st == QDQ_OK)
        st = save_model(t, m, "model.onnx", err);
    qdq_model_free(m);
    return st;
}

qdq_status qdq_tune_write_raw(qdq_tune_state *t, const qdq_assign *a, qdq_error *err)
{
    qdq_plan *p;

    if (t->run.raw != NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_candidate_of(t, a, &t->run.raw, err));
    if (qdq_assign_count(a) == 0)
        return qdq_tune_write_baseline(t, "model_raw.onnx", err);
    QDQ_TRY(qdq_tune_plan_of(t, a, &p, err));
    qdq_status st = save_plan_as_model(t, p, "model_raw.onnx", err);
    qdq_plan_free(p);
    return st;
}

qdq_status qdq_tune_write_assignment(qdq_tune_state *t, const qdq_assign *a, qdq_error *err)
{
    qdq_plan *p;

    t->run.unwritten = false;
    if (qdq_assign_count(a) == 0)
        return qdq_tune_write_best(t, NULL, err);
    QDQ_TRY(qdq_tune_plan_of(t, a, &p, err));
    qdq_status st = qdq_tune_write_best(t, p, err);
    qdq_plan_free(p);
    return st;
}
