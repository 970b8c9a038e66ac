/* base_pack.c - a struct and all that it points to in one block. */
#include "base/pack.h"

#include "support/test.h"

typedef struct row {
    const char *name;
    double *at;
    size_t n;
} row;

typedef struct table {
    const char *title, *note;
    row *rows;
    size_t n_rows;
} table;

static void fill(qdq_pack *p, void *to)
{
    table *t = to;

    t->title = qdq_pack_string(p, t->title);
    t->note = qdq_pack_string(p, t->note);
    t->rows = qdq_pack_array(p, t->rows, t->n_rows, sizeof *t->rows);
    for (size_t i = 0; i < t->n_rows; i++) {
        t->rows[i].name = qdq_pack_string(p, t->rows[i].name);
        t->rows[i].at = qdq_pack_array(p, t->rows[i].at, t->rows[i].n, sizeof *t->rows[i].at);
    }
}

TEST(a_copy_shares_nothing_with_its_original)
{
    double odd[] = {1, 2, 3}, even[] = {4};
    char title[] = "a title", name[] = "odd";
    row rows[] = {{name, odd, 3}, {"even", even, 1}};
    table t = {.title = title, .rows = rows, .n_rows = 2}, *copy;

    copy = qdq_pack_struct(&t, sizeof t, fill);
    assert_non_null(copy);
    assert_true(t.title == title && t.rows == rows && rows[0].name == name && rows[0].at == odd);
    title[0] = name[0] = 'X';
    odd[2] = 0;
    rows[1].n = 0;
    assert_string_equal(copy->title, "a title");
    assert_null(copy->note);
    assert_string_equal(copy->rows[0].name, "odd");
    assert_true(copy->rows[0].at[2] == 3 && copy->rows[1].n == 1 && copy->rows[1].at[0] == 4);
    qdq_free(copy);
}

TEST(lists_without_elements_stay)
{
    row rows[1];
    table t = {.title = "", .rows = rows}, *copy = qdq_pack_struct(&t, sizeof t, fill);

    assert_non_null(copy);
    assert_string_equal(copy->title, "");
    assert_int_equal(copy->n_rows, 0);
    qdq_free(copy);
}

static void fill_row(qdq_pack *p, void *to)
{
    row *r = to;

    r->name = qdq_pack_string(p, r->name);
}

TEST(a_list_is_copied_with_the_texts_of_each_element)
{
    row rows[] = {{"one", NULL, 1}, {"two", NULL, 2}}, *copy;

    copy = qdq_pack_list(rows, 2, sizeof rows[0], fill_row);
    assert_non_null(copy);
    assert_string_equal(copy[0].name, "one");
    assert_string_equal(copy[1].name, "two");
    assert_true(copy[0].name != rows[0].name && copy[1].n == 2);
    qdq_free(copy);
    copy = qdq_pack_list(NULL, 0, sizeof rows[0], fill_row);
    assert_non_null(copy);
    qdq_free(copy);
}

typedef struct named {
    const char *const *name;
    size_t n;
} named;

static void fill_names(qdq_pack *p, void *to)
{
    named *x = to;

    x->name = qdq_pack_strings(p, x->name, x->n);
}

TEST(packed_texts_lie_behind_the_array_that_names_them)
{
    char first[] = "ab", last[] = "cde";
    const char *const texts[] = {first, "", last};
    named x = {texts, 3}, none = {NULL, 0}, *copy = qdq_pack_struct(&x, sizeof x, fill_names);

    assert_non_null(copy);
    first[0] = last[0] = '?';
    assert_ptr_not_equal(copy->name, texts);
    assert_string_equal(copy->name[0], "ab");
    assert_string_equal(copy->name[1], "");
    assert_string_equal(copy->name[2], "cde");
    assert_true((const char *)copy->name < copy->name[0] && copy->name[0] < copy->name[1] &&
                copy->name[1] < copy->name[2]);
    qdq_free(copy);
    copy = qdq_pack_struct(&none, sizeof none, fill_names);
    assert_non_null(copy);
    assert_null(copy->name);
    qdq_free(copy);
}
