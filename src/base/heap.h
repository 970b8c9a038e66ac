/* heap.h - memory that was freed goes back to the system. */
#ifndef QDQ_HEAP_H
#define QDQ_HEAP_H

/* After gigabytes were freed: a heap keeps them for what comes next, where other processes need
 * them. */
void qdq_heap_trim(void);

#endif /* QDQ_HEAP_H */
