/* facts.c - what can be proven of the values of a graph. */
#include "support/facts.h"

static int n_log;

static void count_log(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)text;
    n_log++;
}

test_known test_know_model(qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_job job = QDQ_JOB_INIT;
    test_known k = {m, NULL};

    n_log = 0;
    job.log = count_log;
    assert_ok(qdq_facts_open(m, &job, &k.f, &err));
    assert_int_equal(n_log, 0);
    return k;
}

test_known test_know(const char *text)
{
    return test_know_model(test_model(text));
}

void test_forget(test_known *k)
{
    qdq_facts_close(k->f);
    qdq_model_free(k->m);
}

/* A value of any graph of the model. */
qdq_value *test_value(const test_known *k, const char *name)
{
    QDQ_FOR_GRAPHS (g, k->m)
        if (qdq_graph_find(g, name) != NULL)
            return qdq_graph_find(g, name);
    fail_msg("no value '%s'", name);
    return NULL;
}

void test_assert_type(const test_known *k, const char *name, const char *type)
{
    const char *got = test_type_of(qdq_facts_type(k->f, test_value(k, name)));

    if (strcmp(got, type) != 0)
        fail_msg("'%s' is %s, want %s", name, got, type);
}

const char *test_elems_of(const test_known *k, const char *name)
{
    static char text[512];
    qdq_fact_elem e[64];
    int rank = -1, n = -1;
    size_t at = 0;

    if (!qdq_facts_elems(k->f, test_value(k, name), 64, &rank, &n, e))
        return "-";
    assert_true(rank == 1 || (rank == 0 && n == 1));
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s",
                               i > 0       ? ","
                               : rank == 0 ? "("
                                           : "");
        if (e[i].known)
            at += (size_t)snprintf(text + at, sizeof text - at, "%lld", (long long)e[i].value);
        else
            at += (size_t)snprintf(text + at, sizeof text - at, "%s",
                                   e[i].symbol != NULL ? e[i].symbol : "?");
    }
    snprintf(text + at, sizeof text - at, "%s", rank == 0 ? ")" : "");
    return text;
}

void test_assert_elems(const test_known *k, const char *name, const char *want)
{
    const char *got = test_elems_of(k, name);

    if (strcmp(got, want) != 0)
        fail_msg("'%s' has elements %s, want %s", name, got, want);
}
