/* ir_text.c - the text form: parts of models that graphs in files of tests/text do not show,
 * limits, damage, and the examples of docs/text.md. What it looks like and what it refuses is in
 * text/text-form. */
#include "support/test.h"

#include "base/buf.h"
#include "base/file.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/text.h"

static char *print_with(const qdq_model *m, int64_t max, bool types)
{
    qdq_text_opts opts = {max, types};
    qdq_buf out = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_text_print(m, &opts, &out, &err));
    return qdq_buf_take(&out);
}

static void assert_round_trip(const char *text)
{
    qdq_model *m = test_model(text);
    char *first = print_with(m, -1, false);
    qdq_model *again = test_model(first);
    char *second = print_with(again, -1, false);

    assert_string_equal(first, second);
    qdq_free(first);
    qdq_free(second);
    qdq_model_free(m);
    qdq_model_free(again);
}

/* The text is printed exactly as it was read. */
static void assert_same(const char *text)
{
    qdq_model *m = test_model(text);

    test_assert_text(m, text);
    qdq_model_free(m);
    assert_round_trip(text);
}

static void assert_refused(const char *text, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    assert_fails(QDQ_E_FORMAT, part, qdq_model_from_text(text, "t", &m, &err));
    assert_null(m);
}

TEST(the_whole_header_survives)
{
    const char *text = test_graph_text(__func__);
    qdq_model *m = test_model(text);
    char *again = print_with(m, 0, false);

    assert_string_equal(again, text);
    assert_string_equal(m->producer_name, "py \"x\"");
    assert_string_equal(m->props.at[0].value, "v\n");
    qdq_free(again);
    qdq_model_free(m);
}

TEST(other_header_fields_are_kept_as_wire_bytes)
{
    qdq_model *m = test_graph(__func__);

    assert_int_equal(m->unknown_fields.size, 3 + 3 + 4);
    assert_memory_equal(m->unknown_fields.data,
                        "\x22\x01"
                        "d\x28\xac\x02\x32\x02hi",
                        10);
    qdq_model_free(m);
}

TEST(large_tensors_are_left_out_and_then_refused)
{
    qdq_model *m = test_model("g () => () <float[3] w = {1, 2, 3}> {}");
    char *text = print_with(m, 2, false);

    assert_non_null(strstr(text, "float[3] w = ...\n"));
    assert_refused(text, "found '...', expected the data of tensor 'w', which was left out");
    qdq_free(text);
    qdq_model_free(m);
}

TEST(types_of_intermediate_values_are_comments)
{
    qdq_model *m =
        test_model("g (float[2] x) => (float[2] y) <float[2] t> { t = Relu(x) y = Neg(t) }");
    char *text = print_with(m, 0, true);

    assert_non_null(strstr(text, "  t = Relu(x)  # float[2] t\n"));
    qdq_model_free(test_model(text));
    qdq_free(text);
    qdq_model_free(m);
}

/* The others are in text/text-form. */
TEST(texts_that_no_file_of_tests_can_hold_are_refused_with_their_place)
{
    assert_refused("", "t:1:1: found the end, expected a name");
    assert_refused("g (float x) => (float y) {\n  y = Relu(x)\n",
                   "t:3:1: found the end, expected a node or '}'");
    assert_refused("\x01", "found byte 0x01, expected a name");
}

TEST(nesting_is_bounded)
{
    enum { LEVELS = 5000 };
    static const char open[] = "g () => () { = If <a = ", type[] = "optional(";
    char *text = malloc(LEVELS * sizeof open + 100);

    assert_non_null(text);
    text[0] = '\0';
    char *p = text;
    for (int i = 0; i < LEVELS; i++, p += sizeof open - 1)
        memcpy(p, open, sizeof open);
    assert_refused(text, "graphs are nested deeper than 64");
    p = text + snprintf(text, 100, "g (");
    for (int i = 0; i < LEVELS; i++, p += sizeof type - 1)
        memcpy(p, type, sizeof type);
    assert_refused(text, "types are nested deeper than 64");
    free(text);
}

/* Blocks of docs/text.md that are indented by four spaces are whole models. */
TEST(the_examples_of_the_documentation_are_read_and_printed_again)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *doc = NULL, block[4000], *line, *next;
    size_t size, used = 0, n_block = 0;

    assert_ok(qdq_read_file(QDQ_SOURCE_DIR "/docs/text.md", 1 << 20, &doc, &size, &err));
    for (line = doc; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (strncmp(line, "    ", 4) == 0) {
            used += (size_t)snprintf(block + used, sizeof block - used, "%s\n", line + 4);
            assert_true(used < sizeof block);
        } else if (used > 0) {
            assert_same(block);
            used = 0;
            n_block++;
        }
    }
    assert_int_equal(n_block, 2);
    qdq_free(doc);
}

/* Every prefix, and every byte replaced by a few others: an error or a model, never a crash. */
TEST(damaged_text_is_an_error_or_a_model)
{
    const char *text = test_graph_text(__func__);
    static const char bytes[] = {'\0', '"', '{', '}',  '<', '(',   '[',
                                 ',',  '9', '.', '\\', 'z', '\xff'};
    const size_t n = strlen(text);
    char copy[1024];

    assert_true(n <= sizeof copy);
    for (size_t i = 0; i < n; i++) {
        qdq_model *m = NULL;

        if (qdq_text_parse(text, i, "t", &m, NULL) == QDQ_OK)
            qdq_model_free(m);
        for (size_t k = 0; k < sizeof bytes; k++) {
            memcpy(copy, text, n);
            copy[i] = bytes[k];
            m = NULL;
            if (qdq_text_parse(copy, n, "t", &m, NULL) != QDQ_OK)
                continue;
            qdq_free(print_with(m, -1, true));
            (void)qdq_model_verify(m, NULL);
            qdq_model_free(m);
        }
    }
}
