/* data_callback.c - samples that functions of the caller produce: in any order, once only, wrong,
 * failing, cancelled. */
#include "support/disk.h"
#include "support/goals.h"
#include "support/npy_file.h"
#include "support/opened_data.h"

enum { SAMPLES = 5 };

/* Sample i: rows i and i + 1 of the ramp as "a", i as "b", and a label, unless a test wants others.
 */
typedef struct feed {
    size_t n, at;
    size_t calls, rewinds;
    size_t fail_at, cancel_at, end_at; /* SIZE_MAX: never */
    size_t fail_rewind;                /* the rewind with this number */
    qdq_status status;
    const char *text;
    qdq_cancel *cancel;
    const qdq_named_array *given;  /* instead, of every sample */
    const qdq_named_array *second; /* and of the second; or NULL */
    size_t n_given;
    float rows[2];
    int64_t number;
    int32_t label;
    qdq_named_array out[3];
    size_t n_out;
} feed;

static feed feed_of(size_t n, size_t n_out)
{
    return (feed){.n = n,
                  .n_out = n_out,
                  .fail_at = SIZE_MAX,
                  .cancel_at = SIZE_MAX,
                  .end_at = SIZE_MAX,
                  .status = QDQ_E_UNSUPPORTED,
                  .text = "the user's own words"};
}

static qdq_status fail_as_told(const feed *f, qdq_error *e)
{
    if (e != NULL) {
        e->code = f->status;
        snprintf(e->text, sizeof e->text, "%s", f->text);
    }
    return f->status;
}

static qdq_status next(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *e)
{
    feed *f = ctx;

    f->calls++;
    if (f->at == f->fail_at)
        return fail_as_told(f, e);
    if (f->at == f->cancel_at)
        qdq_cancel_set(f->cancel);
    if (f->at == f->n || f->at == f->end_at)
        return QDQ_OK;
    f->rows[0] = ramp[2 * f->at];
    f->rows[1] = ramp[2 * f->at + 1];
    f->number = f->label = (int32_t)f->at++;
    f->out[0] = named("a", QDQ_FLOAT, f->rows, 2, 1, 2);
    f->out[1] = named("b", QDQ_INT64, &f->number, 1, 1, 0);
    f->out[2] = named("y", QDQ_INT32, &f->label, 1, 1, 0);
    *in = f->second != NULL && f->at == 2 ? f->second : f->given != NULL ? f->given : f->out;
    *n = f->given != NULL ? f->n_given : f->n_out;
    return QDQ_OK;
}

static qdq_status go_back(void *ctx, qdq_error *e)
{
    feed *f = ctx;

    if (++f->rewinds == f->fail_rewind)
        return fail_as_told(f, e);
    f->at = 0;
    return QDQ_OK;
}

static qdq_data_source source_of(feed *f, bool once)
{
    qdq_data_source s = QDQ_DATA_SOURCE_INIT;

    s.name = "feed";
    s.ctx = f;
    s.next = next;
    s.rewind = once ? NULL : go_back;
    return s;
}

static qdq_status try_from(const char *model, const qdq_data_source *s, const qdq_data_opts *opts,
                           qdq_data **d)
{
    qdq_model *m = test_model(model);
    qdq_status st = qdq_data_from(s, m, opts, d, &err);

    qdq_model_free(m);
    if (st != QDQ_OK)
        assert_null(*d);
    return st;
}

static qdq_data *from(const qdq_data_source *s, const qdq_data_opts *opts)
{
    qdq_data *d = NULL;

    assert_ok(try_from(two_inputs(), s, opts, &d));
    return d;
}

static void assert_sample(qdq_data *d, size_t i)
{
    const qdq_array *a = sample(d, i, 0);

    assert_int_equal(a->rank, 2);
    assert_int_equal(a->dim[0], 1);
    assert_memory_equal(a->data, ramp + 2 * i, 8);
    assert_int_equal(*(const int64_t *)sample(d, i, 1)->data, i);
}

/* --- order ------------------------------------------------------------------------------------ */

TEST(samples_come_in_any_order_from_every_kind_of_source)
{
    static const size_t order[] = {0, 0, 1, 4, 2, 3, 3, 0, 4, 1, 0};

    for (int kind = 0; kind < 8; kind++) {
        feed f = feed_of(SAMPLES, kind & 4 ? 3 : 2);
        qdq_data_source s = source_of(&f, kind & 1);
        qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
        size_t n;

        s.count = kind & 2 ? SAMPLES : 0;
        opts.labels = kind & 4 ? "y" : NULL;
        opts.temp_dir = test_dir();
        qdq_data *d = from(&s, &opts);
        assert_int_equal(qdq_data_count(d), SAMPLES);
        assert_false(qdq_data_is_random(d));
        for (size_t i = 0; i < QDQ_COUNT(order); i++) {
            assert_sample(d, order[i]);
            assert_int_equal(test_count_files(test_dir()), 0);
            const int64_t *label = qdq_data_labels(d, order[i], &n);
            assert_int_equal(n, kind & 4 ? 1 : 0);
            if (label != NULL)
                assert_int_equal(*label, order[i]);
        }
        assert_int_equal(f.rewinds > 0, !(kind & 1));
        if (kind & 1)
            assert_true(f.calls <= SAMPLES + 1);
        qdq_data_close(d);
        assert_int_equal(test_count_files(test_dir()), 0);
    }
}

TEST(a_source_with_a_count_is_read_as_far_as_it_is_wanted)
{
    feed f = feed_of(SAMPLES, 2);
    qdq_data_source s = source_of(&f, true);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    s.count = SAMPLES;
    opts.temp_dir = "/nowhere"; /* one sample at a time needs no file */
    qdq_data *d = from(&s, &opts);
    assert_int_equal(f.calls, 1);
    assert_sample(d, 0);
    assert_sample(d, 0);
    assert_int_equal(f.calls, 1);
    qdq_data_close(d);
}

TEST(most_samples_end_a_source_without_an_end)
{
    for (int kind = 0; kind < 4; kind++) {
        feed f = feed_of(SAMPLES, 2);
        qdq_data_source s = source_of(&f, kind & 1);
        qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

        s.count = kind & 2 ? SAMPLES : 0;
        opts.max_samples = 3;
        qdq_data *d = from(&s, &opts);
        assert_int_equal(qdq_data_count(d), 3);
        assert_sample(d, 2);
        assert_true(f.calls <= (kind & 1 ? 3 : 6));
        qdq_data_close(d);
    }
}

TEST(a_sample_may_lack_names_and_the_axis_of_the_batch)
{
    static const double wide[] = {1, 2.5};
    const qdq_named_array a = named(NULL, QDQ_DOUBLE, wide, 1, 2, 0);
    feed f = feed_of(2, 2);
    qdq_data_source s = source_of(&f, false);
    qdq_data *d = NULL;

    f.given = &a;
    f.n_given = 1;
    assert_ok(try_from(one_input, &s, NULL, &d));
    assert_int_equal(qdq_data_count(d), 2);
    assert_int_equal(sample(d, 1, 0)->rank, 2);
    assert_int_equal(sample(d, 1, 0)->dim[0], 1);
    assert_float_equal(((const float *)sample(d, 1, 0)->data)[1], 2.5, 0);
    qdq_data_close(d);
}

/* --- what does not fit ------------------------------------------------------------------------ */

static void refuse_given(const char *model, const char *labels, const qdq_named_array *a, size_t n,
                         qdq_status code, const char *text)
{
    for (int kind = 0; kind < 4; kind++) {
        feed f = feed_of(2, 2);
        qdq_data_source s = source_of(&f, kind & 1);
        qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
        qdq_data *d = NULL;

        f.given = a;
        f.n_given = n;
        s.count = kind & 2 ? 2 : 0;
        opts.labels = labels;
        assert_fails(code, text, try_from(model, &s, &opts, &d));
    }
}

TEST(a_sample_that_does_not_fit_names_the_array)
{
    static const int64_t b[] = {7, 8};
    qdq_named_array a[] = {named("a", QDQ_FLOAT, ramp, 2, 1, 2), named("b", QDQ_INT64, b, 1, 1, 0),
                           named("c", QDQ_INT64, b, 1, 1, 0), named("y", QDQ_FLOAT, ramp, 1, 1, 0)};
    float bad[] = {1, NAN};

    refuse_given(two_inputs(), NULL, a, 1, QDQ_E_FORMAT, "feed: sample 0: no array for input 'b'");
    refuse_given(
        two_inputs(), NULL, a, 3, QDQ_E_FORMAT,
        "feed: sample 0: array 'c' is not an input of the model, whose inputs are 'a', 'b'");
    refuse_given(two_inputs(), "y", a, 2, QDQ_E_FORMAT, "feed: sample 0: no labels 'y'");
    a[2] = a[3];
    refuse_given(two_inputs(), "y", a, 3, QDQ_E_FORMAT,
                 "labels 'y' are float [1], expected integers [1]");
    a[2] = named("y", QDQ_INT64, b, 1, 2, 0);
    refuse_given(two_inputs(), "y", a, 3, QDQ_E_FORMAT,
                 "labels 'y' are int64 [2], expected integers [1]");
    a[2] = a[0];
    refuse_given(two_inputs(), NULL, a, 3, QDQ_E_FORMAT, "two arrays are named 'a'");
    a[0] = named("a", QDQ_INT64, b, 2, 1, 2);
    refuse_given(two_inputs(), NULL, a, 2, QDQ_E_FORMAT,
                 "feed: sample 0: wrong element type: it is int64 [1, 2]");
    a[0] = named("a", QDQ_FLOAT, ramp, 2, 2, 1);
    refuse_given(two_inputs(), NULL, a, 2, QDQ_E_FORMAT, "wrong shape: it is float [2, 1]");
    a[0] = named("a", QDQ_FLOAT, ramp, 0, 0, 0);
    refuse_given(two_inputs(), NULL, a, 2, QDQ_E_FORMAT, "wrong number of dimensions");
    a[0] = named("a", QDQ_FLOAT, bad, 2, 1, 2);
    refuse_given(two_inputs(), NULL, a, 2, QDQ_E_FORMAT,
                 "feed: sample 0: input 'a': element 1 is NaN or infinite");
    a[0].array.bytes = 3;
    refuse_given(two_inputs(), NULL, a, 2, QDQ_E_USAGE,
                 "feed: sample 0: array 'a': 3 bytes of data, the shape needs 8");
    a[0].name = NULL;
    refuse_given(two_inputs(), NULL, a, 2, QDQ_E_FORMAT, "array '' is not an input of the model");
}

TEST(labels_of_another_batch_are_refused)
{
    static const int64_t y[] = {7, 8, 9};
    const qdq_named_array a[2] = {named("x", QDQ_FLOAT, ramp, 2, 3, 2),
                                  named("y", QDQ_INT64, y, 1, 3, 0)};
    const qdq_named_array small[2] = {named("x", QDQ_FLOAT, ramp, 2, 2, 2),
                                      named("y", QDQ_INT64, y, 1, 2, 0)};
    feed f = feed_of(2, 2);
    qdq_data_source s = source_of(&f, true);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;
    size_t n;

    opts.labels = "y";
    f.given = a;
    f.n_given = 2;
    assert_ok(try_from(one_input, &s, &opts, &d));
    assert_int_equal(qdq_data_labels(d, 1, &n)[2], 9);
    assert_int_equal(n, 3);
    assert_int_equal(sample(d, 1, 0)->dim[0], 3);
    qdq_data_close(d);
    f = feed_of(2, 2);
    f.given = a;
    f.second = small;
    f.n_given = 2;
    assert_fails(QDQ_E_FORMAT, "feed: sample 1: 2 labels 'y', expected 3 as in the samples before",
                 try_from(one_input, &s, &opts, &d));
}

TEST(a_source_without_samples_is_refused)
{
    feed f = feed_of(0, 2);
    qdq_data_source s = source_of(&f, false);
    qdq_data *d = NULL;

    assert_fails(QDQ_E_FORMAT, "feed: no samples, expected at least one",
                 try_from(two_inputs(), &s, NULL, &d));
    s.name = NULL;
    assert_fails(QDQ_E_FORMAT, "samples: no samples, expected at least one",
                 try_from(two_inputs(), &s, NULL, &d));
    s.count = 2;
    assert_fails(QDQ_E_FORMAT, "samples: ended after 0 samples, expected 2",
                 try_from(two_inputs(), &s, NULL, &d));
    s.next = NULL;
    assert_fails(QDQ_E_USAGE, "qdq_data_source: found no function `next`",
                 try_from(two_inputs(), &s, NULL, &d));
}

TEST(a_source_that_ends_early_is_refused)
{
    for (int kind = 0; kind < 2; kind++) {
        feed f = feed_of(3, kind == 1 ? 3 : 2);
        qdq_data_source s = source_of(&f, false);
        qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
        const qdq_named_array *in;
        qdq_data *d = NULL;
        size_t n;

        s.count = SAMPLES;
        if (kind == 1) { /* labels: all are read when it is opened */
            opts.labels = "y";
            assert_fails(QDQ_E_FORMAT, "feed: ended after 3 samples, expected 5",
                         try_from(two_inputs(), &s, &opts, &d));
            continue;
        }
        d = from(&s, &opts);
        assert_fails(QDQ_E_FORMAT, "feed: ended after 3 samples, expected 5",
                     qdq_data_get(d, 4, &in, &n, &err));
        qdq_data_close(d);
    }
}

TEST(a_source_with_less_after_a_rewind_is_refused)
{
    feed f = feed_of(SAMPLES, 2);
    qdq_data_source s = source_of(&f, false);
    const qdq_named_array *in;
    qdq_data *d = from(&s, NULL);
    size_t n;

    f.end_at = 2;
    assert_sample(d, 1);
    assert_fails(QDQ_E_FORMAT, "feed: ended after 2 samples, expected 5",
                 qdq_data_get(d, 2, &in, &n, &err));
    assert_null(in);
    qdq_data_close(d);
}

/* --- failures --------------------------------------------------------------------------------- */

static void assert_own_words(const feed *f, qdq_status st)
{
    assert_int_equal(st, f->status);
    assert_int_equal(err.code, f->status);
    assert_string_equal(err.text, f->text);
}

TEST(an_error_of_the_function_comes_out_unchanged)
{
    static const qdq_status codes[] = {QDQ_E_USAGE,  QDQ_E_NOMEM,       QDQ_E_IO,
                                       QDQ_E_FORMAT, QDQ_E_UNSUPPORTED, QDQ_E_ENGINE};
    for (size_t i = 0; i < QDQ_COUNT(codes) * 4; i++) {
        feed f = feed_of(SAMPLES, 2);
        qdq_data_source s = source_of(&f, i & 1);
        const qdq_named_array *in;
        qdq_data *d = NULL;
        size_t n;

        f.status = codes[i / 4];
        s.count = i & 2 ? SAMPLES : 0;
        f.fail_at = 3;
        if (s.count == 0) { /* it is read to its end when it is opened */
            assert_own_words(&f, try_from(two_inputs(), &s, NULL, &d));
            continue;
        }
        d = from(&s, NULL);
        assert_sample(d, 2);
        for (int again = 0; again < 2; again++) {
            assert_own_words(&f, qdq_data_get(d, 3, &in, &n, &err));
            assert_null(in);
            f.fail_at = SIZE_MAX; /* who knows where the source is: it stays */
        }
        assert_own_words(&f, qdq_data_get(d, 0, &in, &n, &err));
        assert_int_equal(qdq_data_get(d, 0, &in, &n, NULL), f.status);
        qdq_data_close(d);
    }
}

TEST(a_rewind_that_fails_comes_out_unchanged)
{
    feed f = feed_of(SAMPLES, 2);
    qdq_data_source s = source_of(&f, false);
    const qdq_named_array *in;
    size_t n;

    f.fail_rewind = 2;
    qdq_data *d = from(&s, NULL);
    assert_sample(d, 4);
    assert_own_words(&f, qdq_data_get(d, 1, &in, &n, &err));
    qdq_data_close(d);
}

TEST(a_goal_that_a_function_misses_is_a_misuse)
{
    feed f = feed_of(SAMPLES, 2);
    qdq_data_source s = source_of(&f, false);
    qdq_data *d = NULL;

    f.fail_at = 1;
    f.status = QDQ_E_GOAL;
    assert_fails(QDQ_E_USAGE, "the user's own words", try_from(two_inputs(), &s, NULL, &d));
    assert_int_equal(err.code, QDQ_E_USAGE);
}

TEST(a_function_that_fails_without_words_is_named)
{
    feed f = feed_of(SAMPLES, 2);
    qdq_data_source s = source_of(&f, false);
    const qdq_named_array *in;
    qdq_data *d = NULL;
    size_t n;

    f.text = "";
    f.fail_at = 1;
    assert_fails(QDQ_E_UNSUPPORTED, "feed: the function `next` failed",
                 try_from(two_inputs(), &s, NULL, &d));
    f = feed_of(SAMPLES, 2);
    f.text = "";
    f.fail_rewind = 1;
    d = from(&s, NULL);
    assert_fails(QDQ_E_UNSUPPORTED, "feed: the function `rewind` failed",
                 qdq_data_get(d, 1, &in, &n, &err));
    qdq_data_close(d);
}

TEST(a_flag_set_in_the_middle_ends_reading)
{
    for (int kind = 0; kind < 4; kind++) {
        feed f = feed_of(SAMPLES, 2);
        qdq_data_source s = source_of(&f, kind & 1);
        qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
        qdq_job job = QDQ_JOB_INIT;
        const qdq_named_array *in;
        qdq_data *d = NULL;
        size_t n;

        job.cancel = f.cancel = qdq_cancel_new();
        f.cancel_at = 2;
        opts.job = &job;
        opts.temp_dir = test_dir();
        s.count = kind & 2 ? SAMPLES : 0;
        if (s.count == 0) {
            assert_int_equal(try_from(two_inputs(), &s, &opts, &d), QDQ_E_INTERRUPTED);
        } else {
            d = from(&s, &opts);
            assert_int_equal(qdq_data_get(d, 4, &in, &n, &err), QDQ_E_INTERRUPTED);
            qdq_data_close(d);
        }
        assert_true(f.calls <= 4);
        assert_int_equal(test_count_files(test_dir()), 0);
        qdq_cancel_free(f.cancel);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

TEST(a_full_disk_is_named_and_leaves_nothing)
{
    feed f = feed_of(SAMPLES, 2);
    qdq_data_source s = source_of(&f, true);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    const qdq_named_array *in;
    qdq_data *d = NULL;
    char place[5000];
    size_t n;

    opts.temp_dir = test_dir();
    snprintf(place, sizeof place, "%s: cannot write sample 1, which comes only once", test_dir());
    test_limit_files(400); /* the first sample fits */
    assert_fails(QDQ_E_IO, place, try_from(two_inputs(), &s, &opts, &d));
    assert_int_equal(test_count_files(test_dir()), 0);
    f = feed_of(SAMPLES, 2);
    s.count = SAMPLES;
    d = from(&s, &opts);
    assert_sample(d, 1);
    assert_fails(QDQ_E_IO, place, qdq_data_get(d, 2, &in, &n, &err));
    assert_fails(QDQ_E_IO, place, qdq_data_get(d, 0, &in, &n, &err));
    qdq_data_close(d);
    test_limit_files(SIZE_MAX);
    assert_int_equal(test_count_files(test_dir()), 0);
}

TEST(a_folder_that_cannot_be_written_to_is_named)
{
    feed f = feed_of(SAMPLES, 2);
    qdq_data_source s = source_of(&f, true);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    opts.temp_dir = "/nowhere/at/all";
    assert_fails(QDQ_E_IO,
                 "/nowhere/at/all: cannot make a temporary file for samples that come only once",
                 try_from(two_inputs(), &s, &opts, &d));
}

/* --- with a model ----------------------------------------------------------------------------- */

static float rows[8][4 * 64];

static qdq_status next_rows(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *e)
{
    feed *f = ctx;
    static qdq_named_array a;

    if (f->calls++ == f->fail_at)
        return fail_as_told(f, e);
    if (f->at == f->n)
        return QDQ_OK;
    a = named("x", QDQ_FLOAT, rows[f->at++], 2, 4, 64);
    *in = &a;
    *n = 1;
    return QDQ_OK;
}

static test_goal goal_of(feed *f, bool once, const char *path)
{
    test_goal g = test_goal_begin(test_goal_chain());
    qdq_data_source s = QDQ_DATA_SOURCE_INIT;

    for (size_t i = 0; i < QDQ_COUNT(rows) * 4 * 64; i++)
        rows[i / 256][i % 256] = (float)(i * 37 % 101) / 25 - 1.5f;
    qdq_data_close(g.data);
    s.ctx = f;
    s.next = next_rows;
    s.rewind = once ? NULL : go_back;
    g.goal.min_sqnr = 30;
    g.goal.folds = 2;
    if (path != NULL)
        assert_ok(qdq_data_open(path, g.m, NULL, &g.data, &err));
    else
        assert_ok(qdq_data_from(&s, g.m, NULL, &g.data, &err));
    return g;
}

/* Runs and ends it. */
static char *plan_of(test_goal *g)
{
    char *text = NULL;

    assert_ok(test_goal_run(g, &err));
    assert_ok(qdq_plan_to_text(g->plan, &text, &err));
    test_goal_end(g);
    return text;
}

TEST(quantization_is_the_same_from_a_file_and_from_functions)
{
    feed f = feed_of(QDQ_COUNT(rows), 1);
    test_goal g = goal_of(&f, false, NULL); /* fills the rows */
    const char *path = test_npy_file("rows.npy", TEST_HEADER("<f4", "(32, 64)"), rows, sizeof rows);

    char *rewound = plan_of(&g);
    assert_true(f.rewinds > 1);
    f = feed_of(QDQ_COUNT(rows), 1);
    g = goal_of(&f, true, NULL);
    char *spooled = plan_of(&g);
    g = goal_of(&f, true, path);
    char *file = plan_of(&g);
    assert_string_equal(rewound, file);
    assert_string_equal(spooled, file);
    qdq_free(rewound);
    qdq_free(spooled);
    qdq_free(file);
}

/* An engine that refuses a model is a verdict on the model; a source that fails is none. */
TEST(an_error_in_the_middle_of_a_search_comes_out_unchanged)
{
    static const qdq_status codes[] = {QDQ_E_ENGINE, QDQ_E_UNSUPPORTED, QDQ_E_FORMAT};
    feed f = feed_of(QDQ_COUNT(rows), 1);
    test_goal g = goal_of(&f, false, NULL);

    assert_ok(test_goal_run(&g, &err));
    test_goal_end(&g);
    const size_t calls = f.calls;
    assert_true(calls > 60);
    for (size_t at = 9; at < calls; at += 7) { /* 9 calls open it */
        f = feed_of(QDQ_COUNT(rows), 1);
        f.fail_at = at;
        f.status = codes[at % 3];
        g = goal_of(&f, false, NULL);
        assert_own_words(&f, test_goal_run(&g, &err));
        assert_null(g.plan);
        assert_null(g.out);
        test_goal_end(&g);
    }
}
