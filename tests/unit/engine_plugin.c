/* engine_plugin.c - engines in shared libraries: what is refused, and with which words. That a good
 * one works is among the things that numeric/engine_conformance.c asks. */
#include "base/file.h"
#include "support/test.h"

static qdq_error err;

static qdq_status open_fake(const char *file)
{
    char spec[1000];
    qdq_engine *e;

    snprintf(spec, sizeof spec, "%s/tests/fake_plugin_%s.so", QDQ_BUILD_DIR, file);
    qdq_status st = qdq_engine_open(spec, NULL, &e, &err);
    assert_null(e);
    return st;
}

TEST(a_library_that_is_no_engine_is_refused)
{
    assert_fails(QDQ_E_ENGINE, "is not an engine: it does not export qdq_engine_plugin_get()",
                 open_fake("stranger"));
    assert_fails(QDQ_E_ENGINE, "cannot open shared object file", open_fake("nobody"));
}

TEST(tables_of_another_version_are_refused)
{
    assert_fails(QDQ_E_ENGINE, "has no table of version 1", open_fake("newer"));
    assert_fails(QDQ_E_ENGINE, "its table is of version 8: expected 1", open_fake("liar"));
    assert_fails(QDQ_E_ENGINE, "its table has 8 bytes: expected at least", open_fake("short"));
    assert_fails(QDQ_E_ENGINE, "its table has no 'open'", open_fake("holes"));
}

TEST(files_that_are_no_libraries_of_this_machine_are_refused)
{
    const char *path = test_path("odd.so");
    unsigned char head[4096];
    char spec[1000];
    qdq_engine *e;
    size_t size;
    char *bytes;

    snprintf(spec, sizeof spec, "%s/tests/fake_plugin_stranger.so", QDQ_BUILD_DIR);
    assert_ok(qdq_read_file(spec, 1 << 24, &bytes, &size, &err));
    assert_true(size > sizeof head);
    memcpy(head, bytes, sizeof head);
    qdq_free(bytes);
    head[18] = 0xf3; /* e_machine: RISC-V */
    head[19] = 0;
    assert_ok(qdq_write_file(path, true, (char *)head, sizeof head, &err));
    assert_fails(QDQ_E_ENGINE, "is for another machine", qdq_engine_open(path, NULL, &e, &err));
    assert_ok(qdq_write_file(path, true, "#!/bin/sh\n", 10, &err));
    assert_fails(QDQ_E_ENGINE, "is not a shared library", qdq_engine_open(path, NULL, &e, &err));
    assert_ok(qdq_write_file(path, true, "", 0, &err));
    assert_fails(QDQ_E_ENGINE, "is not a shared library", qdq_engine_open(path, NULL, &e, &err));
}

TEST(what_the_engine_says_of_itself_is_handed_on)
{
    qdq_engine *e;

    assert_fails(QDQ_E_USAGE, "expected engine_plugin.so:NAME",
                 qdq_engine_open(QDQ_BUILD_DIR "/examples/engine_plugin.so", NULL, &e, &err));
    assert_fails(QDQ_E_USAGE, "no cost model",
                 qdq_engine_open(QDQ_BUILD_DIR "/examples/engine_plugin.so:sim", NULL, &e, &err));
    assert_fails(QDQ_E_USAGE, "or FILE.so", qdq_engine_open("nobody", NULL, &e, &err));
}
