/* processor.h - the processor's name: times of one processor are no times of another. */
#ifndef QDQ_PROCESSOR_H
#define QDQ_PROCESSOR_H

#include <stddef.h>

/* "Intel(R) Xeon(R) Processor, 2 cores", as the system has it, or "AMD EPYC without VNNI, 2 cores".
 * Some 300 bytes are enough. */
void qdq_processor_name(char *out, size_t room);

#endif /* QDQ_PROCESSOR_H */
