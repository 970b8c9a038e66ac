/* fake_plugin.c - libraries that the engine must refuse: FAKE_WHAT says what is wrong with each. */
#include "qdq/engine_plugin.h"

#define STRANGER 0 /* exports nothing of an engine */
#define NEWER    1 /* knows no table of our version */
#define LIAR     2 /* gives a table of another version all the same */
#define SHORT    3 /* a table that ends early */
#define HOLES    4 /* a table without functions */

int fake_plugin_is_here(void);
int fake_plugin_is_here(void)
{
    return 1;
}

#if FAKE_WHAT != STRANGER
const qdq_engine_plugin *qdq_engine_plugin_get(unsigned version)
{
    static const qdq_engine_plugin table = {
        .version = FAKE_WHAT == LIAR ? QDQ_ENGINE_PLUGIN_VERSION + 7 : QDQ_ENGINE_PLUGIN_VERSION,
        .size = FAKE_WHAT == SHORT ? 8 : sizeof(qdq_engine_plugin),
        .name = "fake",
    };

    (void)version;
    return FAKE_WHAT == NEWER ? NULL : &table;
}
#endif
