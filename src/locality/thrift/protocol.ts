/** The constants of Thrift's binary protocol, and its limits in Lodestone. */

/** The types of values. */
export const TYPES = {
  stop: 0,
  bool: 2,
  byte: 3,
  double: 4,
  int16: 6,
  int32: 8,
  int64: 10,
  text: 11,
  struct: 12,
  map: 13,
  set: 14,
  list: 15,
  uuid: 16,
} as const

/** The first two bytes of a message, in its strict form. */
export const VERSION = 0x80010000 | 0

export const MESSAGE_TYPES = { call: 1, reply: 2, exception: 3 } as const

/** The limit of one message, as for the body of an HTTP response. Descriptions of tables are far smaller. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
/** The limit of nested structs and containers. Those of a table nest six levels. */
export const MAX_DEPTH = 64

/** The bytes of a server are no message of Thrift, or exceed a limit. The message does not quote them. */
export class ThriftProtocolError extends Error {
  override name = 'ThriftProtocolError'
}
