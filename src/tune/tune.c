/* tune.c - the whole run: prepare, calibrate once, build the problem, search, and let the final
 * validation decide what is shipped. */
#include "qdq/tune.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/opts.h"
#include "quant/check/verify_texts.h"
#include "quant/data/data_source.h"
#include "quant/goal/goal_outputs.h"
#include "quant/target_fit.h"
#include "target/target.h"
#include "tune/accuracy/accuracy.h"
#include "tune/baseline/baseline.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/final/tune_final_validation.h"
#include "tune/greedy/greedy.h"
#include "tune/outcome/outcome.h"
#include "tune/problem/tune_cache_read.h"
#include "tune/problem/tune_known.h"
#include "tune/problem/tune_problem.h"
#include "tune/refine/refine.h"
#include "tune/state/tune_presets.h"
#include "tune/state/tune_progress.h"
#include "tune/state/tune_refused.h"
#include "tune/state/units.h"
#include "tune/strategy/strategies.h"
#include "tune/trial/tune_engines.h"
#include "tune/trial/tune_trials.h"

/* --- what is tuned ---------------------------------------------------------------------------- */

/* The device measures; what takes all inner values of a model stays on this machine, where there is
 * such an engine. */
static qdq_status open_engine_here(qdq_tune_state *t, const char *name, qdq_engine_opts *opts,
                                   qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;
    qdq_engine_opts here = *opts;

    here.host = NULL;
    qdq_status st = qdq_engine_open(name, &here, &t->tools.engine, &why);
    if (st != QDQ_OK && st != QDQ_E_NOMEM && st != QDQ_E_INTERRUPTED && strcmp(name, "ort") != 0)
        st = qdq_engine_open("ort", &here, &t->tools.engine, NULL);
    if (st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED)
        return qdq_fail(err, st, "%s", why.text);
    if (st == QDQ_OK)
        opts->host = NULL;
    else
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "no engine on this machine calibrates, so the host does, which takes long: %s",
                    why.text);
    return QDQ_OK;
}

/* What calibrates and evaluates: the engine itself, or ONNX Runtime where that one only tells
 * times. */
static qdq_status open_engine(qdq_tune_state *t, qdq_error *err)
{
    const char *name = t->opts->engine != NULL ? t->opts->engine : "ort";
    qdq_engine_opts ort;

    qdq_tune_engine_opts(t, &ort);
    if (ort.host != NULL)
        QDQ_TRY(open_engine_here(t, name, &ort, err));
    if (t->tools.engine == NULL)
        QDQ_TRY(qdq_engine_open(name, &ort, &t->tools.engine, err));
    if ((qdq_engine_get_info(t->tools.engine)->capabilities & QDQ_CAN_RUN) != 0)
        return QDQ_OK;
    qdq_engine_close(t->tools.engine);
    t->tools.engine = NULL;
    qdq_job_log(t->job, QDQ_LOG_INFO, "engine '%s': no outputs; ort calibrates and evaluates",
                name);
    ort.plugins = NULL; /* they are libraries of the other engine */
    qdq_status st = qdq_engine_open("ort", &ort, &t->tools.engine, err);
    return st == QDQ_OK
               ? st
               : qdq_within(err, st,
                            "engine '%s' computes no outputs, so another one has to calibrate",
                            name);
}

/* Without outputs of its own, candidates are evaluated in the end and on ort, which takes samples.
 */
static qdq_status check_evaluation(const qdq_tune_state *t, qdq_error *err)
{
    const qdq_goal_opts *goal = t->opts->goal;

    if ((qdq_worker_client_engine(t->tools.worker_client)->capabilities & QDQ_CAN_RUN) != 0 ||
        goal->min_sqnr == 0 || t->task.data != NULL || goal->eval != NULL)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE,
                    "found a goal in SQNR without data, and engine '%s', which computes no outputs",
                    qdq_worker_client_engine(t->tools.worker_client)->name);
}

/* --- where it is measured --------------------------------------------------------------------- */

/* What another run came to stays, unless it may be replaced. */
static qdq_status validate_result(qdq_tune_state *t, const char *search, qdq_error *err)
{
    const char *store, *best = qdq_tune_path(t, "model.onnx"), *own = qdq_tune_path(t, "tune.db");
    const int64_t run = qdq_tune_folder_run_before(t->tools.folder, &store);
    qdq_tune_store_found_run found = {0};
    qdq_tune_store *s = NULL;
    char other[QDQ_TUNE_STORE_DIFFERENCE] = "";

    QDQ_NEED(best != NULL && own != NULL, err);
    if (!t->details->keep_finished || run == 0 || access(best, F_OK) != 0 ||
        qdq_tune_store_open_to_read(store != NULL ? store : own, &s, NULL) != QDQ_OK)
        return QDQ_OK;
    qdq_status st = qdq_tune_store_find(s, run, &found, err);
    if (st == QDQ_OK && found.finished)
        st = qdq_tune_store_differ(s, run, &t->tools.context, search, other, err);
    qdq_free(found.report);
    qdq_tune_store_close(s);
    if (st != QDQ_OK || other[0] == '\0')
        return st;
    QDQ_TRY(qdq_tune_folder_restore(t->tools.folder, err));
    return qdq_fail(err, QDQ_E_IO, "%s: holds the result of a run with %s: -f replaces it",
                    t->tools.dir, other);
}

static qdq_status open_store(qdq_tune_state *t, qdq_error *err)
{
    const char *path = t->details->store != NULL ? t->details->store : qdq_tune_path(t, "tune.db");
    const char *data;
    const qdq_engine_info *info = qdq_worker_client_engine(t->tools.worker_client);

    QDQ_TRY(qdq_tune_name_data(t, &data, err));
    const char *search = qdq_tune_search_text(t, data), *options = qdq_tune_options_text(t);
    const char *quant = qdq_tune_quant_text(t);

    QDQ_NEED(path != NULL && search != NULL && options != NULL && quant != NULL, err);
    /* of the machine that measures */
    const char *device = qdq_arena_printf(&t->arena, "%s on %s", info->device,
                                          qdq_worker_client_processor(t->tools.worker_client));
    QDQ_NEED(device != NULL, err);
    t->tools.context = (qdq_tune_store_context){.model = t->task.head->model,
                                                .engine = info->fingerprint,
                                                .device = device,
                                                .options = options,
                                                .quant = quant};
    t->tools.search_text = search;
    QDQ_TRY(validate_result(t, search, err));
    QDQ_TRY(qdq_tune_store_open(path, &t->tools.store, err));
    QDQ_TRY(qdq_tune_store_begin(t->tools.store, &t->tools.context, search, t->opts->restart,
                                 &t->tools.run, err));
    QDQ_TRY(qdq_tune_folder_began(t->tools.folder, t->tools.run.id, err));
    QDQ_TRY(qdq_tune_recall_refused(t, err));
    t->out->resumed = t->tools.run.resumed && t->tools.run.n_samples > 0;
    if (t->tools.run.other[0] != '\0')
        qdq_job_log(t->job, QDQ_LOG_WARNING, "%s: starts over next to a run with %s", path,
                    t->tools.run.other);
    else if (t->out->resumed)
        qdq_job_log(t->job, QDQ_LOG_INFO, "%s: resuming a run of %llu samples", path,
                    (unsigned long long)t->tools.run.n_samples);
    return QDQ_OK;
}

static qdq_status open_worker_client(qdq_tune_state *t, qdq_error *err)
{
    QDQ_TRY(qdq_tune_open_worker_client(t, false, &t->tools.worker_client, err));
    const qdq_engine_info *info = qdq_worker_client_engine(t->tools.worker_client);
    t->out->engine = qdq_arena_printf(&t->arena, "%s%s%s", info->name,
                                      info->version[0] != '\0' ? " " : "", info->version);
    return t->out->engine != NULL ? QDQ_OK : qdq_nomem(err);
}

/* What the result is compared with in the end, and what stays if nothing is better. */
static qdq_status write_baseline(qdq_tune_state *t, qdq_error *err)
{
    const char *best = qdq_tune_path(t, "model.onnx");
    char name[33];

    QDQ_NEED(best != NULL, err);
    /* knows the model and what it was converted to */
    QDQ_TRY(qdq_tune_name_plan(t->task.nothing, name, err));
    const char *of =
        t->opts->external == QDQ_EXTERNAL_AUTO
            ? name
            : qdq_arena_printf(&t->arena, "%s, external %d", name, (int)t->opts->external);
    QDQ_NEED(of != NULL, err);
    if (!qdq_tune_folder_has(t->tools.folder, "baseline.onnx", of)) {
        QDQ_TRY(qdq_tune_write_baseline(t, "baseline.onnx", err));
        QDQ_TRY(qdq_tune_folder_wrote(t->tools.folder, "baseline.onnx", of, err));
    }
    return access(best, F_OK) == 0 ? QDQ_OK : qdq_tune_write_best(t, NULL, err);
}

/* --- the model's files ------------------------------------------------------------------------ */

/* The k-th file of the model and of the baselines; NULL: there are no more. */
static const qdq_mapping *file_of(const qdq_tune_state *t, size_t k)
{
    const qdq_model *const *more = t->opts->qdq_baselines;
    const qdq_model *m = t->task.m;

    while (m != NULL && k >= m->mappings.n) {
        k -= m->mappings.n;
        m = more != NULL ? *more++ : NULL;
    }
    return m != NULL ? m->mappings.at[k] : NULL;
}

static qdq_status remember_files(qdq_tune_state *t, qdq_error *err)
{
    size_t n = 0;

    while (file_of(t, n) != NULL)
        n++;
    t->tools.stamps = qdq_arena_array(&t->arena, n + 1, sizeof *t->tools.stamps);
    QDQ_NEED(t->tools.stamps != NULL, err);
    for (size_t i = 0; i < n; i++)
        if (qdq_mapping_path(file_of(t, i)) == NULL ||
            fstat(qdq_mapping_fd(file_of(t, i)), &t->tools.stamps[i]) != 0)
            t->tools.stamps[i] = (struct stat){0};
    return QDQ_OK;
}

/* A file that was replaced does no harm: what is mapped stays. One that was written to is another
 * model from then on. */
static qdq_status check_files(const qdq_tune_state *t, qdq_error *err)
{
    const qdq_mapping *file;

    for (size_t i = 0; (file = file_of(t, i)) != NULL; i++) {
        const struct stat *then = &t->tools.stamps[i];
        struct stat now;

        if (then->st_ino == 0 || fstat(qdq_mapping_fd(file), &now) != 0)
            continue;
        if (now.st_size != then->st_size || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
            return qdq_fail(err, QDQ_E_IO, "%s: modified during tuning; results are invalid",
                            qdq_mapping_path(file));
    }
    return QDQ_OK;
}

/* --- search ----------------------------------------------------------------------------------- */

static qdq_status build_problem(qdq_tune_state *t, qdq_error *err)
{
    QDQ_TRY(qdq_tune_weigh(t, err));
    QDQ_TRY(qdq_tune_choose_strategy(t, err));
    return qdq_tune_build_problem(t, err);
}

/* What another run settled is followed; where that does not hold, and everywhere else, is
 * searched. */
static qdq_status follow_known(qdq_tune_state *t, qdq_error *err)
{
    bool done = false;

    QDQ_TRY(build_problem(t, err));
    QDQ_TRY(t->units->learn(t, NULL, err));
    if (t->parts.settled == NULL)
        return t->strategy->run(t, err);
    QDQ_TRY(qdq_tune_follow_known(t, &done, err));
    if (done)
        return QDQ_OK;
    QDQ_TRY(build_problem(t, err));
    return t->strategy->run(t, err);
}

static qdq_status search_placement(qdq_tune_state *t, qdq_error *err)
{
    qdq_assign nothing;

    t->run.forms_due = qdq_tune_offers_forms(t) && t->parts.filter.n == 0;
    if (t->units->open != NULL)
        QDQ_TRY(t->units->open(t, err));
    qdq_tune_show(t, "control");
    QDQ_NEED(qdq_assign_new(&nothing, t->task.space->n_groups, &t->arena), err);
    QDQ_TRY(qdq_tune_candidate_of(t, &nothing, &t->run.base, err));
    QDQ_TRY(qdq_tune_aa_test(t, t->run.base, err));
    t->parts.problem.base_ns = t->run.aa_test.base_ns;
    QDQ_TRY(qdq_baselines_try(t, err));
    QDQ_TRY(t->units->find(t, err));
    QDQ_TRY(follow_known(t, err));
    if (t->units->raw) /* nothing was proposed but starts */
        QDQ_TRY(qdq_tune_write_raw(t, &t->run.found.best, err));
    QDQ_TRY(qdq_baselines_try_exact(t, err));
    QDQ_TRY(qdq_tune_try_others_by_edges(t, err));
    QDQ_TRY(qdq_tune_try_edges(t, err));
    QDQ_TRY(qdq_tune_try_types(t, false, err));
    QDQ_TRY(qdq_tune_try_weights(t, err));
    QDQ_TRY(qdq_tune_try_forms(t, err));
    return qdq_tune_tries_unlikely(t) ? qdq_tune_try_types(t, true, err) : QDQ_OK;
}

/* What became of all placements that were measured. */
static void count_placements(qdq_tune_state *t)
{
    qdq_tune_result *out = t->out;

    out->accepted = out->rejected = out->undecided = 0;
    for (size_t i = 0; i < t->run.steps.n; i++) {
        const qdq_tune_step *s = &t->run.steps.at[i];
        if (s->accepted)
            out->accepted++;
        else if (s->failed != NULL || s->result.verdict == QDQ_VERDICT_REJECT)
            out->rejected++;
        else
            out->undecided++;
    }
}

static void summarize(qdq_tune_state *t)
{
    t->out->builds = t->run.builds;
    t->out->timings = t->run.pairs;
    t->out->ruled_out = t->run.found.ruled_out;
    t->out->seconds = qdq_clock_seconds() - t->run.started;
    t->out->regions = t->parts.regions != NULL ? t->parts.regions->all.n : 0;
    t->out->patterns =
        t->parts.regions != NULL && t->parts.patterns != NULL ? t->parts.patterns->n : 0;
    t->out->ended_early = t->run.found.ended_early || t->run.cut;
    t->out->calibration_s = t->run.budget_from - t->run.started;
    qdq_tune_count_deaths(t, &t->out->crashed, &t->out->tried);
    t->out->groups = t->parts.fusions != NULL ? t->parts.fusions->n : 0;
    t->out->keys = t->parts.keys != NULL ? t->parts.keys->n : 0;
    t->out->strategy = t->strategy->name;
    if (t->strategy->count != NULL)
        t->strategy->count(t);
    else
        count_placements(t);
}

static qdq_status tune_model(qdq_tune_state *t, qdq_error *err)
{
    QDQ_TRY(qdq_data_warn_of_sameness(t->task.data, t->job, err));
    QDQ_TRY(qdq_data_warn_of_sameness(t->opts->goal->eval, t->job, err));
    QDQ_TRY(qdq_data_check_labels(t->task.data, t->task.m, err));
    QDQ_TRY(qdq_data_check_labels(t->opts->goal->eval, t->task.m, err));
    QDQ_TRY(remember_files(t, err));
    QDQ_TRY(qdq_tune_folder_open(t->tools.dir, t->details->keep_models, t->details->store,
                                 &t->tools.folder, err));
    t->tools.work = qdq_tune_folder_work(t->tools.folder);
    QDQ_TRY(open_engine(t, err));
    QDQ_TRY(qdq_tune_prepare(t, err));
    QDQ_TRY(qdq_tune_find_followers(t, err));
    QDQ_TRY(qdq_tune_read(t, err));
    QDQ_TRY(qdq_tune_check_goal(t, err));
    QDQ_TRY(qdq_tune_calibrate(t, err));
    t->run.budget_from = qdq_clock_seconds();
    QDQ_TRY(open_worker_client(t, err));
    qdq_tune_settings(t);
    QDQ_TRY(check_evaluation(t, err));
    QDQ_TRY(open_store(t, err));
    QDQ_TRY(qdq_candidates_open(qdq_tempdir_path(t->tools.work), t->task.clean, t->job,
                                &t->tools.files, err));
    QDQ_TRY(write_baseline(t, err));
    QDQ_TRY(search_placement(t, err));
    QDQ_TRY(check_files(t, err));
    QDQ_TRY(qdq_tune_validate_final(t, err));
    QDQ_TRY(qdq_tune_warn_of_accuracy(t, err));
    QDQ_TRY(qdq_tune_find_front(t, err));
    summarize(t);
    QDQ_TRY(qdq_tune_find_overruled(t, err));
    QDQ_TRY(qdq_tune_find_typed(t, err));
    QDQ_TRY(qdq_tune_write_results(t, err));
    qdq_tune_show(t, "done");
    return QDQ_OK;
}

static void close_all(qdq_tune_state *t, const char *why)
{
    qdq_worker_client_close(t->tools.worker_client);
    if (t->run.greedy != NULL)
        qdq_tune_kinds_free(&t->run.greedy->kinds);
    qdq_tune_close_cache(t);
    qdq_candidates_close(t->tools.files);
    qdq_tune_store_close(t->tools.store);
    qdq_pattern_cache_free(&t->parts.known);
    qdq_pattern_cache_free(&t->parts.thin);
    qdq_pattern_cache_free(&t->parts.learnt);
    qdq_pattern_cache_free(&t->parts.before);
    qdq_patterns_free(t->parts.patterns);
    qdq_fusion_keys_free(t->parts.keys);
    qdq_fusions_free(t->parts.fusions);
    qdq_regions_free(t->parts.regions);
    qdq_space_free(t->task.space);
    qdq_scales_free(&t->task.scales);
    qdq_reference_outputs_free(&t->tools.reference_outputs);
    qdq_data_close(t->task.random);
    qdq_baselines_free(t);
    qdq_plan_free(t->task.rules);
    qdq_plan_free(t->task.nothing);
    qdq_plan_free(t->task.head);
    qdq_model_free(t->task.clean);
    qdq_engine_close(t->tools.engine);
    qdq_engine_close(t->tools.reference);
    qdq_cancel_free(t->tools.stop);
    qdq_tune_folder_close(t->tools.folder, why);
    qdq_map_free(&t->run.by_name);
    qdq_map_free(&t->run.by_assign);
    qdq_arena_free(&t->arena);
}

qdq_status qdq_autotune(const qdq_model *m, const qdq_target *t, qdq_data *data, const char *dir,
                        const qdq_tune_opts *opts, qdq_tune_result **out, qdq_error *err)
{
    qdq_tune_opts known = QDQ_TUNE_OPTS_INIT;
    qdq_tune_details details = QDQ_TUNE_DETAILS_INIT;
    qdq_region_opts regions = QDQ_REGION_OPTS_INIT;
    qdq_engine_opts engine = QDQ_ENGINE_OPTS_INIT;
    qdq_goal_opts asked = QDQ_GOAL_OPTS_INIT, goal;
    qdq_tune_result result;
    qdq_metric metric;
    qdq_tune_state run = {.task.m = m,
                          .task.asked = t,
                          .task.data = data,
                          .task.quantize = QDQ_QUANTIZE_OPTS_INIT,
                          .tools.dir = dir,
                          .tools.input_metric = NAN,
                          .opts = &known,
                          .details = &details,
                          .out = &result,
                          .run.least_noisy_db = NAN,
                          .outcome.shipped_db = NAN,
                          .outcome.shipped_metric = NAN};
    qdq_target *followed = NULL;
    qdq_error own_err = QDQ_ERROR_INIT;

    err = err != NULL ? err : &own_err;
    if (out != NULL)
        *out = NULL;
    qdq_tune_begin_result(&result);
    run.outcome.computed = qdq_verify_bare(QDQ_VERIFY_UNKNOWN, "");
    result.reason = run.outcome.reason;
    result.computed = &run.outcome.computed;
    QDQ_TRY(qdq_opts_read("qdq_tune_opts", &known, sizeof known, opts, err));
    QDQ_TRY(qdq_opts_read("qdq_tune_details", &details, sizeof details, known.details, err));
    QDQ_TRY(qdq_opts_read("qdq_region_opts", &regions, sizeof regions, details.regions, err));
    QDQ_TRY(qdq_opts_read("qdq_quantize_opts", &run.task.quantize, sizeof run.task.quantize,
                          known.quantize, err));
    QDQ_TRY(qdq_opts_read("qdq_engine_opts", &engine, sizeof engine, known.engine_opts, err));
    QDQ_TRY(qdq_opts_read("qdq_goal_opts", &asked, sizeof asked, known.goal, err));
    details.regions = &regions;
    known.details = &details;
    QDQ_TRY(qdq_metric_check(&asked, &metric, err));
    QDQ_TRY(qdq_goal_check_folds(data, &asked, qdq_target_rounds_by_samples(t), err));
    known.engine_opts = &engine;
    if (known.quantize != NULL)
        known.quantize = &run.task.quantize;
    if (known.goal != NULL)
        known.goal = &asked;
    run.job = known.job;
    qdq_tune_set_goal(&run, &goal);
    known.goal = &goal;
    run.run.started = run.run.budget_from = qdq_clock_seconds();
    run.units = qdq_tune_units_of(run.opts->mode);
    run.strategy = &qdq_strategy_trials;
    run.out->mode = run.units->mode;
    qdq_status st = qdq_tune_check(run.opts, t, err);
    run.tools.timed = qdq_job_copy(run.job);
    run.tools.stop = qdq_cancel_below(run.tools.timed.cancel);
    run.tools.timed.cancel = run.tools.stop;
    if (st == QDQ_OK && run.tools.stop == NULL)
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_target_fit(m, t, run.task.quantize.cpu, run.job, &followed, err);
    run.task.target = followed != NULL ? followed : t;
    if (st == QDQ_OK)
        st = tune_model(&run, err);
    summarize(&run);
    if (out != NULL && (*out = qdq_tune_copy_result(&result)) == NULL && st == QDQ_OK)
        st = qdq_nomem(err);
    close_all(&run, st != QDQ_OK && st != QDQ_E_INTERRUPTED ? err->text : NULL);
    qdq_target_free(followed);
    return st;
}
