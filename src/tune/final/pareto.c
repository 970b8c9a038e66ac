/* pareto.c - the front between latency and accuracy: placements of which none is better than
 * another in both, by the costs that minimum cuts ended with and by what decisions do to the
 * outputs; each built, measured against the model that was given, and evaluated. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "onnx/side_file.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/mincut/pareto_front.h"
#include "tune/final/tune_final_validation.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"
#include "tune/space/space_types.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_progress.h"
#include "tune/trial/tune_trials.h"
#include "tune/trial/tune_verify.h"

enum { PAIRS = 24, OF_FRONT = 3000 }; /* OF_FRONT: which of the tests between two it is */

typedef struct point {
    qdq_tune_candidate *c;
    /* as it ships */
    qdq_plan *plan;
    qdq_tune_point result;
} point;

typedef struct front {
    qdq_tune_state *t;
    /* from the cheapest; the last may have nothing on */
    qdq_mincut_point *at;
    size_t n;
    point *point;
    size_t n_points;
    /* of the model without Q/DQ, by the same costs */
    double given_cost;
    /* of the input model's time that the clean one takes */
    double clean_share;
} front;

/* --- which ones ------------------------------------------------------------------------------- */

static qdq_status find_points(front *f, qdq_error *err)
{
    qdq_tune_state *t = f->t;
    qdq_assign nothing;

    if (t->parts.sensitivity == NULL)
        QDQ_TRY(qdq_tune_find_sensitivities(t, err));
    if (t->parts.sensitivity == NULL || !t->parts.has_costs)
        return QDQ_OK;
    QDQ_NEED(qdq_assign_new(&nothing, t->task.space->n_groups, &t->arena), err);
    f->given_cost = t->parts.costs.remainder + qdq_energy_value(&t->parts.costs.energy, &nothing);
    return qdq_mincut_front(&t->parts.costs.energy, t->parts.sensitivity,
                            (size_t)t->details->pareto + 1, &t->arena, &f->at, &f->n, err);
}

static bool is_there(const front *f, const qdq_tune_candidate *c)
{
    for (size_t i = 0; i < f->n_points; i++)
        if (f->point[i].c == c)
            return true;
    return c == f->t->run.base;
}

/* `cost`: as a share of that of the model without Q/DQ. Assignments may mean the same model, or the
 * one that was given. */
static qdq_status add_point(front *f, const qdq_assign *a, double cost, qdq_error *err)
{
    qdq_tune_candidate *c;

    QDQ_TRY(qdq_tune_candidate_of(f->t, a, &c, err));
    if (!is_there(f, c) && f->n_points < f->t->details->pareto)
        f->point[f->n_points++] = (point){
            .c = c, .result = {.predicted_ms = f->t->out->baseline_ms * f->clean_share * cost}};
    return QDQ_OK;
}

/* Are the decisions about this node the same in both? */
static bool is_decided_equally(const qdq_space *s, const qdq_node *n, const qdq_assign *a,
                               const qdq_assign *b)
{
    if (n == NULL)
        return true;
    for (size_t g = s->first_group[n->id]; g < s->n_groups && s->group[g].node == n; g++)
        if (qdq_assign_get(a, g) != qdq_assign_get(b, g))
            return false;
    return true;
}

/* The part of a group that is quantized alone. */
static qdq_space_part part_of(const qdq_space *s, const qdq_assign *a, size_t group)
{
    const qdq_space_part part = qdq_space_get_part(s, a, group);

    return part != QDQ_PART_FULL ? part : QDQ_PART_NONE;
}

/* *out: the assignment with the single edges that the search turned, where both ends of an edge are
 * as in what it found: there its gain was measured; with the types that it gave tensors; with the
 * parts of groups, and data quantized at run time, where the assignment leaves these float. */
static qdq_status take_edges(qdq_tune_state *t, const qdq_assign *a, qdq_assign *out,
                             qdq_error *err)
{
    const qdq_space *s = t->task.space;

    QDQ_NEED(qdq_assign_new(out, qdq_space_edge_bits(s), &t->arena), err);
    for (size_t i = 0; i < s->n_groups; i++)
        qdq_space_set_part(
            s, out, i, qdq_assign_get(a, i) ? QDQ_PART_FULL : part_of(s, &t->run.found.best, i));
    for (size_t i = 0; i < s->n_edges; i++) {
        const qdq_space_edge *e = &s->edge[i];
        if (qdq_space_is_flipped(s, &t->run.found.best, i) &&
            is_decided_equally(s, e->node, a, &t->run.found.best) &&
            is_decided_equally(s, qdq_space_source(s, e->value), a, &t->run.found.best))
            qdq_space_flip(s, out, i);
        const uint32_t typed = qdq_space_typed(s, e->value);
        if (typed != QDQ_NOT_TYPED)
            qdq_space_set_type(s, out, typed, qdq_space_get_type(s, &t->run.found.best, typed));
    }
    for (size_t i = 0; i < s->n_formed; i++)
        if (qdq_space_has_form(s, &t->run.found.best, i) &&
            is_decided_equally(s, s->formed[i].node, a, &t->run.found.best))
            qdq_space_set_form(s, out, i);
    return QDQ_OK;
}

/* What the search found may have Q/DQ that costs of decisions know nothing of: on single edges, or
 * as another tool placed them. Then it takes the place of the cheapest one by these costs, where
 * there is no room for both. */
static qdq_status list_points(front *f, qdq_error *err)
{
    qdq_tune_state *t = f->t;
    size_t first = 0;
    qdq_assign with_edges;

    f->point = qdq_arena_array(&f->t->arena, f->n + 2, sizeof *f->point);
    QDQ_NEED(f->point != NULL, err);
    if (t->run.found.best.n > t->task.space->n_groups) {
        QDQ_TRY(add_point(f, &t->run.found.best,
                          t->run.found.predicted_ns / t->parts.problem.base_ns, err));
        first = f->n_points > 0 && f->n > t->details->pareto ? 1 : 0;
    }
    for (size_t i = first; i < f->n; i++) {
        QDQ_TRY(take_edges(t, &f->at[i].assign, &with_edges, err));
        QDQ_TRY(add_point(f, &with_edges,
                          (t->parts.costs.remainder + f->at[i].cost) / f->given_cost, err));
    }
    return QDQ_OK;
}

/* --- what they are worth ---------------------------------------------------------------------- */

static qdq_status measure_point(const front *f, qdq_tune_candidate *input, qdq_tune_candidate *c,
                                unsigned pairs, qdq_test_result *r, bool *ok, qdq_error *err)
{
    qdq_test_opts o = f->t->run.test;
    bool failed;

    o.strict = true;
    o.max_pairs = pairs;
    QDQ_TRY(qdq_tune_compare(f->t, input, c, OF_FRONT, &o, r, &failed, err));
    *ok = !failed;
    return QDQ_OK;
}

static qdq_status compare_clean(front *f, qdq_tune_candidate *input, qdq_error *err)
{
    qdq_test_result r;
    bool ok;

    QDQ_TRY(measure_point(f, input, f->t->run.base, PAIRS / 2, &r, &ok, err));
    f->clean_share = ok ? 1 - r.gain : 1;
    return QDQ_OK;
}

/* *ok: false where the engine did not survive it. */
static qdq_status fill_point(front *f, qdq_tune_candidate *input, point *p, bool *ok,
                             qdq_error *err)
{
    qdq_tune_state *t = f->t;
    qdq_tune_point *to = &p->result;
    qdq_tune_evaluation evaluation;
    qdq_test_result r;
    bool known;

    /* what misses the goal is a point of the front like any other */
    p->c->failed = p->c->failed && !p->c->misses;
    QDQ_TRY(measure_point(f, input, p->c, PAIRS, &r, ok, err));
    qdq_tune_drop(t, p->c);
    if (!*ok)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_plan_of(t, &p->c->assign, &p->plan, err));
    QDQ_TRY(qdq_tune_verify(t, p->c, err));
    *ok = !p->c->wrong;
    if (!*ok)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_evaluate_plan(t, p->plan, &evaluation, &known, err));
    *ok = known;
    if (!known) {
        snprintf(p->c->why, sizeof p->c->why, "time limit reached before its evaluation");
        return QDQ_OK;
    }
    to->ms = t->out->baseline_ms * (1 - r.gain);
    to->ms_low = t->out->baseline_ms * (1 - r.ci_high);
    to->ms_high = t->out->baseline_ms * (1 - r.ci_low);
    to->sqnr_db = evaluation.sqnr_db;
    to->accuracy = evaluation.accuracy;
    to->nodes = (unsigned)p->plan->quantized.n;
    return QDQ_OK;
}

/* Those that died, and those for which no time is left, are left out. */
static qdq_status fill_all(front *f, qdq_tune_candidate *input, qdq_error *err)
{
    qdq_tune_state *t = f->t;
    const size_t all = f->n_points;

    f->n_points = 0;
    for (size_t i = 0; i < all; i++) {
        point p = f->point[i];
        bool ok;
        qdq_tune_show(t, "front");
        QDQ_TRY(qdq_job_poll(t->job, err));
        if (qdq_tune_time_is_up(t)) {
            t->run.found.ended_early = true;
            qdq_job_log(t->job, QDQ_LOG_WARNING,
                        "--pareto: time limit reached; %zu of %zu models are not written", all - i,
                        all);
            break;
        }
        qdq_status st = fill_point(f, input, &p, &ok, err);
        if (st != QDQ_OK || !ok)
            qdq_plan_free(p.plan);
        QDQ_TRY(st);
        if (ok)
            f->point[f->n_points++] = p;
        else
            qdq_job_log(t->job, QDQ_LOG_WARNING, "--pareto: a model is not written: %s", p.c->why);
    }
    return QDQ_OK;
}

/* --- in order --------------------------------------------------------------------------------- */

static int by_latency(const void *a, const void *b)
{
    const qdq_tune_point *x = &((const point *)a)->result, *y = &((const point *)b)->result;

    return x->ms != y->ms ? (x->ms < y->ms ? -1 : 1)
                          : strcmp(((const point *)a)->c->name, ((const point *)b)->c->name);
}

/* By one that is as fast and as near to the input model, and better in one of both; or by that
 * model itself. */
static bool is_dominated(const front *f, const qdq_tune_point *p)
{
    for (size_t i = 0; i < f->n_points; i++) {
        const qdq_tune_point *other = &f->point[i].result;
        if (other->ms <= p->ms && other->sqnr_db >= p->sqnr_db &&
            (other->ms < p->ms || other->sqnr_db > p->sqnr_db))
            return true;
    }
    return p->ms >= f->t->out->baseline_ms;
}

static void rank_points(front *f)
{
    if (f->n_points > 1)
        qsort(f->point, f->n_points, sizeof *f->point, by_latency);
    for (size_t i = 0; i < f->n_points; i++)
        f->point[i].result.dominated = is_dominated(f, &f->point[i].result);
}

/* --- files ------------------------------------------------------------------------------------ */

static qdq_status remove_file(const char *path, qdq_error *err)
{
    return unlink(path) == 0 || errno == ENOENT ? QDQ_OK
                                                : qdq_fail_errno(err, QDQ_E_IO, errno, "%s", path);
}

/* Of a run before this one, which had more. */
static qdq_status remove_others(qdq_tune_state *t, size_t n, qdq_error *err)
{
    for (unsigned k = (unsigned)n + 1; k <= QDQ_TUNE_MOST_POINTS; k++) {
        const char *model = qdq_arena_printf(&t->arena, "%s/pareto/model_%u.onnx", t->tools.dir, k);
        const char *plan = qdq_arena_printf(&t->arena, "%s/pareto/plan_%u.json", t->tools.dir, k);
        QDQ_NEED(model != NULL && plan != NULL, err);
        QDQ_TRY(qdq_model_remove(model, err));
        QDQ_TRY(remove_file(plan, err));
    }
    return QDQ_OK;
}

static qdq_status write_all(front *f, qdq_error *err)
{
    qdq_tune_state *t = f->t;
    const char *folder = qdq_tune_path(t, "pareto");

    QDQ_NEED(folder != NULL, err);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s", folder);
    QDQ_TRY(remove_others(t, f->n_points, err));
    for (unsigned k = 1; k <= f->n_points; k++) {
        qdq_tune_point *result = &f->point[k - 1].result;
        result->file = qdq_arena_printf(&t->arena, "pareto/model_%u.onnx", k);
        result->plan = qdq_arena_printf(&t->arena, "pareto/plan_%u.json", k);
        QDQ_NEED(result->file != NULL && result->plan != NULL, err);
        QDQ_TRY(qdq_tune_write_plan(t, f->point[k - 1].plan, result->file, result->plan, err));
    }
    return QDQ_OK;
}

/* --- what it is shown beside ------------------------------------------------------------------ */

static qdq_status evaluate_others(qdq_tune_state *t, qdq_error *err)
{
    qdq_tune_evaluation evaluation = {.sqnr_db = NAN};
    qdq_plan *p;
    bool known;

    if (isfinite(t->out->rules_ms))
        QDQ_TRY(qdq_tune_evaluate_plan(t, t->task.rules, &evaluation, &known, err));
    t->outcome.rules_db = evaluation.sqnr_db;
    t->outcome.final_db = NAN;
    if (t->out->verdict == QDQ_TUNED_RULES)
        t->outcome.final_db = t->outcome.rules_db;
    if (t->out->verdict != QDQ_TUNED)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_plan_of(t, &t->run.found.best, &p, err));
    qdq_status st = qdq_tune_evaluate_plan(t, p, &evaluation, &known, err);
    qdq_plan_free(p);
    t->outcome.final_db = evaluation.sqnr_db;
    return st;
}

/* --- the whole -------------------------------------------------------------------------------- */

static qdq_status make_front(front *f, qdq_error *err)
{
    qdq_tune_state *t = f->t;
    qdq_tune_candidate *input;

    QDQ_TRY(find_points(f, err));
    if (f->n == 0) {
        qdq_job_log(t->job, QDQ_LOG_WARNING, "no front: it is not known what decisions %s",
                    t->parts.sensitivity == NULL
                        ? "do to the outputs"
                        : "take: the search ended before there were profiles");
        return QDQ_OK;
    }
    QDQ_TRY(qdq_tune_build_input(t, &input, err));
    if (input->failed)
        return qdq_fail(err, QDQ_E_ENGINE, "the model itself: %s", input->why);
    QDQ_TRY(compare_clean(f, input, err));
    QDQ_TRY(list_points(f, err));
    QDQ_TRY(fill_all(f, input, err));
    QDQ_TRY(evaluate_others(t, err));
    rank_points(f);
    QDQ_TRY(write_all(f, err));
    t->out->pareto = qdq_arena_array(&t->arena, f->n_points + 1, sizeof *t->out->pareto);
    QDQ_NEED(t->out->pareto != NULL, err);
    t->out->n_pareto = f->n_points;
    for (size_t i = 0; i < f->n_points; i++)
        t->out->pareto[i] = f->point[i].result;
    return QDQ_OK;
}

qdq_status qdq_tune_find_front(qdq_tune_state *t, qdq_error *err)
{
    front f = {.t = t};

    if (t->details->pareto == 0)
        return QDQ_OK;
    t->run.in_front = true;
    qdq_status st = make_front(&f, err);
    for (size_t i = 0; i < f.n_points; i++)
        qdq_plan_free(f.point[i].plan);
    return st;
}
