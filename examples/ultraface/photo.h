/* photo.h - a picture in memory: read, written, drawn on. Uses stb_image; knows nothing of models. */
#ifndef QDQ_EXAMPLE_PHOTO_H
#define QDQ_EXAMPLE_PHOTO_H

#include <stdbool.h>

typedef struct photo {
    int width, height;
    unsigned char *rgb; /* rows from the top, three bytes a pixel */
} photo;

/* False: not a picture that can be read, or no memory. */
bool photo_read(const char *path, photo *p);
bool photo_write_png(const char *path, const photo *p);
void photo_free(photo *p);

/* Stretches to width x height and gives planes of (pixel - mean) / std: red, green, blue. */
bool photo_to_planes(const photo *p, int width, int height, float mean, float std, float *out);

/* The outline of a box, two pixels wide. Corners from 0 to 1; what is outside the picture is not drawn. */
void photo_draw_box(photo *p, float left, float top, float right, float bottom, const unsigned char color[3]);

#endif /* QDQ_EXAMPLE_PHOTO_H */
