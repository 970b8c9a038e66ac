/* heap.h - memory that was freed goes back to the system. */
#ifndef QDQ_HEAP_H
#define QDQ_HEAP_H

/* Where much may have been freed: a heap keeps it for what comes next, and other processes need it.
 * Free pages of all threads are looked at: next to nothing in a small heap, milliseconds for one of
 * gigabytes. */
void qdq_heap_trim(void);

#endif /* QDQ_HEAP_H */
