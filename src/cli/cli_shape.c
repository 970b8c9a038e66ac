/* cli_shape.c - --shape NAME=1x3x224x224: which input it is for, and whether it fits. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/cli_model.h"

const cli_opt cli_shape_opts[] = {
    CLI_ENTRY(cli_shape_args, SHAPES, 0, "shape", shapes, "NAME=1x3x224x224",
              "fix the shape of an input; repeatable; default: open dims are 1"),
    CLI_END,
};

const cli_opt cli_set_shape_opts[] = {
    CLI_ENTRY(cli_shape_args, SHAPES, 0, "set-shape", shapes, "NAME=1x3x224x224",
              "write the model with this input shape; repeatable"),
    CLI_END,
};

const qdq_input_shape *cli_find_shape(const cli_shapes *shapes, const char *name)
{
    for (size_t i = 0; i < shapes->n; i++)
        if (strcmp(shapes->at[i].name, name) == 0)
            return &shapes->at[i];
    return NULL;
}

bool cli_is_assumed(const qdq_io *io, const cli_shapes *fixed)
{
    return io->rank >= 0 && qdq_io_is_open(io) && cli_find_shape(fixed, io->name) == NULL;
}

bool cli_shapes_leave_open(const cli_shapes *fixed, const qdq_model *m)
{
    qdq_io io;

    for (size_t i = 0; qdq_model_input(m, i, &io); i++)
        if (qdq_io_is_open(&io) && cli_find_shape(fixed, io.name) == NULL)
            return true;
    return false;
}

void cli_shape_text(const qdq_io *io, const cli_shapes *fixed, bool fill, char *text, size_t size)
{
    const qdq_input_shape *shape = cli_find_shape(fixed, io->name);

    snprintf(text, size, "%s", io->rank < 0 ? "?" : io->rank == 0 ? "scalar" : "");
    for (int i = 0; i < io->rank; i++) {
        int64_t dim = shape != NULL && i < shape->rank ? shape->dim[i] : io->dim[i];
        const char *x = i == 0 ? "" : "x";
        if (dim < 0 && fill)
            dim = 1;
        if (dim >= 0)
            qdq_text_add(text, size, "%s%" PRId64, x, dim);
        else
            qdq_text_add(text, size, "%s%s", x, io->param[i] != NULL ? io->param[i] : "?");
    }
}

static qdq_status check_fit(const qdq_input_shape *shape, const qdq_io *io, qdq_error *err)
{
    const cli_shapes none = {NULL, 0, 0};
    bool fits = io->rank < 0 || io->rank == shape->rank;
    char want[200];

    for (int i = 0; fits && i < io->rank; i++)
        fits = io->dim[i] < 0 || io->dim[i] == shape->dim[i];
    if (fits)
        return QDQ_OK;
    cli_shape_text(io, &none, false, want, sizeof want);
    return qdq_fail(err, QDQ_E_USAGE,
                    "--shape: input '%s' is %s, the shape that was given does not fit it", io->name,
                    want);
}

qdq_status cli_shapes_pick(cli *c, const cli_shapes *all, const qdq_model *m, cli_shapes *mine,
                           qdq_error *err)
{
    qdq_io io;

    *mine = (cli_shapes){NULL, 0, 0};
    for (size_t i = 0; qdq_model_input(m, i, &io); i++) {
        const qdq_input_shape *shape = cli_find_shape(all, io.name);
        if (shape == NULL)
            continue;
        QDQ_TRY(check_fit(shape, &io, err));
        QDQ_NEED(QDQ_PUSH(&c->arena, mine, *shape), err);
    }
    return QDQ_OK;
}

static qdq_status check_names(const char *option, const cli_shapes *all, qdq_model *const *models,
                              size_t n, qdq_error *err)
{
    for (size_t s = 0; s < all->n; s++) {
        bool found = false;
        for (size_t i = 0; i < n && !found; i++)
            found = qdq_model_has_input(models[i], all->at[s].name);
        if (found)
            continue;
        qdq_io io = {.name = NULL};
        bool any = n > 0 && qdq_model_input(models[0], 0, &io);
        return qdq_fail(err, QDQ_E_USAGE, "%s: found no input '%s'%s%s%s", option, all->at[s].name,
                        any ? ", the first input is '" : ": the model has none", any ? io.name : "",
                        any ? "'" : "");
    }
    return QDQ_OK;
}

qdq_status cli_shapes_check(const cli_shapes *all, qdq_model *const *models, size_t n,
                            qdq_error *err)
{
    return check_names("--shape", all, models, n, err);
}

/* --- --set-shape ------------------------------------------------------------------------------ */

qdq_status cli_shapes_set(const cli_shapes *set, qdq_model *m, qdq_error *err)
{
    QDQ_TRY(check_names("--set-shape", set, &m, 1, err));
    return set->n > 0 ? qdq_model_set_shapes(m, set->at, set->n, err) : QDQ_OK;
}

void cli_shapes_set_print(const cli_shapes *set, FILE *to)
{
    for (size_t i = 0; i < set->n; i++) {
        fprintf(to, "input '%s' set to ", set->at[i].name);
        for (int k = 0; k < set->at[i].rank; k++)
            fprintf(to, "%s%" PRId64, k == 0 ? "" : "x", set->at[i].dim[k]);
        fputc('\n', to);
    }
}

void cli_json_shape(qdq_json_out list, const char *input, const int64_t *dim, int rank)
{
    qdq_json_out entry = qdq_json_put_object(list, NULL);

    qdq_json_put_text(entry, "input", input);
    qdq_json_put_ints(entry, "shape", dim, (size_t)rank);
}

void cli_shapes_set_json(qdq_json_out list, const cli_shapes *set)
{
    for (size_t i = 0; i < set->n; i++)
        cli_json_shape(list, set->at[i].name, set->at[i].dim, set->at[i].rank);
}
