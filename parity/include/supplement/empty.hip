// The empty input for a dry run of the compiler.
