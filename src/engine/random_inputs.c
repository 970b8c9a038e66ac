/* random_inputs.c - inputs from a seed, for timing and for trying a model out. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "engine/engine_ops.h"

enum { ALIGN = 64 };

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Type, shape and size; dims that are not fixed count as 1. */
static qdq_status describe(const qdq_io *io, qdq_array *a, qdq_error *err)
{
    if (io->elem == QDQ_UNDEFINED || io->elem == QDQ_STRING)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "input '%s' is %s: random inputs are numbers",
                        io->name, io->elem == QDQ_STRING ? "of strings" : "no tensor");
    if (io->rank < 0)
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' is of unknown rank: a shape is needed",
                        io->name);
    *a = (qdq_array){.elem = io->elem, .rank = io->rank};
    for (int i = 0; i < io->rank; i++)
        a->dim[i] = io->dim[i] < 0 ? 1 : io->dim[i];
    const int64_t count = qdq_array_count(a);
    if (count < 0 || !qdq_elem_bytes(io->elem, count, &a->bytes) || a->bytes > SIZE_MAX / 4)
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' has too many elements", io->name);
    return QDQ_OK;
}

static qdq_status measure(const qdq_session *s, size_t *total, qdq_error *err)
{
    *total = aligned((s->n_in + 1) * sizeof(qdq_named_array));
    for (size_t i = 0; i < s->n_in; i++) {
        qdq_array a;
        QDQ_TRY(describe(&s->in[i], &a, err));
        size_t name = aligned(strlen(s->in[i].name) + 1);
        if (aligned(a.bytes) > SIZE_MAX / 2 - *total - name)
            return qdq_fail(err, QDQ_E_USAGE, "input '%s' has too many elements", s->in[i].name);
        *total += aligned(a.bytes) + name;
    }
    return QDQ_OK;
}

qdq_status qdq_random_inputs(const qdq_session *s, uint64_t seed, qdq_named_array **out, size_t *n,
                             qdq_error *err)
{
    size_t total;

    *out = NULL;
    *n = 0;
    QDQ_TRY(measure(s, &total, err));
    char *block = calloc(1, total + ALIGN);
    QDQ_NEED(block != NULL, err);
    qdq_named_array *in = (qdq_named_array *)(void *)block;
    /* The block itself goes to free(), so it is the data that gets aligned. */
    char *p = block + aligned((uintptr_t)block + (s->n_in + 1) * sizeof *in) - (uintptr_t)block;
    for (size_t i = 0; i < s->n_in; i++) {
        qdq_status st = describe(&s->in[i], &in[i].array, err);
        in[i].array.data = p;
        p += aligned(in[i].array.bytes);
        const size_t name = strlen(s->in[i].name) + 1;
        in[i].name = memcpy(p, s->in[i].name, name);
        p += aligned(name);
        if (st == QDQ_OK && !qdq_random_fill(&in[i].array, seed, in[i].name))
            st = qdq_fail(err, QDQ_E_UNSUPPORTED,
                          "input '%s' is %s: there are no random numbers of that type", in[i].name,
                          qdq_elem_name(in[i].array.elem));
        if (st != QDQ_OK) {
            free(block);
            return st;
        }
    }
    *out = in;
    *n = s->n_in;
    return QDQ_OK;
}
