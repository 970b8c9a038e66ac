/* heap.c - glibc keeps free pages between those in use, and all of what other threads freed. */
#include "base/heap.h"

#include <stdlib.h> /* says whether it is glibc */
#ifdef __GLIBC__
#include <malloc.h>
#endif

void qdq_heap_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
