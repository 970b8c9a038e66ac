/* eval_sequence.c - what language models do with sequences next to Attention: RotaryEmbedding and
 * TensorScatter of constants, as ONNX's specification of opsets 23 and 24 defines them. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

/* --- RotaryEmbedding -------------------------------------------------------------------------- */

typedef struct rotary {
    /* of the data, whatever its rank is */
    int64_t batch, length, heads, size;
    /* pairs that are turned, of each head */
    int64_t half;
    /* rows of the caches, [batch, length]; or NULL */
    const int64_t *places;
    bool is_interleaved;
} rotary;

static bool read_data(qdq_eval *c, rotary *r)
{
    const qdq_const *x = c->in[0];
    int64_t heads = qdq_eval_int(c, "num_heads", 0);

    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    for (uint32_t i = 1; i < 3; i++)
        if (c->in[i]->elem != x->elem)
            return QDQ_REFUSE(c, "inputs of the types %s and %s", qdq_elem_name(x->elem),
                              qdq_elem_name(c->in[i]->elem));
    if (x->rank < 3 || x->rank > 4 || x->count == 0)
        return QDQ_REFUSE(c, "input 0 has rank %d or no elements, expected 3 or 4", x->rank);
    if (x->rank == 4) {
        *r = (rotary){
            .batch = x->dim[0], .heads = x->dim[1], .length = x->dim[2], .size = x->dim[3]};
        return true;
    }
    if (heads < 1 || x->dim[2] % heads != 0)
        return QDQ_REFUSE(c, "attribute 'num_heads' does not divide %" PRId64, x->dim[2]);
    *r = (rotary){
        .batch = x->dim[0], .heads = heads, .length = x->dim[1], .size = x->dim[2] / heads};
    return true;
}

/* Both caches have a row of `half` numbers for each place. */
static bool check_caches(qdq_eval *c, const rotary *r)
{
    const qdq_const *place = qdq_eval_in(c, 3);

    for (uint32_t i = 1; i < 3; i++) {
        const qdq_const *x = c->in[i];
        bool fits = place != NULL ? x->rank == 2 && x->dim[0] == c->in[1]->dim[0]
                                  : x->rank == 3 && x->dim[0] == r->batch && x->dim[1] == r->length;

        if (!fits || x->dim[x->rank - 1] != r->half)
            return QDQ_REFUSE(c, "input %u is not a cache of %" PRId64 " numbers for each place",
                              (unsigned)i, r->half);
    }
    return true;
}

static bool read_places(qdq_eval *c, rotary *r)
{
    const qdq_const *x = qdq_eval_in(c, 3);
    int64_t n;

    if (x == NULL)
        return true;
    if (x->elem != QDQ_INT64 || x->rank != 2 || x->dim[0] != r->batch || x->dim[1] != r->length)
        return QDQ_REFUSE(c, "input 3 has not one place for each row");
    if (!qdq_eval_ints(c, 3, &r->places, &n))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (r->places[i] < 0 || r->places[i] >= c->in[1]->dim[0])
            return QDQ_REFUSE(c, "place %" PRId64 " of %" PRId64, r->places[i], c->in[1]->dim[0]);
    return true;
}

static bool read_rotary(qdq_eval *c, rotary *r)
{
    if (c->opset < 23)
        return QDQ_REFUSE(c, "RotaryEmbedding below opset 23, which has none");
    if (!read_data(c, r))
        return false;
    int64_t turned = qdq_eval_int(c, "rotary_embedding_dim", 0);
    r->is_interleaved = qdq_eval_flag(c, "interleaved", false);
    turned = turned == 0 ? r->size : turned;
    if (turned < 1 || turned > r->size || turned % 2 != 0)
        return QDQ_REFUSE(c, "%" PRId64 " of %" PRId64 " numbers to turn in pairs", turned,
                          r->size);
    r->half = turned / 2;
    return check_caches(c, r) && read_places(c, r);
}

/* One head at one place: from element `at` on; `row` of the caches. */
static void turn(const qdq_eval *c, const rotary *r, int64_t at, int64_t row, void *out)
{
    const qdq_const *x = c->in[0];
    int64_t step = r->is_interleaved ? 2 : 1, other = r->is_interleaved ? 1 : r->half;

    for (int64_t i = 0; i < r->half; i++) {
        int64_t first = at + i * step, second = first + other;
        double cosine = qdq_eval_number(c->in[1], row * r->half + i);
        double sine = qdq_eval_number(c->in[2], row * r->half + i);
        double a = qdq_eval_number(x, first), b = qdq_eval_number(x, second);

        qdq_eval_put_number(x->elem, out, first, cosine * a - sine * b);
        qdq_eval_put_number(x->elem, out, second, sine * a + cosine * b);
    }
}

bool qdq_eval_rotary(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    rotary r;

    if (!read_rotary(c, &r))
        return false;
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    memcpy(out, x->data, x->bytes); /* what is not turned stays */
    for (int64_t i = 0; i < r.batch * r.length * r.heads; i++) {
        int64_t place = x->rank == 3 ? i / r.heads % r.length : i % r.length;
        int64_t row = i / r.heads / r.length * r.length + place;

        turn(c, &r, i * r.size, r.places != NULL ? r.places[row] : row, out);
    }
    return true;
}

/* --- TensorScatter ---------------------------------------------------------------------------- */

static bool read_update(qdq_eval *c, int axis)
{
    const qdq_const *x = c->in[0], *update = c->in[1], *at = qdq_eval_in(c, 2);
    bool fits = update->elem == x->elem && update->rank == x->rank;

    for (int i = 0; fits && i < x->rank; i++)
        fits = i == axis ? update->dim[i] <= x->dim[i] : update->dim[i] == x->dim[i];
    if (!fits || axis == 0)
        return QDQ_REFUSE(c, "an update that does not fit the cache along axis %d", axis);
    return at == NULL || (at->elem == QDQ_INT64 && at->rank == 1 && at->dim[0] == x->dim[0]) ||
           QDQ_REFUSE(c, "input 2 is not a list of one place for each sample");
}

/* Where row `i` of the update of this sample goes. */
static bool place_row(qdq_eval *c, const int64_t *at, int64_t sample, int64_t i, int64_t rows,
                      bool wraps, int64_t *place)
{
    int64_t first = at != NULL ? at[sample] : 0;

    if (first < 0 || (!wraps && first > rows - i - 1))
        return QDQ_REFUSE(c, "place %" PRId64 " of %" PRId64, first, rows);
    *place = (first % rows + i) % rows;
    return true;
}

bool qdq_eval_tensorscatter(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *update = c->in[1];
    bool wraps = qdq_eval_string_is(c, "mode", "circular", "linear");
    const int64_t *at;
    int64_t count, place;
    int axis;

    if (c->opset < 24)
        return QDQ_REFUSE(c, "TensorScatter below opset 24, which has none");
    if (!wraps && !qdq_eval_string_is(c, "mode", "linear", "linear"))
        return QDQ_REFUSE(c, "attribute 'mode' has none of its values");
    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", -2), x->rank, &axis) || !read_update(c, axis) ||
        !qdq_eval_ints(c, 2, &at, &count))
        return false;
    char *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    memcpy(out, x->data, x->bytes);
    if (update->count == 0)
        return true;
    int64_t outer = qdq_eval_product(x->dim, 0, axis), rows = x->dim[axis];
    size_t row = (size_t)qdq_eval_product(x->dim, axis + 1, x->rank) * qdq_eval_size(x->elem);
    const char *from = update->data;
    for (int64_t i = 0; i < outer; i++)
        for (int64_t k = 0; k < update->dim[axis]; k++, from += row) {
            if (!place_row(c, at, i / (outer / x->dim[0]), k, rows, wraps, &place))
                return false;
            memcpy(out + (size_t)(i * rows + place) * row, from, row);
        }
    return true;
}
