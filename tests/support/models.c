/* models.c - models from text, and text from models. */
#include "support/test.h"

qdq_model *test_model(const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    assert_ok(qdq_model_from_text(text, "test", &m, &err));
    return m;
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

void test_assert_text(const qdq_model *m, const char *expected)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    assert_ok(qdq_model_to_text(m, &text, &err));
    assert_string_equal(without_header(text), without_header(expected));
    qdq_free(text);
}
