/* image_formats.h - the decoders behind image.h, and what they share. */
#ifndef QDQ_IMAGE_FORMATS_H
#define QDQ_IMAGE_FORMATS_H

#include <stdint.h>

#include "quant/data/image.h"

/* QDQ_E_UNSUPPORTED for a picture without pixels, or with more than 2^27. */
qdq_status qdq_image_size(int64_t width, int64_t height, qdq_error *err);

/* Room for a picture whose size is right. */
qdq_status qdq_image_new(int64_t width, int64_t height, int channels, qdq_image *out,
                         qdq_error *err);

/* One pixel as 1 (gray), 3 or 4 channels. */
void qdq_image_put(const unsigned char rgba[4], int channels, unsigned char *to);

/* Decode all of a file to 1, 3 or 4 channels. On failure *out may have pixels: free it. */
qdq_status qdq_image_jpeg(const unsigned char *data, size_t size, int channels, qdq_image *out,
                          qdq_error *err);
qdq_status qdq_image_png(const unsigned char *data, size_t size, int channels, qdq_image *out,
                         qdq_error *err);
qdq_status qdq_image_bmp(const unsigned char *data, size_t size, int channels, qdq_image *out,
                         qdq_error *err);

#endif /* QDQ_IMAGE_FORMATS_H */
