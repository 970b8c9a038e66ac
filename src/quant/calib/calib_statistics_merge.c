/* calib_statistics_merge.c - two statistics become those of all their samples. Counts are added, in
 * bins that nest (histogram.h), and bounds are widened: order and grouping do not show. */
#include "quant/calib/calib_statistics.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "quant/plan/fingerprint.h"

/* --- do they fit? ----------------------------------------------------------------------------- */

static const char *name_of(const qdq_statistics *s)
{
    return s->name[0] != '\0' ? s->name : "statistics in memory";
}

/* `a` and `b` are equal, or an error names both. */
static qdq_status check_same(const qdq_statistics *s, const qdq_statistics *other, const char *what,
                             const char *a, const char *b, qdq_error *err)
{
    if (strcmp(a, b) == 0)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE, "%s: found %s %s, expected %s, that of %s", name_of(other),
                    what, b, a, name_of(s));
}

static qdq_status check_kind(const qdq_statistics *s, const qdq_statistics *other, qdq_error *err)
{
    const qdq_statistics_summary *a = &s->summary, *b = &other->summary;

    QDQ_TRY(check_same(s, other, "the model", a->model, b->model, err));
    QDQ_TRY(check_same(s, other, "target", a->target, b->target, err));
    QDQ_TRY(check_same(s, other, "a target with SHA-256", a->target_sha256, b->target_sha256, err));
    QDQ_TRY(check_same(s, other, "method", qdq_method_name(a->method), qdq_method_name(b->method),
                       err));
    return check_same(s, other, "the cleaned model", s->cleaned, other->cleaned, err);
}

static qdq_status check_tensors(const qdq_statistics *s, const qdq_statistics *other,
                                qdq_error *err)
{
    bool same = s->tensors.n == other->tensors.n;

    for (size_t i = 0; same && i < s->tensors.n; i++)
        same = strcmp(s->tensors.at[i].name, other->tensors.at[i].name) == 0;
    return same ? QDQ_OK
                : qdq_fail(err, QDQ_E_FORMAT, "%s: found other tensors than in %s", name_of(other),
                           name_of(s));
}

qdq_status qdq_statistics_check_model(const qdq_statistics *s, const qdq_model *m, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *have;
    qdq_status st = qdq_model_fingerprint(m, NULL, &scratch, &have, err);

    if (st == QDQ_OK && strcmp(have, s->summary.model) != 0)
        st = qdq_fail(err, QDQ_E_USAGE, "%s: statistics of the model %s, expected %s", name_of(s),
                      s->summary.model, have);
    qdq_arena_free(&scratch);
    return st;
}

/* --- samples ---------------------------------------------------------------------------------- */

static const char *file_of(const qdq_sample_range *r)
{
    return r->file[0] != '\0' ? r->file : "statistics in memory";
}

/* Adds a copy of a range that begins behind the last one. False: out of memory. */
static bool append_range(qdq_arena *arena, qdq_sample_ranges *list, const qdq_sample_range *r)
{
    qdq_sample_range *last = list->n > 0 ? &list->at[list->n - 1] : NULL;
    qdq_sample_range copy = *r;

    if (last != NULL && last->last + 1 == r->first && strcmp(last->file, r->file) == 0) {
        last->last = r->last;
        return true;
    }
    copy.file = qdq_arena_strdup(arena, r->file);
    return copy.file != NULL && QDQ_PUSH(arena, list, copy);
}

static qdq_status unite_samples(qdq_arena *arena, const qdq_sample_ranges *a,
                                const qdq_sample_ranges *b, qdq_sample_ranges *out, qdq_error *err)
{
    const qdq_sample_range *before = NULL;
    bool was_from_a = false;

    for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
        const bool from_a = k == b->n || (i < a->n && a->at[i].first < b->at[k].first);
        const qdq_sample_range *r = from_a ? &a->at[i++] : &b->at[k++];

        if (before != NULL && r->first <= before->last)
            return qdq_fail(err, QDQ_E_USAGE,
                            "%s: sample %" PRIu64 " is in %s, too; expected parts that share none",
                            file_of(was_from_a ? r : before), r->first,
                            file_of(was_from_a ? before : r));
        QDQ_NEED(append_range(arena, out, r), err);
        before = r;
        was_from_a = from_a;
    }
    return QDQ_OK;
}

static qdq_status copy_source(qdq_arena *arena, const qdq_sample_source *from,
                              qdq_sample_source *out, qdq_error *err)
{
    static const qdq_sample_ranges none = {0};

    *out = *from;
    out->taken = none;
    out->hash = qdq_arena_strdup(arena, from->hash);
    QDQ_NEED(out->hash != NULL, err);
    return unite_samples(arena, &from->taken, &none, &out->taken, err);
}

static qdq_status merge_source(qdq_arena *arena, const qdq_sample_source *a,
                               const qdq_sample_source *b, qdq_sample_source *out, qdq_error *err)
{
    *out = *a;
    out->taken = (qdq_sample_ranges){0};
    out->hash = qdq_arena_strdup(arena, a->hash);
    QDQ_NEED(out->hash != NULL, err);
    if (a->count != b->count || a->steps != b->steps || a->limit != b->limit)
        return qdq_fail(err, QDQ_E_USAGE,
                        "%s: samples of the first %" PRIu64
                        " of the same data, expected the first %" PRIu64 ", as in %s",
                        file_of(&b->taken.at[0]), b->limit, a->limit, file_of(&a->taken.at[0]));
    return unite_samples(arena, &a->taken, &b->taken, &out->taken, err);
}

static const qdq_sample_source *find_source(const qdq_statistics *s, const char *hash)
{
    for (size_t i = 0; i < s->sources.n; i++)
        if (strcmp(s->sources.at[i].hash, hash) == 0)
            return &s->sources.at[i];
    return NULL;
}

static qdq_status merge_sources(const qdq_statistics *s, const qdq_statistics *other,
                                qdq_statistics *out, qdq_error *err)
{
    qdq_sample_source one;

    for (size_t i = 0; i < s->sources.n; i++) {
        const qdq_sample_source *a = &s->sources.at[i], *b = find_source(other, a->hash);

        QDQ_TRY(b != NULL ? merge_source(&out->arena, a, b, &one, err)
                          : copy_source(&out->arena, a, &one, err));
        QDQ_NEED(QDQ_PUSH(&out->arena, &out->sources, one), err);
    }
    for (size_t i = 0; i < other->sources.n; i++) {
        if (find_source(s, other->sources.at[i].hash) != NULL)
            continue;
        QDQ_TRY(copy_source(&out->arena, &other->sources.at[i], &one, err));
        QDQ_NEED(QDQ_PUSH(&out->arena, &out->sources, one), err);
    }
    if (s->summary.method == QDQ_METHOD_MOVING_AVERAGE && out->sources.n > 1)
        return qdq_fail(err, QDQ_E_USAGE,
                        "%s: moving-average depends on the order of samples, and %s has other "
                        "data; expected parts of one data source (--part)",
                        name_of(other), name_of(s));
    return QDQ_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_too_many(uint64_t a, uint64_t b)
{
    return a > (uint64_t)INT64_MAX - b;
}

static qdq_status check_counts(const qdq_seen_values *a, const qdq_seen_values *b,
                               const char *tensor, qdq_error *err)
{
    if (!is_too_many(a->count, b->count) && !is_too_many(a->n_nonfinite, b->n_nonfinite))
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': more than 2^63 - 1 values together",
                    tensor);
}

static bool merge_histograms(qdq_arena *arena, const qdq_seen_values *a, const qdq_seen_values *b,
                             qdq_seen_values *out)
{
    qdq_histogram sum, more;

    qdq_seen_to_histogram(a, &sum);
    qdq_seen_to_histogram(b, &more);
    qdq_histogram_merge(&sum, &more);
    return qdq_seen_from_histogram(arena, &sum, out);
}

static void merge_ends(const qdq_seen_values *a, const qdq_seen_values *b, qdq_seen_values *out)
{
    *out = a->count > 0 ? *a : *b;
    if (a->count > 0 && b->count > 0) {
        out->low = a->low < b->low ? a->low : b->low;
        out->high = a->high > b->high ? a->high : b->high;
    }
    out->count = a->count + b->count;
    out->n_nonfinite = a->n_nonfinite + b->n_nonfinite;
}

/* Of different samples: no index is in both. */
static bool merge_sparse(qdq_arena *arena, const qdq_counts *a, const qdq_counts *b,
                         qdq_counts *out)
{
    size_t i = 0, k = 0;

    *out = (qdq_counts){0};
    out->index = qdq_arena_array(arena, a->n + b->n + 1, sizeof *out->index);
    out->value = qdq_arena_array(arena, a->n + b->n + 1, sizeof *out->value);
    if (out->index == NULL || out->value == NULL)
        return false;
    while (i < a->n || k < b->n) {
        const bool from_a = k == b->n || (i < a->n && a->index[i] < b->index[k]);
        const qdq_counts *from = from_a ? a : b;
        const size_t at = from_a ? i++ : k++;

        out->index[out->n] = from->index[at];
        out->value[out->n++] = from->value[at];
    }
    return true;
}

static qdq_status merge_tensor(qdq_statistics *out, const qdq_seen_tensor *a,
                               const qdq_seen_tensor *b, qdq_error *err)
{
    const bool bins = qdq_method_has_histogram(out->summary.method);
    qdq_arena *arena = &out->arena;
    qdq_seen_tensor t = {.name = qdq_arena_strdup(arena, a->name)};

    QDQ_NEED(t.name != NULL, err);
    QDQ_TRY(check_counts(&a->all, &b->all, a->name, err));
    QDQ_TRY(check_counts(&a->held_out, &b->held_out, a->name, err));
    if (!bins)
        merge_ends(&a->all, &b->all, &t.all);
    else
        QDQ_NEED(merge_histograms(arena, &a->all, &b->all, &t.all) &&
                     merge_histograms(arena, &a->held_out, &b->held_out, &t.held_out),
                 err);
    QDQ_NEED(merge_sparse(arena, &a->bounds, &b->bounds, &t.bounds), err);
    return qdq_allocated(QDQ_PUSH(arena, &out->tensors, t), err);
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status copy_head(const qdq_statistics *s, const qdq_statistics *other,
                            qdq_statistics *out, qdq_error *err)
{
    const qdq_statistics *named = s->name[0] != '\0' ? s : other;

    out->summary = s->summary;
    out->summary.model = qdq_arena_strdup(&out->arena, s->summary.model);
    out->summary.target = qdq_arena_strdup(&out->arena, s->summary.target);
    out->summary.target_sha256 = qdq_arena_strdup(&out->arena, s->summary.target_sha256);
    out->cleaned = qdq_arena_strdup(&out->arena, s->cleaned);
    out->name = qdq_arena_strdup(&out->arena, named->name);
    return qdq_allocated(out->summary.model != NULL && out->summary.target != NULL &&
                             out->summary.target_sha256 != NULL && out->cleaned != NULL &&
                             out->name != NULL,
                         err);
}

static qdq_status merge(const qdq_statistics *s, const qdq_statistics *other, qdq_statistics *out,
                        qdq_error *err)
{
    QDQ_TRY(copy_head(s, other, out, err));
    QDQ_TRY(merge_sources(s, other, out, err));
    for (size_t i = 0; i < s->tensors.n; i++)
        QDQ_TRY(merge_tensor(out, &s->tensors.at[i], &other->tensors.at[i], err));
    return qdq_allocated(qdq_statistics_finish(out), err);
}

qdq_status qdq_statistics_merge(qdq_statistics *s, const qdq_statistics *other, qdq_error *err)
{
    QDQ_TRY(check_kind(s, other, err));
    QDQ_TRY(check_tensors(s, other, err));
    qdq_statistics *sum = qdq_statistics_new();
    qdq_status st = sum != NULL ? merge(s, other, sum, err) : qdq_nomem(err);

    if (st == QDQ_OK) {
        const qdq_statistics before = *s;

        *s = *sum;
        *sum = before;
    }
    qdq_statistics_free(sum);
    return st;
}
