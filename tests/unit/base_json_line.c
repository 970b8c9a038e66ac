/* base_json_line.c - the line of a member, in documents as people write them. */
#include "base/json_line.h"

#include "base/json_read.h"
#include "support/test.h"

static const char text[] = "{\n"                                     /* 1 */
                           "  \"v\": 1, \"name\": \"a \\\" { [\",\n" /* 2 */
                           "  \"weight\": {\n"                       /* 3 */
                           "    \"type\":\n"                         /* 4 */
                           "      \"int8\" },\n"                     /* 5 */
                           "  \"list\": [1, [2, {\"x\": 3}],\n"      /* 6 */
                           "    -1.5e3, null],\n"                    /* 7 */
                           "  \"operators\": [\n"                    /* 8 */
                           "    { \"op\": \"Conv\",\n"               /* 9 */
                           "      \"require\": {\n"                  /* 10 */
                           "        \"alpha\": 1 } },\n"             /* 11 */
                           "    {\n"                                 /* 12 */
                           "      \"op\": \"Gemm\" }\n"              /* 13 */
                           "  ]\n"                                   /* 14 */
                           "}\n";

static size_t line(const char *path, const char *key)
{
    return qdq_json_line(text, sizeof text - 1, path, key);
}

TEST(members_are_found_by_path_and_key)
{
    assert_int_equal(line("", "v"), 2);
    assert_int_equal(line("", "name"), 2);
    assert_int_equal(line("", "weight"), 3);
    assert_int_equal(line("weight", "type"), 4);
    assert_int_equal(line("operators[0]", "op"), 9);
    assert_int_equal(line("operators[1]", "op"), 13);
    assert_int_equal(line("operators[0].require", "alpha"), 11);
    assert_int_equal(line("list[1][1]", "x"), 6);
}

TEST(what_is_missing_has_the_line_of_its_object)
{
    assert_int_equal(line("", "nothing"), 1);
    assert_int_equal(line("", NULL), 1);
    assert_int_equal(line("operators[1]", "rule"), 12);
    assert_int_equal(line("operators[1]", NULL), 12);
    assert_int_equal(line("operators[2]", "op"), 0);
    assert_int_equal(line("nowhere", "op"), 0);
    assert_int_equal(line("name", NULL), 0);
}

/* Never called with such text; it must not read beyond it all the same. */
TEST(text_that_ends_anywhere_is_survived)
{
    for (size_t size = 0; size < sizeof text; size++) {
        char *part = malloc(size + 1);

        assert_non_null(part);
        memcpy(part, text, size);
        assert_true(qdq_json_line(part, size, "operators[1]", "op") <= 14);
        free(part);
    }
}

TEST(deep_documents_have_no_lines)
{
    char deep[300];

    memset(deep, '[', sizeof deep);
    assert_int_equal(qdq_json_line(deep, sizeof deep, "a", "b"), 0);
}

TEST(a_reader_with_the_text_says_the_line)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_json_reader r = {.arena = &arena, .err = &err, .text = text, .size = sizeof text - 1};
    qdq_json_place top, weight;
    json_t *root = NULL;

    assert_ok(qdq_json_parse(text, sizeof text - 1, "t", &root, &err));
    top = qdq_json_top(&r, root, "v", 1);
    assert_true(qdq_json_member(&top, "weight", &weight));
    qdq_json_int(&weight, "type", 0, 1, 0);
    assert_int_equal(r.status, QDQ_E_FORMAT);
    assert_string_equal(err.text,
                        "line 4: weight, key 'type': expected a whole number from 0 to 1");
    json_decref(root);
    qdq_arena_free(&arena);
}
