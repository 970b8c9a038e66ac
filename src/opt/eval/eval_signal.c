/* eval_signal.c - windows, MelWeightMatrix, DFT and STFT, as ONNX's specification of opset 20
 * defines them. Transforms are sums of products in double, rounded once. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_WORK = 1 << 26 }; /* products in all results */

static const double pi = 3.14159265358979323846;

/* Input i as a single integer. */
static bool read_int(qdq_eval *c, uint32_t i, int64_t least, int64_t *out)
{
    const int64_t *list;
    int64_t count;

    if (!qdq_eval_ints_or_attr(c, i, NULL, 0, &list, &count))
        return false;
    if (count != 1 || list[0] < least || list[0] > INT32_MAX)
        return QDQ_REFUSE(c, "input %u is not a single number from %" PRId64 " on", (unsigned)i,
                          least);
    *out = list[0];
    return true;
}

static bool read_result_type(qdq_eval *c, qdq_elem *out)
{
    int64_t type = qdq_eval_int(c, "output_datatype", QDQ_FLOAT);

    *out = (qdq_elem)type;
    return type == QDQ_FLOAT || type == QDQ_DOUBLE || type == QDQ_FLOAT16 || type == QDQ_BFLOAT16 ||
           QDQ_REFUSE(c, "a result of a type that is not computed here");
}

/* --- windows ---------------------------------------------------------------------------------- */

/* a - b cos(2 pi k / n) + d cos(4 pi k / n) */
bool qdq_eval_window(qdq_eval *c)
{
    static const struct {
        qdq_op op;
        double a, b, d;
    } shapes[] = {{QDQ_OP_HANNWINDOW, 0.5, 0.5, 0},
                  {QDQ_OP_HAMMINGWINDOW, 25.0 / 46, 21.0 / 46, 0},
                  {QDQ_OP_BLACKMANWINDOW, 0.42, 0.5, 0.08}};
    bool is_periodic = qdq_eval_flag(c, "periodic", true);
    int64_t size;
    qdq_elem e;
    int s = 0;

    while (shapes[s].op != c->node->op)
        s++;
    if (!read_int(c, 0, 0, &size) || !read_result_type(c, &e))
        return false;
    if (size == 1 && !is_periodic)
        return QDQ_REFUSE(c, "a window of one element, whose ends are the same");
    void *out = qdq_eval_output(c, 0, e, 1, &size);
    for (int64_t k = 0; out != NULL && k < size; k++) {
        double angle = 2 * pi * (double)k / (double)(is_periodic ? size : size - 1);

        qdq_elem_put_float(e, out, k,
                           shapes[s].a - shapes[s].b * cos(angle) + shapes[s].d * cos(2 * angle));
    }
    return out != NULL;
}

/* --- MelWeightMatrix -------------------------------------------------------------------------- */

typedef struct mel {
    int64_t bins, length, rate;
    /* in mel */
    double low, high;
} mel;

/* The row of edge i; -1: float and double come to different ones. */
static int64_t edge(const mel *m, int64_t i)
{
    double step = (m->high - m->low) / (double)(m->bins + 2), x = (double)i * step + m->low;
    const int64_t half = m->length / 2;
    double row = (double)(m->length + 1) * (700 * (pow(10, x / 2595) - 1)) / (double)m->rate;

    if (!(row >= 0 && row <= (double)half) || floor(row * (1 - 1e-6)) != floor(row) ||
        floor(row * (1 + 1e-6)) != floor(row))
        return row == 0 ? 0 : -1;
    return (int64_t)row;
}

static bool read_mel(qdq_eval *c, mel *m)
{
    double hertz[2];

    for (uint32_t i = 3; i < 5; i++) {
        const qdq_const *x = c->in[i];

        if (!qdq_eval_is_float(x->elem) || x->count != 1)
            return QDQ_REFUSE(c, "input %u is not a single float", (unsigned)i);
        hertz[i - 3] = qdq_eval_number(x, 0);
    }
    m->low = 2595 * log10(1 + hertz[0] / 700);
    m->high = 2595 * log10(1 + hertz[1] / 700);
    return read_int(c, 0, 1, &m->bins) && read_int(c, 1, 1, &m->length) &&
           read_int(c, 2, 1, &m->rate);
}

/* Triangles: from row `left` up to `centre`, and down to `right`. */
bool qdq_eval_mel(qdq_eval *c)
{
    int64_t dim[2];
    qdq_elem e;
    mel m;

    if (!read_mel(c, &m) || !read_result_type(c, &e))
        return false;
    dim[0] = m.length / 2 + 1;
    dim[1] = m.bins;
    void *out = qdq_eval_output(c, 0, e, 2, dim);
    for (int64_t i = 0; out != NULL && i < m.bins; i++) {
        int64_t left = edge(&m, i), centre = edge(&m, i + 1), right = edge(&m, i + 2);

        if (left < 0 || centre < left || right < centre)
            return QDQ_REFUSE(c, "edges beyond the spectrum, or between two rows");
        for (int64_t k = left; k <= centre; k++)
            qdq_elem_put_float(e, out, k * m.bins + i,
                               centre == left ? 1 : (double)(k - left) / (double)(centre - left));
        for (int64_t k = centre; k < right; k++)
            qdq_elem_put_float(e, out, k * m.bins + i,
                               (double)(right - k) / (double)(right - centre));
    }
    return out != NULL;
}

/* --- DFT and STFT ----------------------------------------------------------------------------- */

typedef struct dft {
    /* the length; elements of a line that are taken; results */
    int64_t n, taken, results;
    /* half: the spectrum has only its first half, and results are real */
    bool inverse, half;
    /* of 2 pi k / n, and the sine behind them */
    const double *cosine;
    /* 2 for each taken: what is transformed */
    double *line;
} dft;

static bool begin_dft(qdq_eval *c, dft *d, int64_t lines)
{
    int64_t work = 0;
    double *table;

    if (__builtin_mul_overflow(d->taken, d->results, &work) ||
        __builtin_mul_overflow(work, lines, &work) || work > MAX_WORK || d->n > MAX_WORK / 8)
        return QDQ_REFUSE(c, "more than %d products", MAX_WORK);
    d->cosine = table = qdq_eval_scratch(c, 2 * d->n, sizeof *table);
    d->line = qdq_eval_scratch(c, 2 * d->taken, sizeof *d->line);
    if (table == NULL || d->line == NULL)
        return false;
    for (int64_t k = 0; k < d->n; k++) {
        static const int quarter[] = {1, 0, -1, 0, 1};
        double angle = 2 * pi * (double)k / (double)d->n;
        bool is_quarter = 4 * k % d->n == 0; /* pi is rounded, and its sine is not 0 */

        const int *q = &quarter[is_quarter ? 4 * k / d->n : 0];
        table[k] = is_quarter ? q[0] : cos(angle);
        table[d->n + k] = is_quarter ? q[1] : -sin(angle);
        table[d->n + k] *= d->inverse ? -1 : 1;
    }
    return true;
}

/* Result k of the line. */
static void transform(const dft *d, int64_t k, double *real, double *imaginary)
{
    *real = *imaginary = 0;
    for (int64_t i = 0; i < d->taken; i++) {
        int64_t at = i * k % d->n;
        double a = d->line[2 * i], b = d->line[2 * i + 1], x = d->cosine[at],
               y = d->cosine[d->n + at];
        bool is_twice = d->half && i > 0 && 2 * i != d->n; /* its mirror image is not there */

        *real += (is_twice ? 2 : 1) * (a * x - b * y);
        *imaginary += a * y + b * x;
    }
    if (d->inverse) {
        *real /= (double)d->n;
        *imaginary /= (double)d->n;
    }
}

static bool check_signal(qdq_eval *c)
{
    const qdq_const *x = c->in[0];

    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    if (x->rank < 2 || x->count == 0 || x->dim[x->rank - 1] > 2)
        return QDQ_REFUSE(c, "no array of real or complex numbers");
    return true;
}

static double part_of(const qdq_const *x, int64_t element, bool imaginary)
{
    bool is_complex = x->dim[x->rank - 1] == 2;

    return imaginary && !is_complex
               ? 0
               : qdq_eval_number(x, element * (is_complex ? 2 : 1) + imaginary);
}

static bool read_dft(qdq_eval *c, dft *d, int *axis)
{
    const qdq_const *x = c->in[0];
    int64_t at = c->opset < 20 ? qdq_eval_int(c, "axis", 1) : -2;
    bool onesided = qdq_eval_flag(c, "onesided", false), is_complex = x->dim[x->rank - 1] == 2;
    const int64_t *list = NULL;
    int64_t count = 0;

    *d = (dft){.inverse = qdq_eval_flag(c, "inverse", false)};
    d->half = d->inverse && onesided;
    if (c->opset >= 20 && !qdq_eval_ints_or_attr(c, 2, NULL, 0, &list, &count))
        return false;
    if (list != NULL && count != 1)
        return QDQ_REFUSE(c, "input 2 is not a single axis");
    if (!qdq_eval_axis(c, list != NULL ? list[0] : at, x->rank, axis))
        return false;
    if (*axis == x->rank - 1 || (onesided && d->inverse != is_complex))
        return QDQ_REFUSE(c, "an axis of parts, or one side of what has two");
    d->n = d->half ? 2 * (x->dim[*axis] - 1) : x->dim[*axis];
    if (qdq_eval_in(c, 1) != NULL && !read_int(c, 1, 1, &d->n))
        return false;
    if (d->n < 1)
        return QDQ_REFUSE(c, "a length of 0");
    d->results = onesided && !d->inverse ? d->n / 2 + 1 : d->n;
    d->taken = d->half ? d->n / 2 + 1 : d->n;
    d->taken = d->taken < x->dim[*axis] ? d->taken : x->dim[*axis];
    return true;
}

bool qdq_eval_dft(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[QDQ_EVAL_RANK];
    int axis;
    dft d;

    if (!check_signal(c) || !read_dft(c, &d, &axis))
        return false;
    for (int i = 0; i < x->rank; i++)
        dim[i] = i == axis ? d.results : i == x->rank - 1 ? 2 - d.half : x->dim[i];
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, dim);
    int64_t inner = qdq_eval_product(x->dim, axis + 1, x->rank - 1);
    int64_t lines = qdq_eval_product(x->dim, 0, axis) * inner;
    if (out == NULL || !begin_dft(c, &d, lines))
        return false;
    for (int64_t l = 0; l < lines; l++) {
        int64_t from = qdq_eval_line(l, x->dim[axis], inner),
                to = qdq_eval_line(l, d.results, inner);

        for (int64_t i = 0; i < 2 * d.taken; i++)
            d.line[i] = part_of(x, from + i / 2 * inner, i % 2 != 0);
        for (int64_t k = 0; k < d.results; k++) {
            double real, imaginary;

            transform(&d, k, &real, &imaginary);
            qdq_eval_put_number(x->elem, out, (to + k * inner) * (2 - d.half), real);
            if (!d.half)
                qdq_eval_put_number(x->elem, out, (to + k * inner) * 2 + 1, imaginary);
        }
    }
    return true;
}

static bool read_frames(qdq_eval *c, dft *d, int64_t *step)
{
    const qdq_const *x = c->in[0], *window = qdq_eval_in(c, 2);
    bool onesided = qdq_eval_flag(c, "onesided", true);

    *d = (dft){.n = window != NULL ? window->count : x->dim[1]};
    if (x->rank != 3)
        return QDQ_REFUSE(c, "a signal of rank %d, expected 3", x->rank);
    if (window != NULL && (window->rank != 1 || window->elem != x->elem))
        return QDQ_REFUSE(c, "a window of another type or rank than 1");
    if (!read_int(c, 1, 1, step) || (qdq_eval_in(c, 3) != NULL && !read_int(c, 3, 1, &d->n)))
        return false;
    if ((window != NULL && window->count != d->n) || d->n < 1 || d->n > x->dim[1])
        return QDQ_REFUSE(c, "frames of %" PRId64 " that do not fit window and signal", d->n);
    if (onesided && x->dim[2] == 2)
        return QDQ_REFUSE(c, "one side of what has two");
    d->taken = d->n;
    d->results = onesided ? d->n / 2 + 1 : d->n;
    return true;
}

bool qdq_eval_stft(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *window = qdq_eval_in(c, 2);
    int64_t step;
    dft d;

    if (!check_signal(c) || !read_frames(c, &d, &step))
        return false;
    int64_t frames = (x->dim[1] - d.n) / step + 1, dim[] = {x->dim[0], frames, d.results, 2};
    void *out = qdq_eval_output(c, 0, x->elem, 4, dim);
    if (out == NULL || !begin_dft(c, &d, x->dim[0] * frames))
        return false;
    for (int64_t f = 0; f < x->dim[0] * frames; f++) {
        int64_t from = f / frames * x->dim[1] + f % frames * step;

        for (int64_t i = 0; i < 2 * d.n; i++)
            d.line[i] = part_of(x, from + i / 2, i % 2 != 0) *
                        (window != NULL ? qdq_eval_number(window, i / 2) : 1);
        for (int64_t k = 0; k < d.results; k++) {
            double real, imaginary;

            transform(&d, k, &real, &imaginary);
            qdq_eval_put_number(x->elem, out, 2 * (f * d.results + k), real);
            qdq_eval_put_number(x->elem, out, 2 * (f * d.results + k) + 1, imaginary);
        }
    }
    return true;
}
