/* How a message looks on the wire. Every message has a number, modulo 2^32, and content; both together are
 * the size that the user asked for.
 *
 * fixed: the number in network byte order, then the content: as many bytes as the size.
 * protobuf: a message of Protocol Buffers behind its length (varint), as its libraries write "delimited"
 * messages: message Message { uint32 number = 1; bytes content = 2; }
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PL_MESSAGE_MIN_BYTES 4
#define PL_MESSAGE_MAX_BYTES 65536
/* The bytes of the number, which are part of a message's size. */
#define PL_NUMBER_BYTES 4
/* What the encoding adds at most: two tags, the number, two lengths. */
#define PL_PROTOBUF_EXTRA_BYTES 16

/* Fields that the receiver does not know may take so many bytes of a message. */
#define PL_UNKNOWN_MAX_BYTES 1024

enum pl_encoding { PL_ENCODING_FIXED, PL_ENCODING_PROTOBUF, PL_ENCODINGS };

const char *pl_encoding_name(enum pl_encoding encoding);

/* The most bytes that a message of `size` takes on the wire. */
size_t pl_encoded_max(enum pl_encoding encoding, size_t size);

/* Writes a message of `size` whose content is the first bytes of `content`; returns the bytes written. */
size_t pl_encode(enum pl_encoding encoding, uint8_t *at, uint32_t number, const uint8_t *content,
                 size_t size);

/* Reads the first message of the `have` bytes at `at`. Returns the bytes that it takes; 0 when it is
 * incomplete; -1 when this is no message of `size`. `content` receives where its content lies. */
ssize_t pl_decode(enum pl_encoding encoding, const uint8_t *at, size_t have, size_t size, uint32_t *number,
                  const uint8_t **content);
