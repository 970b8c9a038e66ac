/* tune_engines.c - the engine in a worker, as a run asks for it. */
#include "tune/trial/tune_engines.h"

#include "base/fail.h"
#include "engine/trt/trt_args.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_files.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_refused.h"

void qdq_tune_engine_opts(qdq_tune_state *t, qdq_engine_opts *out)
{
    *out = *t->opts->engine_opts;
    out->job = &t->tools.timed;
}

qdq_status qdq_tune_open_worker_client(qdq_tune_state *t, bool parts, qdq_worker_client **out,
                                       qdq_error *err)
{
    const qdq_tune_opts *o = t->opts;
    qdq_engine_opts engine = *o->engine_opts;
    qdq_worker_client_opts lo = {.engine = o->engine != NULL ? o->engine : "ort",
                                 .engine_opts = &engine,
                                 .worker = engine.worker,
                                 .work = qdq_tempdir_path(t->tools.work),
                                 .logs = qdq_tune_path(t, "logs"),
                                 .threads = o->threads,
                                 .build_deadline_s = engine.deadline_s,
                                 .run_deadline_s = engine.deadline_s,
                                 .warmup = t->details->warmup_runs,
                                 .sample_runs = t->details->timing_runs,
                                 .seed = o->seed,
                                 .job = t->job};

    /* all builds of a run choose their kernels by the same times */
    if (engine.timing_cache == NULL)
        engine.timing_cache = qdq_tune_path(t, "timing.cache");
    QDQ_NEED(lo.logs != NULL && engine.timing_cache != NULL, err);
    if (!parts) {
        lo.shapes = t->task.quantize.shapes;
        lo.n_shapes = t->task.quantize.n_shapes;
        QDQ_TRY(qdq_tune_samples(t, &lo.samples, &lo.n_samples, err));
    } else if (engine.trtexec_args != NULL) {
        /* their shapes are those of the whole model's inputs */
        QDQ_TRY(qdq_trt_without_shapes(engine.trtexec_args, &t->arena, &engine.trtexec_args, err));
    }
    QDQ_TRY(qdq_worker_client_open(&lo, out, err));
    qdq_tune_set_deadline(t, *out);
    qdq_status st = qdq_tune_send_refused(t, *out, err);
    return QDQ_HAND_OVER(*out, st, out, qdq_worker_client_close);
}
