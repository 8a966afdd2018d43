/** Validates and completes `endpoint.auth`: the type, and the source of each secret. */
import { resolve } from 'node:path'
import type { FieldError } from '../../base/field-errors.ts'
import { defined } from '../../base/json.ts'
import { suggest } from '../../base/suggest.ts'
import {
  AUTH_SETTINGS,
  type AuthConfig,
  type AuthType,
  type Credential,
  SECRETS,
  type SecretName,
} from '../auth/credentials.ts'
import type { GivenAuth } from './schema.ts'

/** The required secrets of each type. */
const NEEDED: Readonly<Record<AuthType, readonly SecretName[]>> = {
  none: [],
  basic: ['username'],
  bearer: ['token'],
  apikey: ['apiKey'],
  oauth2: ['clientSecret'],
  sigv4: ['accessKeyId', 'secretAccessKey'],
  simple: ['username'],
  delegation: ['token'],
}

/** Completes `endpoint.auth`, and adds its errors to `errors`. */
export function completeAuth(
  given: GivenAuth = {},
  allowed: readonly AuthType[],
  folder: string,
  errors: FieldError[],
): AuthConfig {
  const type = normalizeAuthType(given.type)
  if (!isOneOf(type, allowed)) {
    const message = `must be one of ${allowed.join(', ')}${suggest(type, allowed)}`
    errors.push({ path: 'endpoint.auth.type', code: 'NotSupported', message })
    return { type: 'none', secrets: {} }
  }
  const secrets = readSecrets(given, folder, errors)
  // volcano-global has the API key in `token`.
  if (type === 'apikey' && secrets.apiKey === undefined && secrets.token !== undefined) secrets.apiKey = secrets.token
  for (const name of NEEDED[type]) {
    if (secrets[name] === undefined) {
      errors.push({
        path: `endpoint.auth.${name}`,
        code: 'Required',
        message: `is required, or ${name}File, with type ${type}`,
      })
    }
  }
  if (type === 'oauth2') checkTokenUrl(given.tokenUrl, errors)
  const header = given.header ?? given.extra?.header
  if (header !== undefined && !/^[A-Za-z0-9-]+$/.test(header)) {
    errors.push({
      path: 'endpoint.auth.header',
      code: 'Invalid',
      message: 'must be the name of a header, e.g. X-API-Key',
    })
  }
  const settings = AUTH_SETTINGS.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]]))
  return { type, secrets, ...defined({ header }), ...Object.fromEntries(settings) }
}

/** Normalizes the type. As in volcano-global, case is ignored, and `token` means bearer. */
function normalizeAuthType(given = ''): string {
  const type = given.toLowerCase()
  if (type === '') return 'none'
  return type === 'token' ? 'bearer' : type
}

function isOneOf(type: string, allowed: readonly AuthType[]): type is AuthType {
  return (allowed as readonly string[]).includes(type)
}

function readSecrets(given: GivenAuth, folder: string, errors: FieldError[]): Partial<Record<SecretName, Credential>> {
  const secrets: Partial<Record<SecretName, Credential>> = {}
  for (const name of SECRETS) {
    const value = given[name]
    const from = given[`${name}File`]
    if (value && from) {
      errors.push({
        path: `endpoint.auth.${name}`,
        code: 'Forbidden',
        message: `must not be given together with ${name}File`,
      })
    }
    if (typeof from === 'string' && from !== '') {
      secrets[name] = { file: resolve(folder, from) }
    } else if (typeof value === 'string' && value !== '') {
      secrets[name] = { value }
    }
  }
  return secrets
}

/** Checks the token URL. The operator sets it: the token endpoint of catalogs is deprecated in the Iceberg specification. */
function checkTokenUrl(tokenUrl: string | undefined, errors: FieldError[]): void {
  const url = tokenUrl === undefined ? null : URL.parse(tokenUrl)
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return
  const path = 'endpoint.auth.tokenUrl'
  const hint = 'a URL such as https://login.example.com/oauth/token'
  errors.push(
    tokenUrl === undefined
      ? { path, code: 'Required', message: `is required with type oauth2: ${hint}` }
      : { path, code: 'Invalid', message: `must be ${hint}` },
  )
}
