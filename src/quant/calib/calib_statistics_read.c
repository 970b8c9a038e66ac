/* calib_statistics_read.c - statistics from text of anywhere: what is inconsistent is rejected, and
 * memory grows with the text alone. */
#include "quant/calib/calib_statistics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_read.h"

#define MAX_BYTES ((size_t)1 << 30)
/* so that numbers of runs fit */
#define MAX_SAMPLES ((int64_t)1 << 40)
#define MAX_STEPS   ((int64_t)1 << 20)

/* What is rounded to a finite float: the few digits that give the lowest float back, which masks
 * have, are a number below it. */
static const double most_float = 0x1.fffffefffffffp127;

typedef struct reading {
    qdq_statistics *s;
    /* texts of the document */
    qdq_arena scratch;
    qdq_map seen;
} reading;

/* --- texts ------------------------------------------------------------------------------------ */

/* Digits to the base, at most `most`; *at moves behind them. False: none, or too many. */
static bool take_number(const char **at, unsigned base, uint64_t most, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";
    const char *begin = *at, *found;
    uint64_t x = 0;

    for (; **at != '\0' && (found = memchr(digits, **at, base)) != NULL; (*at)++) {
        const uint64_t digit = (uint64_t)(found - digits);

        if (digit > most || x > (most - digit) / base)
            return false;
        x = x * base + digit;
    }
    *out = x;
    return *at > begin;
}

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static size_t count_values(const char *text)
{
    size_t n = 1;

    for (; *text != '\0'; text++)
        n += *text == ',' || *text == ';';
    return n;
}

/* "4096:c,5;5000:1", ascending below `end`. NULL: it is that; else what is expected. */
static const char *parse_sparse(const char *text, uint64_t end, qdq_counts *out)
{
    uint64_t index = 0;

    for (bool is_first = true; *text != '\0'; is_first = false) {
        const bool is_next = !is_first && take(&text, ',');
        uint64_t at = index + 1, value;

        if (!is_next) {
            if (!is_first && !take(&text, ';'))
                return "values with ',' or ';' between them";
            if (!take_number(&text, 16, UINT64_MAX, &at) || !take(&text, ':'))
                return "a hexadecimal index and ':'";
        }
        if (!take_number(&text, 16, UINT64_MAX, &value) || value == 0)
            return "hexadecimal values above 0";
        if (at >= end || (!is_first && at <= index))
            return "ascending indices in bounds";
        out->index[out->n] = index = at;
        out->value[out->n++] = value;
    }
    return NULL;
}

static void read_sparse(reading *r, const qdq_json_place *p, const char *key, uint64_t end,
                        qdq_counts *out)
{
    const char *text = qdq_json_text(p, key, "");
    const size_t n = count_values(text);
    const char *expected;

    *out = (qdq_counts){0};
    if (text[0] == '\0')
        return;
    out->index = qdq_arena_array(&r->s->arena, n, sizeof *out->index);
    out->value = qdq_arena_array(&r->s->arena, n, sizeof *out->value);
    if (out->index == NULL || out->value == NULL) {
        qdq_json_nomem(p);
        return;
    }
    expected = parse_sparse(text, end, out);
    if (expected != NULL)
        qdq_json_wrong(p, key, expected);
}

static bool is_hash(const char *text, size_t size)
{
    return strlen(text) == size && strspn(text, "0123456789abcdef") == size;
}

static const char *read_hash(reading *r, const qdq_json_place *p, const char *key, size_t size)
{
    const char *text = qdq_json_text(p, key, NULL);
    char want[60];

    if (!is_hash(text, size)) {
        snprintf(want, sizeof want, "%zu hexadecimal digits", size);
        qdq_json_wrong(p, key, want);
    }
    text = qdq_arena_strdup(&r->s->arena, text);
    if (text == NULL)
        qdq_json_nomem(p);
    return text != NULL ? text : "";
}

/* --- samples ---------------------------------------------------------------------------------- */

static void read_taken(reading *r, const qdq_json_place *p, qdq_sample_source *out)
{
    const char *text = qdq_json_text(p, "taken", NULL);
    uint64_t end = 0;

    do {
        qdq_sample_range range = {.file = r->s->name};
        bool ok = take_number(&text, 10, out->limit - 1, &range.first);

        range.last = range.first;
        if (ok && take(&text, '-'))
            ok = take_number(&text, 10, out->limit - 1, &range.last);
        if (!ok || range.last < range.first || (end > 0 && range.first <= end)) {
            qdq_json_wrong(p, "taken", "ascending ranges of sample numbers, as '0-3,7'");
            return;
        }
        end = range.last + 1;
        if (!QDQ_PUSH(&r->s->arena, &out->taken, range)) {
            qdq_json_nomem(p);
            return;
        }
    } while (take(&text, ','));
    if (*text != '\0')
        qdq_json_wrong(p, "taken", "ascending ranges of sample numbers, as '0-3,7'");
}

static void read_source(reading *r, const qdq_json_place *p)
{
    qdq_sample_source s = {0};
    bool is_new = true;

    QDQ_JSON_KNOWN(p, "data", "samples", "first", "steps", "taken");
    s.hash = read_hash(r, p, "data", 32);
    s.count = (uint64_t)qdq_json_int(p, "samples", 1, MAX_SAMPLES, 0);
    if (!qdq_json_has(p, "samples"))
        qdq_json_wrong(p, "samples", "a whole number");
    s.count = s.count > 0 ? s.count : 1;
    s.limit = (uint64_t)qdq_json_int(p, "first", 1, (int64_t)s.count, (int64_t)s.count);
    s.steps = (uint64_t)qdq_json_int(p, "steps", 1, MAX_STEPS, 1);
    read_taken(r, p, &s);
    if (qdq_map_put(&r->seen, s.hash, &is_new) == NULL ||
        !QDQ_PUSH(&r->s->arena, &r->s->sources, s))
        qdq_json_nomem(p);
    if (!is_new)
        qdq_json_wrong(p, "data", "each data source once");
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* NULL: the bins are those of its values between low and high; else what is expected. */
static const char *check_bins(const qdq_seen_values *v)
{
    const int exponent = qdq_histogram_exponent(v->low, v->high);
    const qdq_counts *b = &v->bins;
    uint64_t left = v->count;

    if (v->zeros > left || (v->zeros > 0 && (v->low > 0 || v->high < 0)))
        return "'zeros' among the values";
    left -= v->zeros;
    for (size_t i = 0; i < b->n; i++) {
        if (b->value[i] > left)
            return "bins whose sum with 'zeros' is 'count'";
        left -= b->value[i];
    }
    if (left != 0)
        return "bins whose sum with 'zeros' is 'count'";
    const bool low_fits = v->low != 0
                              ? b->n > 0 && b->index[0] == qdq_histogram_bin(exponent, v->low)
                              : v->zeros > 0 && (b->n == 0 || b->index[0] >= QDQ_HISTOGRAM_SIDE);
    const bool high_fits =
        v->high != 0 ? b->n > 0 && b->index[b->n - 1] == qdq_histogram_bin(exponent, v->high)
                     : v->zeros > 0 && (b->n == 0 || b->index[b->n - 1] < QDQ_HISTOGRAM_SIDE);
    return low_fits && high_fits ? NULL : "bins that end at 'low' and 'high'";
}

static float read_float(const qdq_json_place *p, const char *key)
{
    if (!qdq_json_has(p, key))
        qdq_json_wrong(p, key, "a number");
    return (float)qdq_json_number(p, key, -most_float, most_float, 0) + 0.0F;
}

static void read_values(reading *r, const qdq_json_place *p, bool bins, qdq_seen_values *out)
{
    *out = (qdq_seen_values){0};
    out->count = (uint64_t)qdq_json_int(p, "count", 1, INT64_MAX, 0);
    out->n_nonfinite = (uint64_t)qdq_json_int(p, "nonfinite", 1, INT64_MAX, 0);
    out->zeros = (uint64_t)qdq_json_int(p, "zeros", 1, INT64_MAX, 0);
    read_sparse(r, p, "bins", QDQ_HISTOGRAM_BINS, &out->bins);
    if (out->count > 0) {
        out->low = read_float(p, "low");
        out->high = read_float(p, "high");
        if (!(out->low <= out->high))
            qdq_json_wrong(p, "high", "a number that is not below 'low'");
    }
    if ((out->count == 0 || !bins) && (out->zeros > 0 || out->bins.n > 0))
        qdq_json_wrong(p, "bins", "none without values, or by this method");
    const char *expected =
        bins && out->count > 0 && p->reader->status == QDQ_OK ? check_bins(out) : NULL;
    if (expected != NULL)
        qdq_json_wrong(p, "bins", expected);
}

static bool is_taken(const qdq_sample_source *s, uint64_t sample, size_t *at)
{
    while (*at < s->taken.n && s->taken.at[*at].last < sample)
        (*at)++;
    return *at < s->taken.n && s->taken.at[*at].first <= sample;
}

/* The bounds of the runs are those of samples that are taken, and of all values together. */
static bool are_bounds_right(const reading *r, const qdq_seen_tensor *t)
{
    const qdq_sample_source *s = &r->s->sources.at[0];
    float least = INFINITY, most = -INFINITY;
    size_t at = 0;

    for (size_t i = 0; i < t->bounds.n; i++) {
        float low, high;

        qdq_unpack_bounds(t->bounds.value[i], &low, &high);
        if (!(low <= high) || !isfinite(low) || !isfinite(high) ||
            !is_taken(s, t->bounds.index[i] / s->steps, &at))
            return false;
        least = fminf(least, low);
        most = fmaxf(most, high);
    }
    return t->bounds.n == 0
               ? t->all.count == 0
               : t->all.count >= t->bounds.n && least == t->all.low && most == t->all.high;
}

static void read_bounds(reading *r, const qdq_json_place *p, qdq_seen_tensor *t)
{
    read_sparse(r, p, "bounds", UINT64_MAX, &t->bounds);
    if (p->reader->status != QDQ_OK)
        return;
    if (r->s->summary.method != QDQ_METHOD_MOVING_AVERAGE) {
        if (t->bounds.n > 0)
            qdq_json_wrong(p, "bounds", "none by this method");
    } else if (!are_bounds_right(r, t)) {
        qdq_json_wrong(p, "bounds", "those of the samples taken, between 'low' and 'high'");
    }
}

static void read_tensor(reading *r, const qdq_json_place *p)
{
    const qdq_method method = r->s->summary.method;
    const bool bins = qdq_method_has_histogram(method);
    const char *name = qdq_json_text(p, "tensor", NULL);
    qdq_seen_tensor t = {.name = qdq_arena_strdup(&r->s->arena, name)};
    qdq_json_place held_out;
    bool is_new = true;

    QDQ_JSON_KNOWN(p, "tensor", "count", "low", "high", "nonfinite", "zeros", "bins", "held_out",
                   "bounds");
    if (name[0] == '\0')
        qdq_json_wrong(p, "tensor", "a name");
    read_values(r, p, bins, &t.all);
    if (qdq_json_member(p, "held_out", &held_out)) {
        QDQ_JSON_KNOWN(&held_out, "count", "low", "high", "nonfinite", "zeros", "bins");
        read_values(r, &held_out, bins, &t.held_out);
        if (method != QDQ_METHOD_AUTO)
            qdq_json_wrong(p, "held_out", "none by this method");
    }
    read_bounds(r, p, &t);
    if (t.name == NULL || qdq_map_put(&r->seen, t.name, &is_new) == NULL ||
        !QDQ_PUSH(&r->s->arena, &r->s->tensors, t))
        qdq_json_nomem(p);
    if (!is_new)
        qdq_json_wrong(p, "tensor", "each tensor once");
}

/* --- all of it -------------------------------------------------------------------------------- */

static const char *keep_text(reading *r, const qdq_json_place *p, const char *key)
{
    const char *text = qdq_arena_strdup(&r->s->arena, qdq_json_text(p, key, NULL));

    if (text == NULL)
        qdq_json_nomem(p);
    return text != NULL ? text : "";
}

static qdq_method read_method(const qdq_json_place *p)
{
    static const qdq_method methods[] = {
        QDQ_METHOD_MAX, QDQ_METHOD_ENTROPY,        QDQ_METHOD_PERCENTILE,
        QDQ_METHOD_MSE, QDQ_METHOD_MOVING_AVERAGE, QDQ_METHOD_AUTO};
    const char *words[QDQ_COUNT(methods) + 1] = {NULL};

    for (size_t i = 0; i < QDQ_COUNT(methods); i++)
        words[i] = qdq_method_name(methods[i]);
    return methods[qdq_json_word(p, "method", words, -1)];
}

static void read_head(reading *r, const qdq_json_place *top)
{
    qdq_statistics_summary *head = &r->s->summary;

    QDQ_JSON_KNOWN(top, "qdq_statistics", "created_by", "model", "cleaned", "target",
                   "target_sha256", "method", "samples", "sources", "tensors");
    qdq_json_text(top, "created_by", "");
    head->model = read_hash(r, top, "model", 32);
    r->s->cleaned = read_hash(r, top, "cleaned", 32);
    head->target = keep_text(r, top, "target");
    head->target_sha256 = read_hash(r, top, "target_sha256", 64);
    head->method = read_method(top);
}

static void read_all(reading *r, const qdq_json_place *top)
{
    qdq_json_place item;

    read_head(r, top);
    for (size_t i = 0; qdq_json_item(top, "sources", i, &item); i++)
        read_source(r, &item);
    const int64_t samples = qdq_json_int(top, "samples", 1, INT64_MAX, 0);
    if (r->s->sources.n == 0)
        qdq_json_wrong(top, "sources", "at least one data source");
    if (r->s->summary.method == QDQ_METHOD_MOVING_AVERAGE && r->s->sources.n > 1)
        qdq_json_wrong(top, "sources", "one data source, with the method moving-average");
    qdq_map_free(&r->seen);
    const qdq_arena_mark mark = qdq_arena_get_loop_mark(&r->scratch);
    for (size_t i = 0; qdq_json_item(top, "tensors", i, &item); i++) {
        read_tensor(r, &item);
        qdq_arena_reset(&r->scratch, mark);
    }
    if (top->reader->status != QDQ_OK)
        return;
    if (!qdq_statistics_finish(r->s))
        qdq_json_nomem(top);
    else if ((uint64_t)samples != r->s->summary.n_samples)
        qdq_json_wrong(top, "samples", "the number of samples in 'sources'");
}

static qdq_status parse(reading *r, const char *text, size_t size, const char *name, qdq_error *err)
{
    qdq_json_reader reader = {.arena = &r->scratch, .err = err};
    json_t *root = NULL;

    r->s->name = qdq_arena_strdup(&r->s->arena, name);
    QDQ_NEED(r->s->name != NULL, err);
    QDQ_TRY(qdq_json_parse(text, size, name, &root, err));
    const qdq_json_place top = qdq_json_top(&reader, root, "qdq_statistics", 1);
    if (reader.status == QDQ_OK)
        read_all(r, &top);
    json_decref(root);
    return reader.status != QDQ_OK ? qdq_within(err, reader.status, "%s", name) : QDQ_OK;
}

qdq_status qdq_statistics_parse(const char *text, size_t size, const char *name,
                                qdq_statistics **out, qdq_error *err)
{
    reading r = {.s = qdq_statistics_new()};

    *out = NULL;
    QDQ_NEED(r.s != NULL, err);
    const qdq_status st = parse(&r, text, size, name, err);
    qdq_map_free(&r.seen);
    qdq_arena_free(&r.scratch);
    if (st == QDQ_OK)
        *out = r.s;
    else
        qdq_statistics_free(r.s);
    return st;
}

qdq_status qdq_statistics_load(const char *path, qdq_statistics **out, qdq_error *err)
{
    char *text = NULL;
    size_t size = 0;

    *out = NULL;
    QDQ_TRY(qdq_read_file(path, MAX_BYTES, &text, &size, err));
    const qdq_status st = qdq_statistics_parse(text, size, path, out, err);
    qdq_free(text);
    return st;
}

/* White space does not count. */
static bool begins_right(const char *text, size_t size)
{
    static const char *const begins[] = {"{", "\"qdq_statistics\"", ":"};
    const char *end = text + size;

    for (size_t i = 0; i < QDQ_COUNT(begins); i++) {
        const size_t n = strlen(begins[i]);

        while (text < end && strchr(" \t\r\n", *text) != NULL && *text != '\0')
            text++;
        if ((size_t)(end - text) < n || memcmp(text, begins[i], n) != 0)
            return false;
        text += n;
    }
    return true;
}

/* What can be read once only, as a pipe, is left alone. */
qdq_status qdq_statistics_is_file(const char *path, bool *is_statistics, qdq_error *err)
{
    char text[256];
    struct stat info;
    ssize_t n = 0;

    *is_statistics = false;
    if (strcmp(path, "-") == 0)
        return QDQ_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot open", path);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        n = read(fd, text, sizeof text);
    const int why = errno;
    close(fd);
    if (n < 0)
        return qdq_fail_errno(err, QDQ_E_IO, why, "%s: cannot read", path);
    *is_statistics = begins_right(text, (size_t)n);
    return QDQ_OK;
}
