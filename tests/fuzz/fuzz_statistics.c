/* fuzz_statistics.c - statistics of calibration from hostile text: what is read is written as it
 * was, has ranges, and is not merged with itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/calib/calib_statistics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_tensor(const qdq_statistics *s, const qdq_seen_tensor *t)
{
    const qdq_qscheme scheme = {QDQ_INT8, true, false, QDQ_FLOAT, false};
    const qdq_method methods[] = {QDQ_METHOD_MAX, s->summary.method};

    for (size_t i = 0; i < 2; i++) {
        qdq_observer *o = qdq_observer_new(methods[i], 99.9);
        qdq_range r;

        if (o == NULL)
            return;
        qdq_statistics_restore(s, t, methods[i], o);
        if (!qdq_observer_empty(o) && (!qdq_observer_range(o, &scheme, &r, NULL) ||
                                       !(r.low <= r.high) || !isfinite(r.low) || !isfinite(r.high)))
            abort();
        qdq_observer_free(o);
    }
}

static void write_again(const qdq_statistics *s)
{
    char *first = NULL, *second = NULL;
    qdq_statistics *again = NULL;

    if (qdq_statistics_to_text(s, &first, NULL) != QDQ_OK ||
        qdq_statistics_parse(first, strlen(first), "again", &again, NULL) != QDQ_OK ||
        qdq_statistics_to_text(again, &second, NULL) != QDQ_OK || strcmp(first, second) != 0 ||
        qdq_statistics_merge(again, s, NULL) == QDQ_OK)
        abort();
    qdq_free(first);
    qdq_free(second);
    qdq_statistics_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 4 }; /* searches take milliseconds */
    qdq_error err = QDQ_ERROR_INIT;
    qdq_statistics *s = NULL;

    if (qdq_statistics_parse((const char *)data, size, "fuzz", &s, &err) != QDQ_OK)
        return 0;
    write_again(s);
    for (size_t i = 0; i < s->tensors.n && i < MOST; i++)
        use_tensor(s, &s->tensors.at[i]);
    qdq_statistics_free(s);
    return 0;
}
