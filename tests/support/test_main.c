/* test_main.c - runs the tests that TEST() has listed in one file, in its order; those whose name
 * fits a pattern, if one is given: test_FILE [PATTERN] or, of a program that many files share,
 * run_KIND FILE [PATTERN]. Programs with a main() of their own do without. */
#include "support/test.h"

/* Is `path` .../NAME.c? */
static bool is_file(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    const size_t n = strlen(name);

    return strncmp(base, name, n) == 0 && strcmp(base + n, ".c") == 0;
}

static int by_line(const void *a, const void *b)
{
    const test_listed *const *x = a, *const *y = b;

    return (*x)->line - (*y)->line;
}

static struct CMUnitTest *tests_of(const char *name, size_t *n)
{
    size_t all = 0;

    for (const test_listed *t = test_list(); t != NULL; t = t->next)
        all++;
    const test_listed **found = calloc(all + 1, sizeof *found);
    struct CMUnitTest *tests = calloc(all + 1, sizeof *tests);
    *n = 0;
    if (found != NULL && tests != NULL) {
        for (const test_listed *t = test_list(); t != NULL; t = t->next)
            if (is_file(t->file, name))
                found[(*n)++] = t;
        qsort(found, *n, sizeof *found, by_line);
        for (size_t i = 0; i < *n; i++)
            tests[i] = (struct CMUnitTest){found[i]->name, found[i]->run, NULL, NULL, NULL};
    }
    free(found);
    return tests;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash != NULL ? slash + 1 : argv[0];
    size_t n;

    if (strncmp(name, "test_", 5) == 0)
        name += 5;
    else {
        argc--, argv++;
        name = argc > 0 ? argv[0] : "";
    }
    struct CMUnitTest *tests = tests_of(name, &n);
    if (n == 0) {
        fprintf(stderr, "no tests of a file '%s.c' are in this program\n", name);
        free(tests);
        return 2;
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
    free(tests);
    return failed;
}
