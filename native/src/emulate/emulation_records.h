/* Counters of the emulator as JSON members (PROTOCOL.md, `emulate`). */
#pragma once

#include "base/json.h"
#include "emulate/forwarder.h"

/* {"records":..,"skipped_records":..,"error":..}: records in the file, records not in it, and the text of the
 * errno that ended it, null for none. */
void pl_write_trace(struct pl_json *j, const char *key, const struct pl_trace *trace);

/* The counters of one direction; `socket_dropped` is read from the device now, null where the kernel does not
 * report it. */
void pl_write_direction(struct pl_json *j, const char *key, const struct pl_direction *direction);
