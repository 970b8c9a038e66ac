/* eval_window.c - computes Conv, ConvTranspose and pools. ONNX's specification of opset 22 has
 * the formulas, with Conv and AveragePool. */
#include "opt/eval/eval_window.h"

#include <inttypes.h>

bool qdq_window_list(qdq_eval *c, const char *name, int n, int64_t least, int64_t fallback,
                     int64_t *list)
{
    const int64_t *given;
    int64_t count;
    bool is_there = qdq_eval_int_list(c, name, &given, &count);

    if (is_there && count != n)
        return QDQ_REFUSE(c, "attribute '%s' has %" PRId64 " numbers, expected %d", name, count, n);
    for (int i = 0; i < n; i++) {
        list[i] = is_there ? given[i] : fallback;
        if (list[i] < least || list[i] > INT32_MAX)
            return QDQ_REFUSE(c, "attribute '%s' has %" PRId64, name, list[i]);
    }
    return true;
}

bool qdq_window_attributes(qdq_eval *c, qdq_window *w, qdq_padding *how)
{
    int64_t pads[2 * QDQ_WINDOW_SPACE];
    bool is_valid = qdq_eval_string_is(c, "auto_pad", "VALID", "");

    *how = QDQ_PADDING_GIVEN;
    if (qdq_eval_string_is(c, "auto_pad", "SAME_UPPER", ""))
        *how = QDQ_PADDING_SAME_UPPER;
    else if (qdq_eval_string_is(c, "auto_pad", "SAME_LOWER", ""))
        *how = QDQ_PADDING_SAME_LOWER;
    else if (!is_valid && !qdq_eval_string_is(c, "auto_pad", "NOTSET", "NOTSET"))
        return QDQ_REFUSE(c, "attribute 'auto_pad' has none of its values");
    if (!qdq_window_list(c, "pads", 2 * w->space, 0, 0, pads) ||
        !qdq_window_list(c, "strides", w->space, 1, 1, w->stride) ||
        !qdq_window_list(c, "dilations", w->space, 1, 1, w->dilation))
        return false;
    for (int i = 0; i < w->space; i++) {
        w->pad[i] = pads[i];
        w->end[i] = pads[w->space + i];
    }
    return true;
}

/* As many results as strides fit into the data; what the kernels then need beyond it is padding on
 * both sides. */
static void pad_evenly(qdq_window *w, int i, int64_t reach, qdq_padding how)
{
    int64_t total;

    w->out[i] = (w->in[i] - 1) / w->stride[i] + 1;
    total = (w->out[i] - 1) * w->stride[i] + reach + 1 - w->in[i];
    total = total > 0 ? total : 0;
    w->pad[i] = (total + (how == QDQ_PADDING_SAME_LOWER)) / 2;
    w->end[i] = total - w->pad[i];
}

bool qdq_window_read(qdq_eval *c, qdq_window *w, bool round_up)
{
    qdq_padding how;

    if (!qdq_window_attributes(c, w, &how))
        return false;
    for (int i = 0; i < w->space; i++) {
        int64_t reach = 0, room = 0;

        if (__builtin_mul_overflow(w->dilation[i], w->kernel[i] - 1, &reach) ||
            reach > INT64_MAX / 4)
            return QDQ_REFUSE(c, "a kernel that is larger than the data");
        if (how != QDQ_PADDING_GIVEN) {
            pad_evenly(w, i, reach, how);
            continue;
        }
        if (__builtin_add_overflow(w->in[i], w->pad[i] + w->end[i], &room) || room <= reach)
            return QDQ_REFUSE(c, "a kernel that is larger than the data");
        room -= reach + 1;
        w->out[i] = room / w->stride[i] + 1;
        if (round_up && room % w->stride[i] != 0 && w->out[i] * w->stride[i] < w->in[i] + w->pad[i])
            w->out[i]++;
    }
    return true;
}

bool qdq_window_advance(int n, const int64_t *dim, int64_t *index)
{
    for (int i = n; i-- > 0; index[i] = 0)
        if (++index[i] < dim[i])
            return true;
    return false;
}

int64_t qdq_window_at(const qdq_window *w, const int64_t *place, const int64_t *k)
{
    int64_t at = 0;

    for (int i = 0; i < w->space; i++) {
        int64_t p = place[i] * w->stride[i] - w->pad[i] + k[i] * w->dilation[i];

        if (p >= w->in[i] + w->end[i])
            return QDQ_WINDOW_BEHIND;
        if (p < 0 || p >= w->in[i])
            at = QDQ_WINDOW_PADDING;
        else if (at >= 0)
            at = at * w->in[i] + p;
    }
    return at;
}
