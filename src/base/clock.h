/* clock.h - time that only goes forward. */
#ifndef QDQ_CLOCK_H
#define QDQ_CLOCK_H

/* Seconds since some moment; for differences. */
double qdq_clock_seconds(void);

#endif /* QDQ_CLOCK_H */
