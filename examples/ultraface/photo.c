/* photo.c - see photo.h. */
#include "photo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* stb's own code is not held to our warnings. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wswitch-enum"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#include <stb_image.h>
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb_image_resize.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

bool photo_read(const char *path, photo *p)
{
    int channels;

    p->rgb = stbi_load(path, &p->width, &p->height, &channels, 3);
    return p->rgb != NULL;
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

bool photo_to_planes(const photo *p, int width, int height, float mean, float std, float *out)
{
    size_t plane = (size_t)width * (size_t)height;
    unsigned char *rgb = malloc(plane * 3);
    bool done = rgb != NULL;

    if (done && width == p->width && height == p->height)
        memcpy(rgb, p->rgb, plane * 3);
    else if (done)
        done = stbir_resize_uint8_generic(p->rgb, p->width, p->height, 0, rgb, width, height, 0, 3,
                                          STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                                          STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, NULL) != 0;
    for (size_t i = 0; done && i < plane; i++)
        for (size_t c = 0; c < 3; c++)
            out[c * plane + i] = ((float)rgb[i * 3 + c] - mean) / std;
    free(rgb);
    return done;
}

static int pixel(float relative, int extent)
{
    float at = relative * (float)(extent - 1);

    return at > -8 && at < (float)extent + 8 ? (int)lroundf(at) : at > 0 ? extent + 8 : -8;
}

void photo_draw_box(photo *p, float left, float top, float right, float bottom, const unsigned char color[3])
{
    int x0 = pixel(left, p->width), x1 = pixel(right, p->width);
    int y0 = pixel(top, p->height), y1 = pixel(bottom, p->height);

    for (int y = y0 < 0 ? 0 : y0; y <= y1 && y < p->height; y++)
        for (int x = x0 < 0 ? 0 : x0; x <= x1 && x < p->width; x++)
            if (y < y0 + 2 || y > y1 - 2 || x < x0 + 2 || x > x1 - 2)
                memcpy(p->rgb + ((size_t)y * (size_t)p->width + (size_t)x) * 3, color, 3);
}
