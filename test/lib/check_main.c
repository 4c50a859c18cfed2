/* check_main.c - the main() of a test program that has none of its own; the linker takes this file for no other. */
#include "lib/check.h"

int main(int argc, char **argv)
{
    return check_main(argc, argv);
}
