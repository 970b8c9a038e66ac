/* probe_sides.c - both sides of a probe as model files: the same float model, quantized with the
 * rule and without it. */
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "qdq/data.h"
#include "qdq/model.h"
#include "tune/probe/probe_model.h"
#include "tune/probe/probe_run.h"
#include "tune/probe/probe_target.h"

static qdq_status quantize_side(qdq_probe_run *r, const qdq_probe *p, const qdq_model *m, bool with,
                                qdq_model **out, qdq_error *err)
{
    qdq_quantize_opts o = QDQ_QUANTIZE_OPTS_INIT;
    qdq_data_opts of_data = QDQ_DATA_OPTS_INIT;
    qdq_job quiet = QDQ_JOB_INIT;
    qdq_target *side = NULL;
    qdq_data *data = NULL;
    qdq_plan *plan = NULL;

    QDQ_TRY(qdq_probe_side(r->t, p, with, &side, err));
    of_data.max_samples = 1; /* no kernel takes longer for another scale */
    quiet.cancel = qdq_job_cancel(r->opts.job);
    o.job = &quiet;
    o.threads = r->opts.threads;
    qdq_status st = qdq_data_open("random:1", m, &of_data, &data, err);
    if (st == QDQ_OK) /* without its only operator, a target leaves all float */
        st = side->ops.n > 0 ? qdq_quantize(m, side, r->engine, data, &o, &plan, out, err)
                             : qdq_model_clone(m, out, err);
    qdq_plan_free(plan);
    qdq_data_close(data);
    qdq_target_free(side);
    return st;
}

static qdq_status save_side(qdq_probe_run *r, const qdq_model *m, const char **path, qdq_error *err)
{
    qdq_save_opts o = QDQ_SAVE_OPTS_INIT;

    o.external = QDQ_EXTERNAL_NEVER;
    *path = qdq_arena_printf(&r->arena, "%s/%u.onnx", qdq_tempdir_path(r->dir), r->n_files++);
    return *path != NULL ? qdq_model_save(m, *path, &o, err) : qdq_nomem(err);
}

static qdq_status is_same(const qdq_model *a, const qdq_model *b, bool *same, qdq_error *err)
{
    size_t n[2] = {0};
    void *data[2] = {NULL};
    qdq_status st = qdq_model_to_bytes(a, NULL, &data[0], &n[0], err);

    if (st == QDQ_OK)
        st = qdq_model_to_bytes(b, NULL, &data[1], &n[1], err);
    *same = st == QDQ_OK && n[0] == n[1] && memcmp(data[0], data[1], n[0]) == 0;
    qdq_free(data[0]);
    qdq_free(data[1]);
    return st;
}

qdq_status qdq_probe_write_sides(qdq_probe_run *r, const qdq_probe *p, const qdq_probe_size *size,
                                 const char *path[2], bool *equal, qdq_error *err)
{
    qdq_model *m = NULL, *side[2] = {NULL};

    *equal = false;
    qdq_status st = qdq_probe_make_model(p, size, r->opts.seed, &m, err);
    for (int i = 0; i < 2 && st == QDQ_OK; i++)
        st = quantize_side(r, p, m, i == 1, &side[i], err);
    if (st == QDQ_OK)
        st = is_same(side[0], side[1], equal, err);
    for (int i = 0; i < 2 && st == QDQ_OK; i++)
        st = save_side(r, side[i], &path[i], err);
    for (int i = 0; i < 2; i++)
        qdq_model_free(side[i]);
    qdq_model_free(m);
    return st;
}
