/* fuzz_image.c - pictures: whatever the bytes are, decoding ends, and every pixel of what was
 * decoded can be read. */
#include <stdint.h>
#include <stdlib.h>

#include "quant/data/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1) {
        qdq_image image;
        unsigned sum = 0;

        if (qdq_image_decode(data, size, channels, &image, NULL) == QDQ_OK) {
            const size_t n = (size_t)image.width * (size_t)image.height * (size_t)channels;

            for (size_t i = 0; i < n; i++)
                sum += image.pixels[i];
            if (image.channels != channels || (n == 0 && sum == 0))
                abort();
        } else if (image.pixels != NULL) {
            abort();
        }
        qdq_image_free(&image);
    }
    return 0;
}
