/* data_images.c - a folder of photographs as the model's input: decoded, stretched to the input's
 * size, put into its layout, (pixel - mean) / std. Pixels run from 0 to 255. */
#include "quant/data/data_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "quant/data/image.h"

#define MAX_IMAGE_FILE ((size_t)256 << 20)

typedef struct image_source {
    const char *const *paths;
    int64_t batch;
    int width, height, channels;
    /* nhwc; bgr */
    bool channels_last, reversed;
    /* by channel of the model; factor is 1 / std */
    float mean[4], factor[4];
    int rank;
    int64_t dim[4];
    /* one image, resized */
    float *pixels;
} image_source;

/* --- what the model's input asks for ---------------------------------------------------------- */

static bool is_channel_count(int64_t dim)
{
    return dim == 1 || dim == 3 || dim == 4;
}

/* A layout is the place of the channels: right behind the batch, or last. */
static qdq_status find_layout(qdq_data *d, image_source *s, const qdq_data_opts *opts,
                              qdq_error *err)
{
    const qdq_io *io = &d->inputs[0];
    int first = s->rank - 3, last = s->rank - 1;

    if (opts->layout != NULL && strcmp(opts->layout, "nchw") != 0 &&
        strcmp(opts->layout, "nhwc") != 0)
        return qdq_fail(err, QDQ_E_USAGE, "layout '%s', expected nchw or nhwc", opts->layout);
    if (opts->layout != NULL) {
        s->channels_last = strcmp(opts->layout, "nhwc") == 0;
    } else if (is_channel_count(io->dim[first])) {
        s->channels_last = false;
    } else if (is_channel_count(io->dim[last])) {
        s->channels_last = true;
    } else {
        return qdq_fail(err, QDQ_E_USAGE,
                        "input '%s' is %s: no dimension of 1, 3 or 4 channels shows its layout, "
                        "expected a layout",
                        io->name, qdq_io_text(io, &d->arena));
    }
    return QDQ_OK;
}

static qdq_status find_channels(qdq_data *d, image_source *s, const qdq_data_opts *opts,
                                qdq_error *err)
{
    const qdq_io *io = &d->inputs[0];
    int64_t channels = io->dim[s->channels_last ? s->rank - 1 : s->rank - 3];
    const char *order = opts->channel_order;
    bool gray = order != NULL && strcmp(order, "gray") == 0;

    s->reversed = order != NULL && strcmp(order, "bgr") == 0;
    if (order != NULL && !gray && !s->reversed && strcmp(order, "rgb") != 0)
        return qdq_fail(err, QDQ_E_USAGE, "channel order '%s', expected rgb, bgr or gray", order);
    if (channels < 0)
        channels = gray ? 1 : 3;
    if (!is_channel_count(channels))
        return qdq_fail(err, QDQ_E_USAGE,
                        "input '%s' is %s: %lld channels in this layout, expected 1, 3 or 4",
                        io->name, qdq_io_text(io, &d->arena), (long long)channels);
    if (order != NULL && gray != (channels == 1))
        return qdq_fail(err, QDQ_E_USAGE, "channel order %s, but input '%s' is %s", order, io->name,
                        qdq_io_text(io, &d->arena));
    s->channels = (int)channels;
    return QDQ_OK;
}

static qdq_status find_extent(qdq_data *d, int axis, int wanted, const char *what, int *out,
                              qdq_error *err)
{
    const qdq_io *io = &d->inputs[0];

    if (wanted < 0 || wanted > 32768)
        return qdq_fail(err, QDQ_E_USAGE, "image %s %d, expected 1 to 32768", what, wanted);
    if (io->dim[axis] < 0 && wanted == 0)
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' is %s, so an image size is needed", io->name,
                        qdq_io_text(io, &d->arena));
    if (io->dim[axis] >= 0 && wanted != 0 && wanted != io->dim[axis])
        return qdq_fail(err, QDQ_E_USAGE, "image %s %d, but input '%s' is %s", what, wanted,
                        io->name, qdq_io_text(io, &d->arena));
    int64_t extent = wanted != 0 ? wanted : io->dim[axis];
    if (extent < 1 || extent > 32768)
        return qdq_fail(err, QDQ_E_FORMAT, "input '%s' is %s, expected a %s of 1 to 32768",
                        io->name, qdq_io_text(io, &d->arena), what);
    *out = (int)extent;
    return QDQ_OK;
}

static qdq_status find_scale(image_source *s, const qdq_data_opts *opts, qdq_error *err)
{
    const int given[2] = {opts->n_mean, opts->n_std};

    for (int i = 0; i < 2; i++)
        if (given[i] != 0 && given[i] != 1 && given[i] != s->channels)
            return qdq_fail(err, QDQ_E_USAGE, "%d numbers for the %s, expected 1 or %d", given[i],
                            i == 0 ? "mean" : "standard deviation", s->channels);
    for (int c = 0; c < s->channels; c++) {
        float mean = opts->n_mean == 0 ? 0 : opts->mean[opts->n_mean == 1 ? 0 : c];
        float std = opts->n_std == 0 ? 1 : opts->std[opts->n_std == 1 ? 0 : c];

        if (!isfinite(mean) || !isfinite(std) || !(std > 0) || !isfinite(1 / std))
            return qdq_fail(err, QDQ_E_USAGE,
                            "mean %g and standard deviation %g, expected finite and above zero",
                            (double)mean, (double)std);
        s->mean[c] = mean;
        s->factor[c] = 1 / std;
    }
    return QDQ_OK;
}

static qdq_status find_image_form(qdq_data *d, image_source *s, const qdq_data_opts *opts,
                                  qdq_error *err)
{
    const qdq_io *io = &d->inputs[0];

    if (d->n_inputs != 1)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "images are data for one input, the model has %zu ('%s', '%s'%s)",
                        d->n_inputs, io->name, d->inputs[1].name, d->n_inputs > 2 ? ", ..." : "");
    if ((io->elem != QDQ_FLOAT && io->elem != QDQ_UINT8) || (io->rank != 3 && io->rank != 4))
        return qdq_fail(
            err, QDQ_E_FORMAT,
            "input '%s' is %s, images need float or uint8 with 4 dimensions, or 3 without a batch",
            io->name, qdq_io_text(io, &d->arena));
    if (io->elem == QDQ_UINT8 && (opts->n_mean != 0 || opts->n_std != 0))
        return qdq_fail(err, QDQ_E_USAGE,
                        "input '%s' takes pixels as uint8: no mean or standard deviation applies",
                        io->name);
    s->rank = io->rank;
    QDQ_TRY(find_layout(d, s, opts, err));
    QDQ_TRY(find_channels(d, s, opts, err));
    int top = s->channels_last ? s->rank - 3 : s->rank - 2;
    QDQ_TRY(find_extent(d, top, opts->image_height, "height", &s->height, err));
    QDQ_TRY(find_extent(d, top + 1, opts->image_width, "width", &s->width, err));
    QDQ_TRY(find_scale(s, opts, err));
    s->batch = s->rank == 4 ? qdq_io_batch(io) : 1;
    s->dim[0] = s->batch;
    s->dim[s->channels_last ? s->rank - 1 : s->rank - 3] = s->channels;
    s->dim[top] = s->height;
    s->dim[top + 1] = s->width;
    return QDQ_OK;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Puts the resized image at `at` (an element offset) of the sample. */
static void store_resized_image(const image_source *s, qdq_array *a, size_t at)
{
    size_t plane = (size_t)s->height * (size_t)s->width, channels = (size_t)s->channels;

    for (size_t c = 0; c < channels; c++) {
        size_t from = s->reversed && c < 3 ? 2 - c : c;

        for (size_t p = 0; p < plane; p++) {
            size_t to = at + (s->channels_last ? p * channels + c : c * plane + p);
            float x = s->pixels[p * channels + from];

            if (a->elem == QDQ_FLOAT)
                ((float *)a->data)[to] = (x - s->mean[c]) * s->factor[c];
            else
                ((unsigned char *)a->data)[to] = (unsigned char)(x < 0     ? 0
                                                                 : x > 255 ? 255
                                                                           : x + 0.5f);
        }
    }
}

static qdq_status load_image(image_source *s, const char *path, qdq_error *err)
{
    qdq_image image;
    char *file;
    size_t size;

    QDQ_TRY(qdq_read_file(path, MAX_IMAGE_FILE, &file, &size, err));
    qdq_status st = qdq_image_decode(file, size, s->channels, &image, err);
    qdq_free(file);
    if (st != QDQ_OK)
        return qdq_within(err, st, "%s", path);
    if (!qdq_image_resize(&image, s->width, s->height, s->pixels))
        st = qdq_nomem(err);
    qdq_image_free(&image);
    return st;
}

static qdq_status get_image_sample(qdq_data *d, size_t i, qdq_error *err)
{
    image_source *s = d->source;
    size_t size = (size_t)s->height * (size_t)s->width * (size_t)s->channels;

    QDQ_TRY(qdq_data_shape(d, 0, d->inputs[0].elem, s->rank, s->dim, err));
    for (size_t b = 0; b < (size_t)s->batch; b++) {
        QDQ_TRY(load_image(s, s->paths[i * (size_t)s->batch + b], err));
        store_resized_image(s, &d->arrays[0].array, b * size);
    }
    return QDQ_OK;
}

static void close_images(qdq_data *d)
{
    free(((image_source *)d->source)->pixels);
}

qdq_status qdq_data_open_images(qdq_data *d, const char *const *paths, size_t n_paths,
                                const qdq_data_opts *opts, qdq_error *err)
{
    image_source *s = qdq_arena_alloc(&d->arena, sizeof *s);

    QDQ_NEED(s != NULL, err);
    d->source = s;
    d->get = get_image_sample;
    d->close = close_images;
    s->paths = paths;
    QDQ_TRY(find_image_form(d, s, opts, err));
    if ((uint64_t)s->batch > n_paths)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: %zu images, the model's batch is %lld", d->spec,
                        n_paths, (long long)s->batch);
    if (n_paths % (size_t)s->batch != 0)
        qdq_job_log(d->job, QDQ_LOG_WARNING,
                    "%s: the last %zu of %zu images do not fill a batch of %lld, left out", d->spec,
                    n_paths % (size_t)s->batch, n_paths, (long long)s->batch);
    d->count = n_paths / (size_t)s->batch;
    s->pixels =
        malloc((size_t)s->height * (size_t)s->width * (size_t)s->channels * sizeof *s->pixels);
    return s->pixels != NULL ? QDQ_OK : qdq_nomem(err);
}
