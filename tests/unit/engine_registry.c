/* engine_registry.c - specs, the list of engines, and libraries that are refused. */
#include "base/file.h"
#include "support/test.h"

#include <sys/resource.h>
#include <unistd.h>

static qdq_error err;

/* The engine must not open; its message holds `part`. */
static void refuses(const char *spec, const qdq_engine_opts *opts, qdq_status code,
                    const char *part)
{
    qdq_engine *e = (qdq_engine *)&err;

    assert_fails(code, part, qdq_engine_open(spec, opts, &e, &err));
    assert_null(e);
}

TEST(all_engines_are_listed_with_help)
{
    const char *help = NULL;
    bool ort = false, sim = false;

    for (size_t i = 0; qdq_engine_name(i, &help) != NULL; i++) {
        ort = ort || strcmp(qdq_engine_name(i, NULL), "ort") == 0;
        sim = sim || strcmp(qdq_engine_name(i, NULL), "sim") == 0;
        assert_true(help != NULL && help[0] != '\0' && help[strlen(help) - 1] != '.');
    }
    assert_true(ort && sim);
    assert_null(qdq_engine_name(1000, &help));
}

TEST(an_unknown_engine_lists_the_known_ones)
{
    refuses("warp", NULL, QDQ_E_USAGE, "engine 'warp' is not known");
    refuses("or", NULL, QDQ_E_USAGE, "did you mean 'ort'");
    refuses("ortx:file", NULL, QDQ_E_USAGE, "did you mean 'ort'");
    refuses("", NULL, QDQ_E_USAGE, "is not known");
    refuses("ort:", NULL, QDQ_E_USAGE, "empty argument; expected NAME:ARG");
}

/* Splits the list and compares the parts, which are given with '|' between them. */
static void splits(const char *list, const char *parts)
{
    char **specs, found[500] = "";
    size_t n, used = 0;

    assert_ok(qdq_engine_split(list, &specs, &n, &err));
    assert_null(specs[n]);
    for (size_t i = 0; i < n; i++)
        used +=
            (size_t)snprintf(found + used, sizeof found - used, "%s%s", i > 0 ? "|" : "", specs[i]);
    assert_string_equal(found, parts);
    qdq_free(specs);
}

TEST(lists_of_engines_keep_the_commas_of_arguments)
{
    splits("ort", "ort");
    splits("ort,openvino,sim:a.json", "ort|openvino|sim:a.json");
    splits("sim:a,b.json,ort:/x,y/libort.so,trtexec", "sim:a,b.json|ort:/x,y/libort.so|trtexec");
    splits("./my.so:x,y,z,ort", "./my.so:x,y,z|ort");
    splits("sim:a,ort.json,orts,replay:d", "sim:a,ort.json,orts|replay:d");
    splits("sim:a\\,ort,openvino", "sim:a,ort|openvino");
    splits("sim:a\\b\\,c", "sim:a\\b\\,c"); /* nothing but a comma that would separate is changed */
    splits("", "");
    splits("ort,", "ort,"); /* told to be unknown when it is opened */
    splits("ort,ort", "ort|ort");
}

TEST(sim_needs_a_file)
{
    refuses("sim", NULL, QDQ_E_USAGE, "expected sim:FILE");
    refuses("sim:/nonexistent/cost.json", NULL, QDQ_E_IO, "/nonexistent/cost.json");
}

TEST(a_named_library_that_is_missing_is_named)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;

    refuses("ort:/nonexistent/libort.so", NULL, QDQ_E_ENGINE, "cannot load /nonexistent/libort.so");
    opts.ort_library = "/nonexistent/other.so";
    refuses("ort", &opts, QDQ_E_ENGINE, "cannot load /nonexistent/other.so");
    /* What is in the spec goes before the option. */
    refuses("ort:/nonexistent/libort.so", &opts, QDQ_E_ENGINE, "libort.so");
}

TEST(something_else_than_onnx_runtime_is_refused)
{
    refuses("ort:libjansson.so.4", NULL, QDQ_E_ENGINE, "has no OrtGetApiBase");
    assert_ok(qdq_write_file(test_path("text.so"), true, "hello", 5, &err));
    char spec[500];
    snprintf(spec, sizeof spec, "ort:%s", test_path("text.so"));
    refuses(spec, NULL, QDQ_E_ENGINE, "text.so");
}

/* Steps 1 to 3. */
TEST(libraries_of_the_wrong_version_are_refused)
{
    static const struct {
        const char *file, *part;
    } fakes[] = {
        {"fake_ort_old.so", "is ONNX Runtime 1.12.0: expected 1.16 or newer"},
        {"fake_ort_major.so", "is ONNX Runtime 2.0.0: expected version 1"},
        {"fake_ort_text.so", "reports version 'nightly': expected 1.N.P"},
        {"fake_ort_null.so", "does not give its own interface"},
        {"fake_ort_table.so", "another function table"},
    };
    char spec[1000];

    for (size_t i = 0; i < QDQ_COUNT(fakes); i++) {
        snprintf(spec, sizeof spec, "ort:%s/tests/%s", QDQ_BUILD_DIR, fakes[i].file);
        refuses(spec, NULL, QDQ_E_ENGINE, fakes[i].part);
        assert_non_null(strstr(err.text, fakes[i].file)); /* the file is named too */
    }
}

/* The loader would say that there is no such file. */
TEST(libraries_of_another_machine_are_refused)
{
    static const char *const engines[] = {"ort", "openvino"};
    const char *path = test_path("other.so");
    char from[1000], spec[1000], *data;
    size_t size;

    snprintf(from, sizeof from, "%s/tests/fake_ort_old.so", QDQ_BUILD_DIR);
    assert_ok(qdq_read_file(from, 1 << 24, &data, &size, &err));
    data[18] = (char)0xf3; /* e_machine: RISC-V */
    data[19] = 0;
    assert_ok(qdq_write_file(path, true, data, size, &err));
    for (size_t i = 0; i < QDQ_COUNT(engines); i++) {
        snprintf(spec, sizeof spec, "%s:%s", engines[i], path);
        refuses(spec, NULL, QDQ_E_ENGINE, "other.so: is for another machine");
    }
    data[4] = 1; /* of 32 bits */
    assert_ok(qdq_write_file(path, true, data, size, &err));
    for (size_t i = 0; i < QDQ_COUNT(engines); i++) {
        snprintf(spec, sizeof spec, "%s:%s", engines[i], path);
        refuses(spec, NULL, QDQ_E_ENGINE, "is for another machine (ELF class 1, machine 243)");
    }
    qdq_free(data);
}

TEST(versions_of_openvino_that_are_too_old_are_refused)
{
    static const char *const fakes[][2] = {
        {"fake_ov_old.so", "is OpenVINO 2023.3.0: expected 2025.0 or newer"},
        {"fake_ov_text.so", "reports version 'nightly': expected YEAR.N.P"},
        {"fake_ov_short.so", "expected OpenVINO 2025.0 or newer"}, /* a function is missing */
        {"fake_ort_old.so", "is no OpenVINO library"},
    };
    char spec[1000];

    for (size_t i = 0; i < QDQ_COUNT(fakes); i++) {
        snprintf(spec, sizeof spec, "openvino:%s/tests/%s", QDQ_BUILD_DIR, fakes[i][0]);
        refuses(spec, NULL, QDQ_E_ENGINE, fakes[i][1]);
        assert_non_null(strstr(err.text, fakes[i][0]));
    }
}

static void copy_library(const char *fake, const char *to)
{
    char from[1000], *data;
    size_t size;

    snprintf(from, sizeof from, "%s/tests/%s", QDQ_BUILD_DIR, fake);
    assert_ok(qdq_read_file(from, 1 << 24, &data, &size, &err));
    assert_ok(qdq_write_file(to, true, data, size, &err));
    qdq_free(data);
}

/* Only ONNX Runtime itself can prove that one is taken; here it shows which one was tried first.
 * The loader's own path must not hold one for this test to say something. */
TEST(folders_are_searched_for_the_newest_library)
{
    const char *dirs[] = {"/nonexistent", test_dir(), NULL};
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_engine *e = NULL;

    opts.search_dirs = dirs;
    copy_library("fake_ort_old.so", test_path("libonnxruntime.so.1.9.0"));
    copy_library("fake_ort_null.so", test_path("libonnxruntime.so.1.20.0"));
    copy_library("fake_ort_table.so", test_path("libonnxruntime.so"));
    copy_library("fake_ort_major.so", test_path("libonnxruntime_providers_shared.so"));
    copy_library("fake_ort_major.so", test_path("libonnxruntime.so.bak"));
    if (qdq_engine_open("ort", &opts, &e, &err) == QDQ_OK) {
        qdq_engine_close(e);
        skip();
    }
    assert_int_equal(err.code, QDQ_E_ENGINE);
    assert_non_null(strstr(err.text, "libonnxruntime.so.1.20.0"));
    assert_non_null(strstr(err.text, "pip install onnxruntime"));
    assert_non_null(strstr(err.text, "--ort-library"));
    assert_null(strstr(err.text, "qdq_engine_opts")); /* who uses the tool has no such name */
    assert_null(strstr(err.text, "QDQ_ORT_LIBRARY")); /* the tool reads it, the library does not */
}

TEST(too_few_descriptors_are_no_missing_library)
{
    struct rlimit before, now;
    qdq_engine *e = NULL;
    int next = dup(0);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)next;
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    int taken = dup(0); /* the last, if there is a gap */
    qdq_status st = qdq_engine_open("ort", NULL, &e, &err);
    if (taken >= 0)
        close(taken);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(st, QDQ_E_IO);
    assert_string_equal(
        err.text, "engine 'ort': cannot look for a library of ONNX Runtime: Too many open files");
}

TEST(closing_nothing_is_allowed)
{
    qdq_engine_close(NULL);
    qdq_session_close(NULL);
}
