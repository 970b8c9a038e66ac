/* image_png.c - PNG by libspng. */

#include <spng.h>

#include "base/fail.h"
#include "quant/data/image_formats.h"

enum { MAX_CHUNK = 16 << 20, MAX_CHUNKS = 64 << 20 }; /* of what is no pixels */

static qdq_status png_failed(int code, const struct spng_ihdr *header, qdq_error *err)
{
    if (code == SPNG_EMEM)
        return qdq_nomem(err);
    return qdq_fail(err, QDQ_E_FORMAT, "a damaged PNG image of %u x %u pixels: %s",
                    (unsigned)header->width, (unsigned)header->height, spng_strerror(code));
}

/* Gray is made of colours here: the library does it for gray pictures alone. */
static qdq_status decode_gray_png(spng_ctx *png, const struct spng_ihdr *header, qdq_image *out,
                                  qdq_error *err)
{
    qdq_image colours = {0};

    QDQ_TRY(qdq_image_new(header->width, header->height, 3, &colours, err));
    const size_t n = (size_t)header->width * header->height;
    const int code = spng_decode_image(png, colours.pixels, n * 3, SPNG_FMT_RGB8, 0);

    for (size_t i = 0; code == 0 && i < n; i++) {
        const unsigned char rgba[4] = {colours.pixels[3 * i], colours.pixels[3 * i + 1],
                                       colours.pixels[3 * i + 2]};

        qdq_image_put(rgba, 1, out->pixels + i);
    }
    qdq_image_free(&colours);
    return code == 0 ? QDQ_OK : png_failed(code, header, err);
}

static qdq_status decode_png(spng_ctx *png, const unsigned char *data, size_t size, int channels,
                             qdq_image *out, qdq_error *err)
{
    struct spng_ihdr header = {0};
    int code = spng_set_chunk_limits(png, MAX_CHUNK, MAX_CHUNKS);

    if (code == 0)
        code = spng_set_png_buffer(png, data, size);
    if (code == 0)
        code = spng_get_ihdr(png, &header);
    if (code != 0)
        return png_failed(code, &header, err);
    QDQ_TRY(qdq_image_size(header.width, header.height, err));
    QDQ_TRY(qdq_image_new(header.width, header.height, channels, out, err));
    if (channels == 1)
        return decode_gray_png(png, &header, out, err);
    code = spng_decode_image(
        png, out->pixels, (size_t)header.width * header.height * (size_t)channels,
        channels == 3 ? SPNG_FMT_RGB8 : SPNG_FMT_RGBA8, channels == 3 ? 0 : SPNG_DECODE_TRNS);
    return code == 0 ? QDQ_OK : png_failed(code, &header, err);
}

qdq_status qdq_image_png(const unsigned char *data, size_t size, int channels, qdq_image *out,
                         qdq_error *err)
{
    spng_ctx *png = spng_ctx_new(0);

    QDQ_NEED(png != NULL, err);
    qdq_status st = decode_png(png, data, size, channels, out, err);
    spng_ctx_free(png);
    return st;
}
