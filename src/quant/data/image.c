/* image.c - which decoder a picture is for, and its size. Compiles stb_image_resize, which is
 * static here: a program that uses the library may bring its own. Warnings inside it are not ours
 * to mend. */
#include "quant/data/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/data/image_formats.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function" /* told at the end of the file */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wswitch-enum"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#define STBIR_ASSERT(x) ((void)0)
#include <stb_image_resize.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

enum { MAX_PIXELS = 1 << 27 };

qdq_status qdq_image_size(int64_t width, int64_t height, qdq_error *err)
{
    if (width < 1 || height < 1 || width > MAX_PIXELS / height)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "an image of %lld x %lld, expected at most %d pixels", (long long)width,
                        (long long)height, MAX_PIXELS);
    return QDQ_OK;
}

qdq_status qdq_image_new(int64_t width, int64_t height, int channels, qdq_image *out,
                         qdq_error *err)
{
    *out = (qdq_image){(int)width, (int)height, channels, NULL};
    out->pixels = malloc((size_t)width * (size_t)height * (size_t)channels);
    return out->pixels != NULL ? QDQ_OK : qdq_nomem(err);
}

void qdq_image_put(const unsigned char rgba[4], int channels, unsigned char *to)
{
    if (channels == 1) /* ITU-R BT.601 */
        to[0] = (unsigned char)((rgba[0] * 77 + rgba[1] * 150 + rgba[2] * 29) >> 8);
    else
        memcpy(to, rgba, (size_t)channels);
}

qdq_status qdq_image_decode(const void *data, size_t size, int channels, qdq_image *out,
                            qdq_error *err)
{
    static const unsigned char jpeg[] = {0xff, 0xd8, 0xff},
                               png[] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10};
    qdq_status st;

    *out = (qdq_image){0};
    if (size > INT32_MAX)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "an image file of %zu bytes, expected at most %d",
                        size, (int)INT32_MAX);
    if (size >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0)
        st = qdq_image_jpeg(data, size, channels, out, err);
    else if (size >= sizeof png && memcmp(data, png, sizeof png) == 0)
        st = qdq_image_png(data, size, channels, out, err);
    else if (size >= 2 && memcmp(data, "BM", 2) == 0)
        st = qdq_image_bmp(data, size, channels, out, err);
    else
        return qdq_fail(err, QDQ_E_FORMAT, "not a JPEG, PNG or BMP image");
    if (st != QDQ_OK)
        qdq_image_free(out);
    return st;
}

void qdq_image_free(qdq_image *image)
{
    free(image->pixels);
    *image = (qdq_image){0};
}

bool qdq_image_resize(const qdq_image *image, int width, int height, float *out)
{
    size_t n = (size_t)image->width * (size_t)image->height * (size_t)image->channels;
    float *in = out;
    bool done = true;

    if (image->width != width || image->height != height)
        in = malloc(n * sizeof *in);
    if (in == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        in[i] = image->pixels[i];
    if (in != out) {
        done = stbir_resize_float_generic(in, image->width, image->height, 0, out, width, height, 0,
                                          image->channels, STBIR_ALPHA_CHANNEL_NONE, 0,
                                          STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE,
                                          STBIR_COLORSPACE_LINEAR, NULL);
        free(in);
    }
    return done;
}
