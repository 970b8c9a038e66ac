/* calib_statistics_write.c - statistics as text: a line for each tensor. */
#include "quant/calib/calib_statistics.h"

#include <inttypes.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_write.h"

/* "4096:c,5;5000:1" */
static void put_sparse(qdq_buf *b, const qdq_counts *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (i > 0 && s->index[i] == s->index[i - 1] + 1)
            qdq_buf_printf(b, ",%" PRIx64, s->value[i]);
        else
            qdq_buf_printf(b, "%s%" PRIx64 ":%" PRIx64, i > 0 ? ";" : "", s->index[i], s->value[i]);
}

/* "0-3,7", in maximal ranges. */
static void put_ranges(qdq_buf *b, const qdq_sample_ranges *list)
{
    for (size_t i = 0; i < list->n;) {
        const uint64_t first = list->at[i].first;
        uint64_t last = list->at[i].last;
        const char *comma = i > 0 ? "," : "";

        for (i++; i < list->n && list->at[i].first == last + 1; i++)
            last = list->at[i].last;
        if (first == last)
            qdq_buf_printf(b, "%s%" PRIu64, comma, first);
        else
            qdq_buf_printf(b, "%s%" PRIu64 "-%" PRIu64, comma, first, last);
    }
}

/* A text that is made in pieces. */
static void put_made(qdq_json_out o, const char *key, qdq_buf *text)
{
    qdq_buf_putc(text, '\0');
    if (text->failed)
        o.doc->failed = true;
    else
        qdq_json_put_text(o, key, text->data);
    qdq_buf_free(text);
}

static void put_sparse_text(qdq_json_out o, const char *key, const qdq_counts *s)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    if (s->n == 0)
        return;
    put_sparse(&text, s);
    put_made(o, key, &text);
}

/* What is 0 is left out. */
static void put_values(qdq_json_out o, const qdq_seen_values *v)
{
    if (v->count > 0) {
        qdq_json_put_size(o, "count", v->count);
        qdq_json_put(o, "low", qdq_json_float(v->low));
        qdq_json_put(o, "high", qdq_json_float(v->high));
    }
    if (v->n_nonfinite > 0)
        qdq_json_put_size(o, "nonfinite", v->n_nonfinite);
    if (v->zeros > 0)
        qdq_json_put_size(o, "zeros", v->zeros);
    put_sparse_text(o, "bins", &v->bins);
}

static void put_tensor(qdq_buf *b, const qdq_seen_tensor *t)
{
    qdq_json_doc d = {0};
    qdq_json_out o = qdq_json_object(&d);

    qdq_json_put_text(o, "tensor", t->name);
    put_values(o, &t->all);
    if (t->held_out.count > 0 || t->held_out.n_nonfinite > 0)
        put_values(qdq_json_put_object(o, "held_out"), &t->held_out);
    put_sparse_text(o, "bounds", &t->bounds);
    qdq_json_finish_line(&d, b);
}

static void put_source(qdq_buf *b, const qdq_sample_source *s)
{
    qdq_json_doc d = {0};
    qdq_json_out o = qdq_json_object(&d);
    qdq_buf taken = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_json_put_text(o, "data", s->hash);
    qdq_json_put_size(o, "samples", s->count);
    if (s->limit != s->count)
        qdq_json_put_size(o, "first", s->limit);
    if (s->steps != 1)
        qdq_json_put_size(o, "steps", s->steps);
    put_ranges(&taken, &s->taken);
    put_made(o, "taken", &taken);
    qdq_json_finish_line(&d, b);
}

static void put_member(qdq_buf *b, const char *key, const char *text)
{
    json_t *value = qdq_json_new_text(text);

    qdq_buf_printf(b, "  \"%s\": ", key);
    if (value == NULL || !qdq_json_put_line(b, value))
        b->failed = true;
    json_decref(value);
    qdq_buf_puts(b, ",\n");
}

static void put_all(qdq_buf *b, const qdq_statistics *s)
{
    qdq_buf_puts(b, "{\n  \"qdq_statistics\": 1,\n");
    put_member(b, "created_by", "qdq " QDQ_VERSION);
    put_member(b, "model", s->summary.model);
    put_member(b, "cleaned", s->cleaned);
    put_member(b, "target", s->summary.target);
    put_member(b, "target_sha256", s->summary.target_sha256);
    put_member(b, "method", qdq_method_name(s->summary.method));
    qdq_buf_printf(b, "  \"samples\": %zu,\n  \"sources\": [", s->summary.n_samples);
    for (size_t i = 0; i < s->sources.n; i++) {
        qdq_buf_puts(b, i == 0 ? "\n    " : ",\n    ");
        put_source(b, &s->sources.at[i]);
    }
    qdq_buf_puts(b, "\n  ],\n  \"tensors\": [");
    for (size_t i = 0; i < s->tensors.n; i++) {
        qdq_buf_puts(b, i == 0 ? "\n    " : ",\n    ");
        put_tensor(b, &s->tensors.at[i]);
    }
    qdq_buf_puts(b, "\n  ]\n}\n");
}

qdq_status qdq_statistics_to_text(const qdq_statistics *s, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    *text = NULL;
    put_all(&b, s);
    qdq_buf_putc(&b, '\0');
    *text = qdq_buf_take(&b);
    return qdq_allocated(*text != NULL, err);
}

qdq_status qdq_statistics_save(const qdq_statistics *s, const char *path, bool allow_overwrite,
                               qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    put_all(&b, s);
    const qdq_status st =
        b.failed ? qdq_nomem(err) : qdq_write_file(path, allow_overwrite, b.data, b.size, err);
    qdq_buf_free(&b);
    return st;
}
