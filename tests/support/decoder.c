/* decoder.c - see the header. */
#include "support/decoder.h"

#include <math.h>

#include "base/buf.h"
#include "base/random.h"
#include "ir/edit.h"
#include "quant/data/npz_write.h"
#include "support/test.h"
#include "support/transformer.h"

enum { SUCCESSORS = 4, MASSIVE = 3, MOST_INPUTS = 64, SEED = 1 };

const test_decoder test_decoder_small = {2, 64, 4, 192, 128};
const test_decoder test_decoder_full = {8, 1024, 16, 2816, 8192};

/* --- graph ------------------------------------------------------------------------------------ */

static void put_layer(qdq_buf *b, const char *text, int64_t layer)
{
    for (; *text != '\0'; text++)
        if (*text == '$' || *text == '%')
            qdq_buf_printf(b, "%lld", (long long)(layer + (*text == '%')));
        else
            qdq_buf_append(b, text, 1);
}

static void put_head(qdq_buf *b, const test_decoder *s)
{
    const long long d = s->width, h = s->heads, size = s->width / s->heads;

    qdq_buf_printf(b, "<ir_version: 10, opset_import: [\"\" : 21, \"made\" : 1]>\n"
                      "decoder (int64[batch,seq] input_ids, int64[batch,total] attention_mask, "
                      "int64[batch,seq] position_ids");
    for (int64_t i = 0; i < s->layers; i++)
        for (int k = 0; k < 2; k++)
            qdq_buf_printf(b, ", float[batch,%lld,past,%lld] past_%lld_%s", h, size, (long long)i,
                           k == 0 ? "key" : "value");
    qdq_buf_printf(b, ") => (float[batch,seq,%lld] logits", (long long)s->vocabulary);
    for (int64_t i = 0; i < s->layers; i++)
        for (int k = 0; k < 2; k++)
            qdq_buf_printf(b, ", float[batch,%lld,total,%lld] present_%lld_%s", h, size,
                           (long long)i, k == 0 ? "key" : "value");
    qdq_buf_printf(
        b,
        ") <int64[2] position_axes = {1, 3}, "
        "int64 index_0 = {0}, int64 index_1 = {1}, "
        "int64[2] mask_axes = {1, 2}, float nothing = {0}, float far = {-10000}, "
        "float unit = {1}, float root = {%.9g}, int64[4] split = {0, 0, %lld, %lld}, "
        "int64[3] join = {0, 0, %lld}, float[%lld] frequency, float[%lld,%lld] embedding, "
        "float[%lld] gain_f, float[%lld,%lld] head",
        1 / sqrt((double)size), h, size, d, size / 2, (long long)s->vocabulary, d, d, d,
        (long long)s->vocabulary);
}

static void put_weight(qdq_buf *b, const char *name, int64_t layer, int64_t in, int64_t out)
{
    qdq_buf_printf(b, ", float[%lld,%lld] %s%lld", (long long)in, (long long)out, name,
                   (long long)layer);
}

static void put_weights(qdq_buf *b, const test_decoder *s)
{
    static const char *const square[] = {"wq", "wk", "wv", "wo"};

    for (int64_t i = 0; i < s->layers; i++) {
        qdq_buf_printf(b, ", float[%lld] gain_a%lld, float[%lld] gain_m%lld", (long long)s->width,
                       (long long)i, (long long)s->width, (long long)i);
        for (size_t k = 0; k < QDQ_COUNT(square); k++)
            put_weight(b, square[k], i, s->width, s->width);
        put_weight(b, "wgate", i, s->width, s->hidden);
        put_weight(b, "wup", i, s->width, s->hidden);
        put_weight(b, "wdown", i, s->hidden, s->width);
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void fill_embedding(float *x, const test_decoder *s, bool is_massive)
{
    qdq_random r = qdq_random_new(SEED, "embedding");

    test_correlated(&r, x, s->vocabulary, s->width, 1);
    for (int64_t t = 0; t < s->vocabulary && is_massive; t++)
        for (int i = 0; i < MASSIVE; i++)
            x[t * s->width + test_massive_channel(s->width, i)] += i == 1 ? -3 : 3;
}

/* Column v points to where the tokens are that v may follow. */
static void fill_head(float *x, const test_decoder *s)
{
    qdq_random r = qdq_random_new(SEED, "head");
    float *e = malloc((size_t)(s->vocabulary * s->width) * sizeof *e);

    assert_non_null(e);
    fill_embedding(e, s, false);
    for (int64_t i = 0; i < s->width * s->vocabulary; i++)
        x[i] = 0.3F * qdq_random_normal(&r);
    for (int64_t t = 0; t < s->vocabulary; t++)
        for (uint64_t i = 0; i < SUCCESSORS; i++)
            for (int64_t c = 0, v = test_successor(s->vocabulary, t, i); c < s->width; c++)
                x[c * s->vocabulary + v] += e[t * s->width + c];
    for (int64_t i = 0; i < s->width * s->vocabulary; i++)
        x[i] *= 20 / (float)s->width;
    free(e);
}

static void fill_gain(qdq_random *r, float *x, int64_t n, bool is_last)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = 1 + 0.1F * qdq_random_normal(r);
    for (int i = 0; i < MASSIVE && !is_last; i++)
        x[test_massive_channel(n, i)] = 6;
}

static void fill(float *x, const char *name, const int64_t *dim, const test_decoder *s)
{
    qdq_random r = qdq_random_new(SEED, name);

    if (strcmp(name, "embedding") == 0)
        fill_embedding(x, s, true);
    else if (strcmp(name, "head") == 0)
        fill_head(x, s);
    else if (strncmp(name, "gain", 4) == 0)
        fill_gain(&r, x, dim[0], strcmp(name, "gain_f") == 0);
    else if (strcmp(name, "frequency") == 0)
        for (int64_t i = 0; i < dim[0]; i++)
            x[i] = powf(10000, -(float)i / (float)dim[0]);
    else
        test_correlated(&r, x, dim[0], dim[1], 0.5F / sqrtf((float)dim[0]));
}

/* What the text declares without data. */
static void fill_all(qdq_model *m, const test_decoder *s)
{
    QDQ_FOR_NODES (n, m->graph) {
        for (uint32_t i = 0; i < n->n_in; i++) {
            qdq_value *v = qdq_node_in(n, i);
            int64_t dim[QDQ_MAX_RANK];
            int rank;
            void *data;

            if (v == NULL || v->producer != NULL || v->is_input || qdq_value_const(v) != NULL)
                continue;
            assert_true(qdq_value_static_shape(v, &rank, dim, QDQ_MAX_RANK));
            qdq_tensor *t = qdq_tensor_new(m, QDQ_FLOAT, rank, dim, &data);
            assert_non_null(t);
            fill(data, v->name, dim, s);
            assert_true(qdq_value_set_init(v, t));
        }
    }
}

qdq_model *test_decoder_model(const test_decoder *s)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 20);
    qdq_error err = QDQ_ERROR_INIT;

    put_head(&b, s);
    put_weights(&b, s);
    qdq_buf_printf(&b, "> {\n%s", test_graph_text("before_layers"));
    for (int64_t i = 0; i < s->layers; i++)
        put_layer(&b, test_graph_text("one_layer"), i);
    put_layer(&b, "  final = made.RmsNorm(x$, gain_f)\n  logits = MatMul(final, head)\n}\n",
              s->layers);
    qdq_buf_printf(&b, "%s", test_graph_text("functions"));
    assert_false(b.failed);
    qdq_model *m = test_model(b.data);
    qdq_buf_free(&b);
    fill_all(m, s);
    assert_ok(qdq_model_infer_shapes(m, &err));
    return m;
}

/* --- sequences -------------------------------------------------------------------------------- */

/* Arrays of a run or of a file, in the order of the model's inputs. */
typedef struct step {
    const test_decoder *size;
    size_t n;
    char names[MOST_INPUTS][24];
    qdq_named_array a[MOST_INPUTS];
} step;

static qdq_status add(step *s, const char *name, qdq_elem elem, int rank, const int64_t *dim)
{
    qdq_array *a = &s->a[s->n].array;

    snprintf(s->names[s->n], sizeof s->names[s->n], "%s", name);
    s->a[s->n].name = s->names[s->n];
    *a = (qdq_array){.elem = elem, .rank = rank};
    for (int i = 0; i < rank; i++)
        a->dim[i] = dim[i];
    a->bytes = (size_t)qdq_array_count(a) * (elem == QDQ_INT64 ? 8 : 4);
    a->data = calloc(1, a->bytes > 0 ? a->bytes : 1);
    s->n++;
    return a->data != NULL ? QDQ_OK : QDQ_E_NOMEM;
}

/* `rows` times `tokens` tokens behind a cache of `past` ones. */
static void begin(step *s, const test_decoder *size, int64_t rows, int64_t tokens, int64_t past)
{
    const int64_t here[] = {rows, tokens}, all[] = {rows, past + tokens},
                  cache[] = {rows, size->heads, past, size->width / size->heads};

    *s = (step){.size = size};
    assert_true(2 * size->layers + 3 <= MOST_INPUTS);
    assert_int_equal(add(s, "input_ids", QDQ_INT64, 2, here), QDQ_OK);
    assert_int_equal(add(s, "attention_mask", QDQ_INT64, 2, all), QDQ_OK);
    assert_int_equal(add(s, "position_ids", QDQ_INT64, 2, here), QDQ_OK);
    for (int64_t i = 0; i < rows * all[1]; i++)
        ((int64_t *)s->a[1].array.data)[i] = 1;
    for (int64_t i = 0; i < rows * tokens; i++)
        ((int64_t *)s->a[2].array.data)[i] = past + i % tokens;
    for (int64_t i = 0; i < 2 * size->layers; i++) {
        char name[24];

        snprintf(name, sizeof name, "past_%d_%s", (int)(i / 2), i % 2 == 0 ? "key" : "value");
        assert_int_equal(add(s, name, QDQ_FLOAT, 4, cache), QDQ_OK);
    }
}

static void end(step *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->a[i].array.data);
}

typedef struct caches {
    step *files;
    const test_decoder_steps *steps;
    /* of the files */
    size_t row;
} caches;

/* An output present_I_key: its first steps are the cache of a shorter sequence. */
static qdq_status keep_cache(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    const caches *c = ctx;

    (void)err;
    for (size_t f = 0; c->steps->lengths[f] >= 0 && strncmp(name, "present_", 8) == 0; f++) {
        const qdq_array *to = NULL;

        for (size_t i = 0; i < c->files[f].n; i++)
            if (strncmp(c->files[f].a[i].name, "past_", 5) == 0 &&
                strcmp(c->files[f].a[i].name + 5, name + 8) == 0)
                to = &c->files[f].a[i].array;
        assert_non_null(to);
        for (int64_t h = 0; h < a->dim[1]; h++)
            memcpy((float *)to->data +
                       (((int64_t)c->row * to->dim[1] + h) * to->dim[2]) * to->dim[3],
                   (const float *)a->data + h * a->dim[2] * a->dim[3],
                   (size_t)(to->dim[2] * to->dim[3]) * sizeof(float));
    }
    return QDQ_OK;
}

/* One sequence, run whole: row `row` of every file. */
static qdq_status run_sequence(qdq_session *session, const test_decoder *size, caches *c,
                               qdq_error *err)
{
    const test_decoder_steps *steps = c->steps;
    qdq_random r = qdq_random_new(qdq_random_nth_seed(steps->seed, c->row), "sequence");
    int64_t n = 0;
    step s;

    for (size_t f = 0; steps->lengths[f] >= 0; f++)
        n = steps->lengths[f] + steps->tokens > n ? steps->lengths[f] + steps->tokens : n;
    begin(&s, size, 1, n, 0);
    int64_t *ids = s.a[0].array.data;
    ids[0] = (int64_t)(qdq_random_u64(&r) % (uint64_t)size->vocabulary);
    for (int64_t i = 1; i < n; i++)
        ids[i] = test_successor(size->vocabulary, ids[i - 1], qdq_random_u64(&r) % SUCCESSORS);
    for (size_t f = 0; steps->lengths[f] >= 0; f++)
        memcpy((int64_t *)c->files[f].a[0].array.data + (int64_t)c->row * steps->tokens,
               ids + steps->lengths[f], (size_t)steps->tokens * sizeof *ids);
    qdq_status st = qdq_session_run(session, s.a, s.n, keep_cache, c, err);
    end(&s);
    return st;
}

qdq_status test_decoder_write(const test_decoder *size, const test_decoder_steps *steps,
                              const qdq_model *m, qdq_engine *e, const char *folder, qdq_error *err)
{
    qdq_session *session = NULL;
    size_t n_files = 0;

    while (steps->lengths[n_files] >= 0)
        n_files++;
    caches c = {.files = calloc(n_files, sizeof *c.files), .steps = steps};
    assert_non_null(c.files);
    for (size_t f = 0; f < n_files; f++)
        begin(&c.files[f], size, (int64_t)steps->n, steps->tokens, steps->lengths[f]);
    qdq_status st = qdq_session_open(e, m, NULL, &session, err);
    for (; c.row < steps->n && st == QDQ_OK; c.row++)
        st = run_sequence(session, size, &c, err);
    for (size_t f = 0; f < n_files && st == QDQ_OK; f++) {
        char path[4096];

        snprintf(path, sizeof path, "%s/%04lld.npz", folder, (long long)steps->lengths[f]);
        st = qdq_npz_write(path, c.files[f].a, c.files[f].n, err);
    }
    qdq_session_close(session);
    for (size_t f = 0; f < n_files; f++)
        end(&c.files[f]);
    free(c.files);
    return st;
}
