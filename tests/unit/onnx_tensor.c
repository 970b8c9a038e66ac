/* onnx_tensor.c - every element type in every encoding. */
#include "ir/edit.h"
#include "support/roundtrip.h"

/* How each element type is stored in a typed field: its number, and whether it is a varint. */
typedef struct elem_case {
    qdq_elem elem;
    /* 4 float, 5 int32, 7 int64, 10 double, 11 uint64 */
    unsigned field;
} elem_case;

static const elem_case elem_cases[] = {
    {QDQ_FLOAT, 4},          {QDQ_COMPLEX64, 4},  {QDQ_DOUBLE, 10},        {QDQ_COMPLEX128, 10},
    {QDQ_INT64, 7},          {QDQ_UINT32, 11},    {QDQ_UINT64, 11},        {QDQ_UINT8, 5},
    {QDQ_INT8, 5},           {QDQ_UINT16, 5},     {QDQ_INT16, 5},          {QDQ_INT32, 5},
    {QDQ_BOOL, 5},           {QDQ_FLOAT16, 5},    {QDQ_BFLOAT16, 5},       {QDQ_FLOAT8E4M3FN, 5},
    {QDQ_FLOAT8E4M3FNUZ, 5}, {QDQ_FLOAT8E5M2, 5}, {QDQ_FLOAT8E5M2FNUZ, 5}, {QDQ_FLOAT8E8M0, 5},
    {QDQ_UINT4, 5},          {QDQ_INT4, 5},       {QDQ_FLOAT4E2M1, 5},     {QDQ_UINT2, 5},
    {QDQ_INT2, 5},
};

enum { COUNT = 5 };

/* Bytes in which every element differs; bool is 0 or 1, and what pads 2 and 4 bit types is 0. */
static void make_data(qdq_elem e, unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)(e == QDQ_BOOL ? i % 2 : 37 * i + 1);
    if (e == QDQ_UINT4 || e == QDQ_INT4 || e == QDQ_FLOAT4E2M1)
        data[size - 1] &= 0x0f;
    if (e == QDQ_UINT2 || e == QDQ_INT2)
        data[size - 1] &= 0x03;
}

static int64_t number_at(qdq_elem e, const unsigned char *data, size_t width, size_t i)
{
    uint64_t v = 0;

    for (size_t k = 0; k < width; k++)
        v |= (uint64_t)data[i * width + k] << 8 * k;
    if (e == QDQ_INT8 || e == QDQ_INT16 || e == QDQ_INT32)
        return (int64_t)(v << (64 - 8 * width)) >> (64 - 8 * width);
    return (int64_t)v;
}

static void put_typed(qdq_buf *tensor, const elem_case *c, const unsigned char *data, size_t size,
                      bool packed)
{
    size_t width = c->field == 4                ? 4
                   : c->field == 10             ? 8
                   : qdq_elem_bits(c->elem) < 8 ? 1
                                                : qdq_elem_bits(c->elem) / 8;
    qdq_buf list = PB_NEW;

    if (packed && (c->field == 4 || c->field == 10)) {
        pb_bytes(tensor, c->field, data, size);
        return;
    }
    for (size_t i = 0; i < size / width; i++) {
        if (c->field == 4)
            pb_fixed32(tensor, 4, data + 4 * i);
        else if (c->field == 10)
            pb_fixed64(tensor, 10, data + 8 * i);
        else if (packed)
            pb_varint(&list, (uint64_t)number_at(c->elem, data, width, i));
        else
            pb_int(tensor, c->field, number_at(c->elem, data, width, i));
    }
    if (packed)
        pb_message(tensor, c->field, &list);
    qdq_buf_free(&list);
}

static void check_encoding(const elem_case *c, int encoding)
{
    qdq_buf graph = relu_graph(), tensor = PB_NEW, model;
    unsigned char data[COUNT * 16];
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span found;
    qdq_model *m;
    size_t size;

    assert_true(qdq_elem_bytes(c->elem, COUNT, &size));
    make_data(c->elem, data, size);
    pb_int(&tensor, 1, COUNT);
    pb_int(&tensor, 2, c->elem);
    if (encoding == 0)
        pb_bytes(&tensor, 9, data, size);
    else
        put_typed(&tensor, c, data, size, encoding == 1);
    pb_text(&tensor, 8, "w");
    pb_message(&graph, 5, &tensor);
    model = pb_model(&graph);
    m = load(&model);
    assert_int_equal(m->graph->inits.at[0]->init->elem, c->elem);
    assert_int_equal(m->graph->inits.at[0]->init->storage,
                     encoding == 0 ? QDQ_STORE_BYTES : QDQ_STORE_WIRE);
    assert_ok(qdq_tensor_data(m->graph->inits.at[0]->init, &scratch, &found, &err));
    assert_int_equal(found.size, size);
    if (memcmp(found.data, data, size) != 0)
        fail_msg("type %s, encoding %d: other bytes", qdq_elem_name(c->elem), encoding);
    assert_stable(m);
    qdq_arena_free(&scratch);
    qdq_model_free(m);
    qdq_buf_free(&model);
}

TEST(every_element_type_in_every_encoding_gives_its_bytes)
{
    assert_int_equal(QDQ_COUNT(elem_cases), QDQ_ELEM_COUNT - 2); /* all but undefined and string */
    for (size_t i = 0; i < QDQ_COUNT(elem_cases); i++)
        for (int encoding = 0; encoding < 3; encoding++)
            check_encoding(&elem_cases[i], encoding);
}

TEST(packed_data_in_two_pieces_is_one_tensor)
{
    qdq_buf graph = relu_graph(), tensor = PB_NEW, model;
    float values[] = {1, 2, 3}, *found;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_model *m;

    pb_bytes(&tensor, 1, "\x03", 1); /* dims may be packed, too */
    pb_int(&tensor, 2, QDQ_FLOAT);
    pb_bytes(&tensor, 4, values, 4);
    pb_bytes(&tensor, 4, values + 1, 8);
    pb_text(&tensor, 8, "w");
    pb_message(&graph, 5, &tensor);
    model = pb_model(&graph);
    m = load(&model);
    assert_ok(qdq_tensor_floats(m->graph->inits.at[0]->init, &scratch, &found, &err));
    assert_memory_equal(found, values, sizeof values);
    assert_stable(m);
    qdq_arena_free(&scratch);
    qdq_model_free(m);
    qdq_buf_free(&model);
}

TEST(strings_keep_their_bytes)
{
    qdq_buf graph = relu_graph(), tensor = PB_NEW, model;
    qdq_model *m;
    const qdq_tensor *t;

    pb_int(&tensor, 1, 2);
    pb_int(&tensor, 2, QDQ_STRING);
    pb_bytes(&tensor, 6, "a\0b", 3);
    pb_bytes(&tensor, 6, "", 0);
    pb_text(&tensor, 8, "w");
    pb_message(&graph, 5, &tensor);
    model = pb_model(&graph);
    m = load(&model);
    t = m->graph->inits.at[0]->init;
    assert_int_equal(t->storage, QDQ_STORE_STRINGS);
    assert_int_equal(t->strings[0].size, 3);
    assert_int_equal(t->strings[1].size, 0);
    assert_stable(m);
    qdq_model_free(m);
    qdq_buf_free(&model);
}

TEST(renamed_tensor_keeps_its_data_in_every_encoding)
{
    for (int encoding = 0; encoding < 3; encoding++) {
        qdq_buf graph = relu_graph(), tensor = PB_NEW, model;
        unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        qdq_arena scratch = QDQ_ARENA_INIT;
        qdq_model *m, *again = NULL;
        qdq_span found;
        void *bytes;
        size_t size;

        pb_int(&tensor, 1, 2);
        pb_int(&tensor, 2, QDQ_FLOAT);
        if (encoding == 0)
            pb_bytes(&tensor, 9, data, 8);
        else
            put_typed(&tensor, &elem_cases[0], data, 8, encoding == 1);
        pb_text(&tensor, 8, "w");
        pb_text(&tensor, 12, "documentation");
        pb_message(&graph, 5, &tensor);
        model = pb_model(&graph);
        m = load(&model);
        assert_true(qdq_value_rename(m->graph->inits.at[0], "renamed"));
        assert_ok(qdq_model_to_bytes(m, NULL, &bytes, &size, &err));
        assert_ok(qdq_model_load_bytes(bytes, size, "again", NULL, &again, &err));
        assert_string_equal(again->graph->inits.at[0]->init->name, "renamed");
        assert_string_equal(again->graph->inits.at[0]->name, "renamed");
        assert_true(again->graph->inits.at[0]->init->unknown_fields.size > 0);
        assert_ok(qdq_tensor_data(again->graph->inits.at[0]->init, &scratch, &found, &err));
        assert_memory_equal(found.data, data, 8);
        qdq_arena_free(&scratch);
        qdq_model_free(again);
        qdq_model_free(m);
        qdq_free(bytes);
        qdq_buf_free(&model);
    }
}

TEST(tensors_without_elements_need_no_data)
{
    qdq_buf graph = relu_graph(), tensor = PB_NEW, model;
    qdq_model *m;

    pb_int(&tensor, 1, 0);
    pb_int(&tensor, 1, 1000000);
    pb_int(&tensor, 2, QDQ_FLOAT);
    pb_text(&tensor, 8, "w");
    pb_message(&graph, 5, &tensor);
    model = pb_model(&graph);
    m = load(&model);
    assert_int_equal(m->graph->inits.at[0]->init->count, 0);
    assert_stable(m);
    qdq_model_free(m);
    qdq_buf_free(&model);
}
