/* test.h - what every test program includes: cmocka, and checks that print the error's text. */
#ifndef QDQ_TEST_H
#define QDQ_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fail.h"
#include "paths.h"
#include "qdq/qdq.h"

/* TEST(what_it_proves) { ... }: a test function that takes nothing from a fixture. It lists itself:
 * support/test_main.c runs those of a file in their order. A program with a main() of its own runs
 * what that says. */
typedef struct test_listed {
    const char *name, *file;
    CMUnitTestFunction run;
    int line;
    struct test_listed *next;
} test_listed;

void test_list_add(test_listed *t);
const test_listed *test_list(void); /* of all files in the program, the last one first */

#define TEST(name)                                                                                 \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void list_##name(void)                                     \
    {                                                                                              \
        static test_listed test = {#name, __FILE__, name, __LINE__, NULL};                         \
        test_list_add(&test);                                                                      \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

/* assert_ok(qdq_model_load(path, NULL, &m, &err)): `err` must be in scope. */
#define assert_ok(expr)                                                                            \
    do {                                                                                           \
        qdq_status st_ = (expr);                                                                   \
        if (st_ != QDQ_OK)                                                                         \
            fail_msg("%s: %s: %s", #expr, qdq_status_name(st_), err.text);                         \
    } while (0)

/* Fails with `code`, and the message holds `part`. */
#define assert_fails(code, part, expr)                                                             \
    do {                                                                                           \
        qdq_status st_ = (expr);                                                                   \
        if (st_ != (code))                                                                         \
            fail_msg("%s: want %s, got %s (%s)", #expr, qdq_status_name(code),                     \
                     qdq_status_name(st_), err.text);                                              \
        if (strstr(err.text, (part)) == NULL)                                                      \
            fail_msg("%s: '%s' is not in '%s'", #expr, (part), err.text);                          \
    } while (0)

/* A model from the text form; fails the test if it does not parse. */
qdq_model *test_model(const char *text);

/* The same of graph NAME in tests/graphs/ir_edit.txt, where the caller's file is ir_edit.c. What
 * does not fit on a line of C stands there. */
#define test_graph(name) test_model(test_graph_text(name))
/* Its text; lives as long as the program. */
#define test_graph_text(name) test_graph_of(__FILE__, name)
const char *test_graph_of(const char *file, const char *name);
const char *test_graph_if_any(const char *file, const char *name); /* or NULL */

/* Writes the model there, whatever was there before, and frees it. */
void test_save(qdq_model *m, const char *path);

/* The text form of the model is exactly this (leading model header left out). */
void test_assert_text(const qdq_model *m, const char *expected);

/* The text form; qdq_free(). */
char *test_text_of(const qdq_model *m);

/* What this process has used of processors. */
double test_cpu_seconds(void);

/* A private folder that test_end() of the same program removes; static storage. */
const char *test_dir(void);
/* printf-style path below test_dir(); static storage, eight at a time. */
const char *test_path(const char *fmt, ...) QDQ_PRINTF(1, 2);

/* Frees the block of a result with qdq_free() once 256 others were handed over: as long lives what
 * a copy of its struct points to. */
void test_keep(void *block);

/* The path of a file below tests/models. Valid for the next seven calls. */
const char *test_corpus(const char *fmt, ...) QDQ_PRINTF(1, 2);

/* A full-size architecture of tests/models/skeleton. Its weights are a file of zeros: enough for
 * graphs and shapes. */
qdq_model *test_skeleton(const char *name);

/* The path of a model with this many nodes, which gen_graph makes; `more`: options of it, or "". */
const char *test_generated(long nodes, const char *more);

/* An engine for tests that can use ONNX Runtime, or NULL. */
qdq_engine *test_ort(void);
qdq_engine *test_openvino(void); /* as well */

/* The same for tests that need it. In CI (QDQ_TEST_REQUIRE=1) a missing one fails the test;
 * elsewhere it is skipped loudly. */
qdq_engine *need_ort(void);
qdq_engine *need_openvino(void);

/* An engine that simulates these costs, for qdq_engine_close(); and its spec "sim:FILE", which is
 * the same for the same costs: static storage, 32 at a time. */
qdq_engine *test_sim(const char *costs);
const char *test_sim_spec(const char *costs);

void test_missing(const char *what); /* fails or skips the test so */

/* Is this a build with AddressSanitizer? */
bool test_is_sanitized(void);

/* Do engines add products of full int8 weights with saturation here (x86-64 without VNNI)? What is
 * not made for this processor then loses accuracy. */
bool test_saturates(void);

#endif /* QDQ_TEST_H */
