/** Reads access keys for S3 from a mounted Secret, again when it changes, or from the environment. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CREDENTIAL_ENDPOINTS_VARIABLE } from '../../core/mover/contract.ts'
import type { AccessKeys } from '../../core/s3/sigv4.ts'
import { MoverError } from '../mover-error.ts'

/** Returns the keys; undefined for anonymous requests. */
export type CredentialSource = () => Promise<AccessKeys | undefined>

/** How often the files are read. The kubelet updates a changed Secret within two minutes, and a mover may run for hours. */
const REREAD_MS = 10_000

/** The keys of VCK's Secrets. The session token is an addition of Lodestone. */
const FILES = { accessKeyId: 'awsAccessKeyID', secretAccessKey: 'awsSecretAccessKey', sessionToken: 'awsSessionToken' }

/** The key of the Secret that names the endpoints to which its keys may be sent. */
const ENDPOINTS_FILE = 'endpoints'

/** Reads keys from files in a directory. Throws `AccessDenied` when a key is missing, or must not be sent to the endpoint. */
export function credentialsFromDirectory(directory: string, endpoint: string): CredentialSource {
  let read: Promise<AccessKeys> | undefined
  let readAt = 0
  return () => {
    if (read === undefined || performance.now() - readAt > REREAD_MS) {
      readAt = performance.now()
      read = readKeys(directory, endpoint)
    }
    return read
  }
}

/** Reads keys from the environment variables of the AWS tools. */
export function credentialsFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  endpoint: string,
): CredentialSource {
  const accessKeyId = env['AWS_ACCESS_KEY_ID']
  const secretAccessKey = env['AWS_SECRET_ACCESS_KEY']
  if (!accessKeyId || !secretAccessKey) return async () => undefined
  const keys = { accessKeyId, secretAccessKey, sessionToken: env['AWS_SESSION_TOKEN'] || undefined }
  const endpoints = env[CREDENTIAL_ENDPOINTS_VARIABLE]
  return async () => {
    needAllowed(endpoint, endpoints)
    return keys
  }
}

async function readKeys(directory: string, endpoint: string): Promise<AccessKeys> {
  const read = async (file: string) => (await readFile(join(directory, file), 'utf8')).trim()
  const need = async (file: string) => {
    const text = await read(file).catch(() => '')
    if (text !== '') return text
    throw new MoverError('AccessDenied', `the Secret has no ${file}: ${join(directory, file)} is missing or empty`)
  }
  needAllowed(endpoint, await read(ENDPOINTS_FILE).catch(() => undefined))
  return {
    accessKeyId: await need(FILES.accessKeyId),
    secretAccessKey: await need(FILES.secretAccessKey),
    // Only temporary credentials have a session token.
    sessionToken: (await read(FILES.sessionToken).catch(() => '')) || undefined,
  }
}

/**
 * Throws `AccessDenied` unless the Secret allows the endpoint. It compares scheme, host and port. Redirects are not followed, so no other
 * server receives the keys.
 */
function needAllowed(endpoint: string, endpoints: string | undefined): void {
  const allowed = (endpoints ?? '').split(/[\s,]+/).filter(Boolean)
  // A Secret without this key allows every endpoint.
  if (allowed.length === 0) return
  const origin = URL.parse(endpoint)?.origin
  if (allowed.some((one) => URL.parse(one)?.origin === origin)) return
  throw new MoverError(
    'AccessDenied',
    `the credentials may not be sent to ${origin}: the key endpoints of their Secret names other servers; add it there`,
  )
}
