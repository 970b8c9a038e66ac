/* test_list.c - the tests of a program, which TEST() lists before main() runs. */
#include "support/test.h"

static test_listed *first;

void test_list_add(test_listed *t)
{
    t->next = first;
    first = t;
}

const test_listed *test_list(void)
{
    return first;
}
