/* calib_cache_write.c - the ranges of a plan as a calibration cache: what was calibrated once can
 * be used again, here and by TensorRT. */
#include "quant/calib/calib_cache.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_write.h"
#include "quant/plan/plan.h"

/* What trtexec and IInt8EntropyCalibrator2 of TensorRT 8.6 and later look for. */
static const char trt_header[] = "TRT-8601-EntropyCalibration2";

/* The values that the codes of an entry reach. */
static qdq_range range_of(const qdq_qparam *p)
{
    const double scale = (double)p->scale;
    int32_t lowest, highest;

    if (!qdq_elem_code_limits(p->type, &lowest, &highest))
        return (qdq_range){-QDQ_FLOAT8_MAX * scale, QDQ_FLOAT8_MAX * scale};
    if (p->zero_point == 0 && lowest < 0)
        lowest = -highest; /* the scale of a symmetric range was made without the lowest code */
    return (qdq_range){(lowest - p->zero_point) * scale, (highest - p->zero_point) * scale};
}

/* Entries of one tensor for several readers lie side by side, and one line speaks for all. */
static bool is_first(const qdq_plan *p, size_t i)
{
    return i == 0 || strcmp(p->tensors.at[i].tensor, p->tensors.at[i - 1].tensor) != 0;
}

/* The range of the first, widened to those of others of its type: bodies have ranges of their own
 * for what they capture. */
static qdq_range range_of_all(const qdq_plan *p, size_t first)
{
    const qdq_plan_tensor *t = &p->tensors.at[first];
    qdq_range r = range_of(&t->qparam);

    for (size_t i = first + 1; i < p->tensors.n && !is_first(p, i); i++) {
        const qdq_range other = range_of(&p->tensors.at[i].qparam);

        if (p->tensors.at[i].qparam.type == t->qparam.type)
            r = (qdq_range){fmin(r.low, other.low), fmax(r.high, other.high)};
    }
    return r;
}

static void put_trt(qdq_buf *b, const char *tensor, qdq_range r)
{
    float scale = (float)(fmax(-r.low, r.high) / 127);
    uint32_t bits;

    memcpy(&bits, &scale, sizeof bits);
    qdq_buf_printf(b, "%s: %08x\n", tensor, (unsigned)bits);
}

static void put_ours(qdq_buf *b, const char *tensor, qdq_range r, bool first)
{
    qdq_json_doc doc = {0};
    qdq_json_out o = qdq_json_object(&doc);

    qdq_json_put_text(o, "tensor", tensor);
    qdq_json_put_real(o, "low", r.low);
    qdq_json_put_real(o, "high", r.high);
    qdq_buf_puts(b, first ? "\n    " : ",\n    ");
    qdq_json_finish_line(&doc, b);
}

qdq_status qdq_plan_save_ranges(const qdq_plan *p, const char *path, bool allow_overwrite,
                                qdq_error *err)
{
    const size_t size = strlen(path);
    const bool ours = size > 5 && strcasecmp(path + size - 5, ".json") == 0;
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_puts(&b, ours ? "{\n  \"qdq_ranges\": 1,\n  \"tensors\": [" : trt_header);
    qdq_buf_puts(&b, ours ? "" : "\n");
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];

        if (!is_first(p, i))
            continue;
        if (!ours && strchr(t->tensor, '\n') != NULL) {
            qdq_buf_free(&b);
            return qdq_fail(err, QDQ_E_UNSUPPORTED,
                            "%s: the name of a tensor has a line break, expected the form .json",
                            path);
        }
        if (ours)
            put_ours(&b, t->tensor, range_of_all(p, i), i == 0);
        else
            put_trt(&b, t->tensor, range_of_all(p, i));
    }
    qdq_buf_puts(&b, ours ? "\n  ]\n}\n" : "");
    qdq_status st =
        b.failed ? qdq_nomem(err) : qdq_write_file(path, allow_overwrite, b.data, b.size, err);
    qdq_buf_free(&b);
    return st;
}
