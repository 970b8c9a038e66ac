/* tune_store_merge.c - stores of several hosts in one: each pair once, contexts apart, hosts that
 * disagree left out; an error leaves the store as it was. */
#include "tune/store/store.h"

#include <sqlite3.h>
#include <unistd.h>

#include "base/file.h"
#include "support/disk.h"

static const qdq_tune_store_context here = {"model1", "sim 1", "cpu", "threads=1", "int8"};
static qdq_error err;

typedef struct host {
    qdq_tune_store *s;
    qdq_tune_store_run r;
} host;

static host begin_in(const char *path, const qdq_tune_store_context *c, bool restart)
{
    host h;

    assert_ok(qdq_tune_store_open(path, &h.s, &err));
    assert_ok(qdq_tune_store_begin(h.s, c, "seed=1", restart, &h.r, &err));
    return h;
}

/* Adds pairs up to n, of `scale` times 100 and 90 ms, and `spread` of that from pair to pair. */
static void add_pairs(const host *h, const char *a, const char *b, unsigned n, double scale,
                      double spread)
{
    const bool alike = strcmp(a, b) == 0;
    qdq_tune_store_trial t;

    assert_ok(qdq_tune_store_trial_get(h->s, &h->r,
                                       &(qdq_tune_store_models){a, b, alike ? 1000 : 0}, &t, &err));
    for (unsigned i = t.n_pairs; i < n; i++) {
        double x = 1e8 * scale, y = (alike ? 1e8 : 9e7) * scale * (1 + spread * ((double)i - 2));

        assert_ok(qdq_tune_store_pair_add(h->s, &t, i, &x, &y, &err));
    }
}

static const char *store_with(const char *name, const qdq_tune_store_context *c, unsigned n,
                              double scale)
{
    const char *path = test_path("%s", name);
    host h = begin_in(path, c, false);

    add_pairs(&h, "float", "c1", n, scale, 0.001);
    qdq_tune_store_close(h.s);
    return path;
}

/* Pairs of a trial, as a run of the context gets them, and the first time. */
static unsigned pairs_of(const char *path, const qdq_tune_store_context *c, const char *candidate,
                         double *first)
{
    host h = begin_in(path, c, false);
    qdq_tune_store_trial t;
    double y;

    assert_ok(qdq_tune_store_trial_get(h.s, &h.r, &(qdq_tune_store_models){"float", candidate, 0},
                                       &t, &err));
    assert_false(t.failed);
    if (first != NULL && t.n_pairs > 0)
        assert_ok(qdq_tune_store_pair_get(h.s, &t, 0, first, &y, &err));
    qdq_tune_store_close(h.s);
    return t.n_pairs;
}

static qdq_tune_merge_result *merge(const char *const *from, size_t n, const char *into)
{
    qdq_tune_merge_result *r = NULL;

    assert_ok(qdq_tune_merge(from, n, into, NULL, &r, &err));
    return r;
}

TEST(each_pair_is_merged_once)
{
    const char *from[] = {store_with("a.db", &here, 5, 1), store_with("b.db", &here, 8, 1.05)};
    const char *into = test_path("all.db");
    qdq_tune_merge_result *r = merge(from, 2, into);
    double first;

    assert_int_equal(r->n_contexts, 4); /* each has one for values by content */
    assert_int_equal(r->n_pairs, 8);
    assert_int_equal(r->n_known_pairs, 5);
    assert_int_equal(r->n_quarantined, 0);
    qdq_tune_merge_result_free(r);
    assert_int_equal(pairs_of(into, &here, "c1", &first), 8);
    assert_true(first == 1e8); /* the earlier host's */
    r = merge(from, 2, into);
    assert_int_equal(r->n_pairs, 0);
    assert_int_equal(r->n_known_pairs, 13);
    qdq_tune_merge_result_free(r);
}

TEST(what_the_store_has_already_stays)
{
    const char *from[] = {store_with("newer.db", &here, 6, 1.02)};
    const char *into = store_with("mine.db", &here, 4, 1);
    double first;
    qdq_tune_merge_result *r = merge(from, 1, into);

    assert_int_equal(r->n_pairs, 2);
    assert_int_equal(r->n_known_pairs, 4);
    qdq_tune_merge_result_free(r);
    assert_int_equal(pairs_of(into, &here, "c1", &first), 6);
    assert_true(first == 1e8);
}

TEST(contexts_stay_apart)
{
    qdq_tune_store_context device = here, model = here, options = here;

    device.device = "another cpu";
    model.model = "model2";
    options.options = "threads=2";
    const char *from[] = {store_with("c1.db", &here, 3, 1), store_with("c2.db", &device, 4, 3),
                          store_with("c3.db", &model, 5, 9), store_with("c4.db", &options, 6, 0.5)};
    const char *into = test_path("apart.db");
    qdq_tune_merge_result *r = merge(from, 4, into);

    assert_int_equal(r->n_quarantined, 0);
    qdq_tune_merge_result_free(r);
    assert_int_equal(pairs_of(into, &here, "c1", NULL), 3);
    assert_int_equal(pairs_of(into, &device, "c1", NULL), 4);
    assert_int_equal(pairs_of(into, &model, "c1", NULL), 5);
    assert_int_equal(pairs_of(into, &options, "c1", NULL), 6);
}

/* Times of the same model that are 20 % apart, on devices that call themselves equal. */
TEST(a_host_that_disagrees_is_quarantined_and_named)
{
    qdq_tune_store_context second = here, other = here;
    host h;

    second.model = "model2";
    other.device = "another cpu";
    const char *from[] = {store_with("slow.db", &here, 5, 1.2), store_with("fast.db", &here, 5, 1)};
    h = begin_in(from[0], &second, false); /* of the same host */
    add_pairs(&h, "float", "c1", 5, 1.2, 0.001);
    qdq_tune_store_close(h.s);
    h = begin_in(from[0], &other, false); /* and of another device */
    add_pairs(&h, "float", "c1", 5, 1.2, 0.001);
    qdq_tune_store_close(h.s);
    const char *into = store_with("base.db", &here, 5, 1);
    qdq_tune_merge_result *r = merge(from, 2, into);
    double first;

    assert_int_equal(r->n_quarantined, 1);
    assert_string_equal(r->quarantined[0].store, from[0]);
    assert_string_equal(r->quarantined[0].engine, "sim 1");
    assert_string_equal(r->quarantined[0].device, "cpu");
    assert_non_null(strstr(r->quarantined[0].why, "'float' takes 120 ms, 100 ms before: more than "
                                                  "10 % apart (A/A noise 0.00 %)"));
    qdq_tune_merge_result_free(r);
    assert_int_equal(pairs_of(into, &here, "c1", &first), 5);
    assert_true(first == 1e8);
    assert_int_equal(pairs_of(into, &second, "c1", NULL), 0);
    assert_int_equal(pairs_of(into, &other, "c1", NULL), 5);
}

TEST(noise_of_the_a_a_tests_widens_what_agrees)
{
    host h;
    const char *noisy[] = {store_with("noisy.db", &here, 5, 1.2)};

    h = begin_in(noisy[0], &here, false);
    add_pairs(&h, "float", "float", 5, 1, 0.05); /* sd 7.4 % */
    qdq_tune_store_close(h.s);
    qdq_tune_merge_result *r = merge(noisy, 1, store_with("base2.db", &here, 5, 1));
    assert_int_equal(r->n_quarantined, 0);
    qdq_tune_merge_result_free(r);
}

/* Equal times of the incumbent, but another gain. */
TEST(gains_must_agree_too)
{
    const char *path = test_path("gain.db");
    host h = begin_in(path, &here, false);
    qdq_tune_store_trial t;

    assert_ok(
        qdq_tune_store_trial_get(h.s, &h.r, &(qdq_tune_store_models){"float", "c1", 0}, &t, &err));
    for (unsigned i = 0; i < 3; i++) {
        double x = 1e8, y = 9.3e7;

        assert_ok(qdq_tune_store_pair_add(h.s, &t, i, &x, &y, &err));
    }
    qdq_tune_store_close(h.s);
    qdq_tune_merge_result *r =
        merge((const char *const[]){path}, 1, store_with("gain2.db", &here, 5, 1));
    assert_int_equal(r->n_quarantined, 1);
    assert_non_null(strstr(r->quarantined[0].why, "'c1' against 'float' gains 7.00 %, 10.00 %"));
    qdq_tune_merge_result_free(r);
}

TEST(the_newest_beginning_and_no_failures_are_merged)
{
    const char *path = store_with("again.db", &here, 7, 1), *into = test_path("begun.db");
    host h = begin_in(path, &here, true);
    qdq_tune_store_trial t;
    char *value;

    add_pairs(&h, "float", "c2", 2, 1, 0);
    assert_ok(qdq_tune_store_value_put(h.s, &h.r, "scales", "{}", &err));
    assert_ok(qdq_tune_store_content_put(h.s, &h.r, "group", "[1]", &err));
    assert_ok(
        qdq_tune_store_trial_get(h.s, &h.r, &(qdq_tune_store_models){"float", "c3", 0}, &t, &err));
    assert_ok(qdq_tune_store_trial_fail(h.s, &t, "died", &err));
    qdq_tune_store_close(h.s);
    h = begin_in(into, &here, true); /* which has a beginning of its own */
    qdq_tune_store_close(h.s);
    qdq_tune_merge_result *r = merge(&path, 1, into);
    assert_int_equal(r->n_pairs, 2);
    assert_int_equal(r->n_values, 2);
    qdq_tune_merge_result_free(r);
    assert_int_equal(pairs_of(into, &here, "c1", NULL), 0);
    assert_int_equal(pairs_of(into, &here, "c2", NULL), 2);
    assert_int_equal(pairs_of(into, &here, "c3", NULL), 0);
    h = begin_in(into, &here, false);
    assert_ok(qdq_tune_store_value_get(h.s, &h.r, "scales", &value, &err));
    assert_string_equal(value, "{}");
    qdq_free(value);
    assert_ok(qdq_tune_store_content_get(h.s, &h.r, "group", &value, &err));
    assert_string_equal(value, "[1]");
    qdq_free(value);
    qdq_tune_store_close(h.s);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void sql(const char *path, const char *text)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void assert_not_merged(qdq_status code, const char *part, const char *bad)
{
    const char *into = test_path("kept.db");
    const char *from[] = {store_with("good.db", &here, 5, 1), bad};
    qdq_tune_merge_result *r = NULL;

    assert_fails(code, part, qdq_tune_merge(from, 2, into, NULL, &r, &err));
    assert_null(r);
    if (access(into, F_OK) == 0)
        assert_int_equal(pairs_of(into, &here, "c1", NULL), 0);
    unlink(into);
}

/* A store of five pairs after these statements. */
static const char *changed(const char *name, const char *statements)
{
    const char *path = store_with(name, &here, 5, 1);

    sql(path, statements);
    return path;
}

TEST(what_is_no_store_leaves_the_other_one_as_it_was)
{
    const char *text = test_path("text.db"), *foreign;

    assert_ok(qdq_write_file(text, true, "no store at all, but long enough", 32, &err));
    assert_not_merged(QDQ_E_FORMAT, "expected a store of qdq autotune", text);
    foreign = test_path("foreign.db");
    sql(foreign, "CREATE TABLE x (y)");
    assert_not_merged(QDQ_E_FORMAT, "another program", foreign);
    assert_not_merged(QDQ_E_FORMAT, "a store of version 2",
                      changed("new.db", "PRAGMA user_version = 2"));
    assert_not_merged(QDQ_E_FORMAT, "found sample 3 of 1e+08 and -1 ns",
                      changed("bad.db", "UPDATE pair SET candidate_ns = -1 WHERE number = 3"));
    assert_not_merged(QDQ_E_FORMAT, "found sample 4",
                      changed("holes.db", "DELETE FROM pair WHERE number = 3"));
    assert_not_merged(QDQ_E_IO, "nowhere.db", test_path("nowhere.db"));
}

TEST(a_store_is_not_merged_into_itself)
{
    const char *path = store_with("self.db", &here, 3, 1), *link = test_path("link.db");
    qdq_tune_merge_result *r = NULL;

    unlink(link);
    assert_int_equal(symlink(path, link), 0);
    assert_fails(QDQ_E_USAGE, "as a store that is merged",
                 qdq_tune_merge(&path, 1, path, NULL, &r, &err));
    assert_fails(QDQ_E_USAGE, "as a store that is merged",
                 qdq_tune_merge(&path, 1, link, NULL, &r, &err));
    assert_fails(QDQ_E_USAGE, "found no store", qdq_tune_merge(&path, 0, link, NULL, &r, &err));
}

TEST(an_interrupted_merge_changes_nothing)
{
    const char *from[] = {store_with("i1.db", &here, 3, 1)}, *into = test_path("i2.db");
    qdq_cancel *cancel = qdq_cancel_new();
    const qdq_job job = {.size = sizeof job, .cancel = cancel};
    qdq_tune_merge_result *r = NULL;

    assert_non_null(cancel);
    qdq_cancel_set(cancel);
    assert_fails(QDQ_E_INTERRUPTED, "", qdq_tune_merge(from, 1, into, &job, &r, &err));
    assert_int_equal(pairs_of(into, &here, "c1", NULL), 0);
    qdq_cancel_free(cancel);
}
