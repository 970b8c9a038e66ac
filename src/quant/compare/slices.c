/* slices.c - SQNR of the slices of an output. Sums of every axis that may be the one are kept:
 * which it is may depend on later samples. */
#include "quant/compare/slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/compare/compare_stat.h"

int64_t qdq_slices_batch(const qdq_named_array *in, size_t n)
{
    int64_t batch = 0;

    for (size_t i = 0; i < n; i++) {
        if (in[i].array.rank == 0)
            continue;
        if (batch > 0 && in[i].array.dim[0] != batch)
            return 0;
        batch = in[i].array.dim[0];
    }
    return batch;
}

/* --- adding ----------------------------------------------------------------------------------- */

static bool is_axis(const qdq_array *a, int axis, int64_t batch)
{
    return a->dim[axis] > 1 && a->dim[axis] <= QDQ_SLICES_MOST && (axis > 0 || a->dim[0] != batch);
}

static qdq_status begin_slices(qdq_slices *s, int64_t batch, const qdq_array *a, qdq_error *err)
{
    s->rank = a->rank;
    s->axis[s->n_axes++] = (qdq_slice_axis){.axis = -1, .n = 1};
    s->total = 1;
    for (int k = 0; k < a->rank; k++) {
        if (!is_axis(a, k, batch))
            continue;
        s->axis[s->n_axes++] =
            (qdq_slice_axis){.axis = k, .n = (size_t)a->dim[k], .first = s->total};
        s->total += (size_t)a->dim[k];
    }
    s->low = calloc(2 * s->total, sizeof *s->low);
    QDQ_NEED(s->low != NULL, err);
    s->high = s->low + s->total;
    return QDQ_OK;
}

static void drop_other_lengths(qdq_slices *s, int64_t batch, const qdq_array *a)
{
    for (int i = 1; i < s->n_axes; i++) {
        qdq_slice_axis *x = &s->axis[i];

        x->is_out |=
            a->rank != s->rank || a->dim[x->axis] != (int64_t)x->n || !is_axis(a, x->axis, batch);
    }
}

/* What is added at once: elements of one slice that lie side by side. */
typedef struct run {
    qdq_power_sums sums;
    double low, high;
} run;

static inline void add_pair(run *r, double a, double b)
{
    const double d = a - b;

    if (!isfinite(a) || !isfinite(b)) {
        if (a != b && !(isnan(a) && isnan(b)))
            r->sums.dd = INFINITY;
        return;
    }
    r->low = a < r->low ? a : r->low;
    r->high = a > r->high ? a : r->high;
    r->sums.aa += a * a;
    r->sums.dd += d * d;
}

static void add_run(run *r, const qdq_array *a, const qdq_array *b, int64_t first, int64_t n)
{
    if (a->elem == QDQ_FLOAT && b->elem == QDQ_FLOAT) {
        const float *x = a->data, *y = b->data;

        for (int64_t i = first; i < first + n; i++)
            add_pair(r, (double)x[i], (double)y[i]);
        return;
    }
    for (int64_t i = first; i < first + n; i++)
        add_pair(r, qdq_array_number(a, i), qdq_array_number(b, i));
}

static void add_axis(qdq_slices *s, const qdq_slice_axis *x, qdq_power_sums *to, const qdq_array *a,
                     const qdq_array *b)
{
    const int64_t count = qdq_array_count(a);
    int64_t inner = x->axis < 0 ? count : 1, at = 0;

    for (int k = x->axis + 1; x->axis >= 0 && k < a->rank; k++)
        inner *= a->dim[k];
    for (size_t k = 0; at < count; at += inner, k = k + 1 < x->n ? k + 1 : 0) {
        const size_t i = x->first + k;
        run r = {to[i], s->low[i], s->high[i]};

        add_run(&r, a, b, at, inner);
        to[i] = r.sums;
        s->low[i] = r.low;
        s->high[i] = r.high;
    }
}

qdq_status qdq_slices_add(qdq_slices *s, size_t sample, int64_t batch, const qdq_array *a,
                          const qdq_array *b, qdq_error *err)
{
    qdq_power_sums **block = &s->block[sample % QDQ_SLICES_BLOCKS];

    if (s->n_axes == 0)
        QDQ_TRY(begin_slices(s, batch, a, err));
    drop_other_lengths(s, batch, a);
    if (*block == NULL && (*block = calloc(s->total, sizeof **block)) == NULL)
        return qdq_nomem(err);
    for (int i = 0; i < s->n_axes; i++)
        if (!s->axis[i].is_out)
            add_axis(s, &s->axis[i], *block, a, b);
    qdq_hidden_add(&s->hidden, sample, a, b);
    return QDQ_OK;
}

void qdq_slices_free(qdq_slices *s)
{
    for (size_t i = 0; i < QDQ_SLICES_BLOCKS; i++)
        free(s->block[i]);
    free(s->low);
    *s = (qdq_slices){.n_axes = 0};
}

/* --- groups ----------------------------------------------------------------------------------- */

/* An axis that is evaluated; arrays have an entry for each of its slices. */
typedef struct slice_evaluation {
    const qdq_slices *s;
    const qdq_slice_axis *x;
    size_t group[QDQ_SLICES_MOST];
    size_t n_groups;
    bool is_zero[QDQ_SLICES_MOST];
    /* that have samples */
    size_t block[QDQ_SLICES_BLOCKS];
    size_t n_blocks;
} slice_evaluation;

static void add_block(const slice_evaluation *j, size_t block, qdq_power_sums *to)
{
    const qdq_power_sums *from = j->s->block[j->block[block]] + j->x->first;

    for (size_t k = 0; k < j->x->n; k++) {
        to[k].aa += from[k].aa;
        to[k].dd += from[k].dd;
    }
}

/* Zero slices [first, end) go to the neighbouring group with less power; groups have numbers in
 * order. */
static void join_zeros(slice_evaluation *j, size_t first, size_t end, const double *power)
{
    const bool has_left = first > 0, has_right = end < j->x->n;
    const size_t left = has_left ? j->group[first - 1] : 0,
                 right = has_right ? j->group[end] : left;
    const size_t to = has_left && (!has_right || power[left] <= power[right]) ? left : right;

    for (size_t k = first; k < end; k++)
        j->group[k] = to;
}

static void mean_powers(const slice_evaluation *j, const qdq_power_sums *sums, double *power)
{
    size_t count[QDQ_SLICES_MOST] = {0};

    for (size_t g = 0; g < j->n_groups; g++)
        power[g] = 0;
    for (size_t k = 0; k < j->x->n; k++) {
        if (j->is_zero[k])
            continue;
        power[j->group[k]] += sums[k].aa;
        count[j->group[k]]++;
    }
    for (size_t g = 0; g < j->n_groups; g++)
        power[g] /= count[g] > 0 ? (double)count[g] : 1;
}

static void find_groups(slice_evaluation *j, const qdq_power_sums *all)
{
    double power[QDQ_SLICES_MOST], before = 0;

    j->n_groups = 0;
    for (size_t k = 0; k < j->x->n; k++) {
        const size_t i = j->x->first + k;
        const double range = j->s->high[i] - j->s->low[i];

        j->is_zero[k] = !(range > 0);
        if (j->is_zero[k])
            continue;
        if (!(before > 0) || fmax(range, before) >= QDQ_SLICES_FACTOR * fmin(range, before))
            j->n_groups++;
        before = range;
        j->group[k] = j->n_groups - 1;
    }
    mean_powers(j, all, power);
    for (size_t k = 0, end; k < j->x->n; k = end + 1) {
        for (end = k; end < j->x->n && j->is_zero[end];)
            end++;
        if (end > k)
            join_zeros(j, k, end, power);
    }
}

/* Errors, as that of the worst of their group. */
static void even_out(const slice_evaluation *j, qdq_power_sums *sums)
{
    double most[QDQ_SLICES_MOST] = {0};

    for (size_t k = 0; k < j->x->n; k++)
        most[j->group[k]] = fmax(most[j->group[k]], sums[k].dd);
    for (size_t k = 0; k < j->x->n; k++)
        sums[k].dd = most[j->group[k]];
}

/* --- jackknife: how far below an SQNR of few samples that of others may lie ------------------- */

/* Student's t, one-sided 90 %. Beyond the table the first term of the expansion in 1 / df: right to
 * 0.001. */
static double student_90(size_t df)
{
    static const double table[] = {3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415,
                                   1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345,
                                   1.341, 1.337, 1.333, 1.330, 1.328, 1.325};
    const double z = 1.281552;

    return df <= sizeof table / sizeof *table ? table[df - 1]
                                              : z + (z * z * z + z) / (4 * (double)df);
}

static double cut(double x, double all)
{
    return fmax(all - QDQ_JACKKNIFE_MOST_DB, fmin(x, all + QDQ_JACKKNIFE_MOST_DB));
}

/* Of `all`, over the samples; *mean: of what it is without one of them. */
static double jackknife_variance(double all, const double *without, size_t n, double *mean)
{
    double sum = 0;

    *mean = 0;
    for (size_t i = 0; i < n; i++)
        *mean += cut(without[i], all) / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = cut(without[i], all) - *mean;

        sum += d * d;
    }
    return (double)(n - 1) / (double)n * sum;
}

/* What other samples stay above: their own mean varies as much as that of these. */
static double below(double db, double variance, size_t n)
{
    return db - student_90(n - 1) * sqrt(2 * variance);
}

double qdq_jackknife_bound(double all, const double *without, size_t n)
{
    double mean;

    if (n < 2)
        return NAN;
    if (!isfinite(all))
        return all;
    const double variance = jackknife_variance(all, without, n, &mean);
    const double corrected = (double)n * all - (double)(n - 1) * mean;
    return below(fmin(all, corrected), variance, n);
}

/* --- evaluating ------------------------------------------------------------------------------- */

/* What samples may hide (hidden.h), but for those of a block; n_blocks: of all. */
static qdq_power_sums hidden_without(const slice_evaluation *j, size_t block)
{
    qdq_power_sums sums = {0, 0};

    for (size_t i = 0; i < j->n_blocks; i++) {
        const qdq_power_sums *from = &j->s->hidden.sums[j->block[i]];

        sums.aa += i != block ? from->aa : 0;
        sums.dd += i != block ? from->dd : 0;
    }
    return sums;
}

static double ratio_db(double signal, double error)
{
    return error == 0 ? (double)INFINITY : 10 * log10(signal / error);
}

/* Where a share of the samples being like `hidden`, which each slice has an equal part of, is
 * worse, that. */
static void decibels(const slice_evaluation *j, const qdq_power_sums *sums, double share,
                     qdq_power_sums hidden, double *db)
{
    const double part = share / (double)j->x->n;
    double power[QDQ_SLICES_MOST];

    mean_powers(j, sums, power);
    for (size_t k = 0; k < j->x->n; k++) {
        const double signal = fmax(sums[k].aa, power[j->group[k]]), error = sums[k].dd;

        db[k] = fmin(ratio_db(signal, error), ratio_db((1 - share) * signal + part * hidden.aa,
                                                       (1 - share) * error + part * hidden.dd));
    }
}

/* db[block * n + slice]: without that block. Sums of the blocks before it and behind it, for a
 * difference of two sums would lose what one block does not have. behind[] has room for a row more
 * than there are blocks. */
static void leave_out(const slice_evaluation *j, qdq_power_sums *behind, double *db)
{
    const size_t n = j->x->n;
    const double share = qdq_hidden_share(&j->s->hidden);
    qdq_power_sums before[QDQ_SLICES_MOST] = {{0, 0}}, sums[QDQ_SLICES_MOST];

    for (size_t i = j->n_blocks; i-- > 0;) {
        memcpy(behind + i * n, behind + (i + 1) * n, n * sizeof *behind);
        add_block(j, i, behind + i * n);
    }
    for (size_t i = 0; i < j->n_blocks; i++) {
        for (size_t k = 0; k < n; k++) {
            const qdq_power_sums *rest = &behind[(i + 1) * n + k];

            sums[k] = (qdq_power_sums){before[k].aa + rest->aa, before[k].dd + rest->dd};
        }
        decibels(j, sums, share, hidden_without(j, i), db + i * n);
        add_block(j, i, before);
    }
}

/* That of each group of slices: its least SQNR is as uncertain as its slices are in the mean, since
 * the least of many is as often one whose samples happen to differ. */
static double bound_of_groups(const slice_evaluation *j, const double *all, const double *left_out)
{
    const size_t n = j->x->n;
    double variance[QDQ_SLICES_MOST] = {0}, least[QDQ_SLICES_MOST], mean, bound = INFINITY;
    size_t count[QDQ_SLICES_MOST] = {0};

    for (size_t k = 0; k < n; k++) {
        const size_t g = j->group[k];
        double without[QDQ_SLICES_BLOCKS];

        if (!isfinite(all[k]))
            continue;
        for (size_t i = 0; i < j->n_blocks; i++)
            without[i] = left_out[i * n + k];
        variance[g] += jackknife_variance(all[k], without, j->n_blocks, &mean);
        least[g] = count[g]++ == 0 ? all[k] : fmin(least[g], all[k]);
    }
    for (size_t g = 0; g < j->n_groups; g++)
        if (count[g] > 0)
            bound = fmin(bound, below(least[g], variance[g] / (double)count[g], j->n_blocks));
    return bound;
}

/* That of the least SQNR of the slices, and of each group. */
static double bound_of_axis(const slice_evaluation *j, const double *all, const double *left_out)
{
    const size_t n = j->x->n;
    double least = INFINITY, without[QDQ_SLICES_BLOCKS];

    if (j->n_blocks < 2)
        return NAN;
    for (size_t k = 0; k < n; k++)
        least = fmin(least, all[k]);
    for (size_t i = 0; i < j->n_blocks; i++) {
        without[i] = INFINITY;
        for (size_t k = 0; k < n; k++)
            without[i] = fmin(without[i], left_out[i * n + k]);
    }
    return fmin(qdq_jackknife_bound(least, without, j->n_blocks),
                bound_of_groups(j, all, left_out));
}

/* all: what was measured; with_hidden: and what saturation may hide, as in left_out. */
static void conclude_axis(const slice_evaluation *j, const double *all, const double *with_hidden,
                          const double *left_out, qdq_slice_result *out)
{
    out->bound_db = fmin(out->bound_db, bound_of_axis(j, with_hidden, left_out));
    for (size_t k = 0; k < j->x->n; k++) {
        if (!isnan(out->worst_db) && !(all[k] < out->worst_db))
            continue;
        out->worst_db = all[k];
        out->axis = j->x->axis;
        out->index = k;
    }
}

/* SQNR of the slices of an axis, and with what saturation may hide (or NULL); false: zero
 * everywhere. `even`, `without`: qdq_slices_list(). */
static bool begin_axis(slice_evaluation *j, bool even, size_t without, double *db,
                       double *with_hidden)
{
    qdq_power_sums sums[QDQ_SLICES_MOST] = {{0, 0}};

    for (size_t i = 0; i < QDQ_SLICES_BLOCKS; i++)
        if (j->s->block[i] != NULL && i != without)
            j->block[j->n_blocks++] = i;
    for (size_t i = 0; i < j->n_blocks; i++)
        add_block(j, i, sums);
    find_groups(j, sums);
    if (j->n_groups == 0)
        return false;
    if (even)
        even_out(j, sums);
    decibels(j, sums, 0, (qdq_power_sums){0, 0}, db);
    if (with_hidden != NULL)
        decibels(j, sums, qdq_hidden_share(&j->s->hidden), hidden_without(j, j->n_blocks),
                 with_hidden);
    return true;
}

static qdq_status compare_axis(const qdq_slices *s, const qdq_slice_axis *x, qdq_slice_result *out,
                               qdq_error *err)
{
    slice_evaluation j = {.s = s, .x = x};
    double all[QDQ_SLICES_MOST], with_hidden[QDQ_SLICES_MOST];

    if (!begin_axis(&j, false, QDQ_SLICES_BLOCKS, all, with_hidden))
        return QDQ_OK;
    qdq_power_sums *behind = calloc((j.n_blocks + 1) * x->n, sizeof *behind);
    double *left_out = calloc(j.n_blocks * x->n, sizeof *left_out);
    const bool ok = behind != NULL && left_out != NULL;
    if (ok) {
        leave_out(&j, behind, left_out);
        conclude_axis(&j, all, with_hidden, left_out, out);
    }
    free(behind);
    free(left_out);
    return qdq_allocated(ok, err);
}

/* The axis whose entries are slices; NULL: none. */
static const qdq_slice_axis *axis_of(const qdq_slices *s)
{
    const qdq_slice_axis *best = NULL;

    for (int i = 1; i < s->n_axes; i++)
        if (!s->axis[i].is_out && (best == NULL || s->axis[i].n < best->n))
            best = &s->axis[i];
    return best;
}

qdq_status qdq_slices_get(const qdq_slices *s, qdq_slice_result *out, qdq_error *err)
{
    const qdq_slice_axis *best = axis_of(s);

    *out = (qdq_slice_result){.worst_db = NAN, .axis = -1, .bound_db = NAN};
    if (s->n_axes > 0)
        QDQ_TRY(compare_axis(s, &s->axis[0], out, err));
    return best != NULL ? compare_axis(s, best, out, err) : QDQ_OK;
}

void qdq_slices_list(const qdq_slices *s, bool whole, bool even, size_t without,
                     qdq_slice_list *out)
{
    slice_evaluation j = {.s = s, .x = whole ? s->axis : axis_of(s)};

    *out = (qdq_slice_list){.axis = -1};
    if (s->n_axes == 0 || j.x == NULL || !begin_axis(&j, even, without, out->db, NULL))
        return;
    out->axis = j.x->axis;
    out->n = j.x->n;
}
