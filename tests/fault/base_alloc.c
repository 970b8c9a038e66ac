/* base_alloc.c - every allocation of base/ fails once: no crash, no leak, a message. */
#include "support/alloc_fail.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/yaml_read.h"

static qdq_status fill_arena(void *ctx, qdq_error *err)
{
    qdq_arena a = QDQ_ARENA_INIT;
    bool ok = true;

    (void)ctx;
    for (int i = 0; i < 3000 && ok; i++) /* more than one block, in every build */
        ok = qdq_arena_printf(&a, "object %d", i) != NULL;
    qdq_arena_free(&a);
    return ok ? QDQ_OK : qdq_nomem(err);
}

static qdq_status fill_vec(void *ctx, qdq_error *err)
{
    qdq_arena a = QDQ_ARENA_INIT;
    QDQ_VEC(int) v = {0};
    int i = 0;

    (void)ctx;
    while (i < 5000 && QDQ_PUSH(&a, &v, i))
        i++;
    assert_int_equal(v.n, i);
    for (int k = 0; k < i; k++) /* what was there before the failure still is */
        assert_int_equal(v.at[k], k);
    qdq_arena_free(&a);
    return i == 5000 ? QDQ_OK : qdq_nomem(err);
}

static qdq_status fill_buf(void *ctx, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    (void)ctx;
    for (int i = 0; i < 1000; i++)
        qdq_buf_printf(&b, "%d ", i);
    char *text = qdq_buf_take(&b);
    bool ok = text != NULL;
    qdq_free(text);
    return ok ? QDQ_OK : qdq_nomem(err);
}

static qdq_status take_empty_buf(void *ctx, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(10);
    char *text = qdq_buf_take(&b);

    (void)ctx;
    if (text == NULL)
        return qdq_nomem(err);
    qdq_free(text);
    return QDQ_OK;
}

static qdq_status fill_map(void *ctx, qdq_error *err)
{
    qdq_map m = QDQ_MAP_INIT;
    uint64_t i = 0;

    (void)ctx;
    for (; i < 100; i++) {
        qdq_map_value *v = qdq_map_put_int(&m, i * i, NULL);
        if (v == NULL)
            break;
        v->num = i;
    }
    for (uint64_t k = 0; k < i; k++)
        assert_int_equal(qdq_map_get_int(&m, k * k)->num, k);
    bool ok = i == 100;
    /* a map that could not grow once can grow later */
    if (!ok && qdq_map_put_int(&m, 7, NULL) == NULL)
        fail_msg("the map is of no use after a failed put");
    qdq_map_free(&m);
    return ok ? QDQ_OK : qdq_nomem(err);
}

static qdq_status write_and_read(void *ctx, qdq_error *err)
{
    const char *path = ctx;
    qdq_mapping *m = NULL;
    char *data = NULL;
    size_t size = 0;
    qdq_status st = qdq_write_file(path, true, "0123456789", 10, err);

    if (st == QDQ_OK)
        st = qdq_mapping_open(path, &m, err);
    qdq_mapping_unref(m);
    m = NULL;
    if (st == QDQ_OK)
        st = qdq_mapping_open_below(test_dir(), "file", &m, err);
    qdq_mapping_unref(m);
    if (st == QDQ_OK)
        st = qdq_read_file(path, 100, &data, &size, err);
    if (st != QDQ_OK)
        assert_null(data);
    qdq_free(data);
    return st;
}

static qdq_status make_folder(void *ctx, qdq_error *err)
{
    qdq_tempdir *d = NULL;

    QDQ_TRY(qdq_tempdir_new(ctx, &d, err));
    qdq_tempdir_free(d);
    return QDQ_OK;
}

static qdq_status make_heap(void *ctx, qdq_error *err)
{
    qdq_mapping *m = qdq_mapping_new_heap(100);

    (void)ctx;
    qdq_mapping_unref(m);
    return m == NULL ? qdq_nomem(err) : QDQ_OK;
}

static qdq_status make_flag(void *ctx, qdq_error *err)
{
    qdq_cancel *c = qdq_cancel_new();

    (void)ctx;
    qdq_cancel_free(c);
    return c == NULL ? qdq_nomem(err) : QDQ_OK;
}

static qdq_status run_child(void *ctx, qdq_error *err)
{
    static const char *const argv[] = {"echo", "hello", NULL};
    qdq_child_opts opts = {.argv = argv, .max_output = 100};
    qdq_child_result result;
    qdq_status st = qdq_child_run(&opts, &result, err);

    (void)ctx;
    assert_true((st == QDQ_OK) == (result.out != NULL));
    qdq_child_result_free(&result);
    return st;
}

static qdq_status dump_json(void *ctx, qdq_error *err)
{
    char *text = NULL;
    qdq_status st = qdq_json_dump(ctx, &text, err);

    qdq_free(text);
    return st;
}

/* What comes out has every key, or nothing does. */
static qdq_status build_json(void *ctx, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out o = qdq_json_object(&d), list = qdq_json_put_list(o, "list");
    char *text = NULL;

    (void)ctx;
    for (int i = 0; i < 20; i++) { /* beyond the room that jansson's first table has */
        qdq_json_out in = qdq_json_put_object(list, NULL);
        qdq_json_put_text(in, "name", "a\xff");
        qdq_json_put_real(in, "real", i);
    }
    qdq_json_put_texts(o, "none", NULL, 0);
    qdq_json_put_some(o, "last", "end");
    qdq_status st = qdq_json_finish(&d, &text, err);
    if (st == QDQ_OK) {
        const char *last = strstr(text, "\"name\": \"a?\",\n      \"real\": 19.0");
        assert_non_null(last);
        assert_non_null(strstr(last, "\"none\": [],\n  \"last\": \"end\"\n}"));
    }
    qdq_free(text);
    return st;
}

static qdq_status read_yaml(void *ctx, qdq_error *err)
{
    static const char text[] = "a: {b: [1, 2], c: d}\ne: [{f: g}]\n";
    qdq_arena arena = QDQ_ARENA_INIT;
    const qdq_yaml *top;
    qdq_status st = qdq_yaml_parse(text, strlen(text), "c.yaml", &arena, &top, err);

    (void)ctx;
    qdq_arena_free(&arena);
    return st;
}

TEST(arenas_vectors_buffers_and_maps_survive_every_failure)
{
    assert_true(test_every_alloc_fails(fill_arena, NULL) > 1);
    assert_true(test_every_alloc_fails(fill_vec, NULL) > 1);
    assert_true(test_every_alloc_fails(fill_buf, NULL) > 1);
    assert_int_equal(test_every_alloc_fails(take_empty_buf, NULL), 1);
    assert_true(test_every_alloc_fails(fill_map, NULL) > 1);
}

TEST(files_and_folders_survive_every_failure)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/file", test_dir());
    assert_true(test_every_alloc_fails(write_and_read, path) > 1);
    assert_true(test_every_alloc_fails(make_folder, (void *)(uintptr_t)test_dir()) > 1);
    assert_true(test_every_alloc_fails(make_heap, NULL) > 1);
    assert_true(test_every_alloc_fails(make_flag, NULL) == 1);
}

TEST(child_and_json_survive_every_failure)
{
    qdq_error err = QDQ_ERROR_INIT;
    static const char text[] = "{\"a\": [1, 2.5, null]}";
    json_t *j = NULL;

    assert_true(test_every_alloc_fails(run_child, NULL) > 1);
    assert_true(test_every_alloc_fails(read_yaml, NULL) > 1);
    assert_ok(qdq_json_parse(text, strlen(text), "text", &j, &err));
    assert_true(test_every_alloc_fails(dump_json, j) >= 1);
    json_decref(j);
}

TEST(a_json_document_is_built_whole_or_not_at_all)
{
    json_set_alloc_funcs(malloc, free); /* jansson's own allocations fail, too */
    assert_true(test_every_alloc_fails(build_json, NULL) > 100);
}
