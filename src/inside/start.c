/* start.c - the first instructions of `inside` where it has no C library (alone.c).
 *
 * Called by the kernel, which leaves on the stack: the number of arguments, they and NULL, the variables and NULL. */
#include "inside/inside.h"

int main(int argc, char **argv);
_Noreturn void inside_start(char **stack);

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall inside_start\n");

_Noreturn void inside_start(char **stack)
{
    const long argc = *(const long *)(const void *)stack;

    alone_variables(stack + 1 + argc + 1);
    _exit(main((int)argc, stack + 1));
}
