/* cmd_targets_measure.c - the rules of a target, measured on this machine. */
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"
#include "cli/cli_host.h"
#include "cli/cli_files.h"
#include "cli/cli_installed.h"
#include "cli/cli_json.h"
#include "cli/cli_model.h"
#include "cli/cmd_targets.h"
#include "qdq/probe.h"

/* --- printing --------------------------------------------------------------------------------- */

static void outcome_json(qdq_json_out entry, const qdq_probe_outcome *o)
{
    qdq_json_put_text(entry, "op", o->op);
    qdq_json_put_text(entry, "rule", o->rule);
    qdq_json_put_text(entry, "probe", o->probe);
    qdq_json_put_text(entry, "key", o->key);
    qdq_json_put_text(entry, "before", o->before);
    qdq_json_put_text(entry, "after", o->after);
    if (o->verdict[0] == '\0') {
        qdq_json_put_null(entry, "verdict");
        qdq_json_put_text(entry, "why", o->why);
        return;
    }
    qdq_json_put_text(entry, "verdict", o->verdict);
    qdq_json_put_short(entry, "factor", o->factor);
    qdq_json_out interval = qdq_json_put_list(entry, "interval");
    qdq_json_put_short(interval, NULL, o->low);
    qdq_json_put_short(interval, NULL, o->high);
    if (o->at > 0)
        qdq_json_put_int(entry, "at", o->at);
    qdq_json_put_int(entry, "pairs", o->pairs);
}

static qdq_status print_json(cli *c, const qdq_probe_report *r, const char *path, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    qdq_json_put_text(root, "target", c->operand[0]);
    qdq_json_put_text(root, "engine", r->engine);
    qdq_json_put_text(root, "version", r->version);
    qdq_json_put_text(root, "processor", r->processor);
    qdq_json_put_text(root, "output", path);
    qdq_json_put_short(root, "seconds", r->seconds);
    qdq_json_put_int(root, "builds", r->builds);
    qdq_json_out control = qdq_json_put_list(root, "control");
    qdq_json_put_short(control, NULL, r->aa_low);
    qdq_json_put_short(control, NULL, r->aa_high);
    qdq_json_out list = qdq_json_put_list(root, "probes");
    for (size_t i = 0; i < r->n; i++)
        outcome_json(qdq_json_put_object(list, NULL), &r->outcomes[i]);
    return cli_json_print(&d, err);
}

static void put_row(cli_table *t, const qdq_probe_outcome *o)
{
    CLI_CELLS(t, o->op, o->rule, o->key, o->verdict[0] != '\0' ? o->verdict : "-");
    if (o->verdict[0] != '\0') {
        cli_cell(t, "%.3f", o->factor);
        cli_cell(t, "%.3f to %.3f", o->low, o->high);
    } else {
        CLI_CELLS(t, "-", "-");
    }
    if (o->why[0] != '\0')
        cli_cell(t, "%s", o->why);
    else if (strcmp(o->before, o->after) != 0)
        cli_cell(t, "%s, was %s", o->after, o->before);
    else
        cli_cell(t, "%s", o->after);
}

static qdq_status print_text(cli *c, const qdq_probe_report *r, const char *path, qdq_error *err)
{
    cli_table t = {.arena = &c->arena, .columns = "llllrll"};

    CLI_CELLS(&t, "op", "rule", "key", "verdict", "factor", "95 %", "now");
    for (size_t i = 0; i < r->n; i++)
        put_row(&t, &r->outcomes[i]);
    QDQ_TRY(cli_table_print(&t, stdout, err));
    printf("%s on %s %s, %s: %zu probes in %.0f s: %zu pay, %zu harm, %zu undecided, %zu not "
           "measured; %zu rule%s changed\n",
           c->operand[0], r->engine, r->version, r->processor, r->n, r->seconds, r->n_pays,
           r->n_harms, r->n_undecided, r->n_not_measured, r->n_changed, cli_plural(r->n_changed));
    printf("control: a model's time over its own time is %.3f to %.3f\n", r->aa_low, r->aa_high);
    printf("wrote %s\n", path);
    return QDQ_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

static qdq_status check_args(cli *c, const struct targets_args *a, qdq_error *err)
{
    const char *path;

    if ((a->output != NULL) == a->install)
        return qdq_fail(err, QDQ_E_USAGE, "--measure: found %s; expected -o FILE or --install",
                        a->install ? "both -o and --install" : "neither -o nor --install");
    return a->output != NULL ? cli_path_check(a->output, a->force, err)
                             /* is there a folder? */
                             : cli_installed_path(c, "", "", "", &path, err);
}

static qdq_status fill(cli *c, const struct targets_args *a, const qdq_target *t,
                       cli_engine_args *engine, qdq_engine_opts *eo, qdq_probe_opts *o,
                       qdq_error *err)
{
    *engine = a->engine;
    if (engine->engine == NULL)
        engine->engine = qdq_arena_strdup(&c->arena, qdq_target_engine(t));
    QDQ_NEED(engine->engine != NULL, err);
    QDQ_TRY(cli_engine_opts_fill(c, engine, eo, err));
    o->engine = engine->engine;
    o->engine_opts = eo;
    QDQ_TRY(cli_host_threads(c, engine, a->threads, &o->threads, err));
    QDQ_TRY(cli_host_need(c, engine, err));
    o->time_s = a->time_s;
    o->seed = (uint64_t)a->seed;
    o->job = &c->job;
    return QDQ_OK;
}

/* Number of measurements in the text of a target. */
static size_t count_figures(const char *text)
{
    size_t n = 0;

    while ((text = strstr(text, "\"verdict\":")) != NULL) {
        text++;
        n++;
    }
    return n;
}

/* An installed target replaces an older one, but one that was cut short replaces no whole one. */
static qdq_status check_older(const struct targets_args *a, const char *path, const char *text,
                              qdq_error *err)
{
    qdq_error ignored = QDQ_ERROR_INIT;
    qdq_target *older;

    if (a->force || access(path, F_OK) != 0 || qdq_target_load(path, &older, &ignored) != QDQ_OK)
        return QDQ_OK;
    const size_t before = count_figures(qdq_target_text(older)), now = count_figures(text);
    qdq_target_free(older);
    return now >= before
               ? QDQ_OK
               : qdq_fail(err, QDQ_E_IO,
                          "%s: has the figures of %zu probes, and %zu were measured now; --force "
                          "replaces it",
                          path, before, now);
}

static qdq_status write_target(cli *c, const struct targets_args *a, const char *name,
                               const qdq_target *t, const qdq_probe_report *r, const char **path,
                               qdq_error *err)
{
    const char *text = qdq_target_text(t);

    *path = a->output;
    if (a->install) {
        QDQ_TRY(cli_installed_path(c, name, r->engine, r->version, path, err));
        QDQ_TRY(check_older(a, *path, text, err));
        QDQ_TRY(cli_installed_make_folder(c, *path, err));
    }
    return qdq_write_file(*path, a->force || a->install, text, strlen(text), err);
}

qdq_status cmd_targets_measure(cli *c, const struct targets_args *a, qdq_error *err)
{
    qdq_probe_opts o = QDQ_PROBE_OPTS_INIT;
    qdq_engine_opts eo = QDQ_ENGINE_OPTS_INIT;
    cli_engine_args engine;
    qdq_target *t = NULL, *measured = NULL;
    qdq_probe_report *r = NULL;
    const char *path = NULL;

    QDQ_TRY(check_args(c, a, err));
    QDQ_TRY(qdq_target_load(c->operand[0], &t, err));
    qdq_status ended = fill(c, a, t, &engine, &eo, &o, err);
    if (ended == QDQ_OK)
        ended = qdq_target_measure(t, &o, &measured, &r, err);
    qdq_status st = ended;
    if (measured != NULL) { /* all of it, or what was done when it was interrupted */
        qdq_error own = QDQ_ERROR_INIT;

        st = write_target(c, a, qdq_target_get_name(t), measured, r, &path, &own);
        if (st == QDQ_OK)
            st = c->json ? print_json(c, r, path, &own) : print_text(c, r, path, &own);
        if (st != QDQ_OK)
            *err = own;
        st = st != QDQ_OK ? st : ended;
    }
    qdq_free(r);
    qdq_target_free(measured);
    qdq_target_free(t);
    return st;
}
