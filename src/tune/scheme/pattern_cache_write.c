/* pattern_cache_write.c - the file as Model-Optimizer's YAML library lays it out: block style, keys in its order, every
 * text quoted and on one line, nothing but ASCII. Its reader takes a number without a point for no float. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "tune/scheme/pattern_cache.h"

/* --- texts --------------------------------------------------------------------------------------------------------- */

/* One character of UTF-8 from *s on, which is moved behind it; what is not UTF-8 becomes the mark for that. */
static uint32_t take_character(const unsigned char **s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = *s;
    unsigned n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
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

/* --- schemes ------------------------------------------------------------------------------------------------------- */

static void put_index(qdq_buf *b, const char *before, const char *key, int32_t x)
{
    if (x == QDQ_POINT_NONE)
        qdq_buf_printf(b, "%s%s: null\n", before, key);
    else
        qdq_buf_printf(b, "%s%s: %d\n", before, key, (int)x);
}

static void put_list(qdq_buf *b, const char *key, const qdq_points *list,
                     void (*put)(qdq_buf *b, const qdq_point *p))
{
    qdq_buf_printf(b, "    %s:%s\n", key, list->n == 0 ? " []" : "");
    for (size_t i = 0; i < list->n; i++)
        put(b, &list->at[i]);
}

static void put_node_input(qdq_buf *b, const qdq_point *p)
{
    put_index(b, "    - ", "node_index", p->node);
    put_index(b, "      ", "input_index", p->index);
}

static void put_child_input(qdq_buf *b, const qdq_point *p)
{
    put_index(b, "    - ", "region_index", p->region);
    put_index(b, "      ", "input_index", p->index);
}

static void put_output(qdq_buf *b, const qdq_point *p)
{
    put_index(b, "    - ", "region_index", p->region);
    put_index(b, "      ", "node_index", p->node);
    put_index(b, "      ", "output_index", p->index);
}

static void put_scheme(qdq_buf *b, const qdq_scheme *s)
{
    char hash[33];

    qdq_buf_puts(b, "  - latency_ms: ");
    put_real(b, s->latency_ms);
    qdq_buf_printf(b, "\n    error: %s\n    profile_timestamp: ", s->error ? "true" : "false");
    if (s->timestamp != NULL)
        put_text(b, s->timestamp);
    else
        qdq_buf_puts(b, "null");
    qdq_buf_putc(b, '\n');
    put_list(b, "nodes_insertion_points", &s->node_inputs, put_node_input);
    put_list(b, "child_region_inputs", &s->child_inputs, put_child_input);
    put_list(b, "region_outputs", &s->outputs, put_output);
    qdq_scheme_hash(s, hash);
    qdq_buf_printf(b, "    hash: '%s'\n", hash); /* 32 digits are a number, without quotes */
}

qdq_status qdq_pattern_cache_text(const qdq_pattern_cache *c, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(&b, "minimum_distance: %u\nmax_entries_per_pattern: %u\npattern_schemes:%s\n",
                   c->minimum_distance, c->max_entries, c->patterns.n == 0 ? " []" : "");
    for (size_t i = 0; i < c->patterns.n; i++) {
        const qdq_pattern_schemes *ps = c->patterns.at[i];

        qdq_buf_puts(&b, "- pattern_signature: ");
        put_text(&b, ps->signature);
        qdq_buf_printf(&b, "\n  pattern_size: %zu\n  schemes:%s\n", ps->size,
                       ps->schemes.n == 0 ? " []" : "");
        for (size_t k = 0; k < ps->schemes.n; k++)
            put_scheme(&b, &ps->schemes.at[k]);
    }
    *text = qdq_buf_take(&b);
    return *text != NULL ? QDQ_OK : qdq_nomem(err);
}
