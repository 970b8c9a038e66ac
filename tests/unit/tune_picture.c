/* What the page of a tuned model says of prices: those of single edges, which rules were overruled,
 * and nodes without a measurement. */
#include "base/json.h"
#include "support/tuned.h"

static qdq_error err;

/* Products with a LayerNormalization between, which the target has no kernel for. */
static qdq_model *network(void)
{
    return test_tuned_graph(__func__);
}

#define OPS                                                                                        \
    "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30}, \"LayerNormalization\": {\"float_us\": "    \
    "60, "                                                                                         \
    "\"int8_us\": 15}"

/* The data of the drawing; json_decref(). */
static json_t *page_of(const char *folder, qdq_tune_mode mode)
{
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(OPS, NULL));
    qdq_tune_result r;
    json_t *data = NULL;

    o.mode = mode;
    assert_ok(test_tuned_run(m, folder, &o, &r, &err));
    qdq_model_free(m);
    char *page = test_tuned_file(folder, "report.html");
    const char *begin = strstr(page, "id=\"picture-data\">");
    assert_non_null(begin);
    begin += strlen("id=\"picture-data\">");
    const char *end = strstr(begin, "</script>");
    assert_non_null(end);
    assert_ok(qdq_json_parse(begin, (size_t)(end - begin), "page", &data, &err));
    qdq_free(page);
    return data;
}

static const char *text_at(const json_t *data, const json_t *row, size_t i)
{
    const json_t *number = json_array_get(row, i);

    return number != NULL ? json_string_value(json_array_get(json_object_get(data, "texts"),
                                                             (size_t)json_integer_value(number)))
                          : "";
}

/* The row of an edge, by its tensor; of a node, by its operator. */
static const json_t *row_of(const json_t *data, const char *list, size_t column, const char *name)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(data, list), i,
                       row) if (strcmp(text_at(data, row, column), name) == 0) return row;
    fail_msg("no %s of %s", list, name);
    return NULL;
}

/* Columns of prices, in rows of nodes and of edges alike. */
enum { SOURCE = 9, SAVED, DOUBT, MEASURED, FIGURES, RULES, ESTIMATED = 1, PREDICTED, PROFILED };

static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};

TEST(an_edge_that_a_trial_decided_shows_its_price_and_the_trial)
{
    for (int i = 0; i < 2; i++) {
        json_t *data = page_of(test_path("edge%d", i), modes[i]);
        const json_t *e = row_of(data, "edges", 2, "h1");

        assert_int_equal(json_integer_value(json_array_get(e, SOURCE)), PROFILED);
        assert_true(json_number_value(json_array_get(e, SAVED)) > 20);
        assert_non_null(strstr(text_at(data, e, MEASURED), "gained"));
        assert_non_null(strstr(text_at(data, e, MEASURED), "kept"));
        json_decref(data);
    }
}

TEST(a_rule_that_a_measurement_overruled_is_named)
{
    for (int i = 0; i < 2; i++) {
        json_t *data = page_of(test_path("rule%d", i), modes[i]);
        const json_t *edge = row_of(data, "edges", 2, "h1"),
                     *node = row_of(data, "nodes", 1, "MatMul");

        assert_string_equal(text_at(data, edge, RULES), "float: no 8-bit kernel on this target");
        assert_string_equal(text_at(data, node, RULES),
                            "float: the product with a small matrix is slower in 8 bits");
        /* behind the rule's name */
        assert_non_null(strstr(text_at(data, node, FIGURES), "small-matrix: 0."));
        assert_int_equal(json_array_size(row_of(data, "nodes", 1, "Tanh")), SOURCE + 1);
        json_decref(data);
    }
}

TEST(what_a_node_saves_is_profiled_or_predicted)
{
    for (int i = 0; i < 2; i++) {
        json_t *data = page_of(test_path("node%d", i), modes[i]);
        const json_t *node = row_of(data, "nodes", 1, "MatMul");

        assert_int_equal(json_integer_value(json_array_get(node, SOURCE)),
                         i == 0 ? PROFILED : PREDICTED);
        assert_true(json_number_value(json_array_get(node, SAVED)) > 50);
        assert_true(text_at(data, node, MEASURED)[0] != '\0');
        json_decref(data);
    }
}

/* The target wants Q behind each Conv, so that Softmax, which it has no kernel for, reads codes. No
 * build is left to profile what is written. */
TEST(what_runs_on_codes_has_no_float_time_where_no_profile_has_another)
{
    const char *folder = test_path("codes"), *overlay = test_path("codes.json");
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(
        "\"Conv\": {\"float_us\": 300, \"int8_us\": 10}, \"Softmax\": {\"float_us\": 50}", NULL));
    qdq_tune_result r;

    o.max_builds = 6;
    test_tuned_details(&o)->overlay = overlay;
    qdq_model *m = test_tuned_graph(__func__);
    assert_ok(test_tuned_run(m, folder, &o, &r, &err));
    qdq_model_free(m);
    assert_int_equal(r.verdict, QDQ_TUNED);
    char *nodes = test_tuned_file(test_dir(), "codes.json");
    assert_null(strstr(nodes, "\"h\""));
    assert_null(strstr(nodes, "\"s\""));
    assert_non_null(strstr(nodes, "\"y\": {\"value\""));
    qdq_free(nodes);
}

TEST(what_nobody_measured_has_no_price)
{
    json_t *data = page_of(test_path("none"), QDQ_TUNE_REGION);

    assert_int_equal(json_integer_value(json_array_get(row_of(data, "edges", 2, "x"), SOURCE)), 0);
    assert_int_equal(json_integer_value(json_array_get(row_of(data, "nodes", 1, "Tanh"), SOURCE)),
                     0);
    json_decref(data);
}
