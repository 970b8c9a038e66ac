/* cli_tune.c - what stands between the command line and qdq_autotune(). */
#include "cli/cli_tune.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "cli/cli_files.h"
#include "cli/cli_host.h"

const char *const cli_tune_presets[] = {"default", "quick", "extensive", NULL};

/* --- the folder ------------------------------------------------------------------------------- */

static const char *const outputs[] = {"model.onnx",    "plan.json",     "report.json",
                                      "report.html",   "patterns.yaml", "baseline.onnx",
                                      "model_raw.onnx"};

qdq_status cli_tune_add_files(cli *c, const char *dir, qdq_error *err)
{
    for (size_t i = 0; i < QDQ_COUNT(outputs); i++) {
        const char *path = qdq_arena_printf(&c->arena, "%s/%s", dir, outputs[i]);
        QDQ_NEED(path != NULL, err);
        QDQ_TRY(cli_files_add(c, path, "a file of --output", CLI_UPDATES, err));
    }
    return QDQ_OK;
}

static bool look(const char *dir, const char *name, struct stat *st)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    return n > 0 && (size_t)n < sizeof path && stat(path, st) == 0;
}

/* A run leaves its store, or where that is elsewhere, logs beside the baseline. */
static bool is_of_a_run(const char *dir)
{
    struct stat st;

    return look(dir, "tune.db", &st) || (look(dir, "baseline.onnx", &st) && look(dir, "logs", &st));
}

static qdq_status check_content(const char *dir, const struct stat *model, const char *what,
                                bool force, qdq_error *err)
{
    bool ours = force || is_of_a_run(dir);
    struct stat st;

    for (size_t i = 0; i < QDQ_COUNT(outputs); i++) {
        if (!look(dir, outputs[i], &st))
            continue;
        if (model != NULL && st.st_dev == model->st_dev && st.st_ino == model->st_ino)
            return qdq_fail(err, QDQ_E_USAGE,
                            "found --output %s, where %s is %s itself: expected another folder",
                            dir, outputs[i], what);
        if (!ours)
            return qdq_fail(err, QDQ_E_IO, "%s: %s is not from autotune; expected -f", dir,
                            outputs[i]);
    }
    return QDQ_OK;
}

static qdq_status check_parent(const char *dir, qdq_error *err)
{
    char parent[4096];
    size_t n = strlen(dir);
    struct stat st;

    while (n > 1 && dir[n - 1] == '/')
        n--;
    while (n > 0 && dir[n - 1] != '/')
        n--;
    if (n >= sizeof parent)
        return qdq_fail(err, QDQ_E_IO, "%s: the name is too long", dir);
    memcpy(parent, n > 0 ? dir : ".", n > 0 ? n : 1);
    parent[n > 0 ? n : 1] = '\0';
    if (stat(parent, &st) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: folder '%s'", dir, parent);
    return S_ISDIR(st.st_mode) ? QDQ_OK
                               : qdq_fail(err, QDQ_E_IO, "%s: '%s' is not a folder", dir, parent);
}

qdq_status cli_tune_check_folder(const char *dir, const char *model, const char *what, bool force,
                                 qdq_error *err)
{
    struct stat st, of_model;

    if (cli_is_stdout(dir))
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --output -, expected a folder: a run writes several files");
    if (stat(dir, &st) != 0)
        return errno == ENOENT ? check_parent(dir, err)
                               : qdq_fail_errno(err, QDQ_E_IO, errno, "%s", dir);
    if (!S_ISDIR(st.st_mode))
        return qdq_fail(err, QDQ_E_IO, "%s: found a file, expected a folder", dir);
    bool is_file = !cli_is_stdout(model) && stat(model, &of_model) == 0;
    return check_content(dir, is_file ? &of_model : NULL, what, force, err);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void view_log(void *ctx, qdq_log_level level, const char *text)
{
    cli_ui_log(((cli_tune_view *)ctx)->ui, level, text);
}

static void view_progress(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    cli_ui_progress(((cli_tune_view *)ctx)->ui, stage, done, total);
}

static qdq_status say_interrupted(const char *dir, qdq_error *err)
{
    struct stat st;

    if (!look(dir, "model.onnx", &st))
        return qdq_fail(err, QDQ_E_INTERRUPTED, "interrupted before anything was measured");
    return qdq_fail(err, QDQ_E_INTERRUPTED,
                    "interrupted: the best so far is %s/model.onnx, repeat the command to resume",
                    dir);
}

qdq_status cli_tune_run(cli *c, const cli_tune_request *r, qdq_tune_opts *o, qdq_error *err)
{
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_engine_opts engine = QDQ_ENGINE_OPTS_INIT;
    qdq_tune_details details = QDQ_TUNE_DETAILS_INIT;
    cli_tune_view view = {.ui = &c->ui};
    qdq_job job = c->job;

    job.ctx = &view;
    job.log = view_log;
    job.progress = view_progress;
    QDQ_TRY(cli_engine_opts_fill(c, r->engine, &engine, err));
    engine.job = &job;
    QDQ_TRY(cli_quant_fill(c, r->quant, &quantize, err));
    QDQ_TRY(cli_host_cpu(c, r->engine, &quantize.cpu, err));
    quantize.samples = r->samples->split.calibrate;
    quantize.threads = r->calibration_threads;
    quantize.job = &job;
    goal.min_sqnr = r->quant->min_sqnr.value;
    goal.min_agreement = r->quant->min_agreement.value;
    goal.by_default = !cli_quant_names_goal(r->quant);
    goal.max_drop = r->max_drop;
    goal.one_format = r->one_format;
    cli_metric_fill(r->metric, &goal);
    goal.eval = r->samples->eval;
    goal.folds = r->samples->split.folds;
    goal.first = r->samples->split.first;
    goal.count = r->samples->split.evaluate;
    o->quantize = &quantize;
    o->goal = &goal;
    o->engine = r->engine->engine;
    o->engine_opts = &engine;
    o->job = &job;
    o->live = cli_tune_view_live;
    if (o->details != NULL)
        details = *o->details;
    details.set_shapes = r->quant->set_shape.at;
    details.n_set_shapes = r->quant->set_shape.n;
    o->details = &details;
    qdq_status st = qdq_autotune(r->model, r->target, r->samples->data, r->dir, o, NULL, err);
    cli_ui_clear(&c->ui);
    return st == QDQ_E_INTERRUPTED ? say_interrupted(r->dir, err)
                                   : cli_at_only_file(c, r->path, st, err);
}
