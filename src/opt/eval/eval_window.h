/* eval_window.h - kernels that slide over the dims behind batch and channels: Conv, ConvTranspose
 * and pools. Private to the evaluator. */
#ifndef QDQ_EVAL_WINDOW_H
#define QDQ_EVAL_WINDOW_H

#include "opt/eval/eval_kernel.h"

enum {
    QDQ_WINDOW_SPACE = 3,
    /* places in the kernels of all results */
    QDQ_WINDOW_WORK = 1 << 26
};

typedef struct qdq_window {
    /* dims, 1 to QDQ_WINDOW_SPACE */
    int space;
    int64_t in[QDQ_WINDOW_SPACE], kernel[QDQ_WINDOW_SPACE], out[QDQ_WINDOW_SPACE];
    /* in front of the data, and behind */
    int64_t pad[QDQ_WINDOW_SPACE], end[QDQ_WINDOW_SPACE];
    int64_t stride[QDQ_WINDOW_SPACE], dilation[QDQ_WINDOW_SPACE];
} qdq_window;

/* An attribute with one number for each of n dims, all from `least` to INT32_MAX; `fallback`
 * without it. */
bool qdq_window_list(qdq_eval *c, const char *name, int n, int64_t least, int64_t fallback,
                     int64_t *list);

typedef enum qdq_padding {
    QDQ_PADDING_GIVEN,
    QDQ_PADDING_SAME_UPPER,
    QDQ_PADDING_SAME_LOWER
} qdq_padding;

/* strides, dilations, pads and auto_pad (VALID is no padding). */
bool qdq_window_attributes(qdq_eval *c, qdq_window *w, qdq_padding *how);

/* The same, and from them `out`; space, in and kernel are filled already. With `round_up` the
 * last window may end behind the padding, but not start there (ceil_mode). */
bool qdq_window_read(qdq_eval *c, qdq_window *w, bool round_up);

/* The next index in row-major order; false: it was the last, and is 0 again. */
bool qdq_window_advance(int n, const int64_t *dim, int64_t *index);

/* Where the kernel of the result at `place` has its element `k`: an offset into the data of one
 * channel, or one of these. */
enum { QDQ_WINDOW_PADDING = -1, QDQ_WINDOW_BEHIND = -2 };
int64_t qdq_window_at(const qdq_window *w, const int64_t *place, const int64_t *k);

#endif /* QDQ_EVAL_WINDOW_H */
