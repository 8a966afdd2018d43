/**
 * Reads plugin files of volcano-global. They are JSON that Go decodes (pkg/controller/datadependency/plugin.go), and mean what they mean
 * there. Everything that volcano-global ignores or replaces is a warning.
 */
import { basename } from 'node:path'
import type { FieldError } from '../../base/field-errors.ts'
import { defined, isObject } from '../../base/json.ts'
import { labelProblem } from '../../base/names.ts'
import { MAX_DURATION_MS, parseDuration } from '../../base/time/duration.ts'
import { MAX_CLUSTER_NAME_LENGTH } from '../../core/data-source/validate.ts'
import { decodeGo, type FieldWarning, type GoReport, type GoType, goMembers, parseGoJson, warn } from './go-json.ts'
import { type GivenAuth, type GivenSystem, systemSchema } from './schema.ts'

/** The only plugin of volcano-global. Its name is the key of the ConfigMap, and the system of claims. */
const PLUGIN = 'amoro'

const RETRY_FIELDS = {
  maxRetries: 'int',
  initialBackoff: 'string',
  maxBackoff: 'string',
  backoffMultiplier: 'float',
  timeout: 'string',
} as const

/** PluginConfig. */
const PLUGIN_CONFIG = {
  struct: {
    system: 'string',
    endpoint: {
      struct: {
        url: 'string',
        port: 'int',
        auth: {
          struct: { type: 'string', username: 'string', password: 'string', token: 'string', extra: { map: 'string' } },
        },
        tls: {
          struct: {
            enabled: 'bool',
            insecureSkipVerify: 'bool',
            certFile: 'string',
            keyFile: 'string',
            caFile: 'string',
          },
        },
      },
    },
    locationMapping: { map: { list: 'string' } },
    retryConfig: { struct: RETRY_FIELDS, resets: ['maxRetries', 'backoffMultiplier'] },
    extra: 'any',
  },
} as const satisfies GoType

/** DefaultRetryConfig. It replaces the whole `retryConfig` if `maxRetries` is 0 or absent. */
const DEFAULT_RETRY = { maxRetries: 3, initialBackoff: '1s', maxBackoff: '30s', backoffMultiplier: 2, timeout: '30s' }
const MAX_RETRIES = systemSchema.properties.retryConfig.properties.maxRetries.maximum
const MULTIPLIER = systemSchema.properties.retryConfig.properties.backoffMultiplier

export interface DecodedFile {
  /** In the form of a file of Lodestone. */
  given: GivenSystem
  errors: FieldError[]
  warnings: FieldWarning[]
}

/**
 * Decodes a plugin file of volcano-global. Returns undefined for a file of Lodestone. Such a file is not JSON, or is not about `amoro`, or has
 * a field that only Lodestone has, such as `plugin`.
 *
 * @param file its base name is the key of the ConfigMap
 * @param known the plugins of Lodestone
 */
export function readVolcanoGlobal(file: string, text: string, known: Iterable<string>): DecodedFile | undefined {
  const document = parseGoJson(text)
  if (!isObject(document) || hasFieldOutside(PLUGIN_CONFIG, systemSchema, document)) return undefined
  const report: GoReport = { errors: [], warnings: [] }
  const decoded = decodeGo(PLUGIN_CONFIG, document, '', report) as GivenSystem
  if (!isForPlugin(decoded.system, file, known)) return undefined
  const { endpoint, locationMapping, retryConfig } = decoded
  if (decoded.system && decoded.system !== PLUGIN) {
    warn(report, 'system', `ignored, as in volcano-global: the name of the file, ${PLUGIN}, is the name of the system`)
  }
  if (goMembers(decoded.extra).length > 0) warn(report, 'extra', 'ignored, as in volcano-global')
  return {
    given: defined({
      system: PLUGIN,
      endpoint: endpoint && completeEndpoint(endpoint, report),
      locationMapping: locationMapping && completeMapping(locationMapping, report),
      retryConfig: completeRetry(retryConfig, report),
    }),
    ...report,
  }
}

/** Whether a file names the plugin as its system, or else by its key. */
function isForPlugin(system: string | undefined, file: string, known: Iterable<string>): boolean {
  if (system === PLUGIN) return true
  return basename(file) === PLUGIN && ![...known].some((plugin) => plugin === system)
}

interface ObjectSchema {
  properties?: Readonly<Record<string, ObjectSchema | object>>
}

/** Whether a document has a field that only files of Lodestone have: one of the schema that the Go type lacks. */
function hasFieldOutside(type: GoType, schema: ObjectSchema, value: unknown): boolean {
  if (typeof type === 'string' || !('struct' in type)) return false
  const { properties = {} } = schema
  return goMembers(value).some(([name, member]) => {
    if (!Object.hasOwn(properties, name)) return false
    const field = Object.hasOwn(type.struct, name) ? type.struct[name] : undefined
    return field === undefined || hasFieldOutside(field, properties[name] as ObjectSchema, member)
  })
}

type Endpoint = NonNullable<GivenSystem['endpoint']>
type Tls = NonNullable<Endpoint['tls']>

function completeEndpoint({ port, tls, auth, ...endpoint }: Endpoint, report: GoReport): Endpoint {
  const hasPort = port !== undefined && port > 0
  if (port !== undefined && port < 0) warn(report, 'endpoint.port', 'ignored, as in volcano-global: is below 1')
  return {
    ...endpoint,
    ...defined({
      port: hasPort ? port : undefined,
      auth: auth && completeAuth(auth, report),
      tls: tls && completeTls(tls, report),
    }),
  }
}

function completeAuth({ extra = {}, ...auth }: GivenAuth, report: GoReport): GivenAuth {
  const { header, ...others } = extra
  for (const name of Object.keys(others)) warn(report, `endpoint.auth.extra[${name}]`, 'ignored, as in volcano-global')
  return header ? { ...auth, extra: { header } } : auth
}

/** volcano-global does not use `tls`. Lodestone does, as far as it is complete. */
function completeTls({ certFile, keyFile, ...tls }: Tls, report: GoReport): Tls {
  if (certFile && keyFile) return { ...tls, certFile, keyFile }
  if (certFile || keyFile) {
    const [path, missing] = certFile ? ['certFile', 'keyFile'] : ['keyFile', 'certFile']
    warn(report, `endpoint.tls.${path}`, `ignored without ${missing}`)
  }
  return tls
}

type Mapping = NonNullable<GivenSystem['locationMapping']>

function completeMapping(mapping: Mapping, report: GoReport): Mapping {
  const entries = Object.entries(mapping).map(([key, clusters]) => {
    const path = `locationMapping[${key}]`
    if (key === '') warn(report, path, 'never matches, as in volcano-global')
    const names = (clusters ?? []).filter(Boolean)
    if (clusters === null) warn(report, path, 'null means no cluster; write []')
    else if (names.length < clusters.length) warn(report, path, 'an empty name of a cluster is ignored')
    const possible = names.filter((name) => !labelProblem(name, MAX_CLUSTER_NAME_LENGTH))
    const [other] = names.filter((name) => !possible.includes(name))
    if (other !== undefined) warn(report, path, `${JSON.stringify(other)} is ignored: no cluster can have this name`)
    return [key, possible] as const
  })
  return Object.fromEntries(entries)
}

type Retry = NonNullable<GivenSystem['retryConfig']>

function completeRetry(given: Retry = {}, report: GoReport): Retry {
  const { maxRetries = 0 } = given
  if (maxRetries === 0) {
    if (Object.keys(given).length > 0) {
      const message = `ignored, as in volcano-global, because maxRetries is 0 or absent: ${describe(DEFAULT_RETRY)} apply`
      warn(report, 'retryConfig', message)
    }
    return DEFAULT_RETRY
  }
  return {
    maxRetries: limited('maxRetries', maxRetries, [-1, MAX_RETRIES], report),
    initialBackoff: retryDuration('initialBackoff', given, report),
    maxBackoff: retryDuration('maxBackoff', given, report),
    backoffMultiplier: retryMultiplier(given, report),
    timeout: retryDuration('timeout', given, report),
  }
}

/** In volcano-global, 0 and absent mean no pause after the first retry. */
function retryMultiplier({ backoffMultiplier = 0 }: Retry, report: GoReport): number {
  if (backoffMultiplier > 0) {
    return limited('backoffMultiplier', backoffMultiplier, [MULTIPLIER.minimum, MULTIPLIER.maximum], report)
  }
  const { backoffMultiplier: byDefault } = DEFAULT_RETRY
  warn(report, 'retryConfig.backoffMultiplier', `is not above 0, or absent; ${byDefault} is used`)
  return byDefault
}

function limited(name: string, value: number, [least, most]: [number, number], report: GoReport): number {
  const used = Math.min(most, Math.max(least, value))
  if (used !== value) warn(report, `retryConfig.${name}`, `is outside of ${least} to ${most}; ${used} is used`)
  return used
}

/** A back-off of 0 would repeat queries without a pause, so the default is used. In volcano-global, a timeout of 0 means the default. */
function retryDuration(name: 'initialBackoff' | 'maxBackoff' | 'timeout', given: Retry, report: GoReport): string {
  const text = given[name]
  const byDefault = DEFAULT_RETRY[name]
  if (!text) return byDefault
  const path = `retryConfig.${name}`
  const ms = parseDuration(text.replace(/^-/, ''))
  if (ms === undefined) return text
  if (ms <= 0 || text.startsWith('-')) {
    warn(report, path, `is not above 0; ${byDefault} is used`)
    return byDefault
  }
  if (ms <= MAX_DURATION_MS) return text
  warn(report, path, `is longer than ${MAX_DURATION_MS / 3_600_000}h, which is used`)
  return `${MAX_DURATION_MS}ms`
}

function describe(retry: object): string {
  return Object.entries(retry)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}
