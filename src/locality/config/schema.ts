/** The JSON Schema of the configuration of one data system. It has every key of volcano-global's plugin files. */
import { AUTH_SETTINGS, type AuthSettings, SECRETS } from '../auth/credentials.ts'

const text = { type: 'string', minLength: 1 }
/** The origin writes unset strings as empty ones. */
const textOrEmpty = { type: 'string' }
const clusterNames = { type: 'object', additionalProperties: { type: 'array', items: text } }

const secrets = Object.fromEntries(SECRETS.flatMap((name) => [name, `${name}File`]).map((key) => [key, textOrEmpty]))

const auth = {
  type: 'object',
  properties: {
    type: textOrEmpty,
    ...secrets,
    header: text,
    ...Object.fromEntries(AUTH_SETTINGS.map((setting) => [setting, text])),
    /** The origin's place for an API key's header. */
    extra: { type: 'object', properties: { header: text } },
  },
}

const tls = {
  type: 'object',
  properties: {
    /** Accepted for the origin's sake: the URL's scheme says it. */
    enabled: { type: 'boolean' },
    insecureSkipVerify: { type: 'boolean' },
    caFile: textOrEmpty,
    certFile: textOrEmpty,
    keyFile: textOrEmpty,
  },
}

/** The whole document; `extra` has a schema of its own for each plugin. */
export const systemSchema = {
  type: 'object',
  required: ['system'],
  properties: {
    system: { type: 'string', minLength: 1, maxLength: 63 },
    plugin: text,
    endpoint: {
      type: 'object',
      properties: {
        url: textOrEmpty,
        urls: { type: 'array', items: text, minItems: 1 },
        port: { type: 'integer', minimum: 0, maximum: 65535 },
        auth,
        tls,
      },
    },
    locationMapping: clusterNames,
    regionMapping: clusterNames,
    retryConfig: {
      type: 'object',
      properties: {
        maxRetries: { type: 'integer', minimum: 0, maximum: 20 },
        initialBackoff: textOrEmpty,
        maxBackoff: textOrEmpty,
        backoffMultiplier: { type: 'number', minimum: 1, maximum: 100 },
        timeout: textOrEmpty,
      },
    },
    refreshInterval: text,
    maxConcurrent: { type: 'integer', minimum: 1, maximum: 256 },
    maxRequestsPerSecond: { type: 'integer', minimum: 1, maximum: 10_000 },
    extra: { type: 'object' },
  },
}

/** The members of `extra` that every system may have. */
export const commonExtra = { region: text, provider: text }

export interface GivenAuth extends AuthSettings {
  type?: string
  header?: string
  extra?: { header?: string }
  [secret: string]: unknown
}

/** A document that the schema has passed. */
export interface GivenSystem {
  system: string
  plugin?: string
  endpoint?: {
    url?: string
    urls?: string[]
    port?: number
    auth?: GivenAuth
    tls?: { insecureSkipVerify?: boolean; caFile?: string; certFile?: string; keyFile?: string }
  }
  locationMapping?: Record<string, string[]>
  regionMapping?: Record<string, string[]>
  retryConfig?: {
    maxRetries?: number
    initialBackoff?: string
    maxBackoff?: string
    backoffMultiplier?: number
    timeout?: string
  }
  refreshInterval?: string
  maxConcurrent?: number
  maxRequestsPerSecond?: number
  extra?: Record<string, unknown>
}
