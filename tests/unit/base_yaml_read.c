/* base_yaml_read.c - YAML as a tree with places; what configurations have no use for is refused
 * where it stands. */
#include "base/yaml_read.h"

#include "base/buf.h"
#include "support/test.h"

static void put(const qdq_yaml *n, qdq_buf *out)
{
    if (n->key != NULL)
        qdq_buf_printf(out, "%s@%zu:%zu=", n->key, n->key_line, n->key_column);
    if (n->kind == QDQ_YAML_SCALAR) {
        qdq_buf_printf(out, n->plain ? "%s@%zu:%zu " : "'%s'@%zu:%zu ", n->text, n->line,
                       n->column);
        return;
    }
    qdq_buf_puts(out, n->kind == QDQ_YAML_MAP ? "{" : "[");
    for (const qdq_yaml *i = n->first; i != NULL; i = i->next)
        put(i, out);
    qdq_buf_puts(out, n->kind == QDQ_YAML_MAP ? "} " : "] ");
}

static void expect(const char *text, const char *tree)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_buf out = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    const qdq_yaml *top;

    assert_ok(qdq_yaml_parse(text, strlen(text), "c.yaml", &arena, &top, &err));
    if (top == NULL)
        qdq_buf_puts(&out, "nothing");
    else
        put(top, &out);
    assert_string_equal(out.data, tree);
    qdq_buf_free(&out);
    qdq_arena_free(&arena);
}

static void refuse_bytes(const char *text, size_t size, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    const qdq_yaml *top;

    assert_fails(QDQ_E_FORMAT, part, qdq_yaml_parse(text, size, "c.yaml", &arena, &top, &err));
    assert_null(top);
    qdq_arena_free(&arena);
}

static void refuse(const char *text, const char *part)
{
    refuse_bytes(text, strlen(text), part);
}

TEST(maps_lists_and_scalars_with_their_places)
{
    expect("a: 1\nb: [x, 'y']\nc:\n  d: \"z\"\n  e:\n  - 2\n",
           "{a@1:1=1@1:4 b@2:1=[x@2:5 'y'@2:8 ] c@3:1={d@4:3='z'@4:6 e@5:3=[2@6:5 ] } } ");
    expect("- 1\n- {}\n- []\n", "[1@1:3 {} [] ] ");
    expect("just text", "just text@1:1 ");
    expect("k: |\n  two\n  lines\n", "{k@1:1='two\nlines\n'@1:4 } ");
    expect("k:\n", "{k@1:1=@1:3 } ");
    expect("{\"a\": true, \"b\": [1, 2]}", "{a@1:2=true@1:7 b@1:13=[1@1:19 2@1:22 ] } ");
}

TEST(an_empty_document_is_nothing)
{
    expect("", "nothing");
    expect("# a comment alone\n", "nothing");
}

TEST(anchors_aliases_and_tags_are_refused)
{
    refuse("a: &x 1\nb: *x\n", "c.yaml:1:4: found an anchor, expected none");
    refuse("a: &x [1]\n", "c.yaml:1:4: found an anchor");
    refuse("a: &x {b: 1}\n", "c.yaml:1:4: found an anchor");
    refuse("b: *x\n", "c.yaml:1:4: found an alias");
    refuse("a: !!str 1\n", "c.yaml:1:4: found a tag");
    refuse("a: !x [1]\n", "c.yaml:1:4: found a tag");
}

TEST(a_key_that_comes_twice_is_refused_where_it_stands)
{
    refuse("a: 1\nb: 2\na: 3\n", "c.yaml:3:1: key 'a' comes twice");
    expect("a: {x: 1}\nb: {x: 2}\n", "{a@1:1={x@1:5=1@1:8 } b@2:1={x@2:5=2@2:8 } } ");
}

TEST(keys_are_text)
{
    refuse("? [a, b]\n: 1\n", "c.yaml:1:3: found a key that is not text");
    refuse("? {a: b}\n: 1\n", "c.yaml:1:3: found a key that is not text");
}

TEST(one_document_is_enough)
{
    refuse("a: 1\n---\nb: 2\n", "c.yaml:2:1: found a second document");
    expect("---\na: 1\n...\n", "{a@2:1=1@2:4 } ");
}

TEST(deep_nesting_is_refused)
{
    char text[4000];

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    refuse_bytes(text, 63, "not YAML"); /* not closed */
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    const qdq_yaml *top;
    assert_ok(qdq_yaml_parse(text, 128, "c.yaml", &arena, &top, &err));
    qdq_arena_free(&arena);
    memset(text, '[', sizeof text);
    refuse_bytes(text, sizeof text, "c.yaml:1:65: nested more than 64 deep");
}

TEST(what_is_no_yaml_names_line_and_column)
{
    refuse("a: [1\nb: 2\n", "c.yaml:2:2: not YAML: ");
    refuse("a: 1\n b: 2\n", "c.yaml:2:");
    refuse("\ta: 1\n", "c.yaml:1:1: not YAML: ");
    refuse("a: \"open\n", "not YAML: ");
    refuse_bytes("a: \xff\xfe\xff", 6, "c.yaml: byte 3: not YAML: ");
    refuse_bytes("a: \"x\\0y\"", 9, "c.yaml:1:4: found a NUL inside a value");
    refuse_bytes("a\0b: 1", 6, "not YAML: ");
}
