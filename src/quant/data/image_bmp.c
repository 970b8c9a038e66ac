/* image_bmp.c - BMP, without a library: headers of 12 to 124 bytes, palettes of 1, 4 and 8 bits,
 * masks of 16 and 32 bits, 24 bits; no run lengths, no pictures inside pictures. Every byte is
 * looked for before it is read. */
#include <string.h>

#include "base/fail.h"
#include "quant/data/image_formats.h"

enum { FILE_HEADER = 14, BI_RGB = 0, BI_BITFIELDS = 3, BI_ALPHABITFIELDS = 6 };

typedef struct bmp {
    const unsigned char *data;
    /* of the pixels */
    size_t size, offset;
    /* bytes of the second header */
    uint32_t header;
    /* height > 0: rows from the bottom */
    int64_t width, height;
    unsigned bits;
    /* red, green, blue, alpha; 16 and 32 bits */
    uint32_t mask[4];
    const unsigned char *palette;
    /* entries, and the bytes of one */
    size_t n_palette, entry;
} bmp;

static uint32_t read_u16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t read_u32(const unsigned char *p)
{
    return read_u16(p) | read_u16(p + 2) << 16;
}

static qdq_status fail_bmp(const bmp *b, const char *what, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT, "a damaged BMP image of %lld x %lld pixels: %s",
                    (long long)b->width, (long long)(b->height < 0 ? -b->height : b->height), what);
}

static qdq_status read_bmp_masks(bmp *b, uint32_t compression, qdq_error *err)
{
    static const uint32_t usual[2][4] = {{0x7c00, 0x3e0, 0x1f, 0},
                                         {0xff0000, 0xff00, 0xff, 0xff000000}};
    const size_t n = b->header >= 56 || compression == BI_ALPHABITFIELDS ? 4 : 3;

    memcpy(b->mask, usual[b->bits == 32], sizeof b->mask);
    if (compression == BI_RGB)
        return QDQ_OK;
    if (b->size < FILE_HEADER + 40 + n * 4)
        return fail_bmp(b, "found no masks", err);
    for (size_t i = 0; i < 4; i++)
        b->mask[i] = i < n ? read_u32(b->data + FILE_HEADER + 40 + i * 4) : 0;
    return QDQ_OK;
}

static qdq_status read_bmp_layout(bmp *b, uint32_t compression, qdq_error *err)
{
    size_t behind = FILE_HEADER + (size_t)b->header;

    if (b->bits != 1 && b->bits != 4 && b->bits != 8 && b->bits != 16 && b->bits != 24 &&
        b->bits != 32)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "a BMP image of %u bits, expected 1, 4, 8, 16, 24 or 32", b->bits);
    if (compression != BI_RGB &&
        ((compression != BI_BITFIELDS && compression != BI_ALPHABITFIELDS) ||
         (b->bits != 16 && b->bits != 32)))
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "a BMP image of compression %u, expected none",
                        (unsigned)compression);
    if (b->bits == 16 || b->bits == 32)
        return read_bmp_masks(b, compression, err);
    if (b->bits == 24)
        return QDQ_OK;
    b->entry = b->header == 12 ? 3 : 4;
    b->n_palette = (size_t)1 << b->bits;
    if (b->offset < behind || b->offset > b->size)
        return fail_bmp(b, "its pixels are outside of the file", err);
    if (b->n_palette > (b->offset - behind) / b->entry)
        b->n_palette = (b->offset - behind) / b->entry;
    b->palette = b->data + behind;
    return QDQ_OK;
}

static qdq_status read_bmp_header(bmp *b, qdq_error *err)
{
    const unsigned char *h = b->data + FILE_HEADER;
    uint32_t compression = BI_RGB;

    if (b->size < FILE_HEADER + 12)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "a BMP image of %zu bytes, expected headers of 26 at least", b->size);
    b->offset = read_u32(b->data + 10);
    b->header = read_u32(h);
    if (b->header == 12) {
        b->width = read_u16(h + 4);
        b->height = read_u16(h + 6);
        b->bits = read_u16(h + 10);
        return read_bmp_layout(b, compression, err);
    }
    if (b->header < 40 || b->header > 124 || b->size < FILE_HEADER + (size_t)b->header)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "a BMP image with a header of %u bytes, expected 12 or 40 to 124",
                        (unsigned)b->header);
    b->width = (int32_t)read_u32(h + 4);
    b->height = (int32_t)read_u32(h + 8);
    b->bits = read_u16(h + 14);
    compression = read_u32(h + 16);
    return read_bmp_layout(b, compression, err);
}

/* The bits of the mask as 0 to 255; no mask: `none`. */
static unsigned char apply_mask(uint32_t pixel, uint32_t mask, unsigned char none)
{
    unsigned low = 0, n = 0;

    if (mask == 0)
        return none;
    while ((mask >> low & 1) == 0)
        low++;
    while (low + n < 32 && (mask >> (low + n) & 1) != 0)
        n++;
    const uint64_t top = (UINT64_C(1) << n) - 1;
    return (unsigned char)((((uint64_t)(pixel & mask) >> low & top) * 255 + top / 2) / top);
}

static void bmp_pixel_at(const bmp *b, const unsigned char *row, int64_t x, unsigned char rgba[4])
{
    uint32_t pixel;
    size_t index;

    rgba[3] = 255;
    switch (b->bits) {
    case 24:
        rgba[0] = row[x * 3 + 2], rgba[1] = row[x * 3 + 1], rgba[2] = row[x * 3];
        return;
    case 16:
    case 32:
        pixel = b->bits == 16 ? read_u16(row + x * 2) : read_u32(row + x * 4);
        for (int i = 0; i < 4; i++)
            rgba[i] = apply_mask(pixel, b->mask[i], i == 3 ? 255 : 0);
        return;
    default:
        index = (size_t)(row[x * b->bits / 8] >> (8 - b->bits - (unsigned)x * b->bits % 8)) &
                (((size_t)1 << b->bits) - 1);
        for (int i = 0; i < 3; i++)
            rgba[i] = index < b->n_palette ? b->palette[index * b->entry + 2 - (size_t)i] : 0;
    }
}

qdq_status qdq_image_bmp(const unsigned char *data, size_t size, int channels, qdq_image *out,
                         qdq_error *err)
{
    bmp b = {.data = data, .size = size};
    bool any_alpha = false;

    QDQ_TRY(read_bmp_header(&b, err));
    const int64_t height = b.height < 0 ? -b.height : b.height;
    QDQ_TRY(qdq_image_size(b.width, height, err));
    const size_t stride = ((size_t)b.width * b.bits + 31) / 32 * 4;
    const size_t last = ((size_t)b.width * b.bits + 7) / 8; /* the last row need not be padded */
    if (b.offset < FILE_HEADER + b.header || b.offset > size || size - b.offset < last ||
        (size - b.offset - last) / stride + 1 < (size_t)height)
        return fail_bmp(&b, "pixels are missing", err);
    QDQ_TRY(qdq_image_new(b.width, height, channels, out, err));
    unsigned char *to = out->pixels;
    for (int64_t y = 0; y < height; y++) {
        const unsigned char *row =
            data + b.offset + stride * (size_t)(b.height < 0 ? y : height - 1 - y);

        for (int64_t x = 0; x < b.width; x++, to += channels) {
            unsigned char rgba[4];

            bmp_pixel_at(&b, row, x, rgba);
            any_alpha |= rgba[3] != 0;
            qdq_image_put(rgba, channels, to);
        }
    }
    /* Most programs leave the fourth byte at 0, and mean no transparency. */
    for (size_t i = 3; channels == 4 && !any_alpha && i < (size_t)b.width * (size_t)height * 4;
         i += 4)
        out->pixels[i] = 255;
    return QDQ_OK;
}
