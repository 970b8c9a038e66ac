/* photo.h - a picture in memory, of the size that a model takes: read by qdq, drawn on, written by
 * stb_image_write. */
#ifndef QDQ_EXAMPLE_PHOTO_H
#define QDQ_EXAMPLE_PHOTO_H

#include <stdbool.h>

#include <qdq/qdq.h>

typedef struct photo {
    int width, height;
    unsigned char *rgb; /* rows from the top, three bytes a pixel */
} photo;

/* Reads a picture as qdq reads images of calibration data: RGB, stretched to the input of `m`,
 * [1,3,height,width]. */
qdq_status photo_read(const char *path, const qdq_model *m, photo *p, qdq_error *err);
bool photo_write_png(const char *path, const photo *p);
void photo_free(photo *p);

/* Planes of (pixel - mean) / std: red, green, blue. */
void photo_to_planes(const photo *p, float mean, float std, float *out);

/* The outline of a box, two pixels wide. Corners from 0 to 1; what is outside the picture is not
 * drawn. */
void photo_draw_box(photo *p, float left, float top, float right, float bottom,
                    const unsigned char color[3]);

#endif /* QDQ_EXAMPLE_PHOTO_H */
