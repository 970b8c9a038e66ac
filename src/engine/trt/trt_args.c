/* trt_args.c - splits, checks and completes options of trtexec. The grammar of shapes is in
 * trt_shapes.c. */
#include "engine/trt/trt_args.h"

#include <string.h>

#include "base/buf.h"
#include "base/fail.h"

/* --- words ------------------------------------------------------------------------------------ */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One word, which begins at *p; *p is left behind it. */
static qdq_status read_word(const char **p, const char *text, qdq_arena *arena, const char **out,
                            qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 20);
    const char *s = *p, *open = NULL;

    for (; *s != '\0' && (open != NULL || !is_space(*s)); s++) {
        if (open != NULL && *s == *open) {
            open = NULL;
        } else if (open == NULL && (*s == '\'' || *s == '"')) {
            open = s;
        } else {
            if (*s == '\\' && s[1] != '\0' && (open == NULL || *open == '"'))
                s++;
            qdq_buf_putc(&b, *s);
        }
    }
    *p = s;
    if (open != NULL) {
        qdq_buf_free(&b);
        return qdq_fail(err, QDQ_E_USAGE, "the quote at byte %zu of '%s' is not closed",
                        (size_t)(open - text) + 1, text);
    }
    *out = b.failed ? NULL : qdq_arena_strndup(arena, b.size > 0 ? b.data : "", b.size);
    qdq_buf_free(&b);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_trt_split(const char *text, qdq_arena *arena, const char ***out, size_t *n,
                         qdq_error *err)
{
    qdq_trt_argv argv = {0};
    const char *word = NULL;

    for (const char *p = text;;) {
        while (is_space(*p))
            p++;
        if (*p == '\0')
            break;
        QDQ_TRY(read_word(&p, text, arena, &word, err));
        QDQ_NEED(QDQ_PUSH(arena, &argv, word), err);
    }
    *n = argv.n;
    QDQ_NEED(QDQ_PUSH(arena, &argv, NULL), err);
    *out = argv.at;
    return QDQ_OK;
}

/* --- options ---------------------------------------------------------------------------------- */

size_t qdq_trt_key_size(const char *arg)
{
    return strcspn(arg, "=");
}

bool qdq_trt_same_key(const char *a, const char *b)
{
    size_t n = qdq_trt_key_size(a);

    return n == qdq_trt_key_size(b) && memcmp(a, b, n) == 0;
}

/* A password ends at the last '@' before a space: it may hold any other sign. */
char *qdq_trt_mask(const char *text, qdq_arena *arena)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    const char *from = text, *at;

    while ((at = strstr(from, "://")) != NULL) {
        const char *user = at + 3, *end = user + strcspn(user, " \t\r\n\"'");
        const char *host = memrchr(user, '@', (size_t)(end - user));
        const char *colon = host != NULL ? memchr(user, ':', (size_t)(host - user)) : NULL;
        qdq_buf_append(&b, from, (size_t)((colon != NULL ? colon + 1 : end) - from));
        if (colon != NULL)
            qdq_buf_puts(&b, "***");
        from = colon != NULL ? host : end;
    }
    qdq_buf_puts(&b, from);
    char *copy = b.failed ? NULL : qdq_arena_strndup(arena, b.size > 0 ? b.data : "", b.size);
    qdq_buf_free(&b);
    return copy;
}

bool qdq_trt_user_has(const qdq_trt_user *u, const char *option)
{
    for (size_t i = 0; i < u->args.n; i++)
        if (qdq_trt_same_key(u->args.at[i], option))
            return true;
    return false;
}

static bool is_one_of(const char *arg, const char *const *list)
{
    for (; *list != NULL; list++)
        if (qdq_trt_same_key(arg, *list))
            return true;
    return false;
}

#define IS_ONE_OF(arg, ...) is_one_of(arg, (const char *const[]){__VA_ARGS__, NULL})

const char *qdq_trt_instead_of(const char *arg)
{
    static const struct {
        const char *flag, *instead;
    } list[] = {{"--fp16", "--rest fp16"},
                {"--bf16", "--rest bf16"},
                {"--int8", "--target tensorrt"},
                {"--fp8", "--target tensorrt-fp8"},
                {"--int4", "--target int4"},
                {"--best", "--target tensorrt --rest fp16, or --target tensorrt-fp8"}};

    for (size_t i = 0; i < QDQ_COUNT(list); i++)
        if (qdq_trt_same_key(arg, list[i].flag))
            return list[i].instead;
    return NULL;
}

bool qdq_trt_is_precision_flag(const char *arg)
{
    return qdq_trt_instead_of(arg) != NULL;
}

const char *qdq_trt_precision(const char *text, qdq_arena *arena)
{
    static const char *const flags[] = {"--best", "--fp16", "--bf16", "--int8", "--fp8", "--int4"};
    const char **argv, *all = "";
    size_t n;

    if (qdq_trt_split(text, arena, &argv, &n, NULL) != QDQ_OK)
        return NULL;
    for (size_t i = 0; i < QDQ_COUNT(flags) && all != NULL; i++)
        for (size_t k = 0; k < n && all != NULL; k++)
            if (strcmp(argv[k], flags[i]) == 0)
                all =
                    qdq_arena_printf(arena, "%s%s%s", all, all[0] != '\0' ? "-" : "", flags[i] + 2);
    return all;
}

/* Each use adds one. */
static bool may_repeat(const char *arg)
{
    return IS_ONE_OF(arg, "--staticPlugins", "--dynamicPlugins", "--setPluginsToSerialize",
                     "--plugins");
}

static bool is_ours(const char *arg)
{
    return IS_ONE_OF(arg, "--onnx", "--saveEngine", "--loadEngine", "--exportTimes",
                     "--exportProfile", "--exportLayerInfo", "--exportOutput", "--loadInputs",
                     "--skipInference", "--buildOnly", "--help", "-h");
}

static qdq_status take_shapes(qdq_trt_user *u, const char *arg, qdq_arena *arena, bool *taken,
                              qdq_error *err)
{
    struct {
        const char *key;
        qdq_trt_shapes *to;
    } keys[] = {{"--minShapes", &u->min},
                {"--optShapes", &u->opt},
                {"--maxShapes", &u->max},
                {"--shapes", &u->shapes}};
    size_t n = qdq_trt_key_size(arg);

    *taken = false;
    for (size_t i = 0; i < QDQ_COUNT(keys); i++) {
        if (!qdq_trt_same_key(arg, keys[i].key))
            continue;
        *taken = true;
        if (keys[i].to->n > 0)
            return qdq_fail(err, QDQ_E_USAGE, "%s is there twice", keys[i].key);
        qdq_status st =
            qdq_trt_shapes_parse(arg[n] == '=' ? arg + n + 1 : "", arena, keys[i].to, err);
        return st == QDQ_OK ? st : qdq_within(err, st, "%s", keys[i].key);
    }
    return QDQ_OK;
}

static qdq_status add_user_option(qdq_trt_user *u, const char *arg, qdq_arena *arena,
                                  qdq_error *err)
{
    static const char remote[] = "--remoteAutoTuningConfig";

    if (strncmp(arg, "--", 2) != 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found '%s', expected --OPTION or --OPTION=VALUE: trtexec takes no other",
                        arg);
    if (is_ours(arg))
        return qdq_fail(err, QDQ_E_USAGE,
                        "%.*s is set by qdq, which needs its files where it looks for them",
                        (int)qdq_trt_key_size(arg), arg);
    for (size_t i = 0; i < u->args.n && !may_repeat(arg); i++)
        if (qdq_trt_same_key(arg, u->args.at[i]))
            return qdq_fail(err, QDQ_E_USAGE, "%.*s is there twice, which trtexec refuses",
                            (int)qdq_trt_key_size(arg), arg);
    if (qdq_trt_same_key(arg, remote)) {
        if (arg[sizeof remote - 1] != '=' || arg[sizeof remote] == '\0')
            return qdq_fail(err, QDQ_E_USAGE, "%s: expected %s=ssh://USER@HOST...", remote, remote);
        u->remote = arg + sizeof remote;
    }
    u->safe = u->safe || qdq_trt_same_key(arg, "--safe");
    u->cpu_only = u->cpu_only || qdq_trt_same_key(arg, "--cpuOnly");
    u->weakly_typed = u->weakly_typed || qdq_trt_is_precision_flag(arg);
    return QDQ_PUSH(arena, &u->args, arg) ? QDQ_OK : qdq_nomem(err);
}

/* trtexec completes whole options: with neither --optShapes nor --shapes, the largest shapes are
 * built for and timed, or the least where there are no others. */
static void complete(qdq_trt_user *u)
{
    if (u->opt.n == 0 && u->shapes.n == 0)
        u->opt = u->max.n > 0 ? u->max : u->min;
}

/* A profile has one range for each tensor that is named anywhere. */
static qdq_status check_ranges(const qdq_trt_user *u, qdq_error *err)
{
    for (size_t i = 0; i < u->opt.n; i++) {
        const qdq_trt_shape *opt = &u->opt.at[i];
        const qdq_trt_shape *min = qdq_trt_shape_find(&u->min, opt->name);
        const qdq_trt_shape *max = qdq_trt_shape_find(&u->max, opt->name);

        QDQ_TRY(qdq_trt_range_check(min != NULL ? min : opt, opt, max != NULL ? max : opt, err));
    }
    return QDQ_OK;
}

qdq_status qdq_trt_user_parse(const char *text, qdq_arena *arena, qdq_trt_user *out, qdq_error *err)
{
    const char **argv;
    size_t n;
    bool taken;

    *out = (qdq_trt_user){0};
    QDQ_TRY(qdq_trt_split(text, arena, &argv, &n, err));
    for (size_t i = 0; i < n; i++) {
        QDQ_TRY(take_shapes(out, argv[i], arena, &taken, err));
        if (!taken)
            QDQ_TRY(add_user_option(out, argv[i], arena, err));
    }
    complete(out);
    return check_ranges(out, err);
}
