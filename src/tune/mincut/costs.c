/* costs.c - costs fitted to profiles. First profiles are corrected for what profiling adds; then
 * own times are fitted, then conversions, then what no profile shows. Each step takes means,
 * without a solver: with three to eight profiles, a cost appears in one to four of them. */
#include "tune/mincut/costs.h"

#include <math.h>

#include "base/fail.h"
#include "engine/sample_stats.h"

/* Deviations as a fraction of a kernel's time: of noise, if nothing appeared twice; of a state that
 * never appeared. */
static const double usual_noise = 0.02, blind_doubt = 0.3;
/* The same of a conversion that never appeared. */
static const double guess_doubt = 0.5;
/* Limit in us; known profilers add less to a row. */
static const double most_overhead_us = 10;
/* A time next to a conversion counts less by this factor. */
static const double cut_weight = 20;

typedef struct fitting {
    const qdq_mincut_graph *g;
    const qdq_mincut_seen *seen;
    size_t n_seen;
    qdq_mincut_costs *out;
    /* by profile, by bit or hyperedge: corrected ns; NAN: unknown */
    double **own, **hyperedge;
    /* by profile and bit: conversions that it takes part in */
    uint32_t **cuts;
    /* by state and bit; NAN: never seen */
    double *cost[2];
    /* variances of these, as a multiple of the noise's */
    double *variance[2];
    /* by kind (Q, DQ) and hyperedge: the additional time; NAN: never seen */
    double *conversion[2];
} fitting;

qdq_status qdq_mincut_profile_new(qdq_mincut_profile *p, const qdq_mincut_graph *g,
                                  qdq_arena *arena, qdq_error *err)
{
    *p = (qdq_mincut_profile){
        .own = qdq_arena_array(arena, g->n_bits + 1, sizeof *p->own),
        .hyperedge = qdq_arena_array(arena, g->n_hyperedges + 1, sizeof *p->hyperedge)};
    return p->own != NULL && p->hyperedge != NULL ? QDQ_OK : qdq_nomem(err);
}

/* --- what profiling adds ---------------------------------------------------------------------- */

typedef struct total {
    double us, rows;
} total;

static void add_time(total *t, qdq_mincut_time x)
{
    if (isnan(x.us))
        return;
    t->us += x.us;
    t->rows += x.rows;
}

static total total_of(const qdq_mincut_graph *g, const qdq_mincut_profile *p)
{
    total t = {0, 0};

    for (size_t i = 0; i < g->n_bits; i++)
        add_time(&t, p->own[i]);
    for (size_t i = 0; i < g->n_hyperedges; i++)
        add_time(&t, p->hyperedge[i]);
    add_time(&t, p->remainder);
    return t;
}

static bool is_timed(const qdq_mincut_seen *s)
{
    return s->time_ns > 0 && isfinite(s->time_ns);
}

/* The excess time of a row: all rows together against the model's time. It is bounded: beyond it
 * the cause is another one (several threads, a busy machine), and a factor, which keeps the ratios
 * of rows, is safer. */
static double overhead_of(const qdq_mincut_graph *g, const qdq_mincut_seen *s)
{
    const total t = total_of(g, &s->profile);
    const double most = t.rows > 0 ? fmin(t.us / t.rows / 4, most_overhead_us) : 0;

    return t.rows > 0 ? fmin(fmax((t.us - s->time_ns * 1e-3) / t.rows, -most), most) : 0;
}

static double corrected(qdq_mincut_time t, double overhead)
{
    return t.us > 0 ? fmax(t.us - overhead * t.rows, 0) : t.us;
}

/* Sum of all rows, in us. */
static double sum_corrected(const qdq_mincut_graph *g, const qdq_mincut_profile *p, double overhead)
{
    double sum = 0;

    for (size_t i = 0; i < g->n_bits; i++)
        sum += isnan(p->own[i].us) ? 0 : corrected(p->own[i], overhead);
    for (size_t i = 0; i < g->n_hyperedges; i++)
        sum += isnan(p->hyperedge[i].us) ? 0 : corrected(p->hyperedge[i], overhead);
    return sum + (isnan(p->remainder.us) ? 0 : corrected(p->remainder, overhead));
}

/* The mean of the timed models, which is used for the others. */
static void find_overhead(fitting *f)
{
    double sum = 0;
    size_t n = 0;

    for (size_t k = 0; k < f->n_seen; k++)
        if (is_timed(&f->seen[k])) {
            sum += overhead_of(f->g, &f->seen[k]);
            n++;
        }
    f->out->overhead_us = n > 0 ? sum / (double)n : 0;
}

/* ns of a corrected us: the ratio that is left between the rows and the model's time. */
static double scale_of(const fitting *f, const qdq_mincut_seen *s, double overhead)
{
    const double sum = sum_corrected(f->g, &s->profile, overhead);

    return is_timed(s) && sum > 0 ? s->time_ns / sum : 1e3;
}

static double usual_scale(const fitting *f)
{
    double sum = 0;
    size_t n = 0;

    for (size_t k = 0; k < f->n_seen; k++)
        if (is_timed(&f->seen[k])) {
            sum += scale_of(f, &f->seen[k], overhead_of(f->g, &f->seen[k]));
            n++;
        }
    return n > 0 ? sum / (double)n : 1e3;
}

static void correct_profiles(fitting *f)
{
    find_overhead(f);
    const double usual = usual_scale(f);
    double rest = 0;

    for (size_t k = 0; k < f->n_seen; k++) {
        const qdq_mincut_seen *s = &f->seen[k];
        const double overhead = is_timed(s) ? overhead_of(f->g, s) : f->out->overhead_us;
        const double scale = is_timed(s) ? scale_of(f, s, overhead) : usual;
        for (size_t i = 0; i < f->g->n_bits; i++)
            f->own[k][i] = corrected(s->profile.own[i], overhead) * scale;
        for (size_t t = 0; t < f->g->n_hyperedges; t++)
            f->hyperedge[k][t] = corrected(s->profile.hyperedge[t], overhead) * scale;
        rest +=
            isnan(s->profile.remainder.us) ? 0 : corrected(s->profile.remainder, overhead) * scale;
    }
    f->out->remainder = rest / (double)f->n_seen;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* Whether this end of a tensor takes part in its conversion. Its producer does, and so do consumers
 * in another state than the producer. */
static bool takes_part(const qdq_hyperedge *t, uint32_t bit, const qdq_assign *a)
{
    if (bit == QDQ_CUT_FLOAT || bit == t->from)
        return bit != QDQ_CUT_FLOAT;
    const bool on = t->from != QDQ_CUT_FLOAT && qdq_assign_get(a, t->from);
    return qdq_assign_get(a, bit) != on;
}

static bool is_conversion(qdq_conversion_state s)
{
    return s == QDQ_HYPEREDGE_Q || s == QDQ_HYPEREDGE_DQ;
}

static void count_cuts(fitting *f)
{
    for (size_t k = 0; k < f->n_seen; k++)
        for (size_t t = 0; t < f->g->n_hyperedges; t++) {
            const qdq_hyperedge *hyperedge = &f->g->hyperedge[t];
            const qdq_assign *a = &f->seen[k].assign;
            if (!is_conversion(qdq_hyperedge_state(hyperedge, a)))
                continue;
            if (hyperedge->from != QDQ_CUT_FLOAT)
                f->cuts[k][hyperedge->from]++;
            for (size_t i = 0; i < hyperedge->n_to; i++)
                if (hyperedge->to[i] != hyperedge->from &&
                    takes_part(hyperedge, hyperedge->to[i], a))
                    f->cuts[k][hyperedge->to[i]]++;
        }
}

/* Means over the profiles with this state; those without a conversion next to it have more
 * weight. */
static void average_own(fitting *f)
{
    for (size_t i = 0; i < f->g->n_bits; i++)
        for (int on = 0; on < 2; on++) {
            double sum = 0, weights = 0, squares = 0;
            for (size_t k = 0; k < f->n_seen; k++) {
                if (qdq_assign_get(&f->seen[k].assign, i) != (on == 1) || isnan(f->own[k][i]))
                    continue;
                const double w = 1 / (1 + cut_weight * f->cuts[k][i]);
                sum += w * f->own[k][i];
                weights += w;
                squares += w * w;
            }
            f->cost[on][i] = weights > 0 ? sum / weights : NAN;
            f->variance[on][i] = weights > 0 ? squares / (weights * weights) : NAN;
        }
}

/* Noise, from kernels that appeared twice in one state: the median of their differences, because
 * some differ for another reason. */
static bool find_noise(fitting *f, qdq_arena *arena)
{
    double *share = qdq_arena_array(arena, f->g->n_bits * f->n_seen + 1, sizeof *share);
    size_t n = 0;

    if (share == NULL)
        return false;
    for (size_t i = 0; i < f->g->n_bits; i++)
        for (int on = 0; on < 2; on++) {
            double before = NAN;
            for (size_t k = 0; k < f->n_seen; k++) {
                const double now = f->own[k][i];
                if (qdq_assign_get(&f->seen[k].assign, i) != (on == 1) || isnan(now))
                    continue;
                if (before + now > 0)
                    share[n++] = fabs(now - before) / ((now + before) / 2);
                before = now;
            }
        }
    qdq_stats_sort(share, n);
    f->out->noise = n > 0 ? 1.4826 / sqrt(2) * share[n / 2] : usual_noise;
    return true;
}

static void set_bits(fitting *f, const qdq_assign *allowed)
{
    for (size_t i = 0; i < f->g->n_bits; i++) {
        double off = f->cost[0][i], on = f->cost[1][i];
        const bool blind = isnan(off) || isnan(on);
        off = isnan(off) ? on : off;
        on = isnan(on) ? off : on;
        off = isnan(off) ? 0 : off;
        on = isnan(on) ? 0 : on;
        f->out->energy.off[i] = off;
        f->out->energy.on[i] = allowed == NULL || qdq_assign_get(allowed, i) ? on : INFINITY;
        f->out->doubt[i] =
            blind
                ? blind_doubt * off
                : f->out->noise * sqrt(off * off * f->variance[0][i] + on * on * f->variance[1][i]);
    }
}

/* --- conversions ------------------------------------------------------------------------------ */

/* Means of a tensor's conversions, by state; NAN: never seen. */
static void average_hyperedge(const fitting *f, size_t t, double mean[4])
{
    size_t n[4] = {0};

    for (int s = 0; s < 4; s++)
        mean[s] = 0;
    for (size_t k = 0; k < f->n_seen; k++) {
        const qdq_conversion_state s = qdq_hyperedge_state(&f->g->hyperedge[t], &f->seen[k].assign);
        if (isnan(f->hyperedge[k][t]))
            continue;
        mean[s] += f->hyperedge[k][t];
        n[s]++;
    }
    for (int s = 0; s < 4; s++)
        mean[s] = n[s] > 0 ? mean[s] / (double)n[s] : NAN;
}

/* The additional time of one end in this profile, divided among its conversions: an epilogue that
 * quantizes. Differences within the noise count as 0. */
static double longer(const fitting *f, size_t k, uint32_t bit)
{
    const double own = f->own[k][bit],
                 usual = f->cost[qdq_assign_get(&f->seen[k].assign, bit)][bit];
    const double more = own - usual;

    return isnan(more) || fabs(more) <= 3 * f->out->noise * usual ? 0 : more / f->cuts[k][bit];
}

static double hidden_in(const fitting *f, size_t k, const qdq_hyperedge *t)
{
    double sum = t->from != QDQ_CUT_FLOAT ? longer(f, k, t->from) : 0;

    for (size_t i = 0; i < t->n_to; i++)
        if (t->to[i] != t->from && takes_part(t, t->to[i], &f->seen[k].assign))
            sum += longer(f, k, t->to[i]);
    return sum;
}

static double mean_hidden(const fitting *f, size_t t, qdq_conversion_state state)
{
    double sum = 0;
    size_t n = 0;

    for (size_t k = 0; k < f->n_seen; k++)
        if (qdq_hyperedge_state(&f->g->hyperedge[t], &f->seen[k].assign) == state) {
            sum += hidden_in(f, k, &f->g->hyperedge[t]);
            n++;
        }
    return n > 0 ? sum / (double)n : 0;
}

/* A conversion with a negative cost (a copy after it runs on quantized values) costs 0: the cut
 * needs costs of at least 0. */
static double added(double mean, double without, double hidden)
{
    return isnan(mean) ? NAN : fmax(mean - without + hidden, 0);
}

/* Copies of the tensor run on floats or on quantized values; only the additional time belongs to
 * the conversion. */
static void set_hyperedge(fitting *f, size_t t)
{
    const uint32_t from = f->g->hyperedge[t].from;
    double mean[4];

    average_hyperedge(f, t, mean);
    const double in_float = !isnan(mean[QDQ_HYPEREDGE_FLOAT])       ? mean[QDQ_HYPEREDGE_FLOAT]
                            : !isnan(mean[QDQ_HYPEREDGE_QUANTIZED]) ? mean[QDQ_HYPEREDGE_QUANTIZED]
                                                                    : 0;
    const double in_codes =
        isnan(mean[QDQ_HYPEREDGE_QUANTIZED]) ? in_float : mean[QDQ_HYPEREDGE_QUANTIZED];
    f->conversion[0][t] =
        added(mean[QDQ_HYPEREDGE_Q], in_float, mean_hidden(f, t, QDQ_HYPEREDGE_Q));
    f->conversion[1][t] =
        added(mean[QDQ_HYPEREDGE_DQ], in_codes, mean_hidden(f, t, QDQ_HYPEREDGE_DQ));
    if (from == QDQ_CUT_FLOAT) {
        f->out->remainder += in_float;
    } else {
        f->out->energy.off[from] += in_float;
        f->out->energy.on[from] += in_codes;
    }
}

/* Time of a conversion in ns: `fixed`, plus a time for each byte. */
typedef struct line {
    double fixed, per_byte;
    bool known;
} line;

/* Least squares. If they give less for larger tensors, the better one of a constant and a line
 * through 0. */
static line fit_line(const double *y, const qdq_hyperedge *hyperedge, size_t n)
{
    double count = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    line l = {0};

    for (size_t t = 0; t < n; t++) {
        if (isnan(y[t]))
            continue;
        const double x = hyperedge[t].bytes;
        count++;
        sx += x;
        sy += y[t];
        sxx += x * x;
        sxy += x * y[t];
    }
    if (count == 0)
        return l;
    const double spread = sxx - sx * sx / count;
    l.known = true;
    l.per_byte = spread > 1e-9 * sxx ? (sxy - sx * sy / count) / spread : 0;
    l.fixed = (sy - l.per_byte * sx) / count;
    if (l.per_byte < 0)
        l = (line){sy / count, 0, true};
    else if (l.fixed < 0)
        l = (line){0, sxy / sxx, true};
    return l;
}

static void set_conversions(fitting *f)
{
    const qdq_mincut_graph *g = f->g;
    double *const cost[] = {f->out->energy.q, f->out->energy.dq};
    double *const doubt[] = {f->out->q_doubt, f->out->dq_doubt};
    line guess[2];

    for (int kind = 0; kind < 2; kind++)
        guess[kind] = fit_line(f->conversion[kind], g->hyperedge, g->n_hyperedges);
    for (int kind = 0; kind < 2; kind++) {
        const line l = guess[kind].known ? guess[kind] : guess[1 - kind];
        for (size_t t = 0; t < g->n_hyperedges; t++) {
            const bool is_seen = !isnan(f->conversion[kind][t]);
            cost[kind][t] =
                is_seen ? f->conversion[kind][t] : l.fixed + l.per_byte * g->hyperedge[t].bytes;
            doubt[kind][t] = cost[kind][t] * (is_seen ? f->out->noise : guess_doubt);
        }
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool make_rows(fitting *f, qdq_arena *scratch)
{
    const size_t bits = f->g->n_bits + 1, hyperedges = f->g->n_hyperedges + 1;
    bool ok;

    f->own = qdq_arena_array(scratch, f->n_seen, sizeof *f->own);
    f->hyperedge = qdq_arena_array(scratch, f->n_seen, sizeof *f->hyperedge);
    f->cuts = qdq_arena_array(scratch, f->n_seen, sizeof *f->cuts);
    ok = f->own != NULL && f->hyperedge != NULL && f->cuts != NULL;
    for (size_t k = 0; k < f->n_seen && ok; k++) {
        f->own[k] = qdq_arena_array(scratch, bits, sizeof **f->own);
        f->hyperedge[k] = qdq_arena_array(scratch, hyperedges, sizeof **f->hyperedge);
        f->cuts[k] = qdq_arena_array(scratch, bits, sizeof **f->cuts);
        ok = f->own[k] != NULL && f->hyperedge[k] != NULL && f->cuts[k] != NULL;
    }
    for (int i = 0; i < 2 && ok; i++) {
        f->cost[i] = qdq_arena_array(scratch, bits, sizeof *f->cost[i]);
        f->variance[i] = qdq_arena_array(scratch, bits, sizeof *f->variance[i]);
        f->conversion[i] = qdq_arena_array(scratch, hyperedges, sizeof *f->conversion[i]);
        ok = f->cost[i] != NULL && f->variance[i] != NULL && f->conversion[i] != NULL;
    }
    return ok;
}

static qdq_status fit_costs(fitting *f, const qdq_assign *allowed, qdq_arena *scratch,
                            qdq_error *err)
{
    QDQ_NEED(make_rows(f, scratch), err);
    correct_profiles(f);
    count_cuts(f);
    average_own(f);
    QDQ_NEED(find_noise(f, scratch), err);
    set_bits(f, allowed);
    for (size_t t = 0; t < f->g->n_hyperedges; t++)
        set_hyperedge(f, t);
    set_conversions(f);
    return QDQ_OK;
}

qdq_status qdq_mincut_costs_fit(qdq_mincut_costs *c, const qdq_mincut_graph *g,
                                const qdq_mincut_seen *seen, size_t n_seen,
                                const qdq_assign *allowed, qdq_arena *arena, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    fitting f = {.g = g, .seen = seen, .n_seen = n_seen, .out = c};

    *c = (qdq_mincut_costs){0};
    QDQ_TRY(qdq_energy_new(&c->energy, g, arena, err));
    c->doubt = qdq_arena_array(arena, g->n_bits + 1, sizeof *c->doubt);
    c->q_doubt = qdq_arena_array(arena, g->n_hyperedges + 1, sizeof *c->q_doubt);
    c->dq_doubt = qdq_arena_array(arena, g->n_hyperedges + 1, sizeof *c->dq_doubt);
    QDQ_NEED(c->doubt != NULL && c->q_doubt != NULL && c->dq_doubt != NULL, err);
    qdq_status st = fit_costs(&f, allowed, &scratch, err);
    qdq_arena_free(&scratch);
    return st;
}

static double square(double x)
{
    return x * x;
}

double qdq_mincut_doubt_between(const qdq_mincut_costs *c, const qdq_assign *a, const qdq_assign *b)
{
    const qdq_mincut_graph *g = c->energy.graph;
    double sum = 0;

    for (size_t i = 0; i < g->n_bits; i++)
        if (qdq_assign_get(a, i) != qdq_assign_get(b, i))
            sum += square(c->doubt[i]);
    for (size_t t = 0; t < g->n_hyperedges; t++) {
        const qdq_conversion_state x = qdq_hyperedge_state(&g->hyperedge[t], a),
                                   y = qdq_hyperedge_state(&g->hyperedge[t], b);
        if (x != y && (x == QDQ_HYPEREDGE_Q || y == QDQ_HYPEREDGE_Q))
            sum += square(c->q_doubt[t]);
        if (x != y && (x == QDQ_HYPEREDGE_DQ || y == QDQ_HYPEREDGE_DQ))
            sum += square(c->dq_doubt[t]);
    }
    return sum;
}
