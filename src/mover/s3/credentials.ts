/** Reads access keys for S3 from a mounted Secret, again when it changes, or from the environment. */
import { join } from 'node:path'
import { CREDENTIAL_ENDPOINTS_VARIABLE } from '../../core/mover-contract/contract.ts'
import type { AccessKeys } from '../../s3/sigv4.ts'
import { MoverError } from '../mover-error.ts'
import {
  ENDPOINTS_FILE,
  needAllowed,
  parseEndpoints,
  readSecretFile,
  rereading,
  secretText,
} from '../objects/credentials.ts'

/** Returns the keys; undefined for anonymous requests. */
export type CredentialSource = () => Promise<AccessKeys | undefined>

/** The keys of VCK's Secrets. The session token is an addition of Lodestone. */
const FILES = { accessKeyId: 'awsAccessKeyID', secretAccessKey: 'awsSecretAccessKey', sessionToken: 'awsSessionToken' }

/** Reads keys from files in a directory. Throws `AccessDenied` when a key is missing, or must not be sent to the endpoint. */
export function credentialsFromDirectory(directory: string, endpoint: string): CredentialSource {
  return rereading(() => readKeys(directory, endpoint))
}

/** Reads keys from the environment variables of the AWS tools; undefined without them. With one of two keys, the source throws `AccessDenied`. */
export function keysOfEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  endpoint: string,
): CredentialSource | undefined {
  const accessKeyId = secretText(env['AWS_ACCESS_KEY_ID'])
  const secretAccessKey = secretText(env['AWS_SECRET_ACCESS_KEY'])
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  const sessionToken = secretText(env['AWS_SESSION_TOKEN'])
  return async () => {
    needListed(endpoint, env[CREDENTIAL_ENDPOINTS_VARIABLE])
    // Without this error, the requests would be anonymous, or those of a role.
    if (accessKeyId === undefined || secretAccessKey === undefined) {
      const empty = accessKeyId === undefined ? 'AWS_ACCESS_KEY_ID' : 'AWS_SECRET_ACCESS_KEY'
      throw new MoverError('AccessDenied', `${empty} is empty, and the other key is set; correct the Secret`)
    }
    return { accessKeyId, secretAccessKey, sessionToken }
  }
}

async function readKeys(directory: string, endpoint: string): Promise<AccessKeys> {
  const need = async (file: string) => {
    const text = await readSecretFile(directory, file)
    if (text !== undefined) return text
    throw new MoverError('AccessDenied', `the Secret has no ${file}: ${join(directory, file)} is missing or empty`)
  }
  needListed(endpoint, await readSecretFile(directory, ENDPOINTS_FILE))
  return {
    accessKeyId: await need(FILES.accessKeyId),
    secretAccessKey: await need(FILES.secretAccessKey),
    // Only temporary credentials have a session token.
    sessionToken: await readSecretFile(directory, FILES.sessionToken),
  }
}

/** A Secret without a list allows every endpoint: a signature is valid for one host, and redirects are not followed to another one. */
function needListed(endpoint: string, endpoints: string | undefined): void {
  const allowed = parseEndpoints(endpoints)
  if (allowed.length > 0) needAllowed(endpoint, allowed)
}
