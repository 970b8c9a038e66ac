/* quant_scale_types.c - Q and DQ have the type of their scale (NVIDIA/Model-Optimizer#118). */
#include "quant/weights/scale_types.h"

#include "support/test.h"

static void assert_types(const char *text, const char *message)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);

    if (message == NULL)
        assert_ok(qdq_check_scale_types(m, &err));
    else
        assert_fails(QDQ_E_FORMAT, message, qdq_check_scale_types(m, &err));
    qdq_model_free(m);
}

#define MODEL(opset, x, scale, y)                                                                  \
    "<ir_version: 9, opset_import: [\"\" : " opset "]> g (" x "[2] x) => (" y "[2] y) <" scale     \
    " s = {1}, int8 z = {0}> { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"

TEST(equal_types_are_fine)
{
    assert_types(MODEL("19", "float", "float", "float"), NULL);
    assert_types(MODEL("19", "float16", "float16", "float16"), NULL);
}

TEST(another_type_is_named_with_its_node)
{
    assert_types(MODEL("19", "float", "float16", "float16"),
                 "QuantizeLinear of 'x': float with a scale of type float16, expected one type");
    assert_types(MODEL("19", "float16", "float16", "float"),
                 "DequantizeLinear of 'y': float with a scale of type float16, expected one type");
}

TEST(later_opsets_let_them_differ)
{
    assert_types(MODEL("23", "float", "float16", "float16"), NULL);
}
