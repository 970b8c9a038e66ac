/* engine_groups.c - the nodes behind kernels: from optimized graphs as ONNX Runtime writes them at
 * its levels, and from its profile beside them; what is said about kernels that read codes and give
 * floats. */
#include <math.h>

#include "engine/ort/optimized_nodes.h"
#include "engine/ort/ort_session.h"
#include "qdq/check.h"
#include "support/test.h"

static qdq_error err;

static const char *nodes_of(const qdq_layer_node_list *l, qdq_arena *arena)
{
    static char text[200];

    text[0] = '\0';
    for (size_t i = 0; i < l->n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " + " : "",
                 qdq_node_label(l->at[i], arena));
    return text;
}

TEST(both_levels_agree_through_output_tensors)
{
    qdq_model *m = test_graph("source"), *two = test_graph("level2"), *all = test_graph("level99");
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_optimized_node *o;
    size_t n;

    assert_ok(qdq_optimized_nodes(m->graph, two->graph, &arena, &o, &n, &err));
    assert_int_equal(n, 3);
    assert_string_equal(nodes_of(&o[0].nodes, &arena), "conv + Add@u + relu");
    assert_int_equal(o[0].source, QDQ_LAYER_SLICE);
    assert_string_equal(nodes_of(&o[1].nodes, &arena), "MaxPool@p");
    assert_int_equal(o[1].source, QDQ_LAYER_EXACT);

    assert_ok(qdq_optimized_nodes(m->graph, all->graph, &arena, &o, &n, &err));
    assert_int_equal(n, 5);
    assert_true(o[0].conversion && o[0].nodes.n == 0 && o[0].source == QDQ_LAYER_NONE);
    assert_string_equal(nodes_of(&o[1].nodes, &arena), "conv + Add@u + relu");
    assert_string_equal(nodes_of(&o[2].nodes, &arena), "MaxPool@p");
    assert_true(o[3].conversion &&
                o[3].nodes.n == 0); /* gives p, which was there before, in another layout */
    assert_string_equal(nodes_of(&o[4].nodes, &arena), "MaxPool@y");
    qdq_arena_free(&arena);
    qdq_model_free(m);
    qdq_model_free(two);
    qdq_model_free(all);
}

TEST(a_graph_of_another_model_has_no_nodes_here)
{
    qdq_model *m = test_graph("source");
    qdq_model *other = test_graph(__func__);
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_optimized_node *o;
    size_t n;

    assert_ok(qdq_optimized_nodes(m->graph, other->graph, &arena, &o, &n, &err));
    assert_true(n == 2 && o[0].nodes.n == 0 && o[1].nodes.n == 0);
    qdq_arena_free(&arena);
    qdq_model_free(m);
    qdq_model_free(other);
}

/* --- with the profile ------------------------------------------------------------------------- */

#define ROW(name, us, op, index, in, out)                                                          \
    "{\"cat\" : \"Node\",\"dur\" :" us ",\"name\" :\"" name "\",\"args\" : {\"op_name\" : \"" op   \
    "\",\"node_index\" : \"" index "\",\"input_type_shape\" : [" in                                \
    "],\"output_type_shape\" : [" out "]}},\n"
#define KERNEL(name, us, op, index)                                                                \
    ROW(name "_kernel_time", us, op, index, "{\"float\":[1,8]}", "{\"float\":[1,8]}")
#define RUN "{\"cat\" : \"Session\",\"dur\" :9,\"name\" :\"model_run\",\"args\" : {}},\n"

static qdq_engine_layer *join(const char *body, const qdq_model *m, const qdq_model *optimized,
                              qdq_arena *arena, size_t *n)
{
    qdq_engine_layer *l;
    char text[8000];
    unsigned runs;

    snprintf(text, sizeof text, "[\n%s]\n", body);
    assert_ok(qdq_ort_profile_rows(text, NULL, arena, &l, n, &runs, &err));
    assert_ok(qdq_ort_join_groups(m->graph, optimized->graph, l, n, arena, &err));
    return l;
}

TEST(layers_of_the_profile_get_their_nodes)
{
    static const char profile[] = KERNEL("conv", "900", "FusedConv", "0") RUN /* warm-up */
        ROW("conv_fence_before", "5", "FusedConv", "0", "", "")
            KERNEL("conv", "10", "FusedConv", "0")
                ROW("conv_fence_after", "5", "FusedConv", "0", "", "")
                    KERNEL("Memcpy_token_1", "3", "MemcpyToHost", "7")
                        KERNEL("MaxPool_4", "2", "MaxPool", "4")
                            KERNEL("MaxPool_5", "4", "MaxPool", "5") RUN;
    qdq_model *m = test_graph("source"), *two = test_graph("level2");
    qdq_arena arena = QDQ_ARENA_INIT;
    size_t n;

    qdq_engine_layer *l = join(profile, m, two, &arena, &n);
    assert_int_equal(n, 4);
    assert_true(l[0].us == 10);
    assert_string_equal(nodes_of(&l[0].nodes, &arena), "conv + Add@u + relu");
    assert_string_equal(l[0].in_type, "f32");
    assert_true(l[1].conversion && l[1].nodes.n == 0 && l[1].us == 3);
    /* two without a name: by order */
    assert_string_equal(nodes_of(&l[2].nodes, &arena), "MaxPool@p");
    assert_string_equal(nodes_of(&l[3].nodes, &arena), "MaxPool@y");
    assert_true(l[2].us == 2 && l[3].us == 4);
    qdq_arena_free(&arena);
    qdq_model_free(m);
    qdq_model_free(two);
}

TEST(types_are_those_of_the_tensor_that_is_worked_on)
{
    static const char profile[] =
        RUN ROW("a_kernel_time", "1", "QLinearConcat", "0",
                "{\"float\":[]},{\"uint8\":[]},{\"uint8\":[1,4]}", "{\"uint8\":[1,8]}")
            ROW("b_kernel_time", "1", "QGemm", "1", "{\"int8\":[1,4]}", "{\"bfloat16\":[]}")
                ROW("c_kernel_time", "1", "Odd", "2", "{},[],7,{\"seq\":[1]}", "") RUN;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_engine_layer *l;
    char text[4000];
    unsigned runs;
    size_t n;

    snprintf(text, sizeof text, "[\n%s]\n", profile);
    assert_ok(qdq_ort_profile_rows(text, NULL, &arena, &l, &n, &runs, &err));
    assert_true(n == 3 && runs == 1);
    assert_string_equal(l[0].in_type, "u8"); /* not the scale in front */
    assert_string_equal(l[0].out_type, "u8");
    assert_string_equal(l[1].in_type, "i8");
    assert_string_equal(l[1].out_type, "bf16");
    assert_string_equal(l[2].in_type, "");
    qdq_arena_free(&arena);
}

/* What runs in a body is in the time of the If around it. */
TEST(kernels_in_bodies_do_not_count_twice)
{
    const char *text = test_graph_text(__func__);
    static const char profile[] =
        RUN KERNEL("in", "3", "Relu", "0") KERNEL("Neg_1", "3", "Neg", "1")
            KERNEL("if", "9", "If", "0") KERNEL("other", "1", "Relu", "2") RUN;
    qdq_model *m = test_model(text);
    qdq_arena arena = QDQ_ARENA_INIT;
    size_t n;

    qdq_engine_layer *l = join(profile, m, m, &arena, &n);
    assert_int_equal(n, 2);
    assert_string_equal(nodes_of(&l[0].nodes, &arena), "if");
    assert_string_equal(l[1].name, "other"); /* nobody knows whose it is */
    assert_int_equal(l[1].nodes.n, 0);
    qdq_arena_free(&arena);
    qdq_model_free(m);
}

static qdq_engine_layer *join_by_name(const char *body, const qdq_model *m, qdq_arena *arena,
                                      size_t *n)
{
    qdq_engine_layer *l;
    char text[8000];
    unsigned runs;

    snprintf(text, sizeof text, "[\n%s]\n", body);
    assert_ok(qdq_ort_profile_rows(text, NULL, arena, &l, n, &runs, &err));
    assert_ok(qdq_ort_join_by_name(m->graph, l, *n, arena, &err));
    return l;
}

#define COMPILED "TensorrtExecutionProvider_TRTKernel_graph_g_5318008_"

/* Providers that compile nodes write no graph. */
TEST(what_is_compiled_has_the_nodes_that_no_other_layer_has)
{
    static const char one[] = RUN KERNEL("Memcpy_token_1", "3", "MemcpyFromHost", "7")
        KERNEL(COMPILED "0_0", "9", "TRTKernel_graph_g_5318008_0", "1")
            KERNEL("p_nchwc", "2", "MaxPool", "4") RUN;
    static const char two[] = RUN KERNEL(COMPILED "0_0", "9", "TRTKernel_graph_g_5318008_0", "1")
        KERNEL(COMPILED "1_1", "9", "TRTKernel_graph_g_5318008_1", "2")
            KERNEL("relu", "2", "Relu", "4") RUN;
    qdq_model *m = test_graph("source");
    qdq_arena arena = QDQ_ARENA_INIT;
    size_t n;

    qdq_engine_layer *l = join_by_name(one, m, &arena, &n);
    assert_int_equal(n, 3);
    assert_true(l[0].conversion && l[0].nodes.n == 0);
    assert_int_equal(l[1].source, QDQ_LAYER_SLICE);
    assert_int_equal(l[1].nodes.n, 4); /* on both sides of the other layer */
    assert_non_null(strstr(nodes_of(&l[1].nodes, &arena), "conv + Add@u + relu"));
    assert_non_null(strstr(nodes_of(&l[1].nodes, &arena), "MaxPool@y"));
    assert_string_equal(nodes_of(&l[2].nodes, &arena), "MaxPool@p");
    assert_int_equal(l[2].source, QDQ_LAYER_EXACT);

    l = join_by_name(two, m, &arena, &n);
    assert_int_equal(n, 3);
    assert_true(l[0].nodes.n == 0 && l[1].nodes.n == 0); /* nobody knows who computes what */
    assert_string_equal(nodes_of(&l[2].nodes, &arena), "relu");
    qdq_arena_free(&arena);
    qdq_model_free(m);
}

/* --- findings --------------------------------------------------------------------------------- */

static qdq_layer_finding *findings(const char *text, const qdq_layer *g, size_t n, size_t *n_out)
{
    qdq_model *m = test_model(text);
    qdq_layer_finding *f;

    assert_ok(qdq_layers_check(m, g, n, &f, n_out, &err));
    qdq_model_free(m);
    return f;
}

TEST(codes_in_and_float_out_names_the_tensor_without_a_q)
{
    static const char *const mm[] = {"DequantizeLinear@xd", "mm"}, *const last[] = {"last"},
                             *const strange[] = {"strange"};
    const qdq_layer g[] = {
        {"mm", "MatMulIntegerToFloat", "u8", "f32", 1, 0, false, mm, 2, QDQ_LAYER_SLICE, NULL},
        {"last", "QGemm", "i8", "f32", 1, 0, false, last, 1, QDQ_LAYER_EXACT, NULL},
        {"dq", "DequantizeLinear", "u8", "f32", 1, 0, true, mm, 1, QDQ_LAYER_EXACT, NULL},
        {"k", "Kernel", "u8", "f16", 1, 0, false, strange, 1, QDQ_LAYER_EXACT, NULL},
        {"f", "Erf", "f32", "f32", 1, 0, false, strange, 0, QDQ_LAYER_NONE, NULL}};
    size_t n;

    qdq_layer_finding *f = findings(test_graph_text("quantized"), g, 5, &n);
    /* what the model gives its caller may be float, and a conversion is what it is */
    assert_int_equal(n, 2);
    assert_int_equal(f[0].layer, 0);
    assert_string_equal(f[0].node, "mm");
    assert_string_equal(f[0].tensor, "a");
    assert_string_equal(f[0].why, "reads u8 and gives f32: no QuantizeLinear behind 'a'");
    assert_string_equal(f[1].tensor, "");
    assert_string_equal(f[1].why, "reads u8 and gives f16: unknown which tensor");
    qdq_free(f);
}

TEST(a_q_that_is_there_but_not_taken_in_is_told_apart)
{
    const char *text = test_graph_text("text");
    const char *both = test_graph_text("both");
    static const char *const r[] = {"r"};
    const qdq_layer g = {"r", "QLinearRelu",   "u8", "f32", NAN, 0, false, r,
                         1,   QDQ_LAYER_EXACT, NULL};
    size_t n;

    qdq_layer_finding *f = findings(text, &g, 1, &n);
    assert_int_equal(n, 1);
    assert_string_equal(f[0].why,
                        "reads u8 and gives f32: the QuantizeLinear behind 'a' is not taken in");
    qdq_free(f);
    f = findings(both, &g, 1, &n);
    assert_int_equal(n, 1);
    assert_string_equal(
        f[0].why, "reads u8 and gives f32: 'a' goes into a QuantizeLinear, but into 'g' in float");
    qdq_free(f);
}

TEST(sums_leave_out_what_has_no_time)
{
    static const char *const r[] = {"r"};
    const qdq_layer g[] = {{"a", "A", "", "", 6, 0, false, r, 1, QDQ_LAYER_EXACT, NULL},
                           {"b", "B", "", "", 2, 0, false, r, 0, QDQ_LAYER_NONE, NULL},
                           {"c", "C", "", "", 4, 0, true, r, 0, QDQ_LAYER_NONE, NULL},
                           {"d", "D", "", "", NAN, 0, false, r, 0, QDQ_LAYER_NONE, NULL}};
    qdq_layers_sum s = qdq_layers_add(g, 4);

    assert_true(s.us == 12 && s.conversions_us == 4 && s.attributed == 0.75 && s.n_timed == 3);
    s = qdq_layers_add(g + 3, 1);
    assert_true(isnan(s.us) && isnan(s.attributed) && s.n_timed == 0);
}
