/* trt_shape_list.c - the shapes in options for trtexec, as callers of the library take them, and
 * the options without them. */
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/pack.h"
#include "engine/trt/trt_args.h"

static const qdq_input_shape *pack_list(qdq_pack *p, const qdq_input_shape *shapes, size_t n)
{
    qdq_input_shape *s = qdq_pack_array(p, (void *)(uintptr_t)shapes, n, sizeof *s);

    for (size_t i = 0; i < n; i++)
        s[i].name = qdq_pack_string(p, s[i].name);
    return s;
}

static void pack_shapes(qdq_pack *p, void *to)
{
    qdq_trtexec_shapes *x = to;

    x->min = pack_list(p, x->min, x->n_min);
    x->opt = pack_list(p, x->opt, x->n_opt);
    x->max = pack_list(p, x->max, x->n_max);
    x->other = qdq_pack_string(p, x->other);
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
    qdq_trtexec_shapes x = {.min = u.min.at,
                            .n_min = u.min.n,
                            .opt = opt.at,
                            .n_opt = opt.n,
                            .max = u.max.at,
                            .n_max = u.max.n,
                            .other = u.args.n > 0 ? u.args.at[0] : NULL};
    *out = qdq_pack_struct(&x, sizeof x, pack_shapes);
    return qdq_allocated(*out != NULL, err);
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
