/* shape_nn.c - shapes of convolutions, pools, normalizations and rearranged images. */
#include "ir/shape_infer.h"

#include <inttypes.h>

/* --- windows that slide over the spatial axes ------------------------------------------------- */

enum auto_pad { PAD_GIVEN, PAD_SAME, PAD_VALID };

/* Bounds that no sane model reaches keep the arithmetic below far from overflow. */
#define WINDOW_MAX ((int64_t)1 << 31)
#define SPACE_MAX  ((int64_t)1 << 60)

typedef struct window {
    /* spatial axes */
    int n;
    enum auto_pad pad;
    qdq_dim kernel[QDQ_INFER_RANK];
    int64_t stride[QDQ_INFER_RANK], dilation[QDQ_INFER_RANK];
    /* pads */
    int64_t begin[QDQ_INFER_RANK], end[QDQ_INFER_RANK];
} window;

/* Reads n integers in [low, WINDOW_MAX]; `fallback` for all where the attribute is not there. */
static qdq_status window_ints(qdq_infer *c, const char *name, int n, int64_t low, int64_t fallback,
                              int64_t *out)
{
    const int64_t *ints;
    size_t count;

    if (!qdq_infer_ints(c, name, &ints, &count)) {
        for (int i = 0; i < n; i++)
            out[i] = fallback;
        return QDQ_OK;
    }
    if (count != (size_t)n)
        return qdq_fail(c->err, QDQ_E_FORMAT, "attribute '%s' has %zu numbers, want %d", name,
                        count, n);
    for (int i = 0; i < n; i++) {
        if (ints[i] < low || ints[i] > WINDOW_MAX)
            return qdq_fail(c->err, QDQ_E_FORMAT,
                            "attribute '%s' has %" PRId64 ", want %" PRId64 " or more", name,
                            ints[i], low);
        out[i] = ints[i];
    }
    return QDQ_OK;
}

/* `kernel` holds what the weight says of the kernel; the attribute, if there, says it better. */
static qdq_status window_read(qdq_infer *c, int n, window *w)
{
    int64_t pads[2 * QDQ_INFER_RANK], kernel[QDQ_INFER_RANK];
    const int64_t *ints;
    size_t count;

    w->n = n;
    if (qdq_infer_ints(c, "kernel_shape", &ints, &count)) {
        QDQ_TRY(window_ints(c, "kernel_shape", n, 1, 1, kernel));
        for (int i = 0; i < n; i++)
            if (!qdq_dim_merge(qdq_dim_known(kernel[i]), w->kernel[i], &w->kernel[i]))
                return qdq_infer_mismatch(c, "attribute 'kernel_shape' has",
                                          qdq_dim_known(kernel[i]), w->kernel[i]);
    }
    QDQ_TRY(window_ints(c, "strides", n, 1, 1, w->stride));
    QDQ_TRY(window_ints(c, "dilations", n, 1, 1, w->dilation));
    QDQ_TRY(window_ints(c, "pads", 2 * n, 0, 0, pads));
    w->pad = PAD_GIVEN;
    if (qdq_infer_string_is(c, "auto_pad", "SAME_UPPER", NULL) ||
        qdq_infer_string_is(c, "auto_pad", "SAME_LOWER", NULL))
        w->pad = PAD_SAME;
    else if (qdq_infer_string_is(c, "auto_pad", "VALID", NULL))
        w->pad = PAD_VALID;
    for (int i = 0; i < n; i++) {
        w->begin[i] = w->pad == PAD_GIVEN ? pads[i] : 0;
        w->end[i] = w->pad == PAD_GIVEN ? pads[i + n] : 0;
    }
    return QDQ_OK;
}

/* What the window covers along axis i, holes included; -1: unknown. */
static int64_t window_extent(const window *w, int i)
{
    if (w->kernel[i].value < 1 || w->kernel[i].value > WINDOW_MAX)
        return -1;
    return w->dilation[i] * (w->kernel[i].value - 1) + 1 > SPACE_MAX
               ? -1
               : w->dilation[i] * (w->kernel[i].value - 1) + 1;
}

/* The number of window positions along axis i of an input that is padded as given; -1: not one. */
static int64_t window_count(const window *w, int i, int64_t in)
{
    int64_t room = in + w->begin[i] + w->end[i] - window_extent(w, i);

    return room < 0 ? -1 : room / w->stride[i] + 1;
}

/* The same where dims and kernel may be unknown. */
static qdq_dim window_slide(const window *w, int i, qdq_dim in)
{
    int64_t extent = window_extent(w, i), n;

    if (w->pad == PAD_SAME) {
        if (in.value >= 0)
            return qdq_dim_known(in.value / w->stride[i] + (in.value % w->stride[i] != 0));
        return w->stride[i] == 1 ? in : qdq_dim_unknown();
    }
    if (extent > 0 && in.value >= 0 && in.value <= SPACE_MAX) {
        n = window_count(w, i, in.value);
        return n > 0 ? qdq_dim_known(n) : qdq_dim_unknown();
    }
    if (extent > 0 && in.value < 0 && w->stride[i] == 1 && w->begin[i] + w->end[i] == extent - 1)
        return in;
    return qdq_dim_unknown();
}

/* --- Conv and ConvTranspose ------------------------------------------------------------------- */

/* Reads X (input ix) and W (input iw). Either may be unknown as long as the other gives the rank;
 * false in *known: neither does. */
static qdq_status conv_inputs(qdq_infer *c, uint32_t ix, uint32_t iw, qdq_shape *x, qdq_shape *w,
                              bool *known)
{
    bool has_x = qdq_infer_shape_of(c, ix, x), has_w = qdq_infer_shape_of(c, iw, w);

    *known = has_x || has_w;
    if (!*known)
        return QDQ_OK;
    if (!has_x)
        qdq_shape_fill(x, w->rank);
    if (!has_w)
        qdq_shape_fill(w, x->rank);
    if (x->rank != w->rank || x->rank < 2)
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "input of rank %d and weight of rank %d, want the same, 3 or more", x->rank,
                        w->rank);
    return QDQ_OK;
}

static qdq_status conv_groups(qdq_infer *c, int64_t *groups)
{
    *groups = qdq_infer_int(c, "group", 1);
    if (*groups < 1 || *groups > WINDOW_MAX)
        return qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'group' is %" PRId64 ", want 1 or more",
                        *groups);
    return QDQ_OK;
}

static qdq_status convolve(qdq_infer *c, uint32_t ix, uint32_t iw, qdq_elem elem)
{
    qdq_shape x, weight, out;
    qdq_dim channels;
    window w = {0};
    int64_t groups;
    bool known;

    QDQ_TRY(conv_inputs(c, ix, iw, &x, &weight, &known));
    if (!known)
        return qdq_infer_out(c, 0, elem, NULL);
    for (int i = 2; i < weight.rank; i++)
        w.kernel[i - 2] = weight.dim[i];
    QDQ_TRY(window_read(c, x.rank - 2, &w));
    QDQ_TRY(conv_groups(c, &groups));
    channels = qdq_dim_mul(c->env, weight.dim[1], qdq_dim_known(groups));
    if (!qdq_dim_merge(x.dim[1], channels, &channels))
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "the input has %" PRId64 " channels, the weight wants %" PRId64
                        " in %" PRId64 " groups",
                        x.dim[1].value, weight.dim[1].value, groups);
    qdq_shape_fill(&out, x.rank);
    out.dim[0] = x.dim[0];
    out.dim[1] = weight.dim[0];
    for (int i = 0; i < w.n; i++) {
        qdq_dim in = x.dim[i + 2];

        if (w.pad != PAD_SAME && window_extent(&w, i) > 0 && in.value >= 0 &&
            in.value <= SPACE_MAX && window_count(&w, i, in.value) < 0)
            return qdq_fail(c->err, QDQ_E_FORMAT,
                            "spatial axis %d: the kernel covers %" PRId64
                            ", the padded input has %" PRId64,
                            i, window_extent(&w, i), in.value + w.begin[i] + w.end[i]);
        out.dim[i + 2] = window_slide(&w, i, in);
    }
    return qdq_infer_out(c, 0, elem, &out);
}

qdq_status qdq_infer_conv(qdq_infer *c)
{
    qdq_elem elem = qdq_infer_elem(c, 0);

    if (c->node->op == QDQ_OP_CONVINTEGER)
        elem = QDQ_INT32;
    else if (elem == QDQ_UNDEFINED)
        elem = qdq_infer_elem(c, 1);
    return convolve(c, 0, 1, elem);
}

qdq_status qdq_infer_qlinearconv(qdq_infer *c)
{
    return convolve(c, 0, 3, qdq_infer_elem(c, 7));
}

/* With SAME_UPPER or SAME_LOWER the output is `stride` times the input, which takes a kernel that
 * reaches the next position: engines differ where it does not. */
static qdq_status transposed_dim(qdq_infer *c, const window *w, int i, qdq_dim in, int64_t extra,
                                 qdq_dim *out)
{
    int64_t extent = window_extent(w, i), n;

    *out = qdq_dim_unknown();
    if (in.value < 0 || in.value > SPACE_MAX / WINDOW_MAX || extent < 0) {
        if (w->stride[i] == 1 &&
            (w->pad == PAD_SAME || (extent > 0 && extent + extra == w->begin[i] + w->end[i] + 1)))
            *out = in;
        return QDQ_OK;
    }
    if (w->pad == PAD_SAME && extent + extra < w->stride[i])
        return QDQ_OK;
    if (w->pad == PAD_SAME)
        n = in.value * w->stride[i];
    else
        n = w->stride[i] * (in.value - 1) + extra + extent - w->begin[i] - w->end[i];
    if (n < 0)
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "spatial axis %d: pads leave %" PRId64 " of the output", i, n);
    *out = qdq_dim_known(n);
    return QDQ_OK;
}

qdq_status qdq_infer_convtranspose(qdq_infer *c)
{
    qdq_elem elem = qdq_infer_elem(c, 0);
    int64_t extra[QDQ_INFER_RANK], groups;
    const int64_t *given;
    qdq_shape x, weight, out;
    window w = {0};
    qdq_dim ignored;
    size_t n_given;
    bool known;

    QDQ_TRY(conv_inputs(c, 0, 1, &x, &weight, &known));
    if (!known)
        return qdq_infer_out(c, 0, elem, NULL);
    for (int i = 2; i < weight.rank; i++)
        w.kernel[i - 2] = weight.dim[i];
    QDQ_TRY(window_read(c, x.rank - 2, &w));
    QDQ_TRY(window_ints(c, "output_padding", w.n, 0, 0, extra));
    QDQ_TRY(conv_groups(c, &groups));
    if (!qdq_dim_merge(x.dim[1], weight.dim[0], &ignored))
        return qdq_infer_mismatch(c, "channels of the input:", x.dim[1], weight.dim[0]);
    qdq_shape_fill(&out, x.rank);
    out.dim[0] = x.dim[0];
    out.dim[1] = qdq_dim_mul(c->env, weight.dim[1], qdq_dim_known(groups));
    if (qdq_infer_ints(c, "output_shape", &given, &n_given)) {
        /* Some exporters write batch and channels, too. */
        if (n_given != (size_t)w.n && n_given != (size_t)x.rank)
            return qdq_fail(c->err, QDQ_E_FORMAT,
                            "attribute 'output_shape' has %zu numbers, want %d", n_given, w.n);
        for (int i = 0; i < w.n; i++)
            if (given[n_given - (size_t)w.n + (size_t)i] >= 0)
                out.dim[i + 2] = qdq_dim_known(given[n_given - (size_t)w.n + (size_t)i]);
    } else {
        for (int i = 0; i < w.n; i++)
            QDQ_TRY(transposed_dim(c, &w, i, x.dim[i + 2], extra[i], &out.dim[i + 2]));
    }
    return qdq_infer_out(c, 0, elem, &out);
}

/* --- pools ------------------------------------------------------------------------------------ */

/* Rounding up, the last window may reach beyond the padded input but must start inside of input and
 * front padding. Engines differ, and nothing is said, on dilated windows with SAME_UPPER or
 * SAME_LOWER, and on windows larger than the input (window_slide finds less than one position). */
static qdq_dim pool_dim(const window *w, int i, qdq_dim in, bool ceil_mode)
{
    qdq_dim out = window_slide(w, i, in);

    if (w->pad == PAD_SAME)
        return w->dilation[i] == 1 ? out : qdq_dim_unknown();
    if (ceil_mode && in.value >= 0 && out.value > 0) {
        if ((in.value + w->begin[i] + w->end[i] - window_extent(w, i)) % w->stride[i] != 0)
            out.value++;
        if ((out.value - 1) * w->stride[i] >= in.value + w->begin[i])
            out.value--;
    }
    return out;
}

qdq_status qdq_infer_pool(qdq_infer *c)
{
    bool ceil_mode = qdq_infer_int(c, "ceil_mode", 0) != 0;
    const int64_t *kernel;
    qdq_shape x, out;
    window w = {0};
    size_t n;

    if (!qdq_infer_ints(c, "kernel_shape", &kernel, &n))
        return qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'kernel_shape' is missing");
    if (!qdq_infer_shape_of(c, 0, &x))
        qdq_shape_fill(&x, n < QDQ_INFER_RANK - 2 ? (int)n + 2 : -1);
    if (x.rank >= 0 && x.rank < 3)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input 0 has rank %d, want 3 or more", x.rank);
    out.rank = -1;
    if (x.rank >= 0) {
        for (int i = 2; i < x.rank; i++)
            w.kernel[i - 2] = qdq_dim_unknown();
        QDQ_TRY(window_read(c, x.rank - 2, &w));
        qdq_shape_fill(&out, x.rank);
        out.dim[0] = x.dim[0];
        out.dim[1] = x.dim[1];
        for (int i = 0; i < w.n; i++)
            out.dim[i + 2] = pool_dim(&w, i, x.dim[i + 2], ceil_mode);
    }
    QDQ_TRY(qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out));
    return qdq_infer_out(c, 1, QDQ_INT64, &out);
}

qdq_status qdq_infer_globalpool(qdq_infer *c)
{
    qdq_shape s;

    if (qdq_infer_shape_of(c, 0, &s)) {
        if (s.rank < 2)
            return qdq_fail(c->err, QDQ_E_FORMAT, "input 0 has rank %d, want 2 or more", s.rank);
        for (int i = 2; i < s.rank; i++)
            s.dim[i] = qdq_dim_known(1);
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
}

/* --- normalizations --------------------------------------------------------------------------- */

qdq_status qdq_infer_batchnorm(qdq_infer *c)
{
    qdq_elem elem = qdq_infer_elem(c, 3);
    qdq_shape x, channel;

    channel.rank = 1;
    channel.dim[0] = qdq_dim_unknown();
    if (qdq_infer_shape_of(c, 0, &x) && x.rank >= 2)
        channel.dim[0] = x.dim[1];
    QDQ_TRY(qdq_infer_same(c));
    for (uint32_t i = 1; i < c->node->n_out; i++)
        QDQ_TRY(qdq_infer_out(c, i, elem, &channel));
    return QDQ_OK;
}

qdq_status qdq_infer_layernorm(qdq_infer *c)
{
    int64_t stash = qdq_infer_int(c, "stash_type", QDQ_FLOAT);
    qdq_elem elem = stash > 0 && stash < QDQ_ELEM_COUNT ? (qdq_elem)stash : QDQ_UNDEFINED;
    qdq_shape s;
    int axis;

    QDQ_TRY(qdq_infer_same(c));
    if (qdq_infer_shape_of(c, 0, &s)) {
        QDQ_TRY(qdq_infer_axis(c, qdq_infer_int(c, "axis", -1), s.rank, &axis));
        for (int i = axis; i < s.rank; i++)
            s.dim[i] = qdq_dim_known(1);
    }
    QDQ_TRY(qdq_infer_out(c, 1, elem, &s));
    return qdq_infer_out(c, 2, elem, &s);
}

qdq_status qdq_infer_dropout(qdq_infer *c)
{
    qdq_shape s;

    QDQ_TRY(qdq_infer_same(c));
    qdq_infer_shape_of(c, 0, &s);
    return qdq_infer_out(c, 1, c->opset >= 10 ? QDQ_BOOL : qdq_infer_elem(c, 0), &s);
}

/* --- recurrent networks and sampled grids ----------------------------------------------------- */

/* X is [steps, batch, features]; Y is [steps, directions, batch, hidden], the last states are
 * without steps. Layout 1 puts the batch first everywhere. */
qdq_status qdq_infer_recurrent(qdq_infer *c)
{
    bool batch_first = c->opset >= 14 && qdq_infer_int(c, "layout", 0) != 0;
    int64_t hidden = qdq_infer_int(c, "hidden_size", -1);
    qdq_elem elem = qdq_infer_elem(c, 0);
    qdq_shape x, r, all, last;
    qdq_dim directions, size;

    if (!qdq_infer_shape_of(c, 0, &x))
        qdq_shape_fill(&x, 3);
    if (x.rank != 3)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input 0 has rank %d, want 3", x.rank);
    directions =
        qdq_dim_known(qdq_infer_string_is(c, "direction", "bidirectional", "forward") ? 2 : 1);
    size = hidden >= 0 ? qdq_dim_known(hidden) : qdq_dim_unknown();
    if (qdq_infer_shape_of(c, 2, &r)) {
        if (r.rank != 3 || !qdq_dim_merge(size, r.dim[2], &size))
            return qdq_fail(c->err, QDQ_E_FORMAT, "input 2 does not fit a hidden size of %" PRId64,
                            hidden);
    }
    all.rank = 4;
    all.dim[0] = x.dim[0];
    all.dim[1] = batch_first ? x.dim[1] : directions;
    all.dim[2] = batch_first ? directions : x.dim[1];
    all.dim[3] = size;
    last.rank = 3;
    last.dim[0] = batch_first ? x.dim[0] : directions;
    last.dim[1] = batch_first ? directions : x.dim[1];
    last.dim[2] = size;
    QDQ_TRY(qdq_infer_out(c, 0, elem, &all));
    QDQ_TRY(qdq_infer_out(c, 1, elem, &last));
    return qdq_infer_out(c, 2, elem, &last);
}

/* Batch and channels of the picture, places of the grid; the grid's last dim is a place. */
qdq_status qdq_infer_gridsample(qdq_infer *c)
{
    qdq_shape x, grid, out;

    if (!qdq_infer_shape_of(c, 0, &x) || !qdq_infer_shape_of(c, 1, &grid))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (x.rank != grid.rank || x.rank < 3)
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "input of rank %d and grid of rank %d, want the same, 3 or more", x.rank,
                        grid.rank);
    out = x;
    if (!qdq_dim_merge(x.dim[0], grid.dim[0], &out.dim[0]))
        return qdq_infer_mismatch(c, "batch of the grid:", grid.dim[0], x.dim[0]);
    for (int i = 2; i < x.rank; i++)
        out.dim[i] = grid.dim[i - 1];
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

/* --- depth and space -------------------------------------------------------------------------- */

static qdq_status block_size(qdq_infer *c, qdq_shape *s, int64_t *block)
{
    *block = qdq_infer_int(c, "blocksize", 0);
    if (*block < 1 || *block > 65536)
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "attribute 'blocksize' is %" PRId64 ", want 1 or more", *block);
    if (qdq_infer_shape_of(c, 0, s) && s->rank != 4)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input 0 has rank %d, want 4", s->rank);
    return QDQ_OK;
}

static qdq_status divide_dim(qdq_infer *c, qdq_dim *d, int64_t by)
{
    if (d->value >= 0 && d->value % by != 0)
        return qdq_fail(c->err, QDQ_E_FORMAT, "a dim of %" PRId64 " does not divide by %" PRId64,
                        d->value, by);
    if (by != 1)
        *d = d->value >= 0 ? qdq_dim_known(d->value / by) : qdq_dim_unknown();
    return QDQ_OK;
}

qdq_status qdq_infer_depthtospace(qdq_infer *c)
{
    int64_t block;
    qdq_shape s;

    QDQ_TRY(block_size(c, &s, &block));
    if (s.rank == 4) {
        QDQ_TRY(divide_dim(c, &s.dim[1], block * block));
        s.dim[2] = qdq_dim_mul(c->env, s.dim[2], qdq_dim_known(block));
        s.dim[3] = qdq_dim_mul(c->env, s.dim[3], qdq_dim_known(block));
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
}

qdq_status qdq_infer_spacetodepth(qdq_infer *c)
{
    int64_t block;
    qdq_shape s;

    QDQ_TRY(block_size(c, &s, &block));
    if (s.rank == 4) {
        QDQ_TRY(divide_dim(c, &s.dim[2], block));
        QDQ_TRY(divide_dim(c, &s.dim[3], block));
        s.dim[1] = qdq_dim_mul(c->env, s.dim[1], qdq_dim_known(block * block));
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
}

/* [batch, channels * block, places] becomes [batch, channels, image...]. */
qdq_status qdq_infer_col2im(qdq_infer *c)
{
    int64_t image[QDQ_VALUES_MAX], block[QDQ_VALUES_MAX], size = 1;
    bool has_image, has_block;
    qdq_shape x, out;
    int n, n_block;

    if (qdq_infer_shape_of(c, 0, &x) && x.rank != 3)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input 0 has rank %d, want 3", x.rank);
    has_image = qdq_infer_ints_in(c, 1, image, &n);
    has_block = qdq_infer_ints_in(c, 2, block, &n_block);
    out.rank = -1;
    if (has_image && n <= QDQ_INFER_RANK - 2) {
        qdq_shape_fill(&out, n + 2);
        out.dim[0] = x.rank == 3 ? x.dim[0] : qdq_dim_unknown();
        for (int i = 0; i < n; i++)
            out.dim[2 + i] = image[i] >= 0 ? qdq_dim_known(image[i]) : qdq_dim_unknown();
        for (int i = 0; has_block && i < n_block; i++)
            has_block = block[i] > 0 && qdq_mul_int64(size, block[i], &size);
        if (has_block && x.rank == 3) {
            out.dim[1] = x.dim[1];
            QDQ_TRY(divide_dim(c, &out.dim[1], size));
        }
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}
