/* eval_broken.c - nodes at random: inputs of any type and shape, attributes with any value.
 * Whatever comes is computed or refused; a result is whole and within its limit. The sanitizers
 * watch. */
#include "base/random.h"
#include "ir/edit.h"
#include "support/evals.h"

enum { ROUNDS = 800000, MAX_BYTES = 4096 };

static qdq_random source;

static int64_t below(int64_t n)
{
    return (int64_t)(qdq_random_u64(&source) % (uint64_t)n);
}

/* Small numbers mostly, and those at the ends. */
static int64_t number(void)
{
    static const int64_t odd[] = {INT64_MAX, INT64_MIN, INT64_MIN + 1, INT32_MAX, INT32_MIN,
                                  1 << 20,   100};

    return below(8) > 0 ? below(8) - 3 : odd[below((int64_t)QDQ_COUNT(odd))];
}

static qdq_elem any_type(void)
{
    return (qdq_elem)(1 + below(QDQ_ELEM_COUNT - 1));
}

static void fill(qdq_elem e, void *data, int64_t n)
{
    static const double odd[] = {0.5, -0.0, 1e30, -2.5, 3, 1, -1};

    for (int64_t i = 0; i < n; i++)
        if (!qdq_elem_put_int(e, data, i, number()))
            qdq_elem_put_float(e, data, i, odd[below((int64_t)QDQ_COUNT(odd))]);
}

/* With data of its type and shape; NULL: that cannot be. */
static const qdq_const *fill_input(qdq_arena *memory, qdq_const *x)
{
    size_t bytes;

    if (!qdq_dims_count(x->rank, x->dim, &x->count) || !qdq_elem_bytes(x->elem, x->count, &bytes))
        return NULL;
    void *data = qdq_arena_alloc(memory, bytes);
    assert_non_null(data);
    fill(x->elem, data, x->count);
    x->data = data;
    x->bytes = bytes;
    return x;
}

/* NULL: left out. Often of the shape of `like`. Dims that overflow come with a 0, as they can in a
 * file. */
static const qdq_const *any_input(qdq_arena *memory, qdq_elem theme, const qdq_const *like)
{
    qdq_const *x = qdq_arena_alloc(memory, sizeof *x);
    int64_t *dim = qdq_arena_array(memory, 8, sizeof *dim);

    assert_true(x != NULL && dim != NULL);
    x->elem = below(3) > 0 ? theme : below(2) == 0 ? QDQ_INT64 : any_type();
    x->rank = like != NULL    ? like->rank
              : below(3) == 0 ? (int)below(2)
                              : (int)below(below(10) > 0 ? 5 : 8);
    for (int i = 0; i < x->rank; i++)
        dim[i] = like != NULL    ? like->dim[i]
                 : below(3) > 0  ? 1 + below(3)
                 : below(20) > 0 ? below(3)
                                 : 0;
    if (x->rank > 1 && below(20) == 0) {
        dim[0] = 0;
        dim[1] = INT64_MAX;
    }
    x->dim = dim;
    return below(20) == 0 ? NULL : fill_input(memory, x);
}

/* Shapes that operators are of no use without, which hardly come by chance. */
static const struct shaped {
    qdq_op op;
    uint32_t n_in;
    int rank[5];
    int64_t dim[5][4];
    /* bit i: input i has integers, the others floats */
    uint32_t ints;
} shaped[] = {
    {QDQ_OP_AFFINEGRID, 2, {3, 1}, {{1, 2, 3}, {4}}, 2},
    {QDQ_OP_ATTENTION, 4, {4, 4, 4, 1}, {{1, 2, 2, 1}, {1, 1, 2, 1}, {1, 1, 2, 1}, {2}}, 0},
    {QDQ_OP_COL2IM, 3, {3, 1, 1}, {{1, 2, 2}, {1}, {1}}, 6},
    {QDQ_OP_CONV, 2, {3, 3}, {{1, 1, 3}, {1, 1, 2}}, 0},
    {QDQ_OP_CONVTRANSPOSE, 2, {3, 3}, {{1, 1, 2}, {1, 1, 2}}, 0},
    {QDQ_OP_DEFORMCONV, 3, {4, 4, 4}, {{1, 1, 2, 2}, {1, 1, 1, 1}, {1, 2, 2, 2}}, 0},
    {QDQ_OP_GRU, 3, {3, 3, 3}, {{2, 1, 1}, {1, 3, 1}, {1, 3, 1}}, 0},
    {QDQ_OP_LSTM, 3, {3, 3, 3}, {{2, 1, 1}, {1, 4, 1}, {1, 4, 1}}, 0},
    {QDQ_OP_MAXUNPOOL, 3, {3, 3, 1}, {{1, 1, 2}, {1, 1, 2}, {3}}, 6},
    {QDQ_OP_MELWEIGHTMATRIX, 5, {0}, {{0}}, 7},
    {QDQ_OP_NONMAXSUPPRESSION, 4, {3, 3, 0, 0}, {{1, 3, 4}, {1, 2, 3}}, 4},
    {QDQ_OP_RNN, 3, {3, 3, 3}, {{2, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 0},
    {QDQ_OP_ROIALIGN, 3, {4, 2, 1}, {{1, 1, 3, 2}, {1, 4}, {1}}, 4},
    {QDQ_OP_ROTARYEMBEDDING, 3, {4, 3, 3}, {{1, 1, 2, 2}, {1, 2, 1}, {1, 2, 1}}, 0},
    {QDQ_OP_STFT, 3, {3, 0, 1}, {{1, 3, 1}, {0}, {2}}, 2},
    {QDQ_OP_TENSORSCATTER, 3, {3, 3, 1}, {{1, 3, 1}, {1, 2, 1}, {1}}, 4},
    {QDQ_OP_TFIDFVECTORIZER, 1, {1}, {{3}}, 1},
};

static const struct shaped *shaped_of(qdq_op op)
{
    for (size_t i = 0; i < QDQ_COUNT(shaped); i++)
        if (shaped[i].op == op)
            return &shaped[i];
    return NULL;
}

static const qdq_const *shaped_input(qdq_arena *memory, const struct shaped *s, uint32_t i)
{
    qdq_const *x = qdq_arena_alloc(memory, sizeof *x);

    assert_non_null(x);
    x->elem = s->ints >> i & 1 ? QDQ_INT64 : QDQ_FLOAT;
    x->rank = s->rank[i];
    x->dim = s->dim[i];
    return fill_input(memory, x);
}

/* One dim of x, as scales of channels have; x itself where it has none. */
static const qdq_const *any_dim_of(qdq_arena *memory, const qdq_const *x)
{
    qdq_const *part = x != NULL && x->rank > 0 ? qdq_arena_alloc(memory, sizeof *part) : NULL;

    if (part == NULL)
        return x;
    *part = *x;
    part->rank = 1;
    part->dim = x->dim + (x->rank > 1 && below(2) == 0 ? 1 : below(x->rank));
    return part->dim[0] < 1000 ? part : x;
}

/* With a value of the right kind, mostly. */
static void add_attribute(qdq_node *n)
{
    static const char *const ints[] = {
        "axis",        "keepdims",     "to",          "k",
        "largest",     "blocksize",    "fmod",        "upper",
        "transA",      "transB",       "exclusive",   "saturate",
        "start",       "batch_dims",   "end",         "dtype",
        "num_outputs", "allowzero",    "size",        "p",
        "group",       "num_groups",   "is_causal",   "num_heads",
        "q_num_heads", "kv_num_heads", "interleaved", "left_window_size",
        "antialias"};
    static const char *const lists[] = {"axes",      "perm",           "pads",        "split",
                                        "starts",    "ends",           "value_ints",  "strides",
                                        "dilations", "output_padding", "output_shape"};
    static const char *const texts[] = {"mode", "direction", "reduction", "auto_pad",
                                        "coordinate_transformation_mode"};
    static const char *const words[] = {
        "LEFT", "RIGHT",      "reflect", "edge",   "wrap",  "add",           "max",       "CRD",
        "none", "SAME_UPPER", "VALID",   "linear", "cubic", "align_corners", "asymmetric"};
    int64_t list[6] = {below(4), below(4), number(), number(), number(), number()};
    int64_t kind = below(4), wrong = below(16);
    const char *name = kind == 0   ? texts[below((int64_t)QDQ_COUNT(texts))]
                       : kind == 1 ? lists[below((int64_t)QDQ_COUNT(lists))]
                                   : ints[below((int64_t)QDQ_COUNT(ints))];

    kind = wrong < 4 ? wrong : kind;
    if (kind == 0)
        assert_true(qdq_node_set_string(n, name, words[below((int64_t)QDQ_COUNT(words))]));
    else if (kind == 1)
        assert_true(qdq_node_set_ints(n, name, list, (size_t)below(7)));
    else
        assert_true(qdq_node_set_int(n, name, number()));
}

/* Three n-grams, of one and of two numbers; or less. */
static void add_pool(qdq_node *n)
{
    const int64_t start[2] = {0, below(6) > 0 ? 1 : number()};
    const int64_t column[3] = {0, below(6) > 0 ? 2 : number(), 1};
    const int64_t item[5] = {1, number(), below(3), 1, 2};

    assert_true(qdq_node_set_string(n, "mode", below(8) > 0 ? "TF" : "IDF"));
    assert_true(qdq_node_set_int(n, "min_gram_length", 1 + below(2)));
    assert_true(qdq_node_set_int(n, "max_gram_length", 1 + below(2)));
    assert_true(qdq_node_set_int(n, "max_skip_count", below(6) > 0 ? below(3) : number()));
    assert_true(qdq_node_set_ints(n, "ngram_counts", start, below(8) > 0 ? 2 : 1));
    assert_true(qdq_node_set_ints(n, "ngram_indexes", column, below(8) > 0 ? 3 : 1));
    assert_true(qdq_node_set_ints(n, "pool_int64s", item, below(8) > 0 ? 5 : (size_t)below(5)));
}

/* What some operators are of no use without: often as it should be, at times not. */
static void add_needed(qdq_node *n, const qdq_const *x)
{
    int64_t list[6] = {1 + below(2), 1 + below(2), 1, number(), number(), number()};
    size_t count =
        below(8) == 0 || x == NULL || x->rank < 2 ? (size_t)below(7) : (size_t)x->rank - 2;

    if (below(4) > 0)
        assert_true(qdq_node_set_ints(n, "kernel_shape", list, count < 6 ? count : 6));
    if ((n->op == QDQ_OP_GROUPNORMALIZATION || n->op == QDQ_OP_LRN) && below(4) > 0)
        assert_true(qdq_node_set_int(n, n->op == QDQ_OP_LRN ? "size" : "num_groups", 1 + below(2)));
    if (n->op == QDQ_OP_TFIDFVECTORIZER)
        add_pool(n);
}

/* What every result promises. */
static void check_results(const qdq_node *n, const qdq_const *out)
{
    size_t bytes, total = 0;
    int64_t count;

    for (uint32_t i = 0; i < n->n_out; i++) {
        if (out[i].data == NULL)
            continue;
        assert_true(qdq_dims_count(out[i].rank, out[i].dim, &count));
        assert_true(count == out[i].count && qdq_elem_bytes(out[i].elem, count, &bytes));
        assert_true(bytes == out[i].bytes);
        total += bytes;
        for (int64_t k = 0; k < count; k++) /* reads every byte */
            (void)qdq_elem_float(out[i].elem, out[i].data, k);
    }
    assert_true(total <= MAX_BYTES);
}

static bool try_one(qdq_op op)
{
    static const char *const outs[] = {"a", "b", "c"};
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = qdq_model_new();
    qdq_const out[QDQ_EVAL_OUTPUTS];
    const qdq_const *in[8] = {NULL};
    uint32_t n_in = (uint32_t)(below(8) > 0 ? 1 + below(3) : below(6));
    const struct shaped *s = below(2) == 0 ? shaped_of(op) : NULL;
    n_in = s != NULL ? s->n_in : op == QDQ_OP_BATCHNORMALIZATION && below(2) == 0 ? 5 : n_in;
    qdq_elem theme = below(2) == 0 ? QDQ_FLOAT : below(2) == 0 ? QDQ_BOOL : any_type();
    const char *why;

    qdq_node *n = qdq_graph_add_node(m->graph, NULL, "", qdq_op_get_info(op)->name, "", n_in,
                                     (uint32_t)(below(2) > 0 ? 1 : 1 + below(3)), outs);
    assert_non_null(n);
    bool by_dims = below(3) == 0;
    for (uint32_t i = 0; i < n_in; i++)
        if (s != NULL && below(8) > 0)
            in[i] = shaped_input(&memory, s, i);
        else if (i > 0 && by_dims)
            in[i] = any_input(&memory, theme, any_dim_of(&memory, in[0]));
        else {
            const qdq_const *like = i > 0 && below(2) == 0 ? in[0] : NULL;
            in[i] = any_input(&memory, i > 0 && below(2) == 0 ? QDQ_INT64 : theme, like);
        }
    add_needed(n, in[0]);
    for (int64_t left = below(6); left > 0; left--)
        add_attribute(n);
    assert_ok(qdq_eval_node(n, 7 + below(20), in, MAX_BYTES, &memory, out, &why, &err));
    if (why == NULL)
        check_results(n, out);
    else
        assert_true(strlen(why) > 0);
    qdq_arena_free(&memory);
    qdq_model_free(m);
    return why == NULL;
}

TEST(nodes_at_random_are_computed_or_refused)
{
    bool computed[QDQ_OP_COUNT] = {false};
    int known = 0, reached = 0;

    source = qdq_random_new(17, "nodes");
    for (int i = 0; i < ROUNDS; i++) {
        qdq_op op = (qdq_op)(1 + below(QDQ_OP_COUNT - 1));

        if (qdq_eval_knows(op) && try_one(op))
            computed[op] = true;
    }
    for (int op = 1; op < QDQ_OP_COUNT; op++) {
        known += qdq_eval_knows((qdq_op)op);
        reached += computed[op];
    }
    assert_true(reached >= known - 6); /* the walk is of use: hardly any kernel refuses all of it */
}
