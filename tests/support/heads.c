/* heads.c - see the header. */
#include "support/heads.h"

#include <math.h>

#include "base/random.h"
#include "quant/data/npz_write.h"
#include "support/build.h"
#include "support/test.h"

enum { CLASSES = 80, DETR_CLASSES = 91, WIDTH = 64, TOKENS = 50, READ = 32 };

/* --- layers ----------------------------------------------------------------------------------- */

/* Normal numbers around `mean`. dims end with 0. */
static void normal(test_builder *b, const char *name, double mean, double deviation,
                   const int64_t *dims)
{
    qdq_random random = qdq_random_new(b->seed++, NULL);
    int rank = 0;
    void *data;

    while (dims[rank] != 0)
        rank++;
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_FLOAT, rank, dims, &data);
    assert_non_null(t);
    for (int64_t i = 0; i < t->count; i++)
        ((float *)data)[i] = (float)(mean + deviation * (double)qdq_random_normal(&random));
    assert_non_null(qdq_graph_add_init(b->g, name, t));
}
#define NORMAL(b, name, mean, deviation, ...)                                                      \
    normal((b), (name), (mean), (deviation), (const int64_t[]){__VA_ARGS__, 0})

/* name = Conv(x); what goes in has about the deviation of what comes out, times `gain`. */
static void conv(test_builder *b, const char *name, const char *x, int64_t out, int64_t in,
                 int64_t k, int64_t stride, double gain, double bias)
{
    const int64_t pads[4] = {k / 2, k / 2, k / 2, k / 2}, strides[2] = {stride, stride};
    char w[64], c[64];

    snprintf(w, sizeof w, "%s.w", name);
    snprintf(c, sizeof c, "%s.b", name);
    NORMAL(b, w, 0, gain / sqrt((double)(in * k * k)), out, in, k, k);
    NORMAL(b, c, bias, 0.1, out);
    qdq_node *n = TEST_NODE(b, "Conv", name, x, w, c);
    assert_true(qdq_node_set_ints(n, "pads", pads, 4) &&
                qdq_node_set_ints(n, "strides", strides, 2));
}

/* name.r = Relu(Conv(x)) */
static void block(test_builder *b, const char *name, const char *x, int64_t out, int64_t in,
                  int64_t stride)
{
    char r[64];

    conv(b, name, x, out, in, 3, stride, sqrt(2), 0);
    snprintf(r, sizeof r, "%s.r", name);
    TEST_NODE(b, "Relu", r, name);
}

/* name = x w + b */
static void linear(test_builder *b, const char *name, const char *x, int64_t in, int64_t out,
                   double gain, double bias)
{
    char w[64], c[64], product[64];

    snprintf(w, sizeof w, "%s.w", name);
    snprintf(c, sizeof c, "%s.b", name);
    snprintf(product, sizeof product, "%s.p", name);
    NORMAL(b, w, 0, gain / sqrt((double)in), in, out);
    NORMAL(b, c, bias, 0.1, out);
    TEST_NODE(b, "MatMul", product, x, w);
    TEST_NODE(b, "Add", name, product, c);
}

static void scalar(test_builder *b, const char *name, float x)
{
    assert_non_null(qdq_graph_add_init(b->g, name, qdq_tensor_of_floats(b->m, 0, NULL, &x)));
}

/* A layer that was trained on what it reads weighs pixels and scores alike: rows of pixels are as
 * much smaller. */
static void reader(test_builder *b, const char *x, int64_t classes, float pixels)
{
    const int64_t dims[2] = {classes + 4, READ};
    qdq_random random = qdq_random_new(b->seed++, NULL);
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_FLOAT, 2, dims, &data);

    assert_non_null(t);
    for (int64_t i = 0; i < t->count; i++)
        ((float *)data)[i] = qdq_random_normal(&random) / (i / READ < 4 ? pixels : 1);
    assert_non_null(qdq_graph_add_init(b->g, "embedding.w", t));
    TEST_NODE(b, "MatMul", "embedding", x, "embedding.w");
    test_output(b, "embedding");
}

/* From boxes and scores, [1, n, 4] and [1, n, classes], to the outputs. */
static qdq_model *finish(test_builder *b, const test_head *h, const char *boxes, const char *scores,
                         int64_t classes)
{
    if (h->is_apart) {
        test_output(b, boxes);
        test_output(b, scores);
        return test_built(b);
    }
    assert_true(qdq_node_set_int(TEST_NODE(b, "Concat", "detections", boxes, scores), "axis", 2));
    test_output(b, "detections");
    if (h->has_reader)
        reader(b, "detections", classes, h->pixels > 0 ? h->pixels : 640);
    return test_built(b);
}

/* --- a detector ------------------------------------------------------------------------------- */

/* <to> = x [1, c, h, w] as [1, h w, c] */
static void as_rows(test_builder *b, const char *to, const char *x, int64_t channels)
{
    static const int64_t perm[] = {0, 2, 1};
    char shape[64], flat[64];

    snprintf(shape, sizeof shape, "%s.shape", to);
    snprintf(flat, sizeof flat, "%s.flat", to);
    TEST_INTS(b, shape, 1, channels, -1);
    TEST_NODE(b, "Reshape", flat, x, shape);
    assert_true(qdq_node_set_ints(TEST_NODE(b, "Transpose", to, flat), "perm", perm, 3));
}

/* Heads of one level: <name>.boxes and <name>.scores as rows. */
static void level(test_builder *b, const char *name, const char *x)
{
    char n[12][64];
    static const char *const suffix[] = {"c1", "c1.r", "c2", "c2.s",    "c2.rows", "boxes",
                                         "s1", "s1.r", "s2", "s2.rows", "scores"};

    for (size_t i = 0; i < QDQ_COUNT(suffix); i++)
        snprintf(n[i], sizeof n[i], "%s.%s", name, suffix[i]);
    block(b, n[0], x, WIDTH, WIDTH, 1);
    conv(b, n[2], n[1], 4, WIDTH, 1, 1, 1.5, 0);
    TEST_NODE(b, "Sigmoid", n[3], n[2]);
    as_rows(b, n[4], n[3], 4);
    TEST_NODE(b, "Mul", n[5], n[4], "pixels");
    block(b, n[6], x, WIDTH, WIDTH, 1);
    conv(b, n[8], n[7], CLASSES, WIDTH, 1, 1, 2, -2);
    as_rows(b, n[9], n[8], CLASSES);
    TEST_NODE(b, "Sigmoid", n[10], n[9]);
}

qdq_model *test_detector(const test_head *h)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 64, 64);
    scalar(&b, "pixels", h->pixels > 0 ? h->pixels : 640);
    block(&b, "c1", "x", 16, 3, 2);
    block(&b, "c2", "c1.r", 32, 16, 2);
    block(&b, "c3", "c2.r", WIDTH, 32, 2);
    block(&b, "c4", "c3.r", WIDTH, WIDTH, 2);
    level(&b, "p3", "c3.r");
    level(&b, "p4", "c4.r");
    if (h->is_apart) {
        assert_true(
            qdq_node_set_int(TEST_NODE(&b, "Concat", "boxes", "p3.boxes", "p4.boxes"), "axis", 1));
        assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "scores", "p3.scores", "p4.scores"),
                                     "axis", 1));
        return finish(&b, h, "boxes", "scores", CLASSES);
    }
    /* each level on its own first: a join of joins */
    assert_true(
        qdq_node_set_int(TEST_NODE(&b, "Concat", "p3.all", "p3.boxes", "p3.scores"), "axis", 2));
    assert_true(
        qdq_node_set_int(TEST_NODE(&b, "Concat", "p4.all", "p4.boxes", "p4.scores"), "axis", 2));
    assert_true(
        qdq_node_set_int(TEST_NODE(&b, "Concat", "detections", "p3.all", "p4.all"), "axis", 1));
    test_output(&b, "detections");
    if (h->has_reader)
        reader(&b, "detections", CLASSES, h->pixels > 0 ? h->pixels : 640);
    return test_built(&b);
}

/* --- a decoder -------------------------------------------------------------------------------- */

static void layer_norm(test_builder *b, const char *name, const char *x)
{
    char w[64], c[64];

    snprintf(w, sizeof w, "%s.w", name);
    snprintf(c, sizeof c, "%s.b", name);
    NORMAL(b, w, 1, 0.1, WIDTH);
    NORMAL(b, c, 0, 0.1, WIDTH);
    TEST_NODE(b, "LayerNormalization", name, x, w, c);
}

static void attention(test_builder *b, const char *x)
{
    static const int64_t perm[] = {0, 2, 1};

    linear(b, "q", x, WIDTH, WIDTH, 1, 0);
    linear(b, "k", x, WIDTH, WIDTH, 1, 0);
    linear(b, "v", x, WIDTH, WIDTH, 1, 0);
    scalar(b, "root", 1 / sqrtf(WIDTH));
    assert_true(qdq_node_set_ints(TEST_NODE(b, "Transpose", "kt", "k"), "perm", perm, 3));
    TEST_NODE(b, "MatMul", "qk", "q", "kt");
    TEST_NODE(b, "Mul", "logits", "qk", "root");
    TEST_NODE(b, "Softmax", "probabilities", "logits");
    TEST_NODE(b, "MatMul", "context", "probabilities", "v");
    linear(b, "attended", "context", WIDTH, WIDTH, 1, 0);
}

qdq_model *test_detr(const test_head *h)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, TOKENS, WIDTH);
    scalar(&b, "pixels", h->pixels > 0 ? h->pixels : 640);
    attention(&b, "x");
    TEST_NODE(&b, "Add", "r1", "x", "attended");
    layer_norm(&b, "n1", "r1");
    linear(&b, "f1", "n1", WIDTH, 2 * WIDTH, sqrt(2), 0);
    TEST_NODE(&b, "Relu", "f1.r", "f1");
    linear(&b, "f2", "f1.r", 2 * WIDTH, WIDTH, 1, 0);
    TEST_NODE(&b, "Add", "r2", "n1", "f2");
    layer_norm(&b, "n2", "r2");
    linear(&b, "classes", "n2", WIDTH, DETR_CLASSES, 2, -2);
    TEST_NODE(&b, "Sigmoid", "scores", "classes");
    linear(&b, "b1", "n2", WIDTH, WIDTH, sqrt(2), 0);
    TEST_NODE(&b, "Relu", "b1.r", "b1");
    linear(&b, "b2", "b1.r", WIDTH, 4, 1.5, 0);
    TEST_NODE(&b, "Sigmoid", "b2.s", "b2");
    TEST_NODE(&b, "Mul", "boxes", "b2.s", "pixels");
    return finish(&b, h, "boxes", "scores", DETR_CLASSES);
}

/* --- data ------------------------------------------------------------------------------------- */

qdq_status test_head_write(const qdq_model *m, uint64_t seed, size_t n, const char *path,
                           qdq_error *err)
{
    const qdq_type *type = m->graph->inputs.at[0]->type;
    qdq_random random = qdq_random_new(seed, "head");
    qdq_named_array a = {.name = "x", .array = {.elem = QDQ_FLOAT, .rank = type->rank}};

    for (int i = 0; i < type->rank; i++)
        a.array.dim[i] = i == 0 ? (int64_t)n : type->dim[i].value;
    const size_t count = (size_t)qdq_array_count(&a.array);
    float *data = malloc(count * sizeof *data);
    if (data == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < count; i++)
        data[i] = qdq_random_normal(&random);
    a.array.data = data;
    a.array.bytes = count * sizeof *data;
    qdq_status st = qdq_npz_write(path, &a, 1, err);
    free(data);
    return st;
}
