/* cli_metric.c - runs the program of --metric-command. The shell takes the command apart, as
 * users expect of one; the model's path is its last argument. */
#include "cli/cli_metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/fail.h"

/* What the program prints is kept from its end; the number stands there. */
enum { MAX_OUTPUT = 64 * 1024, SIGNAL_CODES = 128, DEADLINE_S = 600 };

static qdq_status measure(void *ctx, qdq_metric_run *run, double *value, qdq_error *err)
{
    return cli_metric_measure(ctx, qdq_metric_run_model(run), qdq_metric_run_is_input(run),
                              qdq_metric_run_cancel(run), value, err);
}

qdq_status cli_metric_open(cli *c, const cli_quant_args *a, cli_metric *m, qdq_error *err)
{
    const char *folder = getenv("TMPDIR");

    *m = (cli_metric){.c = c, .a = a, .metric = QDQ_METRIC_INIT};
    if (a->metric_command == NULL)
        return QDQ_OK;
    m->metric.name = a->metric_command;
    m->metric.ctx = m;
    m->metric.measure = measure;
    return qdq_tempdir_new(folder != NULL && folder[0] != '\0' ? folder : NULL, &m->folder, err);
}

void cli_metric_close(cli_metric *m)
{
    qdq_tempdir_free(m->folder);
    m->folder = NULL;
}

void cli_metric_fill(const cli_metric *m, qdq_goal_opts *goal)
{
    if (m == NULL || m->folder == NULL)
        return;
    goal->metric = &m->metric;
    goal->has_min_metric = m->a->min_metric.is_set;
    goal->min_metric = m->a->min_metric.value;
}

/* The last line that is not empty; the text is cut behind it. */
static char *last_line(char *text, size_t size)
{
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
        text[--size] = '\0';
    while (size > 0 && text[size - 1] != '\n')
        size--;
    return text + size;
}

/* Why the program gave no number; "": it did. */
static void read_answer(const cli_metric *m, qdq_child_result *r, double *value, char *why,
                        size_t size)
{
    const char *said = last_line(r->err, r->err_size);
    const int signal = r->signal != 0                ? r->signal
                       : r->exit_code > SIGNAL_CODES ? r->exit_code - SIGNAL_CODES
                                                     : 0;
    char *end;

    why[0] = '\0';
    if (r->timed_out)
        snprintf(why, size, "ended after %g s without an answer (--metric-timeout)",
                 m->a->metric_timeout_s > 0 ? m->a->metric_timeout_s : DEADLINE_S);
    else if (signal != 0)
        snprintf(why, size, "killed by signal %d%s%.200s", signal, said[0] != '\0' ? ": " : "",
                 said);
    else if (r->exit_code != 0)
        snprintf(why, size, "exit code %d%s%.200s", r->exit_code, said[0] != '\0' ? ": " : "",
                 said);
    if (why[0] != '\0')
        return;
    const char *line = last_line(r->out, r->out_size);
    *value = strtod(line, &end);
    if (end == line || *end != '\0' || !isfinite(*value))
        snprintf(why, size, "found '%.100s' as its last line, expected a finite number", line);
}

static qdq_status run_metric_command(const cli_metric *m, const char *path,
                                     const qdq_cancel *cancel, double *value, char *why,
                                     size_t size, qdq_error *err)
{
    const char *script = qdq_arena_printf(&m->c->arena, "%s \"$@\"", m->a->metric_command);
    const char *const argv[] = {"/bin/sh", "-c", script, "sh", path, NULL};
    const qdq_child_opts child = {.argv = argv,
                                  .deadline_s = m->a->metric_timeout_s > 0 ? m->a->metric_timeout_s
                                                                           : DEADLINE_S,
                                  .max_output = MAX_OUTPUT,
                                  .keep_last = true,
                                  .cancel = cancel};
    qdq_child_result r;

    QDQ_NEED(script != NULL, err);
    QDQ_TRY(qdq_child_run(&child, &r, err));
    read_answer(m, &r, value, why, size);
    qdq_child_result_free(&r);
    return QDQ_OK;
}

qdq_status cli_metric_measure(cli_metric *m, const qdq_model *model, bool is_input,
                              const qdq_cancel *cancel, double *value, qdq_error *err)
{
    qdq_save_opts save = QDQ_SAVE_OPTS_INIT;
    char why[400];

    *value = m->input;
    if (is_input && m->knows_input)
        return QDQ_OK;
    const char *path = qdq_arena_printf(&m->c->arena, "%s/model.onnx", qdq_tempdir_path(m->folder));
    QDQ_NEED(path != NULL, err);
    save.allow_overwrite = true;
    QDQ_TRY(qdq_model_save(model, path, &save, err));
    QDQ_TRY(run_metric_command(m, path, cancel, value, why, sizeof why, err));
    if (why[0] != '\0') {
        const qdq_status st =
            qdq_fail(err, QDQ_E_FORMAT, "--metric-command '%s' on %s model: %s",
                     m->a->metric_command, is_input ? "the input" : "a quantized", why);

        if (is_input)
            return st;
        cli_warn(&m->c->ui, "%s; it misses the goal", err->text);
        *value = NAN; /* *err says why */
    }
    if (is_input) {
        m->knows_input = true;
        m->input = *value;
    }
    return QDQ_OK;
}
