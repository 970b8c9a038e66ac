/* image.h - pictures as bytes of pixels: JPEG by libjpeg-turbo, PNG by libspng, BMP. Knows no
 * files, no models. */
#ifndef QDQ_IMAGE_H
#define QDQ_IMAGE_H

#include <stddef.h>

#include "qdq/status.h"

typedef struct qdq_image {
    int width, height, channels;
    /* rows from the top, channels together; qdq_image_free() */
    unsigned char *pixels;
} qdq_image;

/* Decodes to 1 (gray), 3 (RGB) or 4 (RGBA) channels whatever the file has. Orientation tags of
 * cameras are not followed. At most 2^27 pixels. */
qdq_status qdq_image_decode(const void *data, size_t size, int channels, qdq_image *out,
                            qdq_error *err);
void qdq_image_free(qdq_image *image);

/* The picture stretched to width x height, as floats of 0 to 255, row by row. Bilinear; where it
 * gets smaller, the filter widens with the ratio, so that every pixel counts (as Pillow's BILINEAR
 * does). False: out of memory. */
bool qdq_image_resize(const qdq_image *image, int width, int height, float *out);

#endif /* QDQ_IMAGE_H */
