/* trt_shape_list.c - the shapes in options for trtexec, as callers of the library take them, and
 * the options without them. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "engine/trt/trt_args.h"

/* One block: the struct, then shapes, then text. */
typedef struct block {
    qdq_input_shape *shape;
    char *text;
} block;

static const char *put_text(block *b, const char *text)
{
    const size_t n = strlen(text) + 1;
    char *at = memcpy(b->text, text, n);

    b->text += n;
    return at;
}

static void put_shape(block *b, const qdq_trt_shape *s)
{
    qdq_input_shape *to = b->shape++;

    to->name = put_text(b, s->name);
    to->rank = s->rank;
    memcpy(to->dim, s->dim, sizeof s->dim);
}

static const qdq_input_shape *put_list(block *b, const qdq_trt_shapes *s)
{
    const qdq_input_shape *first = b->shape;

    for (size_t i = 0; i < s->n; i++)
        put_shape(b, &s->at[i]);
    return first;
}

static size_t text_of(const qdq_trt_shapes *s)
{
    size_t bytes = 0;

    for (size_t i = 0; i < s->n; i++)
        bytes += strlen(s->at[i].name) + 1;
    return bytes;
}

/* --shapes is what runs, of an input for which nothing else is said. */
static qdq_status usual_shapes(const qdq_trt_user *u, qdq_arena *arena, qdq_trt_shapes *out,
                               qdq_error *err)
{
    *out = (qdq_trt_shapes){0};
    for (size_t i = 0; i < u->opt.n; i++)
        QDQ_NEED(QDQ_PUSH(arena, out, u->opt.at[i]), err);
    for (size_t i = 0; i < u->shapes.n; i++)
        if (qdq_trt_shape_find(&u->opt, u->shapes.at[i].name) == NULL &&
            !QDQ_PUSH(arena, out, u->shapes.at[i]))
            return qdq_nomem(err);
    return QDQ_OK;
}

static qdq_status read_ranges(const char *args, qdq_arena *arena, qdq_trtexec_shapes **out,
                              qdq_error *err)
{
    qdq_trt_shapes opt;
    qdq_trt_user u;

    QDQ_TRY(qdq_trt_user_parse(args, arena, &u, err));
    QDQ_TRY(usual_shapes(&u, arena, &opt, err));
    const size_t n = u.min.n + opt.n + u.max.n, head = sizeof **out + n * sizeof(qdq_input_shape);
    const char *other = u.args.n > 0 ? u.args.at[0] : NULL;
    qdq_trtexec_shapes *x = calloc(1, head + text_of(&u.min) + text_of(&opt) + text_of(&u.max) +
                                          (other != NULL ? strlen(other) + 1 : 0));
    QDQ_NEED(x != NULL, err);
    block b = {(qdq_input_shape *)(x + 1), (char *)x + head};
    *x = (qdq_trtexec_shapes){.n_min = u.min.n, .n_opt = opt.n, .n_max = u.max.n};
    x->min = put_list(&b, &u.min);
    x->opt = put_list(&b, &opt);
    x->max = put_list(&b, &u.max);
    if (other != NULL)
        x->other = put_text(&b, other);
    *out = x;
    return QDQ_OK;
}

/* As qdq_trt_split() takes it apart. */
qdq_status qdq_trt_without_shapes(const char *text, qdq_arena *arena, const char **out,
                                  qdq_error *err)
{
    qdq_trt_user user;
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    QDQ_TRY(qdq_trt_user_parse(text, arena, &user, err));
    for (size_t i = 0; i < user.args.n; i++) {
        qdq_buf_puts(&b, i > 0 ? " " : "");
        for (const char *c = user.args.at[i]; *c != '\0'; c++)
            qdq_buf_printf(&b, strchr(" '\"\\", *c) != NULL ? "\\%c" : "%c", *c);
    }
    *out = b.failed ? NULL : qdq_arena_strdup(arena, b.size > 0 ? b.data : "");
    qdq_buf_free(&b);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_trtexec_shapes_read(const char *args, qdq_trtexec_shapes **out, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;

    *out = NULL;
    qdq_status st = read_ranges(args, &arena, out, err);
    qdq_arena_free(&arena);
    return st == QDQ_E_USAGE ? qdq_within(err, st, "--trtexec-args") : st;
}
