/* The drawing of a model: its data is JSON that no name can leave, and thousands of nodes stay a
 * small page. */
#include "report/picture.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "report/html.h"
#include "report/page.h"
#include "support/test.h"

static qdq_picture_node node(const char *name)
{
    return (qdq_picture_node){.name = name,
                              .key = name,
                              .op = "Conv",
                              .input = QDQ_FLOAT,
                              .chosen = QDQ_INT8,
                              .given_us = 10,
                              .chosen_us = 4,
                              .why = "conv",
                              .price = {QDQ_PRICE_PROFILED, 6, NAN, NULL, NULL, NULL}};
}

static qdq_buf page_of(const qdq_picture *p)
{
    qdq_buf b = QDQ_BUF_INIT(64 << 20);

    qdq_page_picture(&b, p);
    assert_false(b.failed);
    return b;
}

/* The data in the page; json_decref(). */
static json_t *data_of(const char *page)
{
    const char *begin = strstr(page, "id=\"picture-data\">"), *end;
    qdq_error err = QDQ_ERROR_INIT;
    json_t *j = NULL;

    assert_non_null(begin);
    begin += strlen("id=\"picture-data\">");
    end = strstr(begin, "</script>");
    assert_non_null(end);
    assert_ok(qdq_json_parse(begin, (size_t)(end - begin), "page", &j, &err));
    return j;
}

static const char *name_in(const json_t *data, size_t i)
{
    return json_string_value(json_array_get(json_array_get(json_object_get(data, "nodes"), i), 0));
}

TEST(no_name_ends_the_script_element)
{
    qdq_picture_node nodes[] = {node("</script><script>alert(1)</script>"), node("<!--<script>"),
                                node("a\"b\\c'd"), node("\x01\n\x7f"),
                                node("\xe2\x80\xae"
                                     "flip\xff")};
    const qdq_picture p = {.graph = "</script>", .node = nodes, .n_nodes = 5};
    nodes[1].why = "</script><img src=x>";
    nodes[2].block = "]]>\"";
    qdq_buf b = page_of(&p);
    json_t *data = data_of(b.data);

    assert_string_equal(name_in(data, 0), "</script><script>alert(1)</script>");
    assert_string_equal(name_in(data, 1), "<!--<script>");
    assert_string_equal(name_in(data, 2), "a\"b\\c'd");
    assert_string_equal(name_in(data, 3), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(name_in(data, 4), "\xef\xbf\xbd"
                                          "flip\xef\xbf\xbd");
    assert_null(strstr(b.data, "<script>alert"));
    assert_null(strstr(b.data, "<!--"));
    assert_null(strstr(b.data, "<img"));
    json_decref(data);
    qdq_buf_free(&b);
}

TEST(numbers_that_are_none_are_null)
{
    qdq_picture_node nodes[] = {node("a")};
    nodes[0].given_us = NAN;
    nodes[0].chosen_us = INFINITY;
    qdq_picture_edge edges[] = {{.from = QDQ_PICTURE_OUTSIDE,
                                 .to = 0,
                                 .tensor = "x",
                                 .format = QDQ_UINT8,
                                 .coded = true,
                                 .scale = 0.5,
                                 .convert_us = NAN}};
    const qdq_picture p = {.graph = "g", .node = nodes, .n_nodes = 1, .edge = edges, .n_edges = 1};
    qdq_buf b = page_of(&p);
    json_t *data = data_of(b.data);
    const json_t *n = json_array_get(json_object_get(data, "nodes"), 0);
    const json_t *e = json_array_get(json_object_get(data, "edges"), 0);

    assert_true(json_is_null(json_array_get(n, 6)));
    assert_true(json_is_null(json_array_get(n, 7)));
    assert_int_equal(json_integer_value(json_array_get(e, 0)), -1);
    assert_int_equal(json_integer_value(json_array_get(e, 3)), QDQ_UINT8);
    assert_true(json_is_null(json_array_get(e, 6)));
    json_decref(data);
    qdq_buf_free(&b);
}

TEST(a_model_without_nodes_has_no_drawing)
{
    const qdq_picture p = {.graph = "g"};
    qdq_buf b = page_of(&p);

    assert_int_equal(b.size, 0);
    qdq_buf_free(&b);
}

enum { MANY = 5000 };

TEST(texts_that_repeat_are_in_the_page_once)
{
    static qdq_picture_node nodes[MANY];
    static char name[MANY][40];
    const qdq_picture p = {.graph = "g", .node = nodes, .n_nodes = MANY};

    for (size_t i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "/net/stage%zu/block%zu/Conv_%zu", i / 500, i / 10, i);
        nodes[i] = node(name[i]);
        nodes[i].why = "a reason that is as long as reasons are, and that thousands of nodes share "
                       "with each other";
    }
    qdq_buf b = page_of(&p);
    json_t *data = data_of(b.data);

    assert_int_equal(json_array_size(json_object_get(data, "nodes")), MANY);
    assert_int_equal(json_array_size(json_object_get(data, "texts")), 3);
    assert_in_range(b.size, 1, 700 * 1000);
    json_decref(data);
    qdq_buf_free(&b);
}

TEST(an_overlay_has_a_value_and_a_colour_for_each_node)
{
    qdq_picture_node nodes[] = {node("a/\"b\""), node("plain"), node("unknown")};
    const qdq_picture p = {.graph = "main \"graph\"", .node = nodes, .n_nodes = 3};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = QDQ_BUF_INIT(100000);
    json_t *j = NULL;

    nodes[0].chosen_us = 1500;
    nodes[1].chosen = QDQ_FLOAT;
    nodes[2].chosen_us = NAN;
    qdq_picture_overlay(&b, &p);
    assert_ok(qdq_json_parse(b.data, b.size, "overlay", &j, &err));
    const json_t *results = json_object_get(json_object_get(j, "main \"graph\""), "results");
    const json_t *first = json_object_get(results, "a/\"b\"");

    assert_int_equal(json_object_size(results), 2);
    assert_true(json_number_value(json_object_get(first, "value")) == 1.5);
    assert_string_equal(json_string_value(json_object_get(first, "bgColor")), "#2f6fde");
    assert_null(json_object_get(json_object_get(results, "plain"), "bgColor"));
    json_decref(j);
    qdq_buf_free(&b);
}

TEST(an_overlay_of_estimates_says_so)
{
    qdq_picture_node nodes[] = {node("a")};
    const qdq_picture p = {.graph = "g", .node = nodes, .n_nodes = 1, .relative = true};
    qdq_buf b = QDQ_BUF_INIT(100000);

    qdq_picture_overlay(&b, &p);
    assert_non_null(strstr(b.data, "\"name\": \"qdq: estimated time, % of the input model\""));
    assert_non_null(strstr(b.data, "\"value\": 4,"));
    qdq_buf_free(&b);
}

TEST(an_overlay_has_what_is_in_bodies_where_its_reader_has_it)
{
    qdq_picture_node nodes[] = {node("if"),   node("in"),     node("loop"),
                                node("deep"), node("behind"), node("last")};
    const qdq_picture p = {.graph = "g", .node = nodes, .n_nodes = 6};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf b = QDQ_BUF_INIT(100000);
    json_t *j = NULL;

    nodes[0].op = "If";
    nodes[1].within = nodes[2].within = nodes[4].within = 1;
    nodes[3].within = 3;
    nodes[1].body = nodes[2].body = nodes[4].body = "then_branch";
    nodes[3].body = "body";
    qdq_picture_overlay(&b, &p);
    assert_ok(qdq_json_parse(b.data, b.size, "overlay", &j, &err));
    const json_t *outer = json_object_get(json_object_get(j, "g"), "results");
    const json_t *inner =
        json_object_get(json_object_get(j, "if/then_branch/loop/body"), "results");

    assert_int_equal(json_object_size(j), 2);
    assert_int_equal(json_object_size(outer), 5);
    assert_non_null(json_object_get(outer, "if/then_branch/behind"));
    assert_int_equal(json_object_size(inner), 1);
    assert_non_null(json_object_get(inner, "deep"));
    json_decref(j);
    qdq_buf_free(&b);
}
