/** Authenticates a connection with SASL PLAIN (RFC 4616), as Hive does for LDAP, CUSTOM and CONFIG. */
import { LocalityError } from '../locality.ts'
import type { ByteQueue } from './byte-queue.ts'
import type { ThriftConnection } from './connection.ts'
import { type Decoding, readText } from './decode.ts'
import { int32 } from './encode.ts'
import { ThriftProtocolError } from './protocol.ts'

/** The states in the messages of Thrift's SASL transport. */
const STATUS = { start: 1, ok: 2, bad: 3, error: 4, complete: 5 } as const

export interface PlainLogin {
  username: string
  password: string
}

/** Logs in. Afterwards each message is in a frame. Throws `LocalityError` when the server rejects the user or the mechanism. */
export async function authenticatePlain(
  connection: ThriftConnection,
  { username, password }: PlainLogin,
): Promise<void> {
  connection.write(message(STATUS.start, 'PLAIN'))
  connection.write(message(STATUS.ok, `\0${username}\0${password}`))
  const status = await connection.read(readStatus)
  if (status === STATUS.bad || status === STATUS.error) {
    throw new LocalityError('unauthorized', 'the server rejects the user, or SASL PLAIN; Kerberos is not supported')
  }
  if (status !== STATUS.complete) throw new ThriftProtocolError('the answer is not one of SASL PLAIN')
  connection.useFrames()
}

function message(status: number, payload: string): Buffer {
  const bytes = Buffer.from(payload, 'utf8')
  return Buffer.concat([Buffer.from([status]), int32(bytes.length), bytes])
}

/** Reads a message. Its text is not used: it may quote the password. */
function* readStatus(input: ByteQueue): Decoding<number> {
  while (input.size < 1) yield
  const status = input.byte()
  if (!Object.values<number>(STATUS).includes(status)) throw new ThriftProtocolError('the answer is not one of SASL')
  yield* readText(input, 0)
  return status
}
