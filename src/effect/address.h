/* address.h - private addresses. */
#ifndef EFFECT_ADDRESS_H
#define EFFECT_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* Whether `to` is of this machine, of a private or reserved network, or of an unknown family. Any thread. */
bool address_private(const struct sockaddr *to);

#endif
