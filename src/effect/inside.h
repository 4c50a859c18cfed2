/* inside.h - the program of src/inside/ as bytes: the build puts them into the library. */
#ifndef EFFECT_INSIDE_H
#define EFFECT_INSIDE_H

#include <stddef.h>

extern const char inside_program[];
extern const size_t inside_program_size;

#endif
