/* calib_cache.c - reads and writes calibration caches in TensorRT's form. */
#include "quant/calib/calib_cache.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/map.h"

#define MAX_CACHE_BYTES ((size_t)256 << 20)

void qdq_cache_free(qdq_cache *c)
{
    qdq_arena_free(&c->arena);
}

/* --- TensorRT --------------------------------------------------------------------------------- */

static bool to_digit(char c, uint32_t *out)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    uint32_t i = at != NULL ? (uint32_t)(at - digits) : 0;

    *out = i < 16 ? i : i - 6;
    return at != NULL;
}

/* 1 to 8 digits: the bits of a float. */
static bool to_scale(const char *text, size_t size, float *out)
{
    uint32_t bits = 0, digit;

    for (size_t i = 0; i < size; i++) {
        if (!to_digit(text[i], &digit))
            return false;
        bits = bits << 4 | digit;
    }
    memcpy(out, &bits, sizeof bits);
    return size >= 1 && size <= 8;
}

/* The last ": " of a line: names may hold some. */
static const char *find_colon(const char *line, size_t size)
{
    for (size_t i = size; i-- > 1;)
        if (line[i - 1] == ':' && line[i] == ' ')
            return line + i - 1;
    return NULL;
}

static qdq_status read_line(qdq_cache *c, const char *line, size_t size, qdq_error *err)
{
    const char *colon = find_colon(line, size);
    float scale;

    if (colon == NULL || colon == line)
        return qdq_fail(err, QDQ_E_FORMAT, "expected 'tensor: ' and the scale in hexadecimal");
    if (!to_scale(colon + 2, size - (size_t)(colon + 2 - line), &scale))
        return qdq_fail(
            err, QDQ_E_FORMAT, "found '%.*s' as the scale, expected 8 hexadecimal digits",
            (int)(size - (size_t)(colon + 2 - line) < 40 ? size - (size_t)(colon + 2 - line) : 40),
            colon + 2);
    double high = 127 * (double)scale;
    if (!(scale >= 0) || !(high <= 3.4028234663852886e38))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "found the scale %g, expected 0 or more and 127 times that finite",
                        (double)scale);
    qdq_cached_range r = {qdq_arena_strndup(&c->arena, line, (size_t)(colon - line)),
                          {-high, high}};
    return qdq_allocated(r.tensor != NULL && QDQ_PUSH(&c->arena, &c->ranges, r), err);
}

static qdq_status read_lines(qdq_cache *c, const char *text, size_t size, qdq_error *err)
{
    const char *end = text + size;

    for (size_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline != NULL ? newline : end;
        size_t n = (size_t)(stop - text);

        while (n > 0 && (text[n - 1] == '\r' || text[n - 1] == ' '))
            n--;
        qdq_status st = number > 1 && n > 0 ? read_line(c, text, n, err) : QDQ_OK;
        if (st != QDQ_OK)
            return qdq_within(err, st, "line %zu", number);
        text = stop + (newline != NULL);
    }
    return QDQ_OK;
}

/* --- ours ------------------------------------------------------------------------------------- */

static void read_range(qdq_cache *c, const qdq_json_place *p)
{
    static const double most = 3.4028234663852886e38;
    qdq_cached_range r;

    QDQ_JSON_KNOWN(p, "tensor", "low", "high");
    r.tensor = qdq_json_text(p, "tensor", NULL);
    if (r.tensor != NULL && r.tensor[0] == '\0')
        qdq_json_wrong(p, "tensor", "a name");
    r.range.low = qdq_json_number(p, "low", -most, most, NAN);
    r.range.high = qdq_json_number(p, "high", -most, most, NAN);
    if (!qdq_json_has(p, "low"))
        qdq_json_wrong(p, "low", "a number");
    if (!(r.range.low <= r.range.high))
        qdq_json_wrong(p, "high", "a number that is not below 'low'");
    if (!QDQ_PUSH(&c->arena, &c->ranges, r))
        qdq_json_nomem(p);
}

static qdq_status read_ours(qdq_cache *c, const char *text, size_t size, const char *name,
                            qdq_error *err)
{
    qdq_json_reader reader = {.arena = &c->arena, .err = err};
    json_t *root = NULL;

    QDQ_TRY(qdq_json_parse(text, size, name, &root, err));
    if (json_object_get(root, "qdq_statistics") != NULL) {
        json_decref(root);
        return qdq_fail(err, QDQ_E_USAGE,
                        "%s: statistics of 'qdq calibrate', which 'qdq quantize' alone takes; "
                        "expected ranges (its --cache-out)",
                        name);
    }
    qdq_json_place top = qdq_json_top(&reader, root, "qdq_ranges", 1), item;
    QDQ_JSON_KNOWN(&top, "qdq_ranges", "tensors");
    for (size_t i = 0; qdq_json_item(&top, "tensors", i, &item); i++)
        read_range(c, &item);
    json_decref(root);
    return reader.status != QDQ_OK ? qdq_within(err, reader.status, "%s", name) : QDQ_OK;
}

/* --- both ------------------------------------------------------------------------------------- */

/* Files that were joined by hand list tensors twice: to take one of two ranges would be to
 * guess. */
static qdq_status check_twice(const qdq_cache *c, qdq_map *seen, qdq_error *err)
{
    for (size_t i = 0; i < c->ranges.n; i++) {
        const qdq_cached_range *r = &c->ranges.at[i], *first = qdq_map_get_ptr(seen, r->tensor);

        QDQ_NEED(first != NULL || qdq_map_set_ptr(seen, r->tensor, r), err);
        first = first != NULL ? first : r;
        if (first->range.low != r->range.low || first->range.high != r->range.high)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "tensor '%s': found the ranges %.9g to %.9g and %.9g to %.9g, expected "
                            "one for each tensor",
                            r->tensor, first->range.low, first->range.high, r->range.low,
                            r->range.high);
    }
    return QDQ_OK;
}

static qdq_status check_unique(const qdq_cache *c, const char *name, qdq_error *err)
{
    qdq_map seen = QDQ_MAP_INIT;
    qdq_status st = check_twice(c, &seen, err);

    qdq_map_free(&seen);
    return st != QDQ_OK ? qdq_within(err, st, "%s", name) : QDQ_OK;
}

/* --- public ----------------------------------------------------------------------------------- */

qdq_status qdq_cache_parse(const char *text, size_t size, const char *name, qdq_cache *out,
                           qdq_error *err)
{
    qdq_status st;

    memset(out, 0, sizeof *out);
    if (size > 0 && text[0] == '{') {
        QDQ_TRY(read_ours(out, text, size, name, err));
        return check_unique(out, name, err);
    }
    if (memchr(text, '\0', size) != NULL)
        st = qdq_fail(err, QDQ_E_FORMAT, "found a NUL byte, expected text");
    else if (size < 4 || memcmp(text, "TRT-", 4) != 0)
        st = qdq_fail(err, QDQ_E_FORMAT, "expected a first line that begins with 'TRT-', or JSON");
    else
        st = read_lines(out, text, size, err);
    return st != QDQ_OK ? qdq_within(err, st, "%s", name) : check_unique(out, name, err);
}

qdq_status qdq_cache_read(const char *path, qdq_cache *out, qdq_error *err)
{
    char *text = NULL;
    size_t size = 0;

    memset(out, 0, sizeof *out);
    QDQ_TRY(qdq_read_file(path, MAX_CACHE_BYTES, &text, &size, err));
    qdq_status st = qdq_cache_parse(text, size, path, out, err);
    qdq_free(text);
    return st;
}
