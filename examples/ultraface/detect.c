/* detect.c - finds the best face in a picture with one model, or with two and says how far they
 * agree.
 *
 *     detect MODEL [MODEL2] IMAGE OUT.png
 *
 * The picture with the boxes drawn (red: the first model, green: the second) is written to OUT.png.
 * Exit status: 0, 1 (no face, or the two models disagree), 2 (usage), 3 (anything that failed), 5
 * (no ONNX Runtime). */
#include <stdio.h>
#include <stdlib.h>

#include "faces.h"

enum { MAX_FACES = 64 };

static const unsigned char colors[2][3] = {{230, 40, 40}, {40, 200, 60}};

/* The best face that the model finds in the picture, which is read if it is not there yet; *n is
 * how many there are. */
static qdq_status run_model(qdq_engine *e, const char *path, const char *picture, photo *p,
                            face *best, size_t *n, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_session *s = NULL;
    face found[MAX_FACES];
    qdq_status st = qdq_model_load(path, NULL, &m, err);

    *n = 0;
    if (st == QDQ_OK && p->rgb == NULL)
        st = photo_read(picture, m, p, err);
    if (st == QDQ_OK)
        st = qdq_session_open(e, m, NULL, &s, err);
    if (st == QDQ_OK)
        st = faces_find(s, p, found, MAX_FACES, n, err);
    qdq_session_close(s);
    qdq_model_free(m);
    if (*n > 0)
        *best = found[0];
    return st;
}

/* models[n_models] is the picture, and behind it stands where the boxes are drawn. */
static int detect(qdq_engine *e, int n_models, char **models, photo *p)
{
    const char *picture = models[n_models], *out = models[n_models + 1];
    qdq_error err = QDQ_ERROR_INIT;
    face best[2];
    int with_face = 0;

    for (int i = 0; i < n_models; i++) {
        size_t n;

        if (run_model(e, models[i], picture, p, &best[i], &n, &err) != QDQ_OK) {
            fprintf(stderr, "detect: error: %s: %s\n", models[i], err.text);
            return 3;
        }
        with_face += n > 0;
        if (n == 0)
            printf("%s: no face\n", models[i]);
        else
            printf("%s: score %.3f, box (%.3f, %.3f) to (%.3f, %.3f), the best of %zu\n", models[i],
                   best[i].score, best[i].left, best[i].top, best[i].right, best[i].bottom, n);
    }
    if (with_face != n_models)
        return 1;
    for (int i = 0; i < n_models; i++) /* the second on top, inside of the first where they agree */
        photo_draw_box(p, best[i].left, best[i].top, best[i].right, best[i].bottom, colors[i]);
    if (!photo_write_png(out, p)) {
        fprintf(stderr, "detect: error: %s: cannot be written\n", out);
        return 3;
    }
    printf("%s: the picture with the %s\n", out, n_models == 2 ? "boxes, red and green" : "box");
    if (n_models == 1)
        return 0;
    float iou = face_iou(&best[0], &best[1]);
    printf("IoU %.3f: %s\n", iou, iou >= SAME_FACE_IOU ? "the same face" : "not the same face");
    return iou >= SAME_FACE_IOU ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const char *const engine_dirs[] = {QDQ_ORT_DIR, NULL}; /* set by CMakeLists.txt */
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = NULL;
    photo p = {0};

    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: detect MODEL [MODEL2] IMAGE OUT.png\n");
        return 2;
    }
    opts.search_dirs = engine_dirs;
    opts.ort_library = getenv("QDQ_ORT_LIBRARY");
    int status = 5;
    if (qdq_engine_open("ort", &opts, &e, &err) == QDQ_OK)
        status = detect(e, argc - 3, argv + 1, &p);
    else
        fprintf(stderr, "detect: error: %s\n", err.text);
    qdq_engine_close(e);
    photo_free(&p);
    return status;
}
