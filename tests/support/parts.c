/* parts.c - see the header. */
#include "support/parts.h"

#include "support/test.h"

qdq_statistics *test_collect(const test_parts *p, size_t part, size_t n)
{
    qdq_calibrate_opts o = {.size = sizeof o, .quantize = &p->opts, .part = part, .n_parts = n};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_statistics *s = NULL;

    assert_ok(qdq_statistics_collect(p->model, p->target, p->engine, p->data, &o, &s, &err));
    return s;
}

char *test_statistics_text(const qdq_statistics *s)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    assert_ok(qdq_statistics_to_text(s, &text, &err));
    return text;
}

/* As another process gets it. */
static qdq_statistics *read_again(qdq_statistics *s)
{
    char *text = test_statistics_text(s);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_statistics *again = NULL;

    assert_ok(qdq_statistics_parse(text, strlen(text), "part.json", &again, &err));
    qdq_free(text);
    qdq_statistics_free(s);
    return again;
}

static void merge_into(qdq_statistics **s, qdq_statistics *part)
{
    qdq_error err = QDQ_ERROR_INIT;

    if (*s == NULL) {
        *s = part;
        return;
    }
    assert_ok(qdq_statistics_merge(*s, part, &err));
    qdq_statistics_free(part);
}

qdq_statistics *test_merge_parts(const test_parts *p, size_t n, test_merging how)
{
    qdq_statistics *all = NULL;

    for (size_t i = 1; i <= n; i++) {
        qdq_statistics *part = test_collect(p, how == TEST_BACKWARD ? n + 1 - i : i, n);

        if (how == TEST_IN_PAIRS && i < n)
            merge_into(&part, test_collect(p, ++i, n));
        merge_into(&all, how == TEST_IN_PAIRS ? read_again(part) : part);
    }
    return all;
}
