/* cli_data.c - DATA and its options. */
#include "cli/cli_data.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

static const char *const layouts[] = {"auto", "nchw", "nhwc", NULL};
static const char *const orders[] = {"auto", "rgb", "bgr", "gray", NULL};

const cli_opt cli_data_opts[] = {
    {.name = "image-size",
     .kind = CLI_EXTENT,
     .offset = CLI_AT(cli_data_args, image_size),
     .what = "HxW",
     .help = "scale images to this size; default: the size of the model's input"},
    {.name = "mean",
     .kind = CLI_REALS,
     .offset = CLI_AT(cli_data_args, mean),
     .what = "R,G,B",
     .help = "subtract this from pixels, in units of 0 to 255; default: 0"},
    {.name = "std",
     .kind = CLI_REALS,
     .offset = CLI_AT(cli_data_args, std),
     .what = "R,G,B",
     .help = "then divide by this; default: 1"},
    {.name = "layout",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(cli_data_args, layout),
     .what = "ORDER",
     .help = "axes of the input; auto: as its shape suggests",
     .init = "auto",
     .choices = layouts},
    {.name = "channel-order",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(cli_data_args, channel_order),
     .what = "ORDER",
     .help = "channels of images; auto: rgb, gray for one channel",
     .init = "auto",
     .choices = orders},
    CLI_END,
};

static int copy_reals(const cli_reals *from, float *to)
{
    for (int i = 0; i < from->n; i++)
        to[i] = (float)from->at[i];
    return from->n;
}

qdq_status cli_data_open(cli *c, const cli_data_request *r, const qdq_model *m, qdq_data **out,
                         qdq_error *err)
{
    const cli_data_args *a = r->args;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    _Static_assert(CLI_MAX_REALS == sizeof opts.mean / sizeof opts.mean[0], "one number for each channel");
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
    opts.max_samples = r->max_samples;
    opts.job = &c->job;
    return qdq_data_open(r->spec, m, &opts, out, err);
}

static void array_shape(const qdq_array *a, char *text, size_t size)
{
    size_t used = 0;

    snprintf(text, size, "%s", a->rank == 0 ? "scalar" : "");
    for (int i = 0; i < a->rank && used + 1 < size; i++) {
        int n = snprintf(text + used, size - used, "%s%" PRId64, i == 0 ? "" : "x", a->dim[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void add_assumed(cli_json *j, json_t *array, const char *name, const qdq_array *a)
{
    json_t *entry = json_object();
    json_t *dims = json_array();

    for (int i = 0; i < a->rank; i++)
        cli_json_add(j, dims, json_integer(a->dim[i]));
    cli_json_set(j, entry, "input", cli_json_text(name));
    cli_json_set(j, entry, "shape", dims);
    cli_json_add(j, array, entry);
}

qdq_status cli_data_assumed(qdq_data *d, const qdq_model *m, const cli_shapes *shapes, cli_json *j,
                            json_t *array, cli_table *table, qdq_error *err)
{
    const cli_shapes none = {NULL, 0, 0};
    const qdq_named_array *in = NULL;
    size_t n = 0;
    qdq_io io;

    for (size_t i = 0; qdq_model_input(m, i, &io); i++) {
        char declared[200], run[200];
        if (!cli_is_assumed(&io, shapes))
            continue;
        if (in == NULL) /* models without symbolic dimensions pay nothing */
            QDQ_TRY(qdq_data_get(d, 0, &in, &n, err));
        for (size_t k = 0; k < n; k++) {
            if (strcmp(in[k].name, io.name) != 0)
                continue;
            cli_shape_text(&io, &none, false, declared, sizeof declared);
            array_shape(&in[k].array, run, sizeof run);
            cli_cell(table, "input '%s'", io.name);
            cli_cell(table, "%s, run as %s (--shape fixes it)", declared, run);
            add_assumed(j, array, io.name, &in[k].array);
        }
    }
    return QDQ_OK;
}
