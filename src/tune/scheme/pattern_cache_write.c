/* pattern_cache_write.c - the file as Model-Optimizer's YAML library lays it out: block style, keys
 * in its order, every text quoted and on one line, nothing but ASCII. Its reader takes a number
 * without a point for no float. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "tune/scheme/pattern_cache.h"

/* --- texts ------------------------------------------------------------------------------------ */

/* One character of UTF-8 from *s on, which is moved behind it; what is not UTF-8 becomes the mark
 * for that. */
static uint32_t take_character(const unsigned char **s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = *s;
    unsigned n = p[0] < 0x80       ? 1
                 : p[0] >> 5 == 6  ? 2
                 : p[0] >> 4 == 14 ? 3
                 : p[0] >> 3 == 30 ? 4
                                   : 0;
    uint32_t x = n < 2 ? p[0] : p[0] & (0x7fu >> n);

    (*s)++;
    if (n == 0)
        return 0xfffd;
    for (unsigned i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0xfffd;
        x = x << 6 | (p[i] & 0x3f);
    }
    if (x < least[n] || x > 0x10ffff || (x >= 0xd800 && x < 0xe000))
        return 0xfffd;
    *s = p + n;
    return x;
}

static void put_escaped(qdq_buf *b, const char *text)
{
    qdq_buf_putc(b, '"');
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        uint32_t x = take_character(&s);

        if (x == '"' || x == '\\')
            qdq_buf_printf(b, "\\%c", (char)x);
        else if (x >= 0x20 && x < 0x7f)
            qdq_buf_putc(b, (char)x);
        else
            qdq_buf_printf(b, x < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)x);
    }
    qdq_buf_putc(b, '"');
}

static void put_text(qdq_buf *b, const char *text)
{
    for (const char *s = text; *s != '\0'; s++)
        if (*s < 0x20 || *s > 0x7e || *s == '\'') {
            put_escaped(b, text);
            return;
        }
    qdq_buf_printf(b, "'%s'", text);
}

/* Fifteen digits, or as many more as it takes to read back as the same number; with a point. */
static void put_real(qdq_buf *b, double x)
{
    const char *point = localeconv()->decimal_point;
    char text[40];

    if (!isfinite(x)) {
        qdq_buf_puts(b, ".inf");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    size_t whole = strspn(text, "-0123456789");
    const char *rest = text + whole;
    bool has_point = *rest != '\0' && *rest != 'e';

    qdq_buf_append(b, text, whole);
    qdq_buf_puts(b, has_point ? "." : ".0");
    qdq_buf_puts(b, has_point ? rest + strlen(point) : rest);
}

/* --- schemes ---------------------------------------------------------------------------------- */

static void put_index(qdq_buf *b, const char *before, const char *key, int32_t x)
{
    if (x == QDQ_POINT_NONE)
        qdq_buf_printf(b, "%s%s: null\n", before, key);
    else
        qdq_buf_printf(b, "%s%s: %d\n", before, key, (int)x);
}

static void put_list(qdq_buf *b, const qdq_point_list *list, const qdq_points *points)
{
    qdq_buf_printf(b, "    %s:%s\n", list->key, points->n == 0 ? " []" : "");
    for (size_t i = 0; i < points->n; i++) {
        const qdq_point *p = &points->at[i];
        if (list->has_region)
            put_index(b, "    - ", "region_index", p->region);
        if (list->has_node)
            put_index(b, list->has_region ? "      " : "    - ", "node_index", p->node);
        put_index(b, "      ", list->index_key, p->index);
    }
}

static void put_time(qdq_buf *b, const qdq_scheme *s)
{
    qdq_buf_puts(b, "    profile_timestamp: ");
    if (s->timestamp != NULL)
        put_text(b, s->timestamp);
    else
        qdq_buf_puts(b, "null");
    qdq_buf_putc(b, '\n');
}

static void put_scheme(qdq_buf *b, const qdq_scheme *s)
{
    char hash[33];

    qdq_buf_puts(b, "  - latency_ms: ");
    put_real(b, s->latency_ms);
    qdq_buf_printf(b, "\n    error: %s\n", s->error ? "true" : "false");
    put_time(b, s);
    for (size_t i = 0; i < QDQ_POINT_LISTS; i++)
        put_list(b, &qdq_point_lists[i], &s->list[i]);
    qdq_scheme_hash(s, hash);
    qdq_buf_printf(b, "    hash: '%s'\n", hash); /* 32 digits are a number, without quotes */
}

static void put_key(qdq_buf *b, const char *before, const char *key, const char *text)
{
    if (text == NULL)
        return;
    qdq_buf_printf(b, "%s%s: ", before, key);
    put_text(b, text);
    qdq_buf_putc(b, '\n');
}

/* What Model-Optimizer does not know is left out where it is not known. */
static void put_keys(qdq_buf *b, const qdq_pattern_key *k)
{
    put_key(b, "  ", "engine", k->engine);
    put_key(b, "  ", "device", k->device);
    put_key(b, "  ", "options", k->options);
}

static void put_pattern(qdq_buf *b, const qdq_pattern_schemes *ps)
{
    put_key(b, "- ", "pattern_signature", ps->key.signature);
    qdq_buf_printf(b, "  pattern_size: %zu\n", ps->size);
    put_key(b, "  ", "canonical_hash", ps->key.canon);
    put_keys(b, &ps->key);
    qdq_buf_printf(b, "  schemes:%s\n", ps->schemes.n == 0 ? " []" : "");
    for (size_t i = 0; i < ps->schemes.n; i++)
        put_scheme(b, &ps->schemes.at[i]);
}

static void put_model(qdq_buf *b, const qdq_pattern_schemes *ps)
{
    put_key(b, "- ", "canonical_hash", ps->key.canon != NULL ? ps->key.canon : "");
    qdq_buf_printf(b, "  nodes: %zu\n", ps->size);
    put_keys(b, &ps->key);
    put_key(b, "  ", "best", ps->best);
    put_key(b, "  ", "settled", ps->settled);
    qdq_buf_printf(b, "  placements:%s\n", ps->schemes.n == 0 ? " []" : "");
    for (size_t i = 0; i < ps->schemes.n; i++) {
        const qdq_scheme *s = &ps->schemes.at[i];
        put_key(b, "  - ", "placement", s->placement != NULL ? s->placement : "");
        qdq_buf_puts(b, "    latency_ms: ");
        put_real(b, s->latency_ms);
        qdq_buf_putc(b, '\n');
        put_time(b, s);
    }
}

/* A list of those that are about models, or of those that are not; nothing where there are none. */
static void put_entries(qdq_buf *b, const qdq_pattern_cache *c, bool of_models)
{
    size_t n = 0;

    for (size_t i = 0; i < c->patterns.n; i++) {
        const qdq_pattern_schemes *ps = c->patterns.at[i];
        if (qdq_pattern_is_model(&ps->key) != of_models)
            continue;
        qdq_buf_puts(b, n++ > 0 ? "" : of_models ? "models:\n" : "pattern_schemes:\n");
        (of_models ? put_model : put_pattern)(b, ps);
    }
    if (n == 0 && !of_models)
        qdq_buf_puts(b, "pattern_schemes: []\n");
}

qdq_status qdq_pattern_cache_text(const qdq_pattern_cache *c, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(&b, "minimum_distance: %u\nmax_entries_per_pattern: %u\n", c->minimum_distance,
                   c->max_entries);
    put_entries(&b, c, false);
    put_entries(&b, c, true);
    *text = qdq_buf_take(&b);
    return *text != NULL ? QDQ_OK : qdq_nomem(err);
}
