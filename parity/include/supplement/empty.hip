// What a dry run of the compiler is given.
