/** Credentials of a configuration: in a file, which is read for each use so that rotation needs no restart, or as a value. */
import { readFile } from 'node:fs/promises'
import { LocalityError } from '../locality.ts'

export type Credential = { file: string } | { value: string }

export type AuthType = 'none' | 'basic' | 'bearer' | 'apikey' | 'oauth2' | 'sigv4' | 'simple' | 'delegation'

/** All secrets of all types. The type decides which are required. */
export const SECRETS = [
  'username',
  'password',
  'token',
  'apiKey',
  'secret',
  'clientId',
  'clientSecret',
  'accessKeyId',
  'secretAccessKey',
  'sessionToken',
] as const

export type SecretName = (typeof SECRETS)[number]

/** Other settings: the first four are of type oauth2, the last two of sigv4. */
export const AUTH_SETTINGS = ['tokenUrl', 'scope', 'audience', 'resource', 'region', 'service'] as const

export type AuthSettings = { [Setting in (typeof AUTH_SETTINGS)[number]]?: string }

export interface AuthConfig extends AuthSettings {
  type: AuthType
  secrets: Partial<Record<SecretName, Credential>>
  /** Type apikey: the header of the key. */
  header?: string
}

/** Reads a secret, without the newline at the end of a file; undefined when the configuration does not have it. */
export async function readSecret({ secrets }: AuthConfig, name: SecretName): Promise<string | undefined> {
  const credential = secrets[name]
  if (credential === undefined) return undefined
  if ('value' in credential) return credential.value
  try {
    return (await readFile(credential.file, 'utf8')).trim()
  } catch (cause) {
    throw new LocalityError('unauthorized', `endpoint.auth.${name}File: ${credential.file} cannot be read`, { cause })
  }
}

/** Reads a secret that the configuration has. Throws `LocalityError` when it is empty or its file cannot be read. */
export async function needSecret(auth: AuthConfig, name: SecretName): Promise<string> {
  const secret = await readSecret(auth, name)
  if (secret) return secret
  throw new LocalityError('unauthorized', `endpoint.auth.${name}: is empty`)
}
