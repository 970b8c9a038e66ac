/* quant_statistics_files.c - files of statistics from anywhere: what contradicts itself is rejected
 * with its place. */
#include "support/parts.h"
#include "support/test.h"

#include "base/file.h"
#include "quant/calib/calib_statistics.h"

static qdq_error err;

/* The text with the first `from` replaced. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    const size_t room = strlen(text) + strlen(to) + 1;
    char *out = malloc(room);

    assert_non_null(at);
    assert_non_null(out);
    snprintf(out, room, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static const char head[] =
    "{\"qdq_statistics\": 1, \"model\": \"00000000000000000000000000000000\", \"cleaned\": "
    "\"00000000000000000000000000000000\", \"target\": \"t\", \"target_sha256\": "
    "\"0000000000000000000000000000000000000000000000000000000000000000\", \"method\": ";

static const char sources[] =
    ", \"samples\": 3, \"sources\": [{\"data\": \"11111111111111111111111111111111\", \"samples\": "
    "8, \"taken\": \"0,2-3\"}], \"tensors\": [";

static qdq_status parse(const char *method, const char *tensors, qdq_statistics **out)
{
    char text[4000];

    snprintf(text, sizeof text, "%s\"%s\"%s%s]}", head, method, sources, tensors);
    return qdq_statistics_parse(text, strlen(text), "part.json", out, &err);
}

TEST(tensors_that_contradict_themselves_are_rejected)
{
    static const struct {
        const char *method, *tensor, *part;
    } cases[] = {
        {"max", "{\"count\": 1, \"low\": 0, \"high\": 0}", "key 'tensor': expected a string"},
        {"max", "{\"tensor\": \"\"}", "key 'tensor': expected a name"},
        {"max", "{\"tensor\": \"a\"}, {\"tensor\": \"a\"}", "each tensor once"},
        {"max", "{\"tensor\": \"a\", \"count\": 1, \"low\": 0}", "key 'high': expected a number"},
        {"max", "{\"tensor\": \"a\", \"count\": 1, \"low\": 1, \"high\": 0}", "not below 'low'"},
        {"max", "{\"tensor\": \"a\", \"count\": 1, \"low\": 0, \"high\": 1e39}", "key 'high'"},
        {"max", "{\"tensor\": \"a\", \"count\": -1}", "key 'count'"},
        {"max", "{\"tensor\": \"a\", \"count\": 9223372036854775808}", "part.json"},
        {"max", "{\"tensor\": \"a\", \"count\": 1, \"low\": 0, \"high\": 1, \"bins\": \"1:1\"}",
         "key 'bins': expected none"},
        {"max", "{\"tensor\": \"a\", \"bounds\": \"0:1\"}", "key 'bounds': expected none"},
        {"max", "{\"tensor\": \"a\", \"held_out\": {}}", "key 'held_out': expected none"},
        {"max", "{\"tensor\": \"a\", \"hits\": 3}", "unknown key 'hits'"},
        {"mse",
         "{\"tensor\": \"a\", \"count\": 2, \"low\": 0, \"high\": 1, \"zeros\": 1, \"bins\": "
         "\"1800:2\"}",
         "whose sum with 'zeros' is 'count'"},
        {"mse", "{\"tensor\": \"a\", \"count\": 2, \"low\": 0, \"high\": 1, \"zeros\": 3}",
         "'zeros' among the values"},
        {"mse", "{\"tensor\": \"a\", \"count\": 1, \"low\": 1, \"high\": 1, \"bins\": \"1801:1\"}",
         "end at 'low' and 'high'"},
        {"mse",
         "{\"tensor\": \"a\", \"count\": 2, \"low\": 0, \"high\": 1, \"zeros\": 1, \"bins\": "
         "\"0:1\"}",
         "end at 'low' and 'high'"},
        {"mse", "{\"tensor\": \"a\", \"count\": 1, \"low\": 1, \"high\": 1, \"bins\": \"2000:1\"}",
         "ascending indices in bounds"},
        {"mse",
         "{\"tensor\": \"a\", \"count\": 2, \"low\": 1, \"high\": 1, \"bins\": "
         "\"1800:1;1800:1\"}",
         "ascending indices in bounds"},
        {"mse", "{\"tensor\": \"a\", \"count\": 1, \"low\": 1, \"high\": 1, \"bins\": \"1800:0\"}",
         "hexadecimal values above 0"},
        {"mse",
         "{\"tensor\": \"a\", \"count\": 1, \"low\": 1, \"high\": 1, \"bins\": "
         "\"1800:10000000000000000\"}",
         "hexadecimal values above 0"},
        {"mse", "{\"tensor\": \"a\", \"count\": 1, \"low\": 1, \"high\": 1, \"bins\": \"1800\"}",
         "index and ':'"},
        {"mse", "{\"tensor\": \"a\", \"count\": 1, \"low\": 1, \"high\": 1, \"bins\": \"1800:1 \"}",
         "with ',' or ';'"},
        {"mse", "{\"tensor\": \"a\", \"zeros\": 1}", "key 'bins': expected none without values"},
        {"moving-average", "{\"tensor\": \"a\", \"count\": 1, \"low\": 0, \"high\": 0}",
         "key 'bounds': expected those"},
        {"moving-average",
         "{\"tensor\": \"a\", \"count\": 1, \"low\": 0, \"high\": 0, \"bounds\": \"1:1\"}",
         "key 'bounds': expected those"}, /* sample 1 is not taken */
        {"moving-average",
         "{\"tensor\": \"a\", \"count\": 1, \"low\": 0, \"high\": 1, \"bounds\": \"0:1\"}",
         "key 'bounds': expected those"},
        {"entropy-compat", "", "key 'method'"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_statistics *s = NULL;

        assert_fails(QDQ_E_FORMAT, cases[i].part, parse(cases[i].method, cases[i].tensor, &s));
        assert_null(s);
    }
}

/* Attention masks have it; its shortest text is a number below it. */
TEST(the_lowest_float_is_read_as_it_was_written)
{
    static const char tensor[] =
        "{\"tensor\": \"mask\", \"count\": 2, \"low\": -3.4028235e38, \"high\": 3.4028235e38}";
    qdq_statistics *s, *again;
    const char *path = test_path("lowest.json");

    assert_ok(parse("max", tensor, &s));
    assert_ok(qdq_statistics_save(s, path, true, &err));
    assert_ok(qdq_statistics_load(path, &again, &err));
    qdq_statistics_free(s);
    qdq_statistics_free(again);
}

TEST(heads_that_contradict_themselves_are_rejected)
{
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        {"\"model\": \"0", "\"model\": \"x", "key 'model': expected 32 hexadecimal digits"},
        {"\"cleaned\": \"0", "\"cleaned\": \"", "key 'cleaned': expected 32 hexadecimal digits"},
        {"\"target\": \"t\", ", "", "key 'target': expected a string"},
        {"\"target_sha256\": \"0", "\"target_sha256\": \"", "expected 64 hexadecimal digits"},
        {"\"samples\": 3", "\"samples\": 4", "key 'samples': expected the number of samples"},
        {"\"samples\": 8", "\"samples\": 3", "key 'taken': expected ascending"},
        {"\"samples\": 8", "\"samples\": 0", "key 'samples'"},
        {"\"samples\": 8, ", "", "key 'samples'"},
        {"\"taken\"", "\"first\": 9, \"taken\"", "key 'first'"},
        {"\"taken\"", "\"steps\": 0, \"taken\"", "key 'steps'"},
        {"0,2-3", "", "key 'taken'"},
        {"0,2-3", "0,1-3", "key 'taken'"}, /* not in maximal ranges */
        {"0,2-3", "0,3-2", "key 'taken'"},
        {"0,2-3", "2-3,0", "key 'taken'"},
        {"0,2-3", "0,2-3,", "key 'taken'"},
        {"0,2-3", "0,2-3x", "key 'taken'"},
        {"0,2-3", "0,18446744073709551617", "key 'taken'"},
        {"[{\"data\"", "[3, {\"data\"", "expected an object"},
        {"\"sources\"", "\"source\"", "unknown key 'source'"},
        {"}], \"tensors\"",
         "}, {\"data\": \"11111111111111111111111111111111\", \"samples\": 8, \"taken\": \"1\"}], "
         "\"tensors\"",
         "each data source once"},
        {"\"tensors\": [", "\"tensors\": [3", "expected an object"},
    };
    char text[4000];
    qdq_statistics *s = NULL;

    snprintf(text, sizeof text, "%s\"max\"%s]}", head, sources);
    assert_ok(qdq_statistics_parse(text, strlen(text), "part.json", &s, &err));
    qdq_statistics_free(s);
    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        char *bad = replaced(text, cases[i].from, cases[i].to);

        assert_fails(QDQ_E_FORMAT, cases[i].part,
                     qdq_statistics_parse(bad, strlen(bad), "part.json", &s, &err));
        assert_non_null(strstr(err.text, "part.json"));
        free(bad);
    }
    char *newer = replaced(text, "\"qdq_statistics\": 1", "\"qdq_statistics\": 2");
    assert_fails(QDQ_E_UNSUPPORTED, "version 2 of the format, expected 1",
                 qdq_statistics_parse(newer, strlen(newer), "part.json", &s, &err));
    free(newer);
}

TEST(values_that_are_not_finite_are_counted)
{
    qdq_statistics *a = NULL, *b = NULL;

    assert_ok(parse("max",
                    "{\"tensor\": \"a\", \"nonfinite\": 3}, {\"tensor\": \"b\", \"count\": 2, "
                    "\"low\": -1, \"high\": 0}",
                    &a));
    char *text = test_statistics_text(a), *other = replaced(text, "\"0,2-3\"", "\"4-6\"");
    assert_ok(qdq_statistics_parse(other, strlen(other), "b.json", &b, &err));
    assert_ok(qdq_statistics_merge(a, b, &err));
    assert_int_equal(qdq_statistics_find(a, "a")->all.n_nonfinite, 6);
    assert_int_equal(qdq_statistics_find(a, "a")->all.count, 0);
    assert_int_equal(qdq_statistics_find(a, "b")->all.count, 4);
    assert_null(qdq_statistics_find(a, "c"));
    qdq_statistics_free(a);
    qdq_statistics_free(b);
    free(other);
    qdq_free(text);
}

TEST(counts_that_overflow_are_not_merged)
{
    static const char tensor[] = "{\"tensor\": \"a\", \"count\": 9223372036854775807, \"low\": 0, "
                                 "\"high\": 0, \"zeros\": 9223372036854775807}";
    qdq_statistics *a = NULL, *b = NULL;

    assert_ok(parse("mse", tensor, &a));
    char *text = test_statistics_text(a), *other = replaced(text, "\"0,2-3\"", "\"4-6\"");
    assert_ok(qdq_statistics_parse(other, strlen(other), "b.json", &b, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "more than 2^63 - 1 values", qdq_statistics_merge(a, b, &err));
    qdq_statistics_free(b);
    qdq_free(other);
    other = replaced(text, "\"tensor\": \"a\"", "\"tensor\": \"b\"");
    char *third = replaced(other, "\"0,2-3\"", "\"4-6\"");
    assert_ok(qdq_statistics_parse(third, strlen(third), "b.json", &b, &err));
    assert_fails(QDQ_E_FORMAT, "b.json: found other tensors than in part.json",
                 qdq_statistics_merge(a, b, &err));
    qdq_statistics_free(a);
    qdq_statistics_free(b);
    free(third);
    free(other);
    qdq_free(text);
}

TEST(files_are_recognized_by_their_content)
{
    static const struct {
        const char *text;
        bool is;
    } cases[] = {{"{\"qdq_statistics\": 1}", true}, {" \n{ \"qdq_statistics\" : 7", true},
                 {"{\"qdq_ranges\": 1}", false},    {"TRT-8601", false},
                 {"{\"qdq_statistics\"", false},    {"", false}};
    const char *path = test_path("some.json");
    bool is = true;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        assert_ok(qdq_write_file(path, true, cases[i].text, strlen(cases[i].text), &err));
        assert_ok(qdq_statistics_is_file(path, &is, &err));
        assert_int_equal(is, cases[i].is);
    }
    assert_fails(QDQ_E_IO, "cannot open",
                 qdq_statistics_is_file(test_path("nowhere.json"), &is, &err));
    assert_ok(qdq_statistics_is_file(test_dir(), &is, &err)); /* reading it is the error */
    assert_false(is);
    assert_ok(qdq_statistics_is_file("-", &is, &err)); /* which can be read once */
    assert_false(is);
}
