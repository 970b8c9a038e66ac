/* store_differ.c - in what a run of the store differs from one that is wanted, in words. Texts of
 * settings are "key=value key=value ..."; a word without "=" belongs to the value before it. */
#include "tune/store/store_sql.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

enum { SHOWN = 60, ELLIPSIS = 8 };

/* --- words ------------------------------------------------------------------------------------ */

typedef struct word {
    const char *key, *value;
    size_t n_key, n_value;
} word;

/* The next word of a text, and what follows it. Without any key the whole text is one value. */
static bool next_word(const char **at, word *w)
{
    const char *p = *at + strspn(*at, " ");
    const size_t first = strcspn(p, " "), n = strcspn(p, "= ");

    if (*p == '\0')
        return false;
    *w = (word){.key = p, .n_key = n < first ? n : 0};
    w->value = w->n_key > 0 ? p + n + 1 : p;
    for (p += first; *p != '\0';) {
        const char *next = p + strspn(p, " ");
        const size_t size = strcspn(next, " ");

        if (memchr(next, '=', size) != NULL)
            break;
        p = next + size;
    }
    w->n_value = (size_t)(p - w->value);
    while (w->n_value > 0 && w->value[w->n_value - 1] == ' ')
        w->n_value--;
    *at = p;
    return true;
}

static bool find_word(const char *text, const word *like, word *out)
{
    while (next_word(&text, out))
        if (out->n_key == like->n_key && memcmp(out->key, like->key, like->n_key) == 0)
            return true;
    return false;
}

static bool is_key(const word *w, const char *key)
{
    return w->n_key == strlen(key) && memcmp(w->key, key, w->n_key) == 0;
}

static bool values_differ(const word *a, const word *b)
{
    return a->n_value != b->n_value || memcmp(a->value, b->value, a->n_value) != 0;
}

static bool has_other(const char *there, const char *here, const char *key)
{
    const word like = {.key = key, .n_key = strlen(key)};
    word a, b;

    return find_word(there, &like, &a) && find_word(here, &like, &b) && values_differ(&a, &b);
}

/* Digits that stand for a content, and say nothing to a reader. */
static bool is_digest(const word *w)
{
    size_t n = 0;

    while (n < w->n_value && isxdigit((unsigned char)w->value[n]))
        n++;
    return n == w->n_value && n >= 16;
}

/* --- the text --------------------------------------------------------------------------------- */

/* Items in the order of their weight; what has no room is left out whole. */
typedef struct difference {
    char *out;
    bool is_full;
} difference;

static void add_difference(difference *d, const char *separator, const char *fmt, ...)
    QDQ_PRINTF(3, 4);
static void add_difference(difference *d, const char *separator, const char *fmt, ...)
{
    char item[QDQ_TUNE_STORE_DIFFERENCE];
    const size_t used = strlen(d->out);
    va_list args;

    va_start(args, fmt);
    const int n = vsnprintf(item, sizeof item, fmt, args);
    va_end(args);
    if (d->is_full || n < 0)
        return;
    d->is_full = used + strlen(separator) + (size_t)n + ELLIPSIS > QDQ_TUNE_STORE_DIFFERENCE;
    snprintf(d->out + used, QDQ_TUNE_STORE_DIFFERENCE - used, "%s%s", separator,
             d->is_full ? "..." : item);
}

/* A value as it is shown, below SHOWN bytes. */
static const char *show(const word *w, char text[SHOWN + ELLIPSIS])
{
    snprintf(text, SHOWN + ELLIPSIS, "%.*s%s", w->n_value > SHOWN ? SHOWN : (int)w->n_value,
             w->value, w->n_value > SHOWN ? "..." : "");
    return text;
}

/* --- settings --------------------------------------------------------------------------------- */

/* What follows from a preset, and is no option of its own where that differs. */
static bool follows_from_preset(const word *w)
{
    return is_key(w, "schemes") || is_key(w, "exhaustive") || is_key(w, "stale") ||
           is_key(w, "pairs");
}

/* Contents, in words; the rules' plan is one that follows from all others. */
static const char *content_name(const word *w)
{
    static const char *const names[][2] = {{"calibration", "other calibration samples"},
                                           {"evaluation", "other evaluation samples"},
                                           {"known", "other pattern caches"},
                                           {"qdq-baselines", "other Q/DQ baselines"},
                                           {"layers", "other layer information"},
                                           {"plan", ""}};

    for (size_t i = 0; i < QDQ_COUNT(names); i++)
        if (is_key(w, names[i][0]))
            return names[i][1];
    return NULL;
}

/* The settings of both, one after the other: there[i] and here[i] have one key, or one of them
 * none. */
typedef struct settings {
    const char *what, *there, *here;
    size_t n;
} settings;

static void show_setting(difference *d, settings *s, const word *a, const word *b)
{
    char x[SHOWN + ELLIPSIS], y[SHOWN + ELLIPSIS];
    const word *any = a != NULL ? a : b;
    const char *before = s->n > 0 ? "; " : d->out[0] != '\0' ? ", " : "";
    char open[80] = "";

    if (s->n++ == 0)
        snprintf(open, sizeof open, "another %s (", s->what);
    const int n = (int)any->n_key;
    if (a != NULL && b != NULL)
        add_difference(d, before, "%s%.*s=%s, not %.*s=%s", open, n, any->key, show(a, x), n,
                       any->key, show(b, y));
    else if (b != NULL)
        add_difference(d, before, "%sno %.*s, not %.*s=%s", open, n, any->key, n, any->key,
                       show(b, y));
    else
        add_difference(d, before, "%s%.*s=%s, not none", open, n, any->key, show(a, x));
}

/* Of one key; a or b NULL: it is in the other text alone. */
static void compare_setting(difference *d, settings *s, const word *a, const word *b)
{
    const word *any = a != NULL ? a : b;
    const bool one_sided = a == NULL || b == NULL;

    if (content_name(any) != NULL || (!one_sided && !values_differ(a, b)) ||
        ((one_sided || is_key(any, "size")) && has_other(s->there, s->here, "mode")) ||
        (follows_from_preset(any) && has_other(s->there, s->here, "preset")))
        return;
    show_setting(d, s, a, b);
}

static void name_content(difference *d, const word *w)
{
    const char *name = content_name(w);

    if (name != NULL && name[0] != '\0')
        add_difference(d, d->out[0] != '\0' ? ", " : "", "%s", name);
}

static void compare_settings(difference *d, const char *what, const char *there, const char *here)
{
    settings s = {what, there, here, 0};
    const bool of_mode = has_other(there, here, "mode"); /* each has keys of its own */
    const char *at = there;
    word a, b;

    while (next_word(&at, &a))
        compare_setting(d, &s, &a, find_word(here, &a, &b) ? &b : NULL);
    for (at = here; next_word(&at, &b);)
        if (!find_word(there, &b, &a))
            compare_setting(d, &s, NULL, &b);
    const size_t used = strlen(d->out);
    if (s.n > 0)
        snprintf(d->out + used, QDQ_TUNE_STORE_DIFFERENCE - used, ")");
    for (at = here; next_word(&at, &b);)
        if (find_word(there, &b, &a) ? values_differ(&a, &b) : !of_mode)
            name_content(d, &b);
    for (at = there; next_word(&at, &a);)
        if (!of_mode && !find_word(here, &a, &b))
            name_content(d, &a);
}

/* --- the whole run ---------------------------------------------------------------------------- */

static void compare_names(difference *d, const char *what, const char *there, const char *here)
{
    const word a = {.value = there, .n_value = strlen(there)},
               b = {.value = here, .n_value = strlen(here)};
    const char *before = d->out[0] != '\0' ? ", " : "";
    char x[SHOWN + ELLIPSIS], y[SHOWN + ELLIPSIS];

    if (!values_differ(&a, &b))
        return;
    if (is_digest(&a) || is_digest(&b))
        add_difference(d, before, "another %s", what);
    else
        add_difference(d, before, "another %s (%s, not %s)", what, show(&a, x), show(&b, y));
}

qdq_status qdq_tune_store_differ(qdq_tune_store *s, int64_t run, const qdq_tune_store_context *c,
                                 const char *search, char out[QDQ_TUNE_STORE_DIFFERENCE],
                                 qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        s, "runs",
        "SELECT model, engine, device, options, search FROM run JOIN context ON context.id = "
        "run.context WHERE run.id = ?1 OR ?1 = 0 ORDER BY run.id DESC LIMIT 1",
        QDQ_SQL_WITH(QDQ_SQL_INT(run)));
    const char *const what[] = {"model", "engine", "device", "setting of measurements",
                                "setting of the search"};
    const char *const mine[] = {c->model, c->engine, c->device, c->options, search};
    difference d = {.out = out};
    bool same = true;
    qdq_status status = QDQ_OK;

    out[0] = '\0';
    const bool row = qdq_sql_next(&st, &status, err);
    for (int i = 0; row && i < 5; i++) {
        const char *there = (const char *)sqlite3_column_text(st.at, i);

        if (there == NULL)
            continue;
        same = same && strcmp(there, mine[i]) == 0;
        if (i < 3)
            compare_names(&d, what[i], there, mine[i]);
        else
            compare_settings(&d, what[i], there, mine[i]);
    }
    if (row && !same && out[0] == '\0')
        add_difference(
            &d, "", "another plan of the rules: other options of quantization, or another target");
    qdq_sql_end(&st);
    return status;
}
