/* test_main.c - runs the tests that TEST() has listed, in the order of the file; those whose name
 * fits a pattern, if one is given. Programs with a main() of their own do without. */
#include "support/test.h"

int main(int argc, char **argv)
{
    struct CMUnitTest *tests;
    size_t n = 0;
    int failed;

    for (const test_listed *t = test_list(); t != NULL; t = t->next)
        n++;
    tests = calloc(n + 1, sizeof *tests);
    if (n == 0 || tests == NULL)
        return 2;
    n = 0;
    for (const test_listed *t = test_list(); t != NULL; t = t->next)
        tests[n++] = (struct CMUnitTest){t->name, t->run, NULL, NULL, NULL};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    failed = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
    free(tests);
    return failed;
}
