/* image_jpeg.c - JPEG by libjpeg-turbo. The library reports by longjmp: no variable that changes
 * after setjmp is read behind it but through a struct. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <jerror.h>

#include "base/fail.h"
#include "quant/data/image_formats.h"

enum { MAX_SCANS = 200 }; /* a progressive picture has some ten: each costs time as the whole */

#define MAX_MEMORY (1L << 30)

typedef struct reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
    bool nomem, is_cut;
    /* of CMYK, 4 bytes a pixel */
    unsigned char *row;
    qdq_image *out;
    int channels;
} reader;

static void on_jpeg_error(j_common_ptr j)
{
    reader *r = (reader *)j->client_data;

    r->nomem = j->err->msg_code == JERR_OUT_OF_MEMORY;
    j->err->format_message(j, r->text);
    longjmp(r->back, 1);
}

/* Missing data is filled up with gray by the library: here it is an error, as all that is no
 * picture. */
static void on_jpeg_message(j_common_ptr j, int level)
{
    reader *r = (reader *)j->client_data;

    if (level < 0)
        j->err->num_warnings++;
    if (level < 0 && (j->err->msg_code == JWRN_JPEG_EOF || j->err->msg_code == JWRN_HIT_MARKER)) {
        r->is_cut = true;
        on_jpeg_error(j);
    }
}

static void on_jpeg_output(j_common_ptr j)
{
    (void)j;
}

static void on_jpeg_progress(j_common_ptr j)
{
    reader *r = (reader *)j->client_data;

    if (r->jpeg.input_scan_number > MAX_SCANS) {
        snprintf(r->text, sizeof r->text, "more than %d scans", MAX_SCANS);
        longjmp(r->back, 1);
    }
}

/* Inverted where Adobe wrote it, which is nearly always. */
static void put_cmyk_row(const reader *r, unsigned char *to)
{
    for (unsigned x = 0; x < r->jpeg.output_width; x++, to += r->channels) {
        unsigned char rgba[4] = {0, 0, 0, 255};
        const unsigned char *from = r->row + 4 * (size_t)x;

        for (int i = 0; i < 3; i++) {
            const unsigned ink = r->jpeg.saw_Adobe_marker ? from[i] : 255u - from[i],
                           key = r->jpeg.saw_Adobe_marker ? from[3] : 255u - from[3];

            rgba[i] = (unsigned char)((ink * key + 127) / 255);
        }
        qdq_image_put(rgba, r->channels, to);
    }
}

static qdq_status read_jpeg_rows(reader *r, qdq_error *err)
{
    struct jpeg_decompress_struct *j = &r->jpeg;
    const bool is_cmyk = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK;

    j->out_color_space = is_cmyk            ? JCS_CMYK
                         : r->channels == 1 ? JCS_GRAYSCALE
                         : r->channels == 3 ? JCS_RGB
                                            : JCS_EXT_RGBA;
    j->mem->max_memory_to_use = MAX_MEMORY;
    j->progress = &r->progress;
    r->progress.progress_monitor = on_jpeg_progress;
    QDQ_TRY(qdq_image_size(j->image_width, j->image_height, err));
    QDQ_TRY(qdq_image_new(j->image_width, j->image_height, r->channels, r->out, err));
    if (is_cmyk && (r->row = malloc((size_t)j->image_width * 4)) == NULL)
        return qdq_nomem(err);
    jpeg_start_decompress(j);
    while (j->output_scanline < j->output_height) {
        unsigned char *to =
            r->out->pixels + (size_t)j->output_scanline * j->output_width * (size_t)r->channels;
        JSAMPROW row = is_cmyk ? r->row : to;

        jpeg_read_scanlines(j, &row, 1);
        if (is_cmyk)
            put_cmyk_row(r, to);
    }
    jpeg_finish_decompress(j);
    return QDQ_OK;
}

static qdq_status jpeg_failed(const reader *r, qdq_error *err)
{
    QDQ_NEED(!r->nomem, err);
    return qdq_fail(err, QDQ_E_FORMAT, "a damaged JPEG image of %u x %u pixels: %s",
                    (unsigned)r->jpeg.image_width, (unsigned)r->jpeg.image_height,
                    r->is_cut ? "it is cut off" : r->text);
}

qdq_status qdq_image_jpeg(const unsigned char *data, size_t size, int channels, qdq_image *out,
                          qdq_error *err)
{
    reader *r = calloc(1, sizeof *r);
    qdq_status st;

    QDQ_NEED(r != NULL, err);
    r->out = out;
    r->channels = channels;
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->jpeg.client_data = r;
    r->errors.error_exit = on_jpeg_error;
    r->errors.emit_message = on_jpeg_message;
    r->errors.output_message = on_jpeg_output;
    if (setjmp(r->back) == 0) {
        jpeg_create_decompress(&r->jpeg);
        jpeg_mem_src(&r->jpeg, data, (unsigned long)size);
        jpeg_read_header(&r->jpeg, TRUE);
        st = read_jpeg_rows(r, err);
    } else {
        st = jpeg_failed(r, err);
    }
    jpeg_destroy_decompress(&r->jpeg);
    free(r->row);
    free(r);
    return st;
}
