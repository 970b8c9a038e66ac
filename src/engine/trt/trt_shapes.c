/* trt_shapes.c - shapes as trtexec reads them. Names are cut at the last colon, so "input:0:1x3" is
 * of input:0; quotes are for names that would be cut wrongly. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "engine/trt/trt_args.h"

static qdq_status wrong(const char *entry, size_t size, const char *expected, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_USAGE, "shape '%.*s': expected %s", (int)(size < 200 ? size : 200),
                    entry, expected);
}

static qdq_status read_dims(const char *entry, size_t size, const char *p, qdq_trt_shape *s,
                            qdq_error *err)
{
    const char *end = entry + size;

    if (p == end || (end - p == 6 && memcmp(p, "scalar", 6) == 0))
        return QDQ_OK;
    for (;;) {
        int64_t value = 0;
        const char *digits = p;

        for (; p < end && isdigit((unsigned char)*p) && p - digits < 18; p++)
            value = value * 10 + (*p - '0');
        if (p == digits || (p < end && *p != 'x'))
            return wrong(entry, size, "numbers with 'x' between them, or 'scalar'", err);
        if (s->rank == QDQ_MAX_RANK)
            return wrong(entry, size, "fewer dimensions", err);
        s->dim[s->rank++] = value;
        if (p == end)
            return QDQ_OK;
        p++;
    }
}

static qdq_status read_entry(const char *entry, size_t size, qdq_arena *arena, qdq_trt_shapes *out,
                             qdq_error *err)
{
    const char *name = entry, *colon = entry + size;
    qdq_trt_shape s = {0};

    while (colon > entry && *colon != ':')
        colon--;
    if (colon <= entry || colon == entry + size)
        return wrong(entry, size, "NAME:DIMS", err);
    size_t n = (size_t)(colon - entry);
    if (name[0] == '\'') {
        if (n < 3 || name[n - 1] != '\'')
            return wrong(entry, size, "'NAME':DIMS", err);
        name++;
        n -= 2;
    }
    s.name = qdq_arena_strndup(arena, name, n);
    QDQ_NEED(s.name != NULL, err);
    if (qdq_trt_shape_find(out, s.name) != NULL)
        return wrong(entry, size, "each name once", err);
    QDQ_TRY(read_dims(entry, size, colon + 1, &s, err));
    return QDQ_PUSH(arena, out, s) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_trt_shapes_parse(const char *spec, qdq_arena *arena, qdq_trt_shapes *out,
                                qdq_error *err)
{
    const char *from = spec;
    bool quoted = false;

    *out = (qdq_trt_shapes){0};
    for (const char *p = spec;; p++) {
        quoted = *p == '\'' ? !quoted : quoted;
        if (*p != '\0' && (*p != ',' || quoted))
            continue;
        QDQ_TRY(read_entry(from, (size_t)(p - from), arena, out, err));
        if (*p == '\0')
            return QDQ_OK;
        from = p + 1;
    }
}

const qdq_trt_shape *qdq_trt_shape_find(const qdq_trt_shapes *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->at[i].name, name) == 0)
            return &s->at[i];
    return NULL;
}

qdq_status qdq_trt_shapes_print(const qdq_trt_shapes *s, qdq_arena *arena, const char **out,
                                qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    for (size_t i = 0; i < s->n; i++) {
        const char *name = s->at[i].name, *quote = strchr(name, ':') != NULL ? "'" : "";

        if (strpbrk(name, ",'\"") != NULL) {
            qdq_buf_free(&b);
            return qdq_fail(
                err, QDQ_E_UNSUPPORTED,
                "input '%s' has a shape that must be told to trtexec, which takes no name with a "
                "comma or a quote",
                name);
        }
        qdq_buf_printf(&b, "%s%s%s%s:", i > 0 ? "," : "", quote, name, quote);
        for (int a = 0; a < s->at[i].rank; a++)
            qdq_buf_printf(&b, "%s%" PRId64, a > 0 ? "x" : "", s->at[i].dim[a]);
        if (s->at[i].rank == 0)
            qdq_buf_puts(&b, "scalar");
    }
    *out = b.failed ? NULL : qdq_arena_strndup(arena, b.size > 0 ? b.data : "", b.size);
    qdq_buf_free(&b);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_trt_range_check(const qdq_trt_shape *min, const qdq_trt_shape *opt,
                               const qdq_trt_shape *max, qdq_error *err)
{
    if (min->rank != opt->rank || max->rank != opt->rank)
        return qdq_fail(err, QDQ_E_USAGE,
                        "shapes of '%s': found ranks %d, %d and %d, expected equal ones", opt->name,
                        min->rank, opt->rank, max->rank);
    for (int a = 0; a < opt->rank; a++)
        if (min->dim[a] > opt->dim[a] || opt->dim[a] > max->dim[a])
            return qdq_fail(err, QDQ_E_USAGE,
                            "shapes of '%s': dimension %d is %" PRId64 ", %" PRId64 " and %" PRId64
                            ", expected min <= opt <= max",
                            opt->name, a, min->dim[a], opt->dim[a], max->dim[a]);
    return QDQ_OK;
}
