/* tune_subgraphs.c - every fusion group as a model of its own, for whoever keeps models:
 * DIR/subgraphs/group_N.onnx, as `extract --group N` writes it. */
#include <errno.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "tune/candidate/tune_files.h"
#include "tune/extract/group_model.h"
#include "tune/problem/tune_problem.h"

qdq_status qdq_tune_open_range(qdq_tune_state *t, qdq_shape_range **out, qdq_error *err)
{
    qdq_shape_range_opts shapes = {0};
    qdq_input_shape *usual;

    QDQ_TRY(qdq_usual_shapes(t->task.clean, t->task.quantize.shapes, t->task.quantize.n_shapes,
                             &t->arena, &usual, &shapes.n[QDQ_SHAPE_OPT], err));
    shapes.shapes[QDQ_SHAPE_OPT] = usual;
    return qdq_shape_range_open(t->task.clean, &shapes, out, err);
}

static qdq_status write_group(qdq_tune_state *t, const qdq_shape_range *range, uint32_t group,
                              size_t *skipped, qdq_error *err)
{
    const qdq_group_model_opts opts = {.range = range};
    const char *path =
        qdq_arena_printf(&t->arena, "%s/subgraphs/group_%u.onnx", t->tools.dir, (unsigned)group);
    qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
    qdq_group_model *g;

    QDQ_NEED(path != NULL, err);
    so.allow_overwrite = true;
    QDQ_TRY(qdq_group_model_make(t->parts.fusions, group, &opts, &g, err));
    qdq_status st = QDQ_OK;
    if (g->model != NULL)
        st = qdq_model_save(g->model, path, &so, err);
    else {
        (*skipped)++;
        qdq_job_log(t->job, QDQ_LOG_INFO, "group %u: not written as a model: %s", (unsigned)group,
                    g->why);
    }
    qdq_group_model_free(g);
    return st;
}

static qdq_status write_groups(qdq_tune_state *t, const qdq_shape_range *range, qdq_error *err)
{
    size_t skipped = 0;

    for (uint32_t i = 0; i < t->parts.fusions->n; i++) {
        QDQ_TRY(qdq_job_poll(t->job, err));
        QDQ_TRY(write_group(t, range, i, &skipped, err));
    }
    if (skipped > 0)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "%s/subgraphs: %zu of %u groups are no models of their own", t->tools.dir,
                    skipped, (unsigned)t->parts.fusions->n);
    return QDQ_OK;
}

qdq_status qdq_tune_write_subgraphs(qdq_tune_state *t, qdq_error *err)
{
    const char *folder = qdq_tune_path(t, "subgraphs");
    qdq_shape_range *range;

    if (!t->details->keep_models)
        return QDQ_OK;
    QDQ_NEED(folder != NULL, err);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s", folder);
    QDQ_TRY(qdq_tune_open_range(t, &range, err));
    qdq_status st = write_groups(t, range, err);
    qdq_shape_range_close(range);
    return st;
}
