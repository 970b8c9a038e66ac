/* cmd_quantize_make.c - qdq_ptq() with the options of the command line, and its warnings with the
 * options that help. */
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cli/cli_host.h"
#include "cli/cli_text.h"
#include "cli/cli_verify.h"
#include "cli/cmd_quantize.h"
#include "qdq/tune.h"

static bool is_real(const char *data)
{
    return data != NULL && strncmp(data, "random:", 7) != 0;
}

bool cmd_quantize_is_real(const struct quantize_args *a)
{
    return is_real(a->quant.eval != NULL ? a->quant.eval : a->quant.calib);
}

bool cmd_quantize_is_dry(const struct quantize_args *a)
{
    return a->dry_run || (a->why != NULL && a->out.output == NULL);
}

bool cmd_quantize_seeks_goal(const struct quantize_args *a)
{
    if (a->plan != NULL || a->autotune != 0)
        return false;
    return cli_quant_names_goal(&a->quant)
               ? cmd_quantize_has_goal(a)
               : is_real(a->quant.calib) && a->quant.sqnr && !cmd_quantize_is_dry(a);
}

/* --- options ---------------------------------------------------------------------------------- */

static void fill_goal(const quantize *q, qdq_goal_opts *goal)
{
    const cli_quant_args *a = &q->a->quant;

    /* the tuner had a goal of its own */
    goal->by_default = !cli_quant_names_goal(a) && q->tuned == NULL;
    goal->min_sqnr = a->min_sqnr.value;
    goal->min_agreement = a->min_agreement.value;
    goal->max_drop = q->max_drop;
    goal->one_format = q->a->one_format || cli_format_is_named(&a->format);
    goal->times = q->times;
    goal->times_name = q->a->times;
    cli_metric_fill(&q->metric, goal);
}

static void fill(const quantize *q, qdq_ptq_opts *o)
{
    const struct quantize_args *a = q->a;
    const bool is_dry = cmd_quantize_is_dry(a);

    o->eval = q->samples.eval;
    o->split = q->tuned != NULL ? &q->samples.split : NULL;
    o->plan = q->given_plan;
    o->quantized = q->planned;
    o->reference = q->reference;
    o->no_sqnr = !a->quant.sqnr;
    o->no_engine_check = q->tuned != NULL; /* as the tuner has checked and timed it */
    o->no_speed = !a->bench || is_dry || q->tuned != NULL;
    o->plan_only = is_dry && !cmd_quantize_has_goal(a);
    o->must_compare = a->quant.labels != NULL || a->report != NULL;
    o->best_effort = a->best_effort || is_dry;
    o->spent_s = qdq_clock_seconds() - q->began;
    o->job = &q->c->job;
}

/* --- the call --------------------------------------------------------------------------------- */

typedef struct saving {
    quantize *q;
    qdq_status (*save)(quantize *, qdq_error *);
    /* it names its file itself */
    bool failed;
} saving;

/* What was made, or given. */
static void take(quantize *q, const qdq_ptq_result *r)
{
    q->r = r;
    q->plan = r->plan != NULL ? r->plan : q->given_plan;
    q->quantized = r->model != NULL ? r->model : q->planned;
    q->samples.split = r->split;
}

static qdq_status call_save(void *ctx, const qdq_ptq_result *r, qdq_error *err)
{
    saving *s = ctx;

    take(s->q, r);
    const qdq_status st = s->save(s->q, err);
    s->failed = st != QDQ_OK;
    return st;
}

static qdq_status explain(const quantize *q, qdq_status st, qdq_error *err)
{
    const qdq_ptq_result *r = q->r;

    if (r->verdict == QDQ_PTQ_WRONG)
        return qdq_fail(err, st, "%s: nothing is written: %s", q->path, r->engine_check->why);
    cli_ui_clear(&q->c->ui);
    if (!q->c->json && q->c->ui.level >= QDQ_LOG_WARNING && r->goal != NULL && r->goal->n_steps > 1)
        QDQ_TRY(
            /* no result on stdout will show the trade */
            cmd_quantize_goal_print(q, cli_text_stderr(), err));
    return qdq_fail(err, st, "%s: %s%s", q->path, r->missed,
                    r->goal != NULL ? " (--best-effort writes what came nearest)" : "");
}

qdq_status cmd_quantize_make(quantize *q, qdq_status (*save)(quantize *, qdq_error *),
                             qdq_ptq_result **out, qdq_error *err)
{
    qdq_quantize_opts quant = QDQ_QUANTIZE_OPTS_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    saving s = {.q = q, .save = save};

    if (q->engine != NULL && cmd_quantize_is_real(q->a) && q->a->quant.sqnr && q->tuned == NULL)
        q->reference = cli_verify_reference(q->c, &q->a->engine, q->engine);
    QDQ_TRY(cli_quant_fill(q->c, &q->a->quant, &quant, err));
    QDQ_TRY(cli_host_cpu(q->c, &q->a->engine, &quant.cpu, err));
    quant.float_channels = (qdq_float_channels)q->a->float_channels;
    quant.smooth = (qdq_smooth)q->a->smooth;
    quant.samples = (size_t)q->a->quant.samples;
    QDQ_TRY(cli_host_threads(q->c, &q->a->engine, q->a->threads, &quant.threads, err));
    quant.why = q->why;
    fill_goal(q, &goal);
    fill(q, &o);
    o.quantize = &quant;
    o.goal = &goal;
    o.ready = save != NULL ? call_save : NULL;
    o.ctx = &s;
    const qdq_status st = qdq_ptq(q->model, q->target, q->engine, q->samples.data, &o, out, err);
    if (*out != NULL)
        take(q, *out);
    if (st == QDQ_OK || s.failed)
        return st;
    return *out != NULL ? explain(q, st, err) : cli_at_only_file(q->c, q->path, st, err);
}

/* --- warnings --------------------------------------------------------------------------------- */

static const char *next_step(const quantize *q, qdq_ptq_fact fact)
{
    const bool tunable = q->target == NULL || qdq_autotune_takes(q->target, q->a->engine.engine);

    switch (fact) {
    case QDQ_PTQ_GOAL_MISSED:
    case QDQ_PTQ_GOAL_FLOAT:
        return "; next: more samples, or 'qdq compare --per-tensor' and --exclude; --min-sqnr DB "
               "changes the goal";
    case QDQ_PTQ_GOAL_SLOWER:
        return tunable ? "; next: 'qdq autotune' measures which layers are faster quantized" : "";
    case QDQ_PTQ_LITTLE:
        return ", --format int4 those of Conv too";
    case QDQ_PTQ_PLACEMENT_ONLY:
        return ", --calib DATA gives real ones";
    case QDQ_PTQ_SLOWER_FIXED:
        return "; --set-shape fixes them in what is written";
    case QDQ_PTQ_SLOWER_OPTIMIZED:
    case QDQ_PTQ_SLOWER:
    case QDQ_PTQ_NOT_FASTER:
        return tunable ? "; 'qdq autotune' measures which layers are faster quantized" : "";
    case QDQ_PTQ_ONE_SAMPLE:
    case QDQ_PTQ_NO_OUTPUTS:
    case QDQ_PTQ_NOT_COMPARED:
    case QDQ_PTQ_NOT_CHECKED:
    case QDQ_PTQ_NODES_WRONG:
    case QDQ_PTQ_ENGINE_WRONG:
    case QDQ_PTQ_PLAN_BELOW:
    case QDQ_PTQ_NOTHING:
        break;
    }
    return "";
}

void cmd_quantize_warn(const quantize *q)
{
    for (size_t i = 0; i < q->r->n_warnings; i++) {
        const qdq_ptq_warning *w = &q->r->warnings[i];

        if (!w->logged)
            cli_warn(&q->c->ui, "%s%s", w->text, next_step(q, w->fact));
    }
}
