/* demo.c - what `make demo` shows: a float model and a quantized one, measured side by side.
 *
 *     ultraface_demo MODEL QUANTIZED PHOTOS PICTURE OUT.png
 *
 * Latencies are of one thread, in interleaved rounds. SQNR and cosine are of all photographs
 * together. Exit status: 0, 1 (no face, or not the same one), 2 (usage), 3 (anything that failed),
 * 5 (no ONNX Runtime). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "faces.h"

enum { MAX_FACES = 64, ROUNDS = 200 };

typedef struct demo {
    const char *path[2], *photos, *picture, *out;
    qdq_engine *engine;
    qdq_model *model[2];
    qdq_session *session[2];
    qdq_bench_model times[2];
    qdq_compare_result *difference;
    face best[2];
    size_t n_faces[2];
} demo;

/* --- measuring -------------------------------------------------------------------------------- */

static qdq_status open_models(demo *d, qdq_error *err)
{
    for (int i = 0; i < 2; i++) {
        qdq_status st = qdq_model_load(d->path[i], NULL, &d->model[i], err);

        if (st == QDQ_OK)
            st = qdq_session_open(d->engine, d->model[i], NULL, &d->session[i], err);
        if (st != QDQ_OK)
            return st;
    }
    return QDQ_OK;
}

static qdq_status measure_latency(demo *d, qdq_error *err)
{
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;

    opts.rounds = ROUNDS;
    return qdq_bench(d->session, 2, &opts, d->times, err);
}

static qdq_status measure_difference(demo *d, qdq_error *err)
{
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *data = NULL;

    opts.n_mean = opts.n_std = 1;
    opts.mean[0] = 127;
    opts.std[0] = 128;
    qdq_status st = qdq_data_open(d->photos, d->model[0], &opts, &data, err);
    if (st == QDQ_OK)
        st = qdq_compare(d->engine, d->model[0], d->model[1], data, NULL, &d->difference, err);
    qdq_data_close(data);
    return st;
}

static qdq_status find_faces(demo *d, qdq_error *err)
{
    static const unsigned char colors[2][3] = {{230, 40, 40}, {40, 200, 60}};
    photo p = {0};
    qdq_status st = photo_read(d->picture, d->model[0], &p, err);

    for (int i = 0; st == QDQ_OK && i < 2; i++) {
        face found[MAX_FACES];

        st = faces_find(d->session[i], &p, found, MAX_FACES, &d->n_faces[i], err);
        if (st == QDQ_OK && d->n_faces[i] > 0)
            d->best[i] = found[0];
    }
    /* not before both have seen the picture as it is */
    for (int i = 0; st == QDQ_OK && i < 2; i++) {
        const face *f = &d->best[i];

        if (d->n_faces[i] > 0)
            photo_draw_box(&p, f->left, f->top, f->right, f->bottom, colors[i]);
    }
    if (st == QDQ_OK && !photo_write_png(d->out, &p)) {
        snprintf(err->text, sizeof err->text, "%s: cannot be written", d->out);
        st = QDQ_E_IO;
    }
    photo_free(&p);
    return st;
}

/* --- the table -------------------------------------------------------------------------------- */

static double kilobytes(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 ? (double)s.st_size / 1000 : NAN;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static void print_line(const char *what, const char *a, const char *b)
{
    printf("  %-26s  %22s  %22s\n", what, a, b);
}

static void print_numbers(const char *what, int decimals, double a, double b)
{
    char text[2][40];

    snprintf(text[0], sizeof text[0], "%.*f", decimals, a);
    snprintf(text[1], sizeof text[1], "%.*f", decimals, b);
    print_line(what, text[0], text[1]);
}

static void print_outputs(const qdq_compare_result *r)
{
    for (size_t i = 0; i < r->n_outputs; i++) {
        const qdq_compare_tensor *t = &r->outputs[i];
        char what[60], sqnr[40], cosine[40];

        snprintf(what, sizeof what, "output %s: SQNR, dB", t->name);
        snprintf(sqnr, sizeof sqnr, "%.1f", t->sqnr_db);
        print_line(what, "", sqnr);
        snprintf(what, sizeof what, "output %s: cosine", t->name);
        snprintf(cosine, sizeof cosine, "%.6f", t->cosine);
        print_line(what, "", cosine);
    }
}

static void print_faces(const demo *d)
{
    char text[2][60];
    char what[60];

    snprintf(what, sizeof what, "face in %s", file_name(d->picture));
    for (int i = 0; i < 2; i++) {
        if (d->n_faces[i] == 0)
            snprintf(text[i], sizeof text[i], "none");
        else
            snprintf(text[i], sizeof text[i], "score %.3f", d->best[i].score);
    }
    print_line(what, text[0], text[1]);
    for (int corner = 0; corner < 2; corner++) {
        for (int i = 0; i < 2; i++) {
            const face *f = &d->best[i];

            if (d->n_faces[i] == 0)
                text[i][0] = '\0';
            else
                snprintf(text[i], sizeof text[i], "(%.3f, %.3f)", corner == 0 ? f->left : f->right,
                         corner == 0 ? f->top : f->bottom);
        }
        print_line(corner == 0 ? "  from (left, top)" : "  to (right, bottom)", text[0], text[1]);
    }
}

static void print_table(const demo *d)
{
    const qdq_engine_info *info = qdq_engine_get_info(d->engine);
    char interval[60];

    printf("UltraFace on %s %s, %s, one thread\n\n", info->name, info->version, info->device);
    print_line("", "float", "quantized");
    print_numbers("latency, median, ms", 2, d->times[0].median_ms, d->times[1].median_ms);
    print_numbers("speed-up", 2, d->times[0].speedup, d->times[1].speedup);
    snprintf(interval, sizeof interval, "%.2f to %.2f", d->times[1].ci_low, d->times[1].ci_high);
    print_line("  95 % interval", "", interval);
    print_numbers("file, kB", 0, kilobytes(d->path[0]), kilobytes(d->path[1]));
    print_outputs(d->difference);
    print_faces(d);
}

static int conclude(const demo *d)
{
    if (d->n_faces[0] == 0 || d->n_faces[1] == 0)
        return 1;
    float iou = face_iou(&d->best[0], &d->best[1]);
    char text[40];
    snprintf(text, sizeof text, "%.3f", iou);
    print_line("  IoU of the two boxes", "", text);
    return iou >= SAME_FACE_IOU ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const char *const engine_dirs[] = {QDQ_ORT_DIR, NULL}; /* set by CMakeLists.txt */
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    demo d = {0};
    int status = 3;

    if (argc != 6) {
        fprintf(stderr, "usage: ultraface_demo MODEL QUANTIZED PHOTOS PICTURE OUT.png\n");
        return 2;
    }
    d.path[0] = argv[1];
    d.path[1] = argv[2];
    d.photos = argv[3];
    d.picture = argv[4];
    d.out = argv[5];
    opts.search_dirs = engine_dirs;
    opts.ort_library = getenv("QDQ_ORT_LIBRARY");
    if (qdq_engine_open("ort", &opts, &d.engine, &err) != QDQ_OK) {
        status = 5;
    } else if (open_models(&d, &err) == QDQ_OK && measure_latency(&d, &err) == QDQ_OK &&
               measure_difference(&d, &err) == QDQ_OK && find_faces(&d, &err) == QDQ_OK) {
        print_table(&d);
        status = conclude(&d);
        printf("\n  SQNR and cosine are of all %zu photographs in %s, on which the model was "
               "calibrated too.\n"
               "  quantized model: %s\n  boxes, red (float) and green (quantized): %s\n",
               d.difference->samples, d.photos, d.path[1], d.out);
    }
    if (err.text[0] != '\0')
        fprintf(stderr, "ultraface_demo: error: %s\n", err.text);
    qdq_free(d.difference);
    for (int i = 0; i < 2; i++) {
        qdq_session_close(d.session[i]);
        qdq_model_free(d.model[i]);
    }
    qdq_engine_close(d.engine);
    return status;
}
