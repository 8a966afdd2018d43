/** The JSON Schema of the configuration of one data system. It includes every key of volcano-global's plugin files. */
import { MAX_CLUSTER_NAME_LENGTH } from '../../core/data-source/validate.ts'
import { AUTH_SETTINGS, type AuthSettings, SECRETS } from '../auth/credentials.ts'

export const text = { type: 'string', minLength: 1 }
/** volcano-global writes unset strings as empty strings. */
const textOrEmpty = { type: 'string' }
/** No other name can be in a DataSource (core/data-source/validate.ts). */
export const clusterName = {
  ...text,
  maxLength: MAX_CLUSTER_NAME_LENGTH,
  pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$',
  errorMessage: 'must be the name of a cluster: lower-case letters, digits and "-", e.g. member-1',
}
const clusterNames = { type: 'object', additionalProperties: { type: 'array', items: clusterName } }

const secrets = Object.fromEntries(SECRETS.flatMap((name) => [name, `${name}File`]).map((key) => [key, textOrEmpty]))

const auth = {
  type: 'object',
  properties: {
    type: textOrEmpty,
    ...secrets,
    header: text,
    ...Object.fromEntries(AUTH_SETTINGS.map((setting) => [setting, text])),
    /** volcano-global has the header of an API key here. */
    extra: { type: 'object', properties: { header: text } },
  },
}

const tls = {
  type: 'object',
  properties: {
    /** Whether Thrift uses TLS. For HTTP, the scheme of the URL decides; it is accepted for compatibility with volcano-global. */
    enabled: { type: 'boolean' },
    insecureSkipVerify: { type: 'boolean' },
    caFile: textOrEmpty,
    certFile: textOrEmpty,
    keyFile: textOrEmpty,
  },
}

/** The schema of the document. Each plugin has its own schema for `extra`. */
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

/** The fields of `extra` that every system may have. */
export const commonExtra = { region: text, provider: text }

export interface GivenAuth extends AuthSettings {
  type?: string
  header?: string
  extra?: { header?: string }
  [secret: string]: unknown
}

/** A document that matches the schema. */
export interface GivenSystem {
  system: string
  plugin?: string
  endpoint?: {
    url?: string
    urls?: string[]
    port?: number
    auth?: GivenAuth
    tls?: { enabled?: boolean; insecureSkipVerify?: boolean; caFile?: string; certFile?: string; keyFile?: string }
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
