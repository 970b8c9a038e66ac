/* quantize_smooth.c - smooths the activations of a clean model, before its plan is made. */
#include "quant/quantize_steps.h"

#include "base/fail.h"
#include "base/opts.h"
#include "quant/calib/sweep.h"
#include "quant/data/data_source.h"
#include "quant/place/why.h"
#include "quant/weights/smooth.h"
#include "quant/weights/smooth_fold.h"

/* Which activations would be in 8 bits: placed, without scales. */
static qdq_status place_first(const qdq_quantizing *q, qdq_quantizing *placed, qdq_error *err)
{
    QDQ_TRY(qdq_quantize_again(q->plan, placed->plan, err));
    return qdq_place_for(placed, err);
}

static void explain(const qdq_quantizing *q, const qdq_smooth_notes *notes)
{
    for (size_t i = 0; i < notes->list.n && q->opts->why != NULL; i++) {
        const qdq_smooth_note *n = &notes->list.at[i];

        for (const qdq_use *u = n->x->first; u != NULL; u = u->next)
            qdq_why_say(q->opts->why, u->node, "smooth", n->is_smoothed, "%s", n->text);
    }
}

static qdq_status search(const qdq_quantizing *q, const qdq_smooth_ask *ask, qdq_quantizing *placed,
                         qdq_smooth_notes *notes, qdq_error *err)
{
    qdq_quantize_opts opts = *q->opts;

    QDQ_TRY(place_first(q, placed, err));
    placed->opts = &opts;
    QDQ_TRY(qdq_smooth_search(placed, ask, q->plan, notes, err));
    explain(q, notes);
    qdq_job_log(q->opts->job, QDQ_LOG_INFO, "%zu of %zu activations before products are smoothed",
                q->plan->smoothings.n, notes->list.n);
    return QDQ_OK;
}

qdq_status qdq_quantize_find_smoothings(const qdq_quantizing *q, const qdq_smooth_ask *ask,
                                        qdq_error *err)
{
    qdq_smooth_notes notes = {.arena = QDQ_ARENA_INIT};
    qdq_quantize_opts opts = *q->opts;
    qdq_quantizing placed = *q;
    qdq_job quiet = qdq_job_copy(opts.job);

    if (q->opts->cache != NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "%s: ranges of the model as it is, but smoothing changes them; expected "
                        "--calib without this cache",
                        q->opts->cache);
    if (q->data == NULL || qdq_data_is_random(q->data)) {
        qdq_job_log(q->opts->job, QDQ_LOG_WARNING,
                    "no activation is smoothed: random input shows nothing of channels");
        return QDQ_OK;
    }
    quiet.log = NULL;
    opts.job = &quiet;
    opts.why = NULL;
    placed.opts = &opts;
    placed.plan = qdq_plan_new();
    qdq_status st = placed.plan != NULL ? search(q, ask, &placed, &notes, err) : qdq_nomem(err);
    qdq_plan_free(placed.plan);
    qdq_arena_free(&notes.arena);
    return st;
}

qdq_status qdq_quantize_smooth(const qdq_quantizing *q, qdq_model *m, qdq_error *err)
{
    QDQ_TRY(qdq_quantize_find_smoothings(q, NULL, err));
    return qdq_smooth_apply(m, q->plan, err);
}
