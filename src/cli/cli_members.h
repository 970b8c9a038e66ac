/* cli_members.h - makes a .def of options the members of a struct: includes the .def behind it.
 * Which type a kind has stands in cli_args.h. */
#undef TABLE
#undef SHARED
#undef END
#undef FLAG
#undef OPT
#undef OPT_AT

#define TABLE(name)
#define SHARED(name)
#define END
#define FLAG(letter, name, member, ...)            bool member;
#define OPT(kind, letter, name, member, what, ...) CLI_TYPE_##kind member;
#define OPT_AT(kind, letter, name, member, what, ...)
