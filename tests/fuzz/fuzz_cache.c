/* fuzz_cache.c - calibration caches from hostile text: every range that is read can make a
 * scale. */
#include <math.h>
#include <stdlib.h>

#include "quant/calib/calib_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const qdq_qscheme schemes[] = {{QDQ_INT8, true, false, QDQ_FLOAT, false},
                                   {QDQ_UINT8, false, false, QDQ_FLOAT, false}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_cache c;

    if (qdq_cache_parse((const char *)data, size, "fuzz", &c, &err) == QDQ_OK)
        for (size_t i = 0; i < c.ranges.n; i++)
            for (size_t k = 0; k < 2; k++) {
                qdq_range r = c.ranges.at[i].range;
                qdq_qparam p;
                if (c.ranges.at[i].tensor[0] == '\0' || !(r.low <= r.high) ||
                    !qdq_qparam_from_range(&schemes[k], r.low, r.high, &p) || !(p.scale > 0) ||
                    !isfinite(p.scale))
                    abort();
            }
    qdq_cache_free(&c);
    return 0;
}
