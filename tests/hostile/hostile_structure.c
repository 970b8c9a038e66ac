/* hostile_structure.c - models whose structure is extreme: depth, names, loops. */
#include "hostile_parts.h"

/* --- depth ------------------------------------------------------------------------------------ */

/* An If in an If in ...: each has the next one in its first branch. */
static void put_ifs(bytes *g, int depth, const char *out)
{
    bytes inner = {0}, other = {0}, a = {0};
    char name[40];

    snprintf(name, sizeof name, "b%d", depth);
    if (depth == 0) {
        put_op(&inner, "Relu", "x", name, NULL);
    } else {
        put_ifs(&inner, depth - 1, name);
    }
    put_text(&inner, 2, "then");
    put_value(&inner, 12, name, F32, -1, NULL);
    snprintf(name, sizeof name, "e%d", depth);
    put_op(&other, "Neg", "x", name, NULL);
    put_text(&other, 2, "else");
    put_value(&other, 12, name, F32, -1, NULL);
    put_attr_graph(&a, "then_branch", &inner);
    put_attr_graph(&a, "else_branch", &other);
    put_op(g, "If", "c", out, &a);
    free(inner.data), free(other.data), free(a.data);
}

static void put_function(bytes *m, int i, int last, int times)
{
    bytes f = {0}, n = {0}, o = {0};
    char name[40];

    snprintf(name, sizeof name, "F%d", i);
    put_text(&f, 1, name);
    put_text(&f, 4, "a");
    put_text(&f, 5, i == last ? "t" : "z");
    snprintf(name, sizeof name, "F%d", i + 1);
    for (int k = 0; k < (i == last ? 1 : times); k++) {
        put_text(&n, 1, k == 0 ? "a" : "t");
        put_text(&n, 2, i == last || k + 1 < times ? "t" : "z");
        put_text(&n, 4, i == last ? "Neg" : name);
        put_text(&n, 7, i == last ? "" : "my");
        put_message(&f, 7, &n);
    }
    for (int k = 0; k < 2; k++) {
        put_text(&o, 1, k == 0 ? "" : "my");
        put_int(&o, 2, k == 0 ? 17 : 1);
        put_message(&f, 9, &o);
    }
    put_text(&f, 10, "my");
    put_message(m, 25, &f);
    free(f.data), free(n.data), free(o.data);
}

static void functions(bytes *m, int levels, int times)
{
    bytes g = {0}, n = {0};

    put_value(&g, 11, "x", F32, 4, hostile_image);
    put_text(&n, 1, "x");
    put_text(&n, 2, "y");
    put_text(&n, 4, "F0");
    put_text(&n, 7, "my");
    put_message(&g, 1, &n);
    put_value(&g, 12, "y", F32, 4, hostile_image);
    put_model(m, &g, 17);
    put_opset(m, "my", 1);
    for (int i = 0; i <= levels; i++)
        put_function(m, i, levels, times);
    free(g.data), free(n.data);
}

void put_depth(bytes *m)
{
    static const int levels[] = {1, 3, 30, 63, 64, 65, 100, 200};
    bytes g = {0}, type = {0}, info = {0};
    const int d = levels[draw(8)];

    switch (draw(4)) {
    case 0:
        snprintf(description, sizeof description, "If, %d deep", d);
        put_value(&g, 11, "x", F32, 4, hostile_image);
        put_value(&g, 11, "c", B8, 0, NULL);
        put_ifs(&g, d, "y");
        put_value(&g, 12, "y", F32, -1, NULL);
        put_model(m, &g, 17);
        break;
    case 1:
        snprintf(description, sizeof description, "functions, %d deep", d * 15);
        functions(m, d * 15, 1);
        break;
    case 2:
        snprintf(description, sizeof description, "functions that call twice, %d deep", d);
        functions(m, d, 2);
        break;
    default:
        snprintf(description, sizeof description, "a type %d deep", d * 100);
        put_int(&info, 1, F32);
        put_message(&type, 1, &info);
        for (int i = 0; i < d * 100; i++) {
            put_message(&info, 1, &type);
            put_message(&type, 4, &info);
        }
        put_text(&info, 1, "x");
        put_message(&info, 2, &type);
        put_message(&g, 11, &info);
        put_op(&g, "Identity", "x", "y", NULL);
        put_value(&g, 12, "y", F32, -1, NULL);
        put_model(m, &g, 17);
    }
    free(g.data), free(type.data), free(info.data);
}

/* --- names ------------------------------------------------------------------------------------ */

void put_hostile_names(bytes *m)
{
    static const char *const odd[] = {"",
                                      "x",
                                      "%s%s%n%n",
                                      "../../etc/passwd",
                                      "a\x1b[2J\x1b]0;x\x07"
                                      "b",
                                      "\xc2\x9b"
                                      "31m",
                                      "\xff\xfe",
                                      "a\nerror: b",
                                      "w",
                                      "y",
                                      "/",
                                      "conv/.",
                                      "<script>a</script>",
                                      "'; drop",
                                      "\xf0\x9f\x98\x80"};
    bytes g = {0}, n = {0}, type = {0};
    const size_t size = draw(4) == 0 ? 1 << 20 : draw(3) == 0 ? 5000 : 0;
    char *name = malloc(size + 64);

    snprintf(name, 64, "%s", odd[draw(sizeof odd / sizeof *odd)]);
    if (size > 0) {
        memset(name, 'n', size);
        name[size] = '\0';
    }
    snprintf(description, sizeof description, "names, %zu bytes", strlen(name));
    put_conv(&g);
    /* nodes of one name; values that come twice or are called nothing */
    for (int i = 0; i < 3; i++) {
        put_text(&n, 1, i == 0 ? "h" : name);
        put_text(&n, 2, i < 2 || draw(2) == 0 ? name : "y");
        put_text(&n, 3, name);
        put_text(&n, 4, draw(6) == 0 ? name : "Relu");
        if (draw(5) == 0)
            put_text(&n, 7, name);
        put_message(&g, 1, &n);
        if (draw(2) == 0)
            break;
    }
    put_value(&g, 12, draw(3) == 0 ? "y" : name, F32, draw(2) == 0 ? 4 : -1, hostile_image);
    put_model(m, &g, 17);
    if (draw(4) == 0)
        put_opset(m, name, 1);
    free(name), free(g.data), free(n.data), free(type.data);
}

/* --- loops ------------------------------------------------------------------------------------ */

void put_loops(bytes *m)
{
    bytes g = {0}, body = {0}, a = {0};
    const int64_t drawn = draw(2) == 0 ? extreme() : (int64_t)draw(10);
    const int64_t trips =
        /* what is slow, but ends, is not hostile */
        drawn > 1000 && drawn <= 1 << 24 ? 1000 : drawn;
    /* what doubles 30 times takes all memory there is, on any engine */
    const bool scans = draw(3) == 0, ends = draw(3) != 0,
               grows = draw(2) == 0 && ((trips >= 0 && trips < 16) || !ends);
    const char yes = 1;

    snprintf(description, sizeof description, "%s of %lld%s%s", scans ? "Scan" : "Loop",
             (long long)trips, grows ? ", grows" : "", ends ? "" : ", runs for ever");
    put_value(&g, 11, "x", F32, 2, (const int64_t[]){4, 4});
    put_init(&g, "trips", I64, 0, NULL, &trips, sizeof trips);
    put_init(&g, "yes", B8, 0, NULL, &yes, 1);
    put_text(&body, 2, "body");
    if (!scans) {
        put_value(&body, 11, "it", I64, 0, NULL);
        put_value(&body, 11, "go", B8, 0, NULL);
    }
    put_value(&body, 11, "s", F32, -1, NULL);
    if (scans)
        put_value(&body, 11, "e", F32, -1, NULL);
    if (grows && !scans) {
        put_attr_int(&a, "axis", 0);
        put_op(&body, "Concat", "s s", "s1", &a);
    } else {
        put_op(&body, "Neg", "s", "s1", NULL);
    }
    if (!scans) {
        put_op(&body, "Identity", "go", "go1", NULL);
        put_value(&body, 12, "go1", B8, 0, NULL);
    }
    if (draw(6) != 0)
        put_value(&body, 12, "s1", F32, -1, NULL);
    if (scans || draw(3) == 0) {
        put_op(&body, "Identity", "s", "o", NULL);
        put_value(&body, 12, "o", F32, -1, NULL);
    }
    if (draw(10) != 0)
        put_attr_graph(&a, "body", &body);
    if (scans)
        put_attr_int(&a, "num_scan_inputs", draw(2) == 0 ? 1 : extreme());
    put_op(&g, scans ? "Scan" : "Loop",
           scans  ? "x x"
           : ends ? "trips yes x"
                  : "- yes x",
           scans ? "y z" : "y", &a);
    put_value(&g, 12, "y", F32, -1, NULL);
    if (draw(8) == 0) /* a circle */
        put_op(&g, "Add", "y q", "q", NULL);
    put_model(m, &g, 17);
    free(g.data), free(body.data), free(a.data);
}
