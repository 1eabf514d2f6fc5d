/* Descriptors: their end, options of sockets, and eventfds by which threads wake each other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Unless it is -1. */
void pl_close(int fd);

/* An option that is an int. False with errno where the kernel refuses it. */
bool pl_set_option(int fd, int level, int name, int value);

/* The same as it is in force; -1 where the kernel does not report it. */
int64_t pl_get_option(int fd, int level, int name);

/* The error that is pending on a socket, which this clears; 0: none. */
int pl_take_socket_error(int fd);

/* Makes an eventfd readable, and unreadable again. */
void pl_wake(int event_fd);
void pl_clear_wake(int event_fd);
