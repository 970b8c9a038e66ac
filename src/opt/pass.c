/* pass.c - the pass manager: runs the passes of a pipeline in order until nothing changes. The
 * manager, not the pass, finds out whether something changed: every edit counts itself. */
#include "qdq/pass.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/opts.h"
#include "ir/graph_check.h"
#include "opt/fold_policy.h"
#include "opt/opt_state.h"
#include "opt/rules/rule.h"

enum { MAX_ROUNDS = 20 };

static uint64_t count_edits(const qdq_model *m)
{
    uint64_t edits = m->edits;

    for (size_t i = 0; i < m->graphs.n; i++)
        edits += m->graphs.at[i]->edits;
    return edits;
}

/* --- one pass --------------------------------------------------------------------------------- */

static qdq_status run_on_nodes(qdq_opt *o, const qdq_graph *g, qdq_node_pass_fn run, qdq_error *err)
{
    QDQ_FOR_NODES (n, g) {
        QDQ_TRY(run(o, n, err));
        qdq_arena_reset(&o->scratch, (qdq_arena_mark){NULL, 0});
    }
    return QDQ_OK;
}

/* Graphs that a pass adds are seen by the next one. */
static qdq_status run_on_graphs(qdq_opt *o, const qdq_pass_info *pass, qdq_error *err)
{
    QDQ_FOR_GRAPHS (g, o->model)
        QDQ_TRY(pass->node != NULL ? run_on_nodes(o, g, pass->node, err) : pass->graph(o, g, err));
    return QDQ_OK;
}

/* Neighbouring rules are one walk: what one of them leaves behind is often what another waits
 * for. */
static qdq_status run_rules(qdq_opt *o, size_t first, size_t n, qdq_error *err)
{
    const qdq_rule *rules[QDQ_MAX_STEPS];

    for (size_t i = 0; i < n; i++)
        rules[i] = o->state->pipeline.step[first + i].pass->rule;
    QDQ_FOR_GRAPHS (g, o->model)
        QDQ_TRY(qdq_rules_run(o, rules, n, g, err));
    return QDQ_OK;
}

static size_t group_size(const qdq_pipeline *p, size_t first)
{
    size_t n = 1;

    while (p->step[first].pass->rule != NULL && first + n < p->n &&
           p->step[first + n].pass->rule != NULL)
        n++;
    return n;
}

static qdq_status run_step(qdq_opt *o, size_t first, size_t n, qdq_error *err)
{
    const qdq_step *step = &o->state->pipeline.step[first];
    qdq_status st;

    o->arg = step->arg;
    for (size_t i = 0; i < n; i++)
        qdq_opt_begin_record(o, first + i);
    qdq_opt_enter(o, first);
    if (step->pass->rule != NULL)
        st = run_rules(o, first, n, err);
    else if (step->pass->model != NULL)
        st = step->pass->model(o, err);
    else
        st = run_on_graphs(o, step->pass, err);
    qdq_arena_reset(&o->scratch, (qdq_arena_mark){NULL, 0});
    if (st == QDQ_OK &&
        (o->state->nomem || (o->state->facts != NULL && qdq_facts_lacked_memory(o->state->facts))))
        st = qdq_nomem(err);
    return st == QDQ_OK ? st : qdq_within(err, st, "pass '%s'", step->pass->name);
}

/* What the caller wants to know of a pass that changed something. */
static qdq_status verify_and_report(qdq_opt *o, size_t first, size_t n, const char *before,
                                    qdq_error *err)
{
    const char *name = n == 1 ? o->state->pipeline.step[first].pass->name : "rules";

    if (o->opts->verify_each) {
        qdq_status st = qdq_model_verify(o->model, err);
        if (st == QDQ_E_FORMAT)
            return qdq_within(err, QDQ_E_BUG, "after pass '%s'", name);
        QDQ_TRY(st);
    }
    return o->opts->on_pass != NULL ? qdq_opt_report_lines(o, name, before, err) : QDQ_OK;
}

static qdq_status run_and_verify(qdq_opt *o, size_t first, size_t n, qdq_error *err)
{
    uint64_t before = count_edits(o->model);
    char *text = NULL;
    qdq_status st = QDQ_OK;

    if (o->opts->on_pass != NULL)
        QDQ_TRY(qdq_opt_text(o->model, &text, err));
    double start = qdq_clock_seconds();
    st = run_step(o, first, n, err);
    qdq_opt_end_record(o, first, n, qdq_clock_seconds() - start);
    if (st == QDQ_OK && count_edits(o->model) != before)
        st = verify_and_report(o, first, n, text, err);
    qdq_free(text);
    return st;
}

/* --- to the fixed point ----------------------------------------------------------------------- */

/* A pass is skipped while nothing was edited since it last found nothing to do. */
static qdq_status run_round(qdq_opt *o, uint64_t *seen, qdq_error *err)
{
    const qdq_pipeline *p = &o->state->pipeline;

    for (size_t i = 0, n; i < p->n; i += n) {
        n = group_size(p, i);
        QDQ_TRY(qdq_job_poll(o->opts->job, err));
        uint64_t before = count_edits(o->model);
        if (seen[i] == before + 1)
            continue;
        QDQ_TRY(run_and_verify(o, i, n, err));
        seen[i] = count_edits(o->model) == before ? before + 1 : 0;
    }
    return QDQ_OK;
}

/* Below IR 4 every initializer is listed as an input, too. What passes add never is: from IR 4 on
 * that is right, and what was listed, which no caller could replace, is a constant that may go when
 * nothing reads it. */
static void leave_old_format(qdq_model *m)
{
    if (m->ir_version != 3)
        return;
    qdq_graph_unlist_inits(m->graph);
    m->ir_version = 4;
}

static qdq_status run_rounds(qdq_opt *o, bool *settled, int *rounds, qdq_error *err)
{
    uint64_t seen[QDQ_MAX_STEPS] = {0}, before;

    *settled = false;
    for (*rounds = 0; !*settled && *rounds < MAX_ROUNDS; ++*rounds) {
        before = count_edits(o->model);
        QDQ_TRY(run_round(o, seen, err));
        qdq_opt_close_facts(o);
        *settled = count_edits(o->model) == before;
        if (!*settled)
            leave_old_format(o->model);
    }
    if (!*settled)
        qdq_job_log(o->opts->job, QDQ_LOG_WARNING, "passes still change the model after %d rounds",
                    MAX_ROUNDS);
    return QDQ_OK;
}

static qdq_status run_pipeline(qdq_opt *o, qdq_optimize_report **report, qdq_error *err)
{
    bool settled;
    int rounds;

    QDQ_TRY(qdq_opt_begin(o, err));
    QDQ_TRY(run_rounds(o, &settled, &rounds, err));
    qdq_status st = rounds > 1 ? qdq_model_verify(o->model, err) : QDQ_OK;
    if (st == QDQ_E_FORMAT)
        return qdq_within(err, QDQ_E_BUG, "after passes '%s'", o->opts->passes);
    QDQ_TRY(st);
    return report != NULL ? qdq_opt_report(o, settled, rounds, report, err) : QDQ_OK;
}

/* --- public ----------------------------------------------------------------------------------- */

static uint64_t or_default(uint64_t bytes)
{
    return bytes != 0 ? bytes : (uint64_t)1 << 20;
}

/* A misspelt name would fold, or not fold, more than was meant, and no one would see it. */
static qdq_status check_operators(const char *const *names, bool fold, qdq_error *err)
{
    for (; names != NULL && *names != NULL; names++) {
        qdq_op op = qdq_op_find("", *names);

        if (op == QDQ_OP_UNKNOWN)
            return qdq_fail(err, QDQ_E_USAGE,
                            "constant folding: found '%.80s', expected an operator, as Transpose",
                            *names);
        if (fold && qdq_fold_never(op))
            return qdq_fail(err, QDQ_E_USAGE, "constant folding: %s is never computed", *names);
    }
    return QDQ_OK;
}

qdq_status qdq_model_optimize(qdq_model *m, const qdq_optimize_opts *opts,
                              qdq_optimize_report **report, qdq_error *err)
{
    qdq_optimize_opts own = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_opt_state state = {0};
    qdq_opt o = {.opts = &own, .model = m, .arg = "", .state = &state};

    if (report != NULL)
        *report = NULL;
    QDQ_TRY(qdq_opts_read("qdq_optimize_opts", &own, sizeof own, opts, err));
    if (own.passes == NULL)
        own.passes = "default";
    own.fold_input_bytes = or_default(own.fold_input_bytes);
    own.fold_output_bytes = or_default(own.fold_output_bytes);
    qdq_status st = qdq_pipeline_parse(own.passes, own.target, &state.memory, &state.pipeline, err);
    if (st == QDQ_OK)
        st = check_operators(own.no_fold, false, err);
    if (st == QDQ_OK)
        st = check_operators(own.fold_only, true, err);
    if (st == QDQ_OK)
        st = qdq_model_verify(m, err); /* what is wrong from the start is no pass's doing */
    if (st == QDQ_OK)
        st = run_pipeline(&o, report, err);
    qdq_opt_end(&o);
    return st;
}

qdq_status qdq_model_run_passes(qdq_model *m, const char *pipeline, qdq_error *err)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;

    opts.passes = pipeline;
    return qdq_model_optimize(m, &opts, NULL, err);
}
