/* transformer.c - see the header; what graphs are made of is in graphs/transformer.txt. */
#include "support/transformer.h"

#include <math.h>

#include "base/buf.h"
#include "base/random.h"
#include "ir/edit.h"
#include "quant/data/npz_write.h"
#include "support/test.h"

enum { SUCCESSORS = 4, MASSIVE = 3, MOST_INPUTS = 32, POSITIONS = 96, MEL = 80, SEED = 1 };

const test_transformer test_transformer_tiny = {2, 32, 2, 64, 48, 14};
const test_transformer test_transformer_small = {2, 128, 4, 512, 256, 17};

static const struct {
    const char *name;
    int least_opset;
} families[TEST_FAMILIES] = {
    [TEST_BERT] = {"bert", 0},
    [TEST_GPT] = {"gpt", 0},
    [TEST_LLAMA] = {"llama", 25},
    [TEST_T5] = {"t5", 0},
    [TEST_WHISPER_ENCODER] = {"whisper-encoder", 0},
    [TEST_WHISPER_DECODER] = {"whisper-decoder", 0},
    [TEST_WHISPER_MERGED] = {"whisper-merged", 0},
};

const char *test_family_name(test_family f)
{
    return f < TEST_FAMILIES ? families[f].name : NULL;
}

/* --- graph ------------------------------------------------------------------------------------ */

static void put_size(qdq_buf *b, char what, const test_transformer *s)
{
    const int64_t size = s->width / s->heads;

    switch (what) {
    case 'd':
        qdq_buf_printf(b, "%lld", (long long)s->width);
        break;
    case 'D':
        qdq_buf_printf(b, "%lld", (long long)(3 * s->width));
        break;
    case 'h':
        qdq_buf_printf(b, "%lld", (long long)s->heads);
        break;
    case 's':
        qdq_buf_printf(b, "%lld", (long long)size);
        break;
    case 'S':
        qdq_buf_printf(b, "%lld", (long long)size / 2);
        break;
    case 'f':
        qdq_buf_printf(b, "%lld", (long long)s->hidden);
        break;
    case 'v':
        qdq_buf_printf(b, "%lld", (long long)s->vocabulary);
        break;
    case 'o':
        qdq_buf_printf(b, "%d", s->opset);
        break;
    case 'p':
        qdq_buf_printf(b, "%d", POSITIONS);
        break;
    case 'm':
        qdq_buf_printf(b, "%d", MEL);
        break;
    case 'r':
        qdq_buf_printf(b, "%.9g", 1 / sqrt((double)size));
        break;
    default:
        fail_msg("~%c in a template", what);
    }
}

static void put(qdq_buf *b, const char *text, const test_transformer *s, int64_t layer)
{
    for (; text != NULL && *text != '\0'; text++)
        if (*text == '$' || *text == '%')
            qdq_buf_printf(b, "%lld", (long long)(layer + (*text == '%')));
        else if (*text == '~')
            put_size(b, *++text, s);
        else
            qdq_buf_append(b, text, 1);
}

/* What a family has of `part`: once, or for each layer. */
static void put_part(qdq_buf *b, test_family f, const char *part, const test_transformer *s,
                     int64_t layer)
{
    char name[64];

    snprintf(name, sizeof name, "%s %s", families[f].name, part);
    put(b, test_graph_if_any(__FILE__, name), s, layer);
}

static void put_each(qdq_buf *b, test_family f, const char *part, const test_transformer *s)
{
    for (int64_t i = 0; i < s->layers; i++)
        put_part(b, f, part, s, i);
}

/* --- numbers ---------------------------------------------------------------------------------- */

int64_t test_successor(int64_t vocabulary, int64_t token, uint64_t i)
{
    qdq_random r = qdq_random_new((uint64_t)token * SUCCESSORS + i, "successor");

    return (int64_t)(qdq_random_u64(&r) % (uint64_t)vocabulary);
}

void test_correlated(qdq_random *r, float *x, int64_t rows, int64_t n, float deviation)
{
    const float follow = 0.9F, fresh = sqrtf(1 - follow * follow);

    for (int64_t i = 0; i < rows; i++) {
        float last = qdq_random_normal(r);

        for (int64_t c = 0; c < n; c++, last = follow * last + fresh * qdq_random_normal(r))
            x[i * n + c] = deviation * last;
    }
}

static void normal(qdq_random *r, float *x, int64_t n, float mean, float deviation)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = mean + deviation * qdq_random_normal(r);
}

int64_t test_massive_channel(int64_t n, int i)
{
    return (2 * i + 1) * n / (2 * MASSIVE) + i;
}

static float massive_gain(int i)
{
    return 20 + 10 * (float)i;
}

/* Column v points to where the tokens are that v may follow. */
static void fill_head(float *x, const test_transformer *s)
{
    qdq_random table = qdq_random_new(SEED, "words_table"), r = qdq_random_new(SEED, "head");
    float *e = malloc((size_t)(s->vocabulary * s->width) * sizeof *e);

    assert_non_null(e);
    normal(&table, e, s->vocabulary * s->width, 0, 1);
    normal(&r, x, s->vocabulary * s->width, 0, 0.3F);
    for (int64_t t = 0; t < s->vocabulary; t++)
        for (uint64_t i = 0; i < SUCCESSORS; i++)
            for (int64_t c = 0, v = test_successor(s->vocabulary, t, i); c < s->width; c++)
                x[c * s->vocabulary + v] += e[t * s->width + c];
    for (int64_t i = 0; i < s->width * s->vocabulary; i++)
        x[i] *= 10 / (float)s->width;
    free(e);
}

/* Of a normalization: "gf", "g_first" are as trained, "gr" gives massive channels back what the
 * normalization of BERT's residuals took from the others, all other ones have massive channels. */
static void fill_gain(qdq_random *r, float *x, const char *name, int64_t n)
{
    const bool is_restored = strncmp(name, "gr", 2) == 0;
    float sum = (float)n;

    for (int i = 0; i < MASSIVE; i++)
        sum += massive_gain(i) * massive_gain(i);
    normal(r, x, n, is_restored ? sqrtf(sum / (float)n) : 1, 0.1F);
    if (strncmp(name, "gf", 2) == 0 || strcmp(name, "g_first") == 0)
        return;
    for (int i = 0; i < MASSIVE; i++)
        x[test_massive_channel(n, i)] =
            is_restored ? sqrtf(sum / (float)n) / massive_gain(i) : massive_gain(i);
}

/* The name says what a tensor is: "...table" rows of embeddings, "g..." gains, "b...", "cb..."
 * biases, "...wn..." weights of what has massive channels, which they damp. */
static void fill(float *x, const char *name, const int64_t *dim, int rank,
                 const test_transformer *s)
{
    qdq_random r = qdq_random_new(SEED, name);
    const char *suffix = strrchr(name, '_');
    int64_t count = 1, rows = 1;

    for (int i = 0; i < rank; i++)
        count *= dim[i];
    for (int i = 0; i + 1 < rank; i++)
        rows *= dim[i];
    if (strcmp(name, "head") == 0)
        fill_head(x, s);
    else if (suffix != NULL && strcmp(suffix, "_table") == 0)
        normal(&r, x, count, 0, strncmp(name, "places", 6) == 0 ? 0.3F : 1);
    else if (name[0] == 'g' || strncmp(name, "dg", 2) == 0)
        fill_gain(&r, x, name, count);
    else if (rank == 1)
        normal(&r, x, count, 0, 0.1F);
    else if (rank == 3)
        normal(&r, x, count, 0, 1 / sqrtf((float)(dim[1] * dim[2])));
    else
        test_correlated(&r, x, rows, dim[rank - 1], 0.6F / sqrtf((float)rows));
    for (int i = 0; i < MASSIVE && rank == 2 && strstr(name, "wn") != NULL; i++)
        for (int64_t c = 0; c < dim[1]; c++)
            x[test_massive_channel(dim[0], i) * dim[1] + c] /= 8;
}

static void fill_value(qdq_model *m, qdq_value *v, const test_transformer *s)
{
    int64_t dim[QDQ_MAX_RANK];
    int rank;
    void *data;

    if (v == NULL || v->producer != NULL || v->is_input || qdq_value_const(v) != NULL)
        return;
    assert_true(qdq_value_static_shape(v, &rank, dim, QDQ_MAX_RANK));
    qdq_tensor *t = qdq_tensor_new(m, v->type->elem, rank, dim, &data);
    assert_non_null(t);
    if (v->type->elem == QDQ_INT64)
        for (int64_t i = 0; i < dim[rank - 1]; i++)
            ((int64_t *)data)[i] = i;
    else
        fill(data, v->name, dim, rank, s);
    assert_true(qdq_value_set_init(v, t));
}

/* What the text declares without data. */
static void fill_all(qdq_model *m, const test_transformer *s)
{
    for (size_t i = 0; i < m->graph->values.n; i++)
        fill_value(m, m->graph->values.at[i], s);
}

qdq_model *test_transformer_model(test_family f, const test_transformer *size)
{
    test_transformer own = *size, *s = &own;
    qdq_buf b = QDQ_BUF_INIT(1 << 20);
    qdq_error err = QDQ_ERROR_INIT;

    if (own.opset < families[f].least_opset)
        own.opset = families[f].least_opset;
    qdq_buf_printf(&b, "<ir_version: %d, ", own.opset < 23 ? 8 : 11);
    put(&b,
        "opset_import: [\"\" : ~o, \"torch\" : 1], producer_name: \"pytorch\">\n"
        "main_graph (",
        s, 0);
    put_part(&b, f, "inputs", s, 0);
    put_each(&b, f, "layer inputs", s);
    if (f == TEST_WHISPER_MERGED)
        put(&b, ", bool[1] use_cache_branch", s, 0);
    put(&b, ") => (", s, 0);
    put_part(&b, f, "outputs", s, 0);
    put_each(&b, f, "layer outputs", s);
    put(&b, ") <", s, 0);
    put(&b, test_graph_text("numbers"), s, 0);
    put_part(&b, f, "weights", s, 0);
    put_each(&b, f, "layer weights", s);
    put(&b, "> {\n", s, 0);
    put_part(&b, f, "before", s, 0);
    put_each(&b, f, "layer", s);
    put_part(&b, f, "between", s, s->layers);
    put_each(&b, f, "layer 2", s);
    put_part(&b, f, "after", s, s->layers);
    put(&b, "}\n", s, 0);
    put_part(&b, f, "functions", s, 0);
    put(&b, test_graph_text("functions"), s, 0);
    put(&b, test_graph_text(s->opset >= 17 ? "layernorm" : "layernorm spelled"), s, 0);
    assert_false(b.failed);
    qdq_model *m = test_model(b.data);
    qdq_buf_free(&b);
    fill_all(m, s);
    assert_ok(qdq_model_infer_shapes(m, &err));
    return m;
}
