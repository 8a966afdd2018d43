/** Decodes the reply to a call: its result, or an exception of the server. */
import type { ByteQueue } from './byte-queue.ts'
import { type Decoding, readInt32, readStruct, readText } from './decode.ts'
import { MESSAGE_TYPES, ThriftProtocolError, TYPES, VERSION } from './protocol.ts'

const MAX_NAME_BYTES = 256

export type Reply<T> =
  | { kind: 'result'; result: T }
  /** An exception of Thrift itself, such as an unknown method. Exceptions of the interface are fields of the result. */
  | { kind: 'exception'; type: number }

/** The type of the exception of a server that lacks a method. */
export const UNKNOWN_METHOD = 1

/** Decodes the reply to the call `sequence` of `method`. Throws `ThriftProtocolError` for anything else. */
export function* readReply<T>(
  input: ByteQueue,
  method: string,
  sequence: number,
  readResult: (input: ByteQueue) => Decoding<T>,
): Decoding<Reply<T>> {
  const head = yield* readInt32(input)
  if ((head & 0xffff0000) !== VERSION) throw new ThriftProtocolError(`the answer is ${describeFirstByte(head >>> 24)}`)
  const name = yield* readText(input, MAX_NAME_BYTES)
  const its = yield* readInt32(input)
  if (name !== method || its !== sequence) throw new ThriftProtocolError('the answer is one to another call')
  const type = head & 0xff
  if (type === MESSAGE_TYPES.reply) return { kind: 'result', result: yield* readResult(input) }
  if (type === MESSAGE_TYPES.exception) return { kind: 'exception', type: yield* readExceptionType(input) }
  throw new ThriftProtocolError('the answer is neither a reply nor an exception')
}

/** Names what a server speaks that begins with this byte. */
function describeFirstByte(first: number): string {
  if (first === 0x15) return 'one of TLS; set endpoint.tls.enabled'
  if (first === 3 || first === 4) return 'one of SASL; set endpoint.auth'
  if (first === 0) return 'framed; set extra.framed'
  return 'not one of Thrift with the binary protocol'
}

/** A TApplicationException: 1 is its message, 2 its type. */
function* readExceptionType(input: ByteQueue): Decoding<number> {
  let type = 0
  yield* readStruct(input, {
    2: {
      type: TYPES.int32,
      *read(field) {
        type = yield* readInt32(field)
      },
    },
  })
  return type
}
