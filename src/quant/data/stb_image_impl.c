/* stb_image_impl.c - the one file that compiles stb_image and stb_image_resize. Both are static here: a program
 * that uses the library may bring its own. Warnings inside them are not ours to mend. */
#include "quant/data/image.h"

#include <limits.h>
#include <stdlib.h>

#include "base/fail.h"

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
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_FAILURE_STRINGS           /* they are global, and one of them is written into */
#define STBI_ASSERT(x)          ((void)0) /* bad input must not end the program */
#include <stb_image.h>

#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#define STBIR_ASSERT(x) ((void)0)
#include <stb_image_resize.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

enum { MAX_PIXELS = 1 << 27 };

/* Without its global variable, stb_image does not say whether the file or the memory was to blame. So a failure
 * is the file's only if it happens again while there is memory. */
static bool is_memory_left(size_t size)
{
    void *volatile p = malloc(size); /* volatile: a pair of malloc and free is optimized away */

    free(p);
    return p != NULL;
}

qdq_status qdq_image_decode(const void *data, size_t size, int channels, qdq_image *out, qdq_error *err)
{
    int width, height, found;

    *out = (qdq_image){0};
    if (size > INT_MAX)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "an image file of %zu bytes, expected at most %d", size,
                        INT_MAX);
    if (!stbi_info_from_memory(data, (int)size, &width, &height, &found)) {
        if (!is_memory_left(1 << 20))
            return qdq_nomem(err);
        if (!stbi_info_from_memory(data, (int)size, &width, &height, &found))
            return qdq_fail(err, QDQ_E_FORMAT, "not a JPEG, PNG or BMP image");
    }
    if (width < 1 || height < 1 || width > MAX_PIXELS / height)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "an image of %d x %d, expected at most %d pixels", width,
                        height, MAX_PIXELS);
    unsigned char *pixels = stbi_load_from_memory(data, (int)size, &width, &height, &found, channels);
    if (pixels == NULL) {
        if (!is_memory_left((size_t)width * (size_t)height * 16))
            return qdq_nomem(err);
        pixels = stbi_load_from_memory(data, (int)size, &width, &height, &found, channels);
        if (pixels == NULL)
            return qdq_fail(err, QDQ_E_FORMAT, "a damaged image of %d x %d pixels", width, height);
    }
    *out = (qdq_image){width, height, channels, pixels};
    return QDQ_OK;
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
                                          image->channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                                          STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, NULL);
        free(in);
    }
    return done;
}
