/* models.c - models from text, and text from models. */
#include "support/test.h"

#include <unistd.h>

#include "base/file.h"

qdq_model *test_model(const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    assert_ok(qdq_model_from_text(text, "test", &m, &err));
    return m;
}

void test_save(qdq_model *m, const char *path)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;

    opts.allow_overwrite = true;
    assert_ok(qdq_model_save(m, path, &opts, &err));
    qdq_model_free(m);
}

const char *test_generated(long nodes, const char *more)
{
    char command[9000];
    const char *path = test_path("generated_%ld.onnx", nodes);

    snprintf(command, sizeof command, "'%s/tests/gen_graph' %ld '%s' %s", QDQ_BUILD_DIR, nodes,
             path, more);
    assert_int_equal(system(command), 0);
    return path;
}

/* The text behind the header "<...>", if there is one. */
static const char *without_header(const char *text)
{
    while (*text == ' ' || *text == '\n')
        text++;
    if (*text != '<')
        return text;
    const char *end = strchr(text, '>');
    if (end == NULL)
        return text;
    for (end++; *end == ' ' || *end == '\n';)
        end++;
    return end;
}

char *test_text_of(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    assert_ok(qdq_model_to_text(m, &text, &err));
    return text;
}

void test_assert_text(const qdq_model *m, const char *expected)
{
    char *text = test_text_of(m);

    assert_string_equal(without_header(text), without_header(expected));
    qdq_free(text);
}

qdq_model *test_skeleton(const char *name)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    char *data;
    size_t size;
    FILE *f;

    assert_ok(qdq_read_file(test_corpus("skeleton/%s.onnx", name), 1 << 24, &data, &size, &err));
    assert_ok(qdq_write_file(test_path("%s.onnx", name), true, data, size, &err));
    qdq_free(data);
    f = fopen(test_path("%s.bin", name), "wb");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), (off_t)1 << 30), 0);
    fclose(f);
    assert_ok(qdq_model_load(test_path("%s.onnx", name), NULL, &m, &err));
    return m;
}
