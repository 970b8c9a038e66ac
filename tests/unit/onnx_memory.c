/* onnx_memory.c - models from and to memory: what is copied, what is borrowed, blocks of external
 * data. */
#include "ir/edit.h"
#include "support/disk.h"
#include "support/roundtrip.h"

enum { FLOATS = 600 };

static const float *weights(void)
{
    static float w[FLOATS];

    for (int i = 0; i < FLOATS; i++)
        w[i] = (float)i;
    return w;
}

/* A raw initializer. */
static void put_raw(qdq_buf *graph, const char *name, const float *w, size_t n)
{
    qdq_buf tensor = PB_NEW;

    pb_int(&tensor, 1, (int64_t)n);
    pb_int(&tensor, 2, QDQ_FLOAT);
    pb_text(&tensor, 8, name);
    pb_bytes(&tensor, 9, w, n * sizeof *w);
    pb_message(graph, 5, &tensor);
}

/* One that says where its bytes are. */
static void put_block(qdq_buf *graph, const char *name, const char *location, size_t n)
{
    qdq_buf tensor = PB_NEW;

    pb_int(&tensor, 1, (int64_t)n);
    pb_int(&tensor, 2, QDQ_FLOAT);
    pb_text(&tensor, 8, name);
    pb_entry(&tensor, 13, "location", location);
    pb_int(&tensor, 14, 1);
    pb_message(graph, 5, &tensor);
}

static const qdq_tensor *init_of(const qdq_model *m, const char *name)
{
    return qdq_graph_find(m->graph, name)->init;
}

static bool lies_in(const void *p, const void *data, size_t size)
{
    return (const char *)p >= (const char *)data && (const char *)p < (const char *)data + size;
}

TEST(bytes_are_copied_unless_they_are_borrowed)
{
    qdq_load_opts opts = QDQ_LOAD_OPTS_INIT;
    qdq_buf graph = relu_graph(), b;
    qdq_model *copied = NULL, *borrowed = NULL, *clone = NULL;

    put_raw(&graph, "w", weights(), FLOATS);
    b = pb_model(&graph);
    assert_ok(qdq_model_load_bytes(b.data, b.size, "memory", &opts, &copied, &err));
    opts.borrow = true;
    assert_ok(qdq_model_load_bytes(b.data, b.size, "memory", &opts, &borrowed, &err));
    assert_false(lies_in(init_of(copied, "w")->bytes.data, b.data, b.size));
    assert_true(lies_in(init_of(borrowed, "w")->bytes.data, b.data, b.size));
    assert_ok(qdq_model_clone(borrowed, &clone, &err));
    qdq_model_free(borrowed);
    assert_memory_equal(init_of(clone, "w")->bytes.data, weights(), FLOATS * sizeof(float));
    qdq_model_free(clone);
    qdq_model_free(copied);
    qdq_buf_free(&b);
}

TEST(external_data_are_found_in_blocks_before_any_folder)
{
    const qdq_block block = {"w.bin", weights(), FLOATS * sizeof(float)};
    qdq_load_opts opts = QDQ_LOAD_OPTS_INIT;
    qdq_buf graph = relu_graph(), b;
    qdq_model *m = NULL;

    put_block(&graph, "w", "w.bin", FLOATS);
    b = pb_model(&graph);
    opts.blocks = &block;
    opts.n_blocks = 1;
    assert_ok(qdq_model_load_bytes(b.data, b.size, "memory", &opts, &m, &err));
    assert_ptr_equal(init_of(m, "w")->bytes.data, block.data);
    qdq_model_free(m);
    /* of a file, too */
    assert_ok(qdq_write_file(test_path("m.onnx"), true, b.data, b.size, &err));
    assert_ok(qdq_model_load(test_path("m.onnx"), &opts, &m, &err));
    assert_ptr_equal(init_of(m, "w")->bytes.data, block.data);
    qdq_model_free(m);
    qdq_buf_free(&b);
}

TEST(a_block_that_is_short_missing_or_there_twice_is_an_error)
{
    qdq_block blocks[] = {{"w.bin", weights(), FLOATS * sizeof(float) - 1},
                          {"w.bin", weights(), FLOATS * sizeof(float)}};
    qdq_load_opts opts = QDQ_LOAD_OPTS_INIT;
    qdq_buf graph = relu_graph(), b;
    qdq_model *m = NULL;

    put_block(&graph, "w", "w.bin", FLOATS);
    b = pb_model(&graph);
    opts.blocks = blocks;
    opts.n_blocks = 1;
    assert_fails(QDQ_E_FORMAT, "reach beyond the end",
                 qdq_model_load_bytes(b.data, b.size, "memory", &opts, &m, &err));
    opts.n_blocks = 2;
    assert_fails(QDQ_E_USAGE, "memory: two blocks 'w.bin', expected one",
                 qdq_model_load_bytes(b.data, b.size, "memory", &opts, &m, &err));
    blocks[0].location = blocks[1].location = "other";
    opts.n_blocks = 1;
    assert_fails(QDQ_E_FORMAT, "external data in 'w.bin', but the model comes from memory",
                 qdq_model_load_bytes(b.data, b.size, "memory", &opts, &m, &err));
    assert_null(m);
    qdq_buf_free(&b);
}

TEST(a_model_in_blocks_is_read_again_without_a_copy_of_its_weights)
{
    static const float other[FLOATS] = {1};
    qdq_load_opts opts = QDQ_LOAD_OPTS_INIT;
    qdq_buf graph = relu_graph(), b;
    qdq_block *blocks = NULL;
    qdq_model *m, *again = NULL;
    void *data, *one, *two;
    size_t size, n_one, n_two;

    put_raw(&graph, "w", weights(), FLOATS);
    put_raw(&graph, "o", other, FLOATS);
    put_raw(&graph, "small", weights(), 4);
    b = pb_model(&graph);
    m = load(&b);
    assert_ok(qdq_model_to_blocks(m, 0, &data, &size, &blocks, &opts.n_blocks, &err));
    assert_int_equal(opts.n_blocks, 2);
    assert_true(size < 1024);
    for (size_t i = 0; i < 2; i++) {
        const qdq_tensor *t = init_of(m, i == 0 ? "w" : "o");
        assert_ptr_equal(blocks[i].data, t->bytes.data);
        assert_int_equal(blocks[i].bytes, t->bytes.size);
    }
    opts.blocks = blocks;
    opts.borrow = true;
    assert_ok(qdq_model_load_bytes(data, size, "memory", &opts, &again, &err));
    assert_ptr_equal(init_of(again, "w")->bytes.data, init_of(m, "w")->bytes.data);
    assert_ok(qdq_model_to_bytes(m, NULL, &one, &n_one, &err));
    assert_ok(qdq_model_to_bytes(again, NULL, &two, &n_two, &err));
    assert_int_equal(n_one, n_two);
    assert_memory_equal(one, two, n_one);
    qdq_free(one);
    qdq_free(two);
    qdq_model_free(again);
    qdq_model_free(m);
    qdq_free(data);
    qdq_free(blocks);
    qdq_buf_free(&b);
}

TEST(initializers_with_the_same_bytes_share_a_block)
{
    const qdq_block block = {"w.bin", weights(), FLOATS * sizeof(float)};
    qdq_load_opts opts = QDQ_LOAD_OPTS_INIT;
    qdq_buf graph = relu_graph(), b;
    qdq_block *blocks = NULL;
    qdq_model *m = NULL;
    void *data;
    size_t size, n;

    put_block(&graph, "w", "w.bin", FLOATS);
    put_block(&graph, "tied", "w.bin", FLOATS);
    b = pb_model(&graph);
    opts.blocks = &block;
    opts.n_blocks = 1;
    assert_ok(qdq_model_load_bytes(b.data, b.size, "memory", &opts, &m, &err));
    assert_ok(qdq_model_to_blocks(m, 0, &data, &size, &blocks, &n, &err));
    assert_int_equal(n, 1);
    qdq_free(data);
    qdq_free(blocks);
    /* all of it is larger than `least`: nothing is in blocks */
    assert_ok(qdq_model_to_blocks(m, 1 << 20, &data, &size, &blocks, &n, &err));
    assert_int_equal(n, 0);
    assert_true(size > FLOATS * sizeof(float));
    qdq_free(data);
    qdq_free(blocks);
    qdq_model_free(m);
    qdq_buf_free(&b);
}
