/* tune_express.c - the placements of other tools' files in our space: imported, said edge by edge,
 * applied and imported again, they are the same on every edge, with the same types, shared scales,
 * and scales. Of the files in tests/data/peers; tune_express_styles.c has files made in the style
 * of each tool. */
#include "support/expressed.h"

static qdq_error err;

typedef struct peer {
    const char *file, *target;
} peer;

static qdq_model *load(const char *name)
{
    char path[500];
    qdq_model *m;

    snprintf(path, sizeof path, QDQ_SOURCE_DIR "/tests/data/peers/%s.onnx", name);
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    return m;
}

/* Types of each are not those of the target: NNCF and ONNX Runtime do not give unsigned codes where
 * OpenVINO's target does. */
static const peer peers[] = {
    {"ort_qdq", "ort-cpu"}, {"ort_qoperator", "ort-cpu"}, {"ort_qdq", "openvino"},
    {"nncf", "openvino"},   {"modelopt", "tensorrt"},     {"modelopt_fp16", "tensorrt"},
};

TEST(files_of_other_tools_are_said_edge_by_edge)
{
    for (size_t i = 0; i < QDQ_COUNT(peers); i++) {
        qdq_model *file = load(peers[i].file);
        char what[100];

        snprintf(what, sizeof what, "%s for %s", peers[i].file, peers[i].target);
        test_expect_same(what, load("small"), file, peers[i].target);
        qdq_model_free(file);
    }
}

/* Tools take their own names, and drop a Relu that codes make needless. */
TEST(names_of_other_tools_are_no_other_placement)
{
    const char *hyperedge =
        test_graph_text("names_of_other_tools_are_no_other_placement_hyperedge");
    const char *other = test_graph_text("names_of_other_tools_are_no_other_placement_other");
    qdq_model *m = test_model(hyperedge), *file = test_model(other);
    qdq_plan *memory, *renamed;
    qdq_model *coded;
    size_t gone;

    const test_style s = {"other names", "ort-cpu", "uint8", "codes", 128, "x b", "weight>n1:1"};
    coded = test_write_style(file, &s);
    renamed = test_import(coded, m, &memory, &gone);
    assert_int_equal(renamed->tensors.n, 2);
    assert_string_equal(renamed->tensors.at[0].tensor, "r");
    assert_string_equal(renamed->tensors.at[1].tensor, "x");
    assert_string_equal(renamed->weights.at[0].consumers.at[0].node, "fc");
    qdq_plan_free(renamed);
    qdq_plan_free(memory);
    qdq_model_free(coded);
    qdq_model_free(file);
    qdq_model_free(m);
}

/* What cleaning drops, folds or writes the other way round is still in the tool's file. */
TEST(nodes_that_cleaning_drops_are_counted_and_what_they_read_is_found)
{
    const char *hyperedge = test_graph_text(
        "nodes_that_cleaning_drops_are_counted_and_what_they_read_is_found_hyperedge");
    const char *other =
        test_graph_text("nodes_that_cleaning_drops_are_counted_and_what_they_read_is_found_other");
    qdq_model *m = test_model(hyperedge), *of = test_model(other), *file;
    qdq_plan *memory, *renamed;
    size_t gone;

    const test_style s = {"a file", "ort-cpu", "uint8", "codes", 128, "x h s m", "w>fc:0"};
    file = test_write_style(of, &s);
    renamed = test_import(file, m, &memory, &gone);
    assert_int_equal(gone, 1); /* what `shift` reads */
    assert_int_equal(renamed->tensors.n, 3);
    assert_string_equal(renamed->tensors.at[0].tensor, "m");
    assert_string_equal(renamed->tensors.at[1].tensor, "h");
    assert_string_equal(renamed->tensors.at[2].tensor, "x");
    qdq_plan_free(renamed);
    qdq_plan_free(memory);
    qdq_model_free(file);
    qdq_model_free(of);
    qdq_model_free(m);
}

TEST(unnamed_nodes_that_a_tool_named_are_found_by_their_results)
{
    const char *hyperedge =
        test_graph_text("unnamed_nodes_that_a_tool_named_are_found_by_their_results_hyperedge");
    const char *other =
        test_graph_text("unnamed_nodes_that_a_tool_named_are_found_by_their_results_other");
    qdq_model *m = test_model(hyperedge), *of = test_model(other), *file;
    qdq_plan *memory, *renamed;
    size_t gone;

    const test_style s = {"named", "ort-cpu", "uint8", "codes", 128, "x>n0:0", "v2>n0:0"};
    file = test_write_style(of, &s);
    renamed = test_import(file, m, &memory, &gone);
    assert_int_equal(gone, 0);
    assert_int_equal(renamed->tensors.n, 1);
    assert_string_equal(renamed->tensors.at[0].consumers.at[0].node, "MatMul@a");
    qdq_plan_free(renamed);
    qdq_plan_free(memory);
    qdq_model_free(file);
    qdq_model_free(of);
    qdq_model_free(m);
}

/* With a Reshape around it, as ONNX Runtime has it. */
TEST(a_product_and_an_add_that_a_tool_made_a_gemm_are_found)
{
    const char *hyperedge =
        test_graph_text("a_product_and_an_add_that_a_tool_made_a_gemm_are_found_hyperedge");
    const char *other =
        test_graph_text("a_product_and_an_add_that_a_tool_made_a_gemm_are_found_other");
    static const test_style s = {"a Gemm", "ort-cpu", "uint8", "codes", 128, "f s", "w>n:0"};
    qdq_model *m = test_model(hyperedge), *of = test_model(other), *file = test_write_style(of, &s);
    qdq_plan *memory, *renamed;
    size_t gone;

    renamed = test_import(file, m, &memory, &gone);
    assert_int_equal(gone, 0);
    assert_int_equal(renamed->tensors.n, 2);
    assert_string_equal(renamed->tensors.at[0].tensor, "x");
    assert_string_equal(renamed->tensors.at[1].tensor, "s");
    assert_string_equal(renamed->weights.at[0].consumers.at[0].node, "fc");
    qdq_plan_free(renamed);
    qdq_plan_free(memory);
    qdq_model_free(file);
    qdq_model_free(of);
    qdq_model_free(m);
}

/* The second operand of such a product is no weight: half of the group is an input alone. */
TEST(one_operand_of_a_product_of_activations_is_said)
{
    const char *hyperedge = test_graph_text(__func__);
    static const test_style s = {"a product", "openvino", "uint8", "codes",
                                 3,           "x s>av:0", "w>fc:1"};
    qdq_model *m = test_model(hyperedge), *file = test_write_style(m, &s);

    test_expect_same(s.name, m, file, s.target);
    qdq_model_free(file);
}

/* For the table in docs/benchmarks.md: TARGET MODEL FILE. */
static int measure(char **name)
{
    qdq_model *m, *file;

    if (qdq_model_load(name[2], NULL, &m, &err) != QDQ_OK ||
        qdq_model_load(name[3], NULL, &file, &err) != QDQ_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const test_round_trip r = test_go_round(m, file, name[1]);
    qdq_model_free(file);
    printf(
        "%zu activations, %zu constants, %zu edges gone: %u edges, %u types, %u shared scales, %zu "
        "scales, %u constants; "
        "applied: %u\n",
        r.tensors, r.weights, r.gone, r.not_expressed.edges, r.not_expressed.types,
        r.not_expressed.scales, r.scales, r.not_expressed.weights,
        r.again.edges + r.again.types + r.again.scales + r.again.weights +
            (unsigned)r.scales_again);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_other_tools_are_said_edge_by_edge),
        cmocka_unit_test(names_of_other_tools_are_no_other_placement),
        cmocka_unit_test(nodes_that_cleaning_drops_are_counted_and_what_they_read_is_found),
        cmocka_unit_test(unnamed_nodes_that_a_tool_named_are_found_by_their_results),
        cmocka_unit_test(a_product_and_an_add_that_a_tool_made_a_gemm_are_found),
        cmocka_unit_test(one_operand_of_a_product_of_activations_is_said),
    };

    return argc == 4 ? measure(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
