/* probe_run.c - all probes of a target: the control first, then one after the other until all are
 * measured, time is up, or the job is cancelled. */
#include "tune/probe/probe_run.h"

#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/json_write.h"
#include "base/opts.h"
#include "base/pack.h"

/* --- report ----------------------------------------------------------------------------------- */

static void count_verdict(qdq_probe_report *out, const qdq_probe_outcome *o)
{
    out->n_pays += strcmp(o->verdict, "pays") == 0;
    out->n_harms += strcmp(o->verdict, "harms") == 0;
    out->n_undecided += strcmp(o->verdict, "undecided") == 0;
    out->n_not_measured += o->verdict[0] == '\0';
    out->n_changed += strcmp(o->before, o->after) != 0;
}

/* Verdicts are static. */
static void pack_texts(qdq_pack *p, void *to)
{
    qdq_probe_report *r = to;
    qdq_probe_outcome *o =
        qdq_pack_array(p, (void *)(uintptr_t)r->outcomes, r->n, sizeof *r->outcomes);

    r->outcomes = o;
    r->engine = qdq_pack_string(p, r->engine);
    r->version = qdq_pack_string(p, r->version);
    r->processor = qdq_pack_string(p, r->processor);
    for (size_t i = 0; i < r->n; i++) {
        o[i].op = qdq_pack_string(p, o[i].op);
        o[i].rule = qdq_pack_string(p, o[i].rule);
        o[i].probe = qdq_pack_string(p, o[i].probe);
        o[i].key = qdq_pack_string(p, o[i].key);
        o[i].before = qdq_pack_string(p, o[i].before);
        o[i].after = qdq_pack_string(p, o[i].after);
        o[i].why = qdq_pack_string(p, o[i].why);
    }
}

qdq_probe_report *qdq_probe_pack_report(const qdq_probe_run *r)
{
    const qdq_engine_info *e = qdq_worker_client_engine(r->timer.worker_client);
    qdq_probe_report out = {.outcomes = r->outcomes.at,
                            .n = r->outcomes.n,
                            .engine = e->name,
                            .version = e->version,
                            .processor = r->processor,
                            .aa_low = r->aa_test.low,
                            .aa_high = r->aa_test.high,
                            .seconds = qdq_clock_seconds() - r->started,
                            .builds =
                                r->timer.builds + qdq_worker_client_builds(r->timer.worker_client)};

    for (size_t i = 0; i < r->outcomes.n; i++)
        count_verdict(&out, &r->outcomes.at[i]);
    return qdq_pack_struct(&out, sizeof out, pack_texts);
}

/* --- before ----------------------------------------------------------------------------------- */

static qdq_status check_engine(const qdq_probe_run *r, qdq_error *err)
{
    const qdq_engine_info *e = qdq_engine_get_info(r->engine);
    const unsigned need = QDQ_CAN_RUN | QDQ_CAN_TIME;

    if (strcmp(e->name, r->t->engine) != 0 && strcmp(e->name, "sim") != 0)
        return qdq_fail(err, QDQ_E_USAGE, "engine %s does not run target '%s'; expected engine %s",
                        e->name, r->t->name, r->t->engine);
    if ((e->capabilities & need) != need)
        return qdq_fail(err, QDQ_E_USAGE,
                        "engine %s gives no outputs or no times; expected one that gives both",
                        e->name);
    return QDQ_OK;
}

static qdq_status open_worker_client(qdq_probe_run *r, qdq_error *err)
{
    const qdq_engine_opts *e = r->opts.engine_opts;

    r->timer.opts = (qdq_worker_client_opts){.engine = r->opts.engine,
                                             .engine_opts = e,
                                             .worker = e->worker,
                                             .work = qdq_tempdir_path(r->dir),
                                             .threads = r->opts.threads,
                                             .seed = r->opts.seed,
                                             .job = r->opts.job};
    r->timer.opts.build_deadline_s = r->timer.opts.run_deadline_s = e->deadline_s;
    return qdq_probe_open_worker_client(&r->timer, err);
}

static qdq_status begin_run(qdq_probe_run *r, qdq_error *err)
{
    if (r->t->probes.n == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "target '%s': its rules have no probes; expected the key 'probe'",
                        r->t->name);
    QDQ_TRY(qdq_json_parse(r->t->text, strlen(r->t->text), r->t->name, &r->root, err));
    QDQ_TRY(qdq_engine_open(r->opts.engine, r->opts.engine_opts, &r->engine, err));
    snprintf(r->processor, sizeof r->processor, "%s", qdq_engine_processor(r->engine));
    QDQ_TRY(check_engine(r, err));
    QDQ_TRY(qdq_tempdir_new(r->opts.engine_opts->temp_dir, &r->dir, err));
    return open_worker_client(r, err);
}

/* The control is a probe's own model: equal models of the kind that is measured. */
static qdq_status run_aa_test(qdq_probe_run *r, qdq_error *err)
{
    const qdq_probe *p = &r->t->probes.at[0];
    const char *path[2];
    bool equal;

    QDQ_TRY(qdq_probe_write_sides(r, p, &p->size[p->n_sizes - 1], path, &equal, err));
    return qdq_probe_aa_test(&r->timer, path[1], &r->aa_test, err);
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Looks once at the probes for which more builds may tell more. *n_seen: up to which one it
 * came. */
static qdq_status look_at_all(qdq_probe_run *r, qdq_probe_one *all, unsigned builds, size_t *n_seen,
                              qdq_error *err)
{
    const size_t n = r->t->probes.n;

    for (size_t i = 0; i < n; i++) {
        qdq_job_progress(r->opts.job,
                         builds == QDQ_PROBE_FIRST ? "measuring rules" : "measuring again", i, n);
        if (builds > QDQ_PROBE_FIRST && !all[i].open)
            continue;
        QDQ_TRY(qdq_probe_look(r, &all[i], builds, err));
        *n_seen = i + 1 > *n_seen ? i + 1 : *n_seen;
    }
    qdq_job_progress(r->opts.job, "measuring rules", n, n);
    return QDQ_OK;
}

/* Each round has twice as many builds, for those that are undecided or nearly so: what is plain
 * leaves them its time, and a phase of the machine does not decide alone. */
static qdq_status look_until_plain(qdq_probe_run *r, qdq_probe_one *all, size_t *n_seen,
                                   qdq_error *err)
{
    for (unsigned builds = QDQ_PROBE_FIRST; builds <= QDQ_PROBE_MOST; builds *= 2)
        if (builds == QDQ_PROBE_FIRST || qdq_clock_seconds() < r->timer.until)
            QDQ_TRY(look_at_all(r, all, builds, n_seen, err));
    return QDQ_OK;
}

static qdq_status measure_all(qdq_probe_run *r, qdq_error *err)
{
    const size_t n = r->t->probes.n;
    qdq_probe_one *all = qdq_arena_array(&r->arena, n, sizeof *all);
    size_t n_seen = 0;

    QDQ_NEED(all != NULL, err);
    for (size_t i = 0; i < n; i++)
        QDQ_TRY(qdq_probe_begin(r, &r->t->probes.at[i], &all[i], err));
    qdq_status st = look_until_plain(r, all, &n_seen, err);
    if (st != QDQ_OK && st != QDQ_E_INTERRUPTED)
        return st;
    for (size_t i = 0; i < n_seen; i++) {
        const qdq_status end = qdq_probe_conclude(r, &all[i], err);

        if (end != QDQ_OK)
            return end;
    }
    return st;
}

static qdq_status sign_target(qdq_probe_run *r, qdq_error *err)
{
    const qdq_engine_info *e = qdq_worker_client_engine(r->timer.worker_client);
    qdq_json_doc d = {0};
    qdq_json_out on = qdq_json_object(&d);

    qdq_json_put_text(on, "engine", e->name);
    qdq_json_put_text(on, "version", e->version);
    qdq_json_put_text(on, "processor", r->processor);
    return json_object_set_new(r->root, "measured_on", qdq_json_take(&d)) == 0 ? QDQ_OK
                                                                               : qdq_nomem(err);
}

/* What was measured, be it all or not. */
static qdq_status give_results(qdq_probe_run *r, qdq_target **out, qdq_probe_report **report,
                               qdq_error *err)
{
    char *text = NULL;

    QDQ_TRY(sign_target(r, err));
    QDQ_TRY(qdq_json_dump(r->root, &text, err));
    qdq_status st = qdq_target_parse(text, strlen(text), r->t->name, out, err);
    qdq_free(text);
    QDQ_TRY(st);
    *report = qdq_probe_pack_report(r);
    if (*report != NULL)
        return QDQ_OK;
    qdq_target_free(*out);
    *out = NULL;
    return qdq_nomem(err);
}

/* A target without one figure of this machine would be signed for nothing. */
static qdq_status check_measured(const qdq_probe_run *r, qdq_error *err)
{
    for (size_t i = 0; i < r->outcomes.n; i++)
        if (r->outcomes.at[i].verdict[0] != '\0')
            return QDQ_OK;
    return qdq_fail(err, QDQ_E_ENGINE,
                    "target '%s': none of %zu probes was measured; the first: %s", r->t->name,
                    r->outcomes.n, r->outcomes.n > 0 ? r->outcomes.at[0].why : "no time was left");
}

static qdq_status run_probes(qdq_probe_run *r, qdq_target **out, qdq_probe_report **report,
                             qdq_error *err)
{
    QDQ_TRY(begin_run(r, err));
    QDQ_TRY(run_aa_test(r, err));
    qdq_status st = measure_all(r, err);
    if (st != QDQ_OK && st != QDQ_E_INTERRUPTED)
        return st;
    if (st == QDQ_E_INTERRUPTED && check_measured(r, NULL) != QDQ_OK)
        return st;
    if (st == QDQ_OK)
        QDQ_TRY(check_measured(r, err));
    const qdq_status given = give_results(r, out, report, err);
    return given != QDQ_OK ? given : st;
}

static void close_run(qdq_probe_run *r)
{
    qdq_worker_client_close(r->timer.worker_client);
    qdq_engine_close(r->engine);
    qdq_tempdir_free(r->dir);
    json_decref(r->root);
    qdq_arena_free(&r->arena);
}

qdq_status qdq_target_measure(const qdq_target *t, const qdq_probe_opts *opts, qdq_target **out,
                              qdq_probe_report **report, qdq_error *err)
{
    const double usual_s = 180;
    qdq_engine_opts engine = QDQ_ENGINE_OPTS_INIT;
    qdq_error own = QDQ_ERROR_INIT;
    qdq_probe_run r = {.t = t, .opts = QDQ_PROBE_OPTS_INIT};

    *out = NULL;
    *report = NULL;
    QDQ_TRY(qdq_opts_read("qdq_probe_opts", &r.opts, sizeof r.opts, opts, err));
    QDQ_TRY(qdq_opts_read("qdq_engine_opts", &engine, sizeof engine, r.opts.engine_opts, err));
    r.opts.engine_opts = &engine;
    r.opts.engine = r.opts.engine != NULL ? r.opts.engine : t->engine;
    r.opts.threads = r.opts.threads > 0 ? r.opts.threads : 1;
    r.opts.time_s = r.opts.time_s > 0 ? r.opts.time_s : usual_s;
    r.started = qdq_clock_seconds();
    r.timer.until = r.started + r.opts.time_s;
    qdq_status st = run_probes(&r, out, report, err != NULL ? err : &own);
    close_run(&r);
    return st;
}
