/* compare_feed.c - converts samples to the types of a model's inputs. */
#include "quant/compare/compare_feed.h"

#include <string.h>

#include "base/fail.h"
#include "base/half.h"
#include "ir/ir.h"
#include "quant/data/quantized_inputs.h"

static bool is_plain(qdq_elem elem)
{
    return elem == QDQ_FLOAT || elem == QDQ_FLOAT16 || elem == QDQ_BFLOAT16;
}

/* The type that m reads input `name` as; `have` if it has no such input. */
static qdq_elem read_as(const qdq_model *m, const char *name, qdq_elem have)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    if (v == NULL || !v->is_input || v->init != NULL)
        return have;
    return qdq_value_elem(v);
}

static float number_at(const qdq_array *a, size_t i)
{
    float f;
    uint16_t bits;

    if (a->elem == QDQ_FLOAT) {
        memcpy(&f, (const char *)a->data + i * sizeof f, sizeof f);
        return f;
    }
    memcpy(&bits, (const char *)a->data + i * sizeof bits, sizeof bits);
    return a->elem == QDQ_FLOAT16 ? qdq_float_of_float16(bits) : qdq_float_of_bfloat16(bits);
}

static qdq_status between_floats(qdq_array *a, qdq_elem elem, qdq_arena *memory, qdq_error *err)
{
    const size_t n = (size_t)qdq_array_count(a), size = elem == QDQ_FLOAT ? 4 : 2;

    if (a->elem == elem)
        return QDQ_OK;
    char *to = qdq_arena_alloc(memory, n * size + 1);

    QDQ_NEED(to != NULL, err);
    for (size_t i = 0; i < n; i++) {
        const float f = number_at(a, i);
        const uint16_t bits = elem == QDQ_FLOAT16 ? qdq_float16_of_double((double)f)
                                                  : qdq_bfloat16_of_double((double)f);

        memcpy(to + i * size, elem == QDQ_FLOAT ? (const void *)&f : (const void *)&bits, size);
    }
    a->elem = elem;
    a->data = to;
    a->bytes = n * size;
    return QDQ_OK;
}

/* The scale is that of the model whose input takes codes. */
static qdq_status read_codes(const qdq_model *m, const char *name, qdq_elem have, qdq_elem want,
                             qdq_qparam *out, qdq_error *err)
{
    QDQ_TRY(qdq_input_codes(m, name, out, err));
    if (out->type != QDQ_UNDEFINED)
        return QDQ_OK;
    return qdq_fail(
        err, QDQ_E_UNSUPPORTED,
        "input '%s' is %s here and %s in the samples, and no DequantizeLinear with one constant "
        "scale says how the one becomes the other: expected inputs of one type in both models",
        name, qdq_elem_name(want), qdq_elem_name(have));
}

static qdq_status to_codes(const qdq_qparam *p, qdq_array *a, qdq_arena *memory, qdq_error *err)
{
    QDQ_TRY(between_floats(a, QDQ_FLOAT, memory, err));
    const size_t n = (size_t)qdq_array_count(a), size = qdq_code_size(p->type);
    void *to = qdq_arena_alloc(memory, n * size + 1);

    QDQ_NEED(to != NULL, err);
    qdq_quantize_floats(p, a->data, n, to);
    a->elem = p->type;
    a->data = to;
    a->bytes = n * size;
    return QDQ_OK;
}

static qdq_status from_codes(const qdq_qparam *p, qdq_array *a, qdq_elem elem, qdq_arena *memory,
                             qdq_error *err)
{
    const size_t n = (size_t)qdq_array_count(a);
    float *to = qdq_arena_alloc(memory, n * sizeof *to + 1);

    QDQ_NEED(to != NULL, err);
    qdq_dequantize_floats(p, a->data, n, to);
    a->elem = QDQ_FLOAT;
    a->data = to;
    a->bytes = n * sizeof *to;
    return between_floats(a, elem, memory, err);
}

/* `coded`: the model whose input takes codes, if one of the types is a code. */
static qdq_status convert_input(const qdq_model *coded, qdq_named_array *in, qdq_elem want,
                                qdq_arena *memory, qdq_error *err)
{
    qdq_array *a = &in->array;
    qdq_qparam p;

    if (is_plain(want) && is_plain(a->elem))
        return between_floats(a, want, memory, err);
    QDQ_TRY(read_codes(coded, in->name, a->elem, want, &p, err));
    return is_plain(a->elem) ? to_codes(&p, a, memory, err) : from_codes(&p, a, want, memory, err);
}

/* Other pairs of types are no conversions: the engine says what it expected. */
static bool is_converted(qdq_elem have, qdq_elem want)
{
    return have != want && ((is_plain(have) && (is_plain(want) || qdq_elem_is_code(want))) ||
                            (qdq_elem_is_code(have) && is_plain(want)));
}

qdq_status qdq_compare_feed(const qdq_model *m, const qdq_model *of, const qdq_named_array **in,
                            size_t n, qdq_arena *memory, qdq_error *err)
{
    qdq_named_array *own = NULL;

    for (size_t i = 0; i < n; i++) {
        const char *name = (*in)[i].name;
        const qdq_elem have = (*in)[i].array.elem, want = read_as(m, name, have);

        if (!is_converted(have, want))
            continue;
        if (own == NULL) {
            QDQ_NEED((own = qdq_arena_alloc(memory, n * sizeof *own)) != NULL, err);
            memcpy(own, *in, n * sizeof *own);
            *in = own;
        }
        QDQ_TRY(convert_input(is_plain(have) ? m : of, &own[i], want, memory, err));
    }
    return QDQ_OK;
}
