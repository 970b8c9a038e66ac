/* Images as data: layout, size, channels, scale, and files that are no images. */
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "quant/data/image.h"
#include "support/opened_data.h"
#include "support/test.h"

static const char nchw[] = "g (float[1,3,2,3] x) => (float[1,3,2,3] y) { y = Relu(x) }";
static const char nhwc[] =
    "g (float[N,2,3,3] x) => (float[N,2,3,3] y) { y = Relu(x) }"; /* 2 is no channel count */
static const char gray[] = "g (float[1,2,3] x) => (float[1,2,3] y) { y = Relu(x) }";

/* 3 x 2 pixels, RGB, from the top: red 10 to 60, green 100 and up, blue 200 and up. */
static const unsigned char pixels[] = {10, 100, 200, 20, 110, 210, 30, 120, 220,
                                       40, 130, 230, 50, 140, 240, 60, 150, 250};

/* BMP is simple enough to be written by hand: rows from the bottom, BGR, padded to four bytes. */
static size_t bmp(unsigned char *out, const unsigned char *rgb, int width, int height)
{
    size_t row = ((size_t)width * 3 + 3) / 4 * 4, size = 54 + row * (size_t)height;

    memset(out, 0, size);
    memcpy(out, "BM", 2);
    out[2] = (unsigned char)size;
    out[3] = (unsigned char)(size >> 8);
    out[10] = 54;
    out[14] = 40;
    out[18] = (unsigned char)width;
    out[22] = (unsigned char)height;
    out[26] = 1;
    out[28] = 24;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++)
                out[54 + row * (size_t)(height - 1 - y) + (size_t)x * 3 + (size_t)c] =
                    rgb[(y * width + x) * 3 + 2 - c];
    return size;
}

static void write_image(const char *name, const unsigned char *rgb, int width, int height)
{
    static unsigned char file[20000];
    size_t size = bmp(file, rgb, width, height);

    assert_ok(qdq_write_file(test_path("%s", name), true, file, size, &err));
}

/* A folder of its own for each test, with the picture above in it as many times as asked. */
static const char *folder(const char *name, int copies)
{
    const char *path = test_path("%s", name);

    mkdir(path, 0700);
    for (int i = 0; i < copies; i++) {
        char file[200];

        snprintf(file, sizeof file, "%s/%d.bmp", name, i);
        write_image(file, pixels, 3, 2);
    }
    return path;
}

static const qdq_array *only_sample(qdq_data *d, size_t i)
{
    const qdq_named_array *in;
    size_t n;

    assert_ok(qdq_data_get(d, i, &in, &n, &err));
    assert_int_equal(n, 1);
    assert_string_equal(in->name, "x");
    return &in->array;
}

TEST(pixels_stand_in_planes_when_channels_come_first)
{
    qdq_data *d = opened(nchw, folder("first", 2), NULL);
    const qdq_array *a = only_sample(d, 1);
    const float *x = a->data;

    assert_int_equal(qdq_data_count(d), 2);
    assert_int_equal(a->rank, 4);
    assert_int_equal(a->bytes, 18 * sizeof(float));
    for (int c = 0; c < 3; c++)
        for (int p = 0; p < 6; p++)
            assert_true(x[c * 6 + p] == (float)pixels[p * 3 + c]);
    qdq_data_close(d);
}

TEST(an_image_by_itself_is_one_sample)
{
    folder("single", 2);
    qdq_data *d = opened(nchw, test_path("single/1.bmp"), NULL);

    assert_int_equal(qdq_data_count(d), 1);
    assert_true(((const float *)only_sample(d, 0)->data)[0] == (float)pixels[0]);
    qdq_data_close(d);
}

TEST(pixels_stand_together_when_channels_come_last)
{
    qdq_data *d = opened(nhwc, folder("last", 1), NULL);
    const qdq_array *a = only_sample(d, 0);

    assert_int_equal(a->dim[0], 1);
    assert_int_equal(a->dim[3], 3);
    for (int i = 0; i < 18; i++)
        assert_true(((const float *)a->data)[i] == (float)pixels[i]);
    qdq_data_close(d);
}

TEST(mean_and_std_are_in_pixel_units_and_go_with_the_models_channels)
{
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    opts.n_mean = opts.n_std = 1;
    opts.mean[0] = 127;
    opts.std[0] = 128;
    qdq_data *d = opened(nhwc, folder("scaled", 1), &opts);
    assert_true(fabsf(((const float *)only_sample(d, 0)->data)[0] - (10 - 127) / 128.f) < 1e-6f);
    qdq_data_close(d);

    opts.n_mean = opts.n_std = 3;
    memcpy(opts.mean, (const float[4]){1, 2, 3, 0}, sizeof opts.mean);
    memcpy(opts.std, (const float[4]){2, 4, 8, 0}, sizeof opts.std);
    opts.channel_order = "bgr";
    d = opened(nhwc, folder("scaled", 1), &opts);
    const float *x = only_sample(d, 0)->data;
    assert_true(x[0] == (200 - 1) / 2.f && x[1] == (100 - 2) / 4.f && x[2] == (10 - 3) / 8.f);
    qdq_data_close(d);
}

TEST(one_channel_is_gray)
{
    qdq_data *d = opened(gray, folder("gray", 1), NULL);
    const qdq_array *a = only_sample(d, 0);

    assert_int_equal(a->rank, 3);
    /* 0.30 red, 0.59 green, 0.11 blue */
    assert_true(fabsf(((const float *)a->data)[0] - 84) <= 1.0f);
    qdq_data_close(d);
}

TEST(bytes_are_given_as_bytes)
{
    static const char model[] = "g (uint8[1,2,3,3] x) => (uint8[1,2,3,3] y) { y = Identity(x) }";
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = opened(model, folder("bytes", 1), NULL);

    assert_memory_equal(only_sample(d, 0)->data, pixels, sizeof pixels);
    qdq_data_close(d);
    opts.n_std = 1;
    opts.std[0] = 2;
    refused(model, folder("bytes", 1), &opts, QDQ_E_USAGE, "takes pixels as uint8");
}

TEST(images_are_stretched_to_the_inputs_size)
{
    static const char model[] = "g (float[1,1,1,2] x) => (float[1,1,1,2] y) { y = Relu(x) }";
    unsigned char flat[8 * 4 * 3];
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    for (int y = 0; y < 4; y++) /* left half 40, right half 200 */
        for (int x = 0; x < 8; x++)
            memset(flat + (y * 8 + x) * 3, x < 4 ? 40 : 200, 3);
    const char *path = folder("stretched", 0);
    write_image("stretched/half.bmp", flat, 8, 4);
    opts.layout = "nchw";
    qdq_data *d = opened(model, path, &opts);
    const float *x = only_sample(d, 0)->data;
    /* A triangle twice as wide as its half: an eighth of each comes from the other side. */
    assert_true(x[0] > 40 && x[0] < 70 && fabsf(x[0] + x[1] - 240) < 0.01f);
    qdq_data_close(d);
}

TEST(a_shrunk_image_keeps_its_mean_and_a_grown_one_its_range)
{
    unsigned char noise[16 * 16];
    float small[4], large[32 * 32];
    double mean = 0, got = 0;

    for (int i = 0; i < 256; i++) {
        noise[i] = (unsigned char)(i * 97 % 251);
        mean += noise[i] / 256.0;
    }
    qdq_image image = {16, 16, 1, noise};
    assert_true(qdq_image_resize(&image, 2, 2, small));
    for (int i = 0; i < 4; i++)
        got += (double)small[i] / 4;
    assert_true(fabs(got - mean) < 10);
    assert_true(qdq_image_resize(&image, 32, 32, large));
    for (int i = 0; i < 32 * 32; i++)
        assert_true(large[i] > -0.01f && large[i] < 251.0f);
}

TEST(free_dimensions_take_the_size_that_the_caller_gives)
{
    static const char model[] = "g (float[N,3,H,W] x) => (float[N,3,H,W] y) { y = Relu(x) }";
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    const char *path = folder("free", 1);

    refused(model, path, &opts, QDQ_E_USAGE,
            "input 'x' is float [N, 3, H, W], so an image size is needed");
    opts.image_height = 4;
    opts.image_width = 6;
    qdq_data *d = opened(model, path, &opts);
    assert_int_equal(only_sample(d, 0)->dim[2], 4);
    assert_int_equal(only_sample(d, 0)->dim[3], 6);
    qdq_data_close(d);
    refused(nchw, path, &opts, QDQ_E_USAGE, "image height 4, but input 'x' is float [1, 3, 2, 3]");
    opts.image_height = -1;
    refused(model, path, &opts, QDQ_E_USAGE, "image height -1, expected 1 to 32768");
}

TEST(a_batch_takes_several_images)
{
    static const char model[] = "g (float[2,3,2,3] x) => (float[2,3,2,3] y) { y = Relu(x) }";
    qdq_data *d = opened(model, folder("five", 5), NULL);

    assert_int_equal(qdq_data_count(d), 2);
    assert_int_equal(only_sample(d, 1)->dim[0], 2);
    assert_true(((const float *)only_sample(d, 1)->data)[18] == 10);
    qdq_data_close(d);
    refused(model, folder("one", 1), NULL, QDQ_E_FORMAT, "1 images, the model's batch is 2");
}

TEST(options_that_fit_no_image_are_refused)
{
    static const struct {
        const char *model, *layout, *order;
        int n_mean;
        float std;
        qdq_status code;
        const char *message;
    } of[] = {
        {nchw, "chw", NULL, 0, 1, QDQ_E_USAGE, "layout 'chw', expected nchw or nhwc"},
        {nchw, NULL, "rgba", 0, 1, QDQ_E_USAGE, "channel order 'rgba', expected rgb, bgr or gray"},
        {nchw, NULL, "gray", 0, 1, QDQ_E_USAGE,
         "channel order gray, but input 'x' is float [1, 3, 2, 3]"},
        {gray, NULL, "rgb", 0, 1, QDQ_E_USAGE, "channel order rgb, but"},
        {nchw, NULL, NULL, 2, 1, QDQ_E_USAGE, "2 numbers for the mean, expected 1 or 3"},
        {nchw, NULL, NULL, 0, 0, QDQ_E_USAGE,
         "standard deviation 0, expected finite and above zero"},
        {nhwc, "nchw", NULL, 0, 1, QDQ_E_USAGE, "2 channels in this layout"},
        {"g (float[1,A,B,C] x) => (float[1,A,B,C] y) { y = Relu(x) }", NULL, NULL, 0, 1,
         QDQ_E_USAGE, "no dimension of 1, 3 or 4 channels shows its layout"},
        {"g (float[1,6] x) => (float[1,6] y) { y = Relu(x) }", NULL, NULL, 0, 1, QDQ_E_FORMAT,
         "images need float or uint8 with 4 dimensions"},
        {"g (int64[1,3,2,3] x) => (int64[1,3,2,3] y) { y = Identity(x) }", NULL, NULL, 0, 1,
         QDQ_E_FORMAT, "images need float or uint8"},
        {"g (float[1,3,2,3] x, float[1] w) => (float[1,3,2,3] y) { y = Add(x, w) }", NULL, NULL, 0,
         1, QDQ_E_FORMAT, "images are data for one input, the model has 2 ('x', 'w')"},
    };

    for (size_t i = 0; i < QDQ_COUNT(of); i++) {
        qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

        opts.layout = of[i].layout;
        opts.channel_order = of[i].order;
        opts.n_mean = of[i].n_mean;
        opts.n_std = of[i].std != 1;
        opts.std[0] = of[i].std;
        refused(of[i].model, folder("options", 1), &opts, of[i].code, of[i].message);
    }
}

TEST(a_file_that_is_no_image_is_named)
{
    const char *path = folder("broken", 1);
    const qdq_named_array *in;
    size_t n;

    assert_ok(qdq_write_file(test_path("broken/1.jpg"), true, "hello", 5, &err));
    assert_ok(qdq_write_file(test_path("broken/2.png"), true, "", 0, &err));
    assert_ok(qdq_write_file(test_path("broken/3.bmp"), true, "GIF89a", 6, &err));
    qdq_data *d = opened(nchw, path, NULL);
    assert_ok(qdq_data_get(d, 0, &in, &n, &err));
    assert_fails(QDQ_E_FORMAT, "broken/1.jpg: not a JPEG, PNG or BMP image",
                 qdq_data_get(d, 1, &in, &n, &err));
    assert_fails(QDQ_E_FORMAT, "broken/2.png: not a JPEG, PNG or BMP image",
                 qdq_data_get(d, 2, &in, &n, &err));
    assert_fails(QDQ_E_FORMAT, "broken/3.bmp: not a", qdq_data_get(d, 3, &in, &n, &err));
    qdq_data_close(d);
}

TEST(an_image_cut_anywhere_is_refused_or_read)
{
    unsigned char file[200];
    size_t size = bmp(file, pixels, 3, 2);

    for (size_t cut = 0; cut < size; cut++) {
        unsigned char *exact = malloc(cut > 0 ? cut : 1);
        qdq_image image;

        assert_non_null(exact);
        memcpy(exact, file, cut);
        qdq_status st = qdq_image_decode(exact, cut, 3, &image, &err);
        assert_true(st == QDQ_OK || st == QDQ_E_FORMAT);
        qdq_image_free(&image);
        free(exact);
    }
    file[18 + 2] = file[22 + 2] = 0xff; /* 16711683 x 16711682 pixels */
    qdq_image image;
    assert_int_not_equal(qdq_image_decode(file, size, 3, &image, &err), QDQ_OK);
}

/* 8 x 8 pixels of one colour, (200, 100, 50); gray ones are 124. */
TEST(every_form_of_a_picture_gives_its_colour)
{
    static const struct {
        const char *file;
        int rgb[3], alpha;
    } cases[] = {
        {"rgb.jpg", {200, 100, 50}, 255},      {"progressive.jpg", {200, 100, 50}, 255},
        {"gray.jpg", {124, 124, 124}, 255},    {"cmyk.jpg", {200, 100, 50}, 255},
        {"rgb.png", {200, 100, 50}, 255},      {"rgba.png", {200, 100, 50}, 128},
        {"gray16.png", {124, 124, 124}, 255},  {"palette.png", {200, 100, 50}, 128},
        {"rgb24.bmp", {200, 100, 50}, 255},    {"top_down32.bmp", {200, 100, 50}, 255},
        {"palette8.bmp", {200, 100, 50}, 255}, {"palette1.bmp", {200, 100, 50}, 255},
        {"rgb565.bmp", {197, 97, 49}, 255},    {"core.bmp", {200, 100, 50}, 255},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        for (int channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1) {
            const int *rgb = cases[i].rgb, want[4] = {rgb[0], rgb[1], rgb[2], cases[i].alpha};
            char path[300], *file = NULL;
            size_t size = 0;
            qdq_image image;

            snprintf(path, sizeof path, "%s/tests/fuzz/corpus/image/%s", QDQ_SOURCE_DIR,
                     cases[i].file);
            assert_ok(qdq_read_file(path, 1 << 20, &file, &size, &err));
            assert_ok(qdq_image_decode(file, size, channels, &image, &err));
            assert_true(image.width == 8 && image.height == 8 && image.channels == channels);
            for (int k = 0; k < 64 * channels; k++) {
                const int is = image.pixels[k],
                          luma = (rgb[0] * 77 + rgb[1] * 150 + rgb[2] * 29) >> 8;

                if (abs(is - (channels == 1 ? luma : want[k % channels])) > 2)
                    fail_msg("%s, %d channels: value %d is %d", cases[i].file, channels, k, is);
            }
            qdq_image_free(&image);
            /* cut anywhere: no crash, and nothing is made up */
            for (size_t cut = 0; cut < size; cut += 1 + cut / 64) {
                qdq_status st = qdq_image_decode(file, cut, channels, &image, &err);

                if (st == QDQ_OK && cut + 40 < size)
                    fail_msg("%s, cut at %zu of %zu: it was read", cases[i].file, cut, size);
                qdq_image_free(&image);
            }
            qdq_free(file);
        }
}

TEST(photographs_of_the_corpus_are_read)
{
    const char *path = test_corpus("real/photos");
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    opts.n_mean = opts.n_std = 1;
    opts.mean[0] = 127;
    opts.std[0] = 128;
    qdq_data *d =
        opened("g (float[1,3,240,320] x) => (float[1,3,240,320] y) { y = Relu(x) }", path, &opts);
    assert_int_equal(qdq_data_count(d), 12);
    for (size_t i = 0; i < 12; i++) {
        const qdq_array *a = only_sample(d, i);
        const float *x = a->data;

        for (size_t k = 0; k < a->bytes / sizeof *x; k++)
            assert_true(x[k] >= -127 / 128.f && x[k] <= 1);
    }
    qdq_data_close(d);
}
