/* faces.c - see faces.h. */
#include "faces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static qdq_status fail(qdq_error *err, qdq_status code, const char *text)
{
    err->code = code;
    snprintf(err->text, sizeof err->text, "%s", text);
    return code;
}

float face_iou(const face *a, const face *b)
{
    float left = a->left > b->left ? a->left : b->left,
          right = a->right < b->right ? a->right : b->right;
    float top = a->top > b->top ? a->top : b->top,
          bottom = a->bottom < b->bottom ? a->bottom : b->bottom;
    float both = right > left && bottom > top ? (right - left) * (bottom - top) : 0;
    float either = (a->right - a->left) * (a->bottom - a->top) +
                   (b->right - b->left) * (b->bottom - b->top) - both;

    return either > 0 ? both / either : 0;
}

/* The outputs of one run, copied: they are lent only for the call that hands them over. */
typedef struct answer {
    float *scores, *boxes;
    size_t n; /* candidates */
} answer;

static qdq_status take_output(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    answer *to = ctx;
    bool is_scores = strcmp(name, "scores") == 0;

    if (!is_scores && strcmp(name, "boxes") != 0)
        return QDQ_OK;
    if (a->elem != QDQ_FLOAT || a->rank != 3 || a->dim[0] != 1 || a->dim[2] != (is_scores ? 2 : 4))
        return fail(err, QDQ_E_FORMAT,
                    "the outputs are not those of UltraFace: scores [1, n, 2], boxes [1, n, 4]");
    size_t n = (size_t)a->dim[1];
    if (to->n != 0 && to->n != n)
        return fail(err, QDQ_E_FORMAT, "as many scores as boxes were expected");
    to->n = n;
    float **place = is_scores ? &to->scores : &to->boxes;
    free(*place);
    *place = malloc(a->bytes > 0 ? a->bytes : 1);
    if (*place == NULL)
        return fail(err, QDQ_E_NOMEM, "out of memory");
    memcpy(*place, a->data, a->bytes);
    return QDQ_OK;
}

static int by_score(const void *a, const void *b)
{
    float x = ((const face *)a)->score, y = ((const face *)b)->score;

    return (x < y) - (x > y);
}

/* All candidates that are good enough, best first. NULL: no memory. */
static face *sort_candidates(const answer *a, size_t *n)
{
    face *all = malloc((a->n > 0 ? a->n : 1) * sizeof *all);

    *n = 0;
    for (size_t i = 0; all != NULL && i < a->n; i++) {
        const float *b = a->boxes + 4 * i;

        if (a->scores[2 * i + 1] >= FACE_MIN_SCORE)
            all[(*n)++] = (face){a->scores[2 * i + 1], b[0], b[1], b[2], b[3]};
    }
    if (all != NULL)
        qsort(all, *n, sizeof *all, by_score);
    return all;
}

static size_t suppress(const face *all, size_t n_all, face *out, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < n_all && n < max; i++) {
        bool is_new = true;

        for (size_t k = 0; k < n && is_new; k++)
            is_new = face_iou(&all[i], &out[k]) <= FACE_MAX_IOU;
        if (is_new)
            out[n++] = all[i];
    }
    return n;
}

qdq_status faces_find(qdq_session *s, const photo *p, face *out, size_t max, size_t *n,
                      qdq_error *err)
{
    qdq_named_array input = {
        .array = {.elem = QDQ_FLOAT, .rank = 4, .dim = {1, 3, p->height, p->width}}};
    answer a = {0};
    qdq_io io;

    *n = 0;
    if (!qdq_session_input(s, 0, &io))
        return fail(err, QDQ_E_FORMAT, "the model has no input");
    input.name = io.name;
    input.array.bytes = sizeof(float) * 3 * (size_t)p->height * (size_t)p->width;
    input.array.data = malloc(input.array.bytes);
    if (input.array.data == NULL)
        return fail(err, QDQ_E_NOMEM, "out of memory");
    photo_to_planes(p, 127, 128, input.array.data);
    qdq_status st = qdq_session_run(s, &input, 1, take_output, &a, err);
    free(input.array.data);
    if (st == QDQ_OK && (a.scores == NULL || a.boxes == NULL))
        st = fail(err, QDQ_E_FORMAT, "the model has no outputs named scores and boxes");
    if (st == QDQ_OK) {
        size_t n_all;
        face *all = sort_candidates(&a, &n_all);

        if (all != NULL)
            *n = suppress(all, n_all, out, max);
        else
            st = fail(err, QDQ_E_NOMEM, "out of memory");
        free(all);
    }
    free(a.scores);
    free(a.boxes);
    return st;
}
