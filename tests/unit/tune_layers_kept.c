/* tune_layers_kept.c - what the engine said of its layers lies in the folder of a run, and is used
 * again while it fits, also where the store is gone: by its fingerprint, not by its name. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "support/tuned.h"

#define GRAPH "model.fp32.graph.json"

static qdq_error err;

static const char *engine_called(const char *device)
{
    char more[60];

    snprintf(more, sizeof more, "\"device\": \"%s\"", device);
    return test_tuned_costs(
        "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30, \"epilogue\": [\"Relu\"]}, "
        "\"Add\": {\"float_us\": 20, \"int8_us\": 60, \"inputs\": 2}",
        more);
}

static qdq_tune_result run_on(const qdq_model *m, const char *folder, const char *device,
                              bool restart)
{
    qdq_tune_opts o = test_tuned_opts(engine_called(device));

    o.mode = QDQ_TUNE_SUBGRAPH;
    o.restart = restart;
    return test_tuned_result(m, folder, &o);
}

static const char *path_in(const char *folder, const char *name)
{
    static char path[4300];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void forget_samples(const char *folder)
{
    static const char *const names[] = {"tune.db", "tune.db-wal", "tune.db-shm"};

    for (size_t i = 0; i < QDQ_COUNT(names); i++)
        unlink(path_in(folder, names[i]));
}

/* From now on the file says that the engine computes each node for itself: whoever believes it
 * finds more groups. */
static void split_layers(const char *folder)
{
    json_t *root, *split = json_array(), *layer, *node;
    size_t i, k;
    char *text;

    assert_ok(qdq_json_load(path_in(folder, GRAPH), &root, &err));
    json_array_foreach(json_object_get(root, "layers"), i, layer)
    {
        json_array_foreach(json_object_get(layer, "nodes"), k, node)
        {
            json_t *one = json_copy(layer);
            assert_int_equal(json_object_set_new(one, "nodes", json_pack("[O]", node)), 0);
            assert_int_equal(json_array_append_new(split, one), 0);
        }
    }
    assert_int_equal(json_object_set_new(root, "layers", split), 0);
    assert_ok(qdq_json_dump(root, &text, &err));
    assert_ok(qdq_write_file(path_in(folder, GRAPH), true, text, strlen(text), &err));
    qdq_free(text);
    json_decref(root);
}

TEST(layers_in_the_folder_are_used_again_without_the_store)
{
    char *folder = strdup(test_path("again"));
    qdq_tune_result first = run_on(test_tuned, folder, "one", false), second, third;
    char *plan = test_tuned_file(folder, "plan.json");

    forget_samples(folder);
    second = run_on(test_tuned, folder, "one", false);
    test_tuned_holds(folder, "plan.json", plan);
    assert_int_equal(second.groups, first.groups);
    forget_samples(folder);
    split_layers(folder);
    second = run_on(test_tuned, folder, "one", false);
    assert_false(second.resumed);
    assert_true(second.groups > first.groups);        /* so the file was believed */
    third = run_on(test_tuned, folder, "one", false); /* goes on with what the second one knew */
    assert_true(third.resumed);
    assert_int_equal(third.groups, second.groups);
    assert_int_equal(third.builds, second.builds);
    qdq_free(plan);
    free(folder);
}

TEST(layers_of_something_else_are_asked_for_again)
{
    const char *text = test_graph_text(__func__);
    char *folder = strdup(test_path("else"));
    qdq_model *other = test_model(text);
    const size_t groups = run_on(test_tuned, folder, "one", false).groups,
                 of_other = run_on(other, test_path("other"), "one", false).groups;

    split_layers(folder);
    forget_samples(folder);
    assert_int_equal(run_on(test_tuned, folder, "two", false).groups, groups); /* another engine */
    split_layers(folder);
    forget_samples(folder);
    assert_int_equal(run_on(other, folder, "two", false).groups, of_other);
    split_layers(folder);
    assert_int_equal(run_on(other, folder, "two", true).groups, of_other); /* that begins anew */
    qdq_model_free(other);
    free(folder);
}

TEST(a_torn_file_is_written_again)
{
    char *folder = strdup(test_path("torn"));
    const size_t groups = run_on(test_tuned, folder, "one", false).groups;
    char *whole = test_tuned_file(folder, GRAPH);

    for (size_t size = 0; size <= 200; size += 50) {
        assert_ok(qdq_write_file(path_in(folder, GRAPH), true, whole, size, &err));
        forget_samples(folder);
        assert_int_equal(run_on(test_tuned, folder, "one", false).groups, groups);
        char *again = test_tuned_file(folder, GRAPH);
        assert_string_equal(again, whole);
        qdq_free(again);
    }
    qdq_free(whole);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_in_the_folder_are_used_again_without_the_store),
        cmocka_unit_test(layers_of_something_else_are_asked_for_again),
        cmocka_unit_test(a_torn_file_is_written_again),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
