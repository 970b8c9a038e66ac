/* cli_tables.h - makes a .def of options the tables of them: ARGS is the struct that has the
 * members, the .def is included behind. */
#undef TABLE
#undef SHARED
#undef END
#undef FLAG
#undef OPT
#undef OPT_AT

#define TABLE(name)  static const cli_opt name[] = {
#define SHARED(name) const cli_opt name[] = {
#define END                                                                                        \
    CLI_END                                                                                        \
    }                                                                                              \
    ;
#define FLAG(letter, name, member, ...)                                                            \
    CLI_ENTRY(ARGS, FLAG, letter, name, member, NULL, __VA_ARGS__),
#define OPT(kind, letter, name, member, what, ...)                                                 \
    CLI_ENTRY(ARGS, kind, letter, name, member, what, __VA_ARGS__),
#define OPT_AT OPT
