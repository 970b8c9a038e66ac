/* photo.c - see photo.h. */
#include "photo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* stb's own code is not held to our warnings. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Pixels as floats from 0 to 255, which are bytes once more. */
static bool from_planes(photo *p, const qdq_array *a)
{
    const float *pixels = a->data;
    const size_t plane = (size_t)a->dim[2] * (size_t)a->dim[3];

    p->height = (int)a->dim[2];
    p->width = (int)a->dim[3];
    p->rgb = malloc(plane * 3);
    for (size_t i = 0; p->rgb != NULL && i < plane; i++)
        for (size_t c = 0; c < 3; c++)
            p->rgb[i * 3 + c] = (unsigned char)lroundf(pixels[c * plane + i]);
    return p->rgb != NULL;
}

qdq_status photo_read(const char *path, const qdq_model *m, photo *p, qdq_error *err)
{
    const qdq_named_array *in;
    qdq_data *data = NULL;
    size_t n;

    qdq_status st = qdq_data_open(path, m, NULL, &data, err);
    if (st == QDQ_OK)
        st = qdq_data_get(data, 0, &in, &n, err);
    if (st == QDQ_OK &&
        (n != 1 || in->array.elem != QDQ_FLOAT || in->array.rank != 4 || in->array.dim[0] != 1 ||
         in->array.dim[1] != 3 || !from_planes(p, &in->array))) {
        snprintf(err->text, sizeof err->text,
                 "%s: no picture for an input of float[1,3,height,width]", path);
        st = QDQ_E_FORMAT;
    }
    qdq_data_close(data);
    return st;
}

bool photo_write_png(const char *path, const photo *p)
{
    return stbi_write_png(path, p->width, p->height, 3, p->rgb, p->width * 3) != 0;
}

void photo_free(photo *p)
{
    free(p->rgb);
    p->rgb = NULL;
}

void photo_to_planes(const photo *p, float mean, float std, float *out)
{
    const size_t plane = (size_t)p->width * (size_t)p->height;

    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < 3; c++)
            out[c * plane + i] = ((float)p->rgb[i * 3 + c] - mean) / std;
}

static int pixel(float relative, int extent)
{
    float at = relative * (float)(extent - 1);

    return at > -8 && at < (float)extent + 8 ? (int)lroundf(at) : at > 0 ? extent + 8 : -8;
}

void photo_draw_box(photo *p, float left, float top, float right, float bottom,
                    const unsigned char color[3])
{
    int x0 = pixel(left, p->width), x1 = pixel(right, p->width);
    int y0 = pixel(top, p->height), y1 = pixel(bottom, p->height);

    for (int y = y0 < 0 ? 0 : y0; y <= y1 && y < p->height; y++)
        for (int x = x0 < 0 ? 0 : x0; x <= x1 && x < p->width; x++)
            if (y < y0 + 2 || y > y1 - 2 || x < x0 + 2 || x > x1 - 2)
                memcpy(p->rgb + ((size_t)y * (size_t)p->width + (size_t)x) * 3, color, 3);
}
