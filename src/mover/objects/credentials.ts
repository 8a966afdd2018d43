/** Reads credentials from the files of a mounted Secret, and checks to which servers they may be sent. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MoverError } from '../mover-error.ts'

/** How often the files are read. The kubelet updates a changed Secret within two minutes, and a mover may run for hours. */
const REREAD_MS = 10_000

/** The key of the Secret that names the endpoints to which its credentials may be sent. */
export const ENDPOINTS_FILE = 'endpoints'

/** Returns a function that reads credentials again when the last ones are old. */
export function rereading<Keys>(read: () => Promise<Keys>): () => Promise<Keys> {
  let last: Promise<Keys> | undefined
  let readAt = 0
  return () => {
    if (last === undefined || performance.now() - readAt > REREAD_MS) {
      readAt = performance.now()
      last = read()
    }
    return last
  }
}

/** Reads a file of a mounted Secret; undefined when it is missing or empty. A file that cannot be read is not a missing one. */
export async function readSecretFile(directory: string, file: string): Promise<string | undefined> {
  const text = await readFile(join(directory, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  return secretText(text)
}

/** The value of a key of a Secret, without white space around it: editors and `kubectl` leave a line break at the end. Undefined if it is empty. */
export function secretText(text: string | undefined): string | undefined {
  return text?.trim() || undefined
}

/** The endpoints that a Secret lists, separated by white space or commas. */
export function parseEndpoints(text: string | undefined): string[] {
  return (text ?? '').split(/[\s,]+/).filter(Boolean)
}

/** Throws `AccessDenied` unless the list has the endpoint. It compares scheme, host and port. */
export function needAllowed(endpoint: string, allowed: readonly string[]): void {
  const origin = URL.parse(endpoint)?.origin
  if (allowed.some((one) => URL.parse(one)?.origin === origin)) return
  const lists = allowed.length === 0 ? 'does not list it' : 'names other servers'
  throw new MoverError(
    'AccessDenied',
    `the credentials may not be sent to ${origin}: the key endpoints of their Secret ${lists}; add it there`,
  )
}
