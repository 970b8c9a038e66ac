/* cli_data.c - DATA and its options. */
#include "cli/cli_data.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

static const char *const layouts[] = {"auto", "nchw", "nhwc", NULL};
static const char *const orders[] = {"auto", "rgb", "bgr", "gray", NULL};

#define ARGS cli_data_args
#include "cli/cli_tables.def"
#include "cli/cli_data.def"

#undef ARGS
#define ARGS cli_state_args
#include "cli/cli_tables.def"
#include "cli/cli_state.def"

static int copy_reals(const cli_reals *from, float *to)
{
    for (int i = 0; i < from->n; i++)
        to[i] = (float)from->at[i];
    return from->n;
}

qdq_status cli_states_check(const cli_state_args *a, qdq_error *err)
{
    if (a == NULL || a->states.n > 0 || (a->steps == 0 && a->masks.n == 0))
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE, "found %s without --state",
                    a->steps > 0 ? "--steps" : "--mask");
}

static qdq_status read_states(cli *c, const cli_state_args *a, qdq_data_opts *opts, qdq_error *err)
{
    const size_t n = a != NULL ? a->states.n : 0;
    qdq_state *states = qdq_arena_array(&c->arena, n + 1, sizeof *states);

    QDQ_NEED(states != NULL, err);
    for (size_t i = 0; i < n; i++) {
        const char *text = a->states.at[i], *equals = strchr(text, '=');

        if (equals == NULL || equals == text || equals[1] == '\0')
            return qdq_fail(err, QDQ_E_USAGE, "--state: found '%s', expected OUT=IN", text);
        states[i] =
            (qdq_state){qdq_arena_strndup(&c->arena, text, (size_t)(equals - text)), equals + 1};
        QDQ_NEED(states[i].output != NULL, err);
    }
    QDQ_TRY(cli_states_check(a, err));
    opts->states = states;
    opts->n_states = n;
    opts->steps = n > 0 ? (size_t)a->steps : 0;
    opts->masks = n > 0 ? a->masks.at : NULL;
    return QDQ_OK;
}

qdq_status cli_data_open(cli *c, const cli_data_request *r, const qdq_model *m, qdq_data **out,
                         qdq_error *err)
{
    const cli_data_args *a = r->args;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    _Static_assert(CLI_MAX_REALS == sizeof opts.mean / sizeof opts.mean[0],
                   "one number for each channel");
    opts.image_height = a->image_size.height;
    opts.image_width = a->image_size.width;
    opts.n_mean = copy_reals(&a->mean, opts.mean);
    opts.n_std = copy_reals(&a->std, opts.std);
    for (int i = 0; i < opts.n_std; i++)
        if (opts.std[i] == 0)
            return qdq_fail(err, QDQ_E_USAGE, "--std: found 0, expected numbers to divide by");
    opts.layout = a->layout == 0 ? NULL : layouts[a->layout];
    opts.channel_order = a->channel_order == 0 ? NULL : orders[a->channel_order];
    opts.shapes = r->shapes->at;
    opts.n_shapes = r->shapes->n;
    opts.labels = r->labels;
    opts.groups = r->groups;
    opts.max_samples = r->max_samples;
    opts.job = &c->job;
    QDQ_TRY(read_states(c, r->states, &opts, err));
    return qdq_data_open(r->spec, m, &opts, out, err);
}

static const qdq_array *find_array(const qdq_named_array *in, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(in[i].name, name) == 0)
            return &in[i].array;
    return NULL;
}

qdq_status cli_data_changes(qdq_data *d, const char *input, bool *changes, qdq_error *err)
{
    const qdq_named_array *in;
    const qdq_state *states;
    qdq_array first = {.rank = 0};
    size_t n;

    states = qdq_data_states(d, &n);
    *changes = false;
    for (size_t i = 0; i < n; i++)
        *changes = *changes || strcmp(states[i].input, input) == 0;
    for (size_t step = 0; step < 2 && qdq_data_steps(d) > 1; step++) {
        QDQ_TRY(qdq_data_get_step(d, 0, step, &in, &n, err));
        const qdq_array *a = find_array(in, n, input);
        for (int i = 0; a != NULL && step == 1 && i < a->rank; i++)
            *changes = *changes || a->dim[i] != first.dim[i];
        if (a != NULL && step == 0)
            first = *a;
    }
    return QDQ_OK;
}

const char *cli_data_fixing(bool changes)
{
    return changes ? "at the first step" : "(--shape fixes it)";
}

/* Models without symbolic dimensions pay nothing. */
qdq_status cli_data_find_shapes(cli *c, qdq_data *d, const qdq_model *m, const cli_shapes *shapes,
                                cli_run_shapes *out, qdq_error *err)
{
    const qdq_named_array *in;
    size_t n, sample = SIZE_MAX;
    cli_run_shape s;

    for (size_t i = 0; d != NULL && qdq_model_input(m, i, &s.io); i++) {
        if (!cli_is_assumed(&s.io, shapes))
            continue;
        QDQ_TRY(cli_data_changes(d, s.io.name, &s.changes, err));
        if (sample == SIZE_MAX)
            QDQ_TRY(qdq_data_find_typical(d, 0, 0, &sample, err));
        QDQ_TRY(qdq_data_get(d, sample, &in, &n, err));
        const qdq_array *a = find_array(in, n, s.io.name);
        if (a == NULL)
            continue;
        s.as = (qdq_input_shape){.name = s.io.name, .rank = a->rank};
        memcpy(s.as.dim, a->dim, sizeof s.as.dim);
        QDQ_NEED(QDQ_PUSH(&c->arena, out, s), err);
    }
    return QDQ_OK;
}

void cli_data_print_shapes(const cli_run_shapes *s, FILE *to)
{
    const cli_shapes none = {NULL, 0, 0};
    char declared[200];

    for (size_t i = 0; i < s->n; i++) {
        const cli_run_shape *r = &s->at[i];

        cli_shape_text(&r->io, &none, false, declared, sizeof declared);
        fprintf(to, "input '%s' is %s, run as ", r->io.name, declared);
        for (int k = 0; k < r->as.rank; k++)
            fprintf(to, "%s%" PRId64, k == 0 ? "" : "x", r->as.dim[k]);
        fprintf(to, " %s\n", cli_data_fixing(r->changes));
    }
}

void cli_data_json_shapes(const cli_run_shapes *s, qdq_json_out list)
{
    for (size_t i = 0; i < s->n; i++)
        cli_json_shape(list, s->at[i].as.name, s->at[i].as.dim, s->at[i].as.rank);
}
