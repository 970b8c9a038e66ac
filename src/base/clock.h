/* clock.h - time that only goes forward. */
#ifndef QDQ_CLOCK_H
#define QDQ_CLOCK_H

#include <stdint.h>

/* Since some moment; for differences. */
double qdq_clock_seconds(void);
uint64_t qdq_clock_ns(void);

#endif /* QDQ_CLOCK_H */
