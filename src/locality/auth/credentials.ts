/** Credentials as a configuration gives them: in a file, read whenever it is needed so that rotation needs no restart, or in place. */
import { readFile } from 'node:fs/promises'
import { LocalityError } from '../plugins/plugin.ts'

export type Credential = { file: string } | { value: string }

export type AuthType = 'none' | 'basic' | 'bearer' | 'apikey' | 'oauth2' | 'sigv4' | 'simple' | 'delegation'

/** Every secret there may be; which ones there must be depends on the type. */
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

/** Further settings of a type: the first four are of oauth2, the last two of sigv4. */
export const AUTH_SETTINGS = ['tokenUrl', 'scope', 'audience', 'resource', 'region', 'service'] as const

export type AuthSettings = { [Setting in (typeof AUTH_SETTINGS)[number]]?: string }

export interface AuthConfig extends AuthSettings {
  type: AuthType
  secrets: Partial<Record<SecretName, Credential>>
  /** apikey: the header that carries it. */
  header?: string
}

/** Reads a secret, without the line break that editors leave; undefined when the configuration has none of that name. */
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

/** Reads a secret that the configuration is known to have. */
export async function needSecret(auth: AuthConfig, name: SecretName): Promise<string> {
  const secret = await readSecret(auth, name)
  if (secret) return secret
  throw new LocalityError('unauthorized', `endpoint.auth.${name}: is empty`)
}
