/** Parses the configuration of one data system, a JSON or YAML document. It reports all errors at once, each with its key. */
import { LineCounter, parseDocument } from 'yaml'
import type { RetryPolicy } from '../../core/data-source/retry.ts'
import { describeErrors, type FieldError } from '../../core/field-errors.ts'
import { isObject } from '../../core/json.ts'
import { findJsonComment, JSON_COMMENT_MESSAGE } from '../../core/json-comment.ts'
import { parseDuration } from '../../core/locality/duration.ts'
import { parseLocation } from '../../core/locality/location.ts'
import { withoutNullFields } from '../../core/schema/null-fields.ts'
import { compileSchema } from '../../core/schema/schema-errors.ts'
import { suggest } from '../../core/suggest.ts'
import type { Clock } from '../../time/clock.ts'
import type { AuthConfig, AuthType } from '../auth/credentials.ts'
import type { TlsFiles } from '../http/dispatchers.ts'
import type { LocalityPlugin } from '../plugins/plugin.ts'
import { completeAuth } from './auth.ts'
import { completeEndpoint, type EndpointRules } from './endpoint.ts'
import { commonExtra, type GivenSystem, systemSchema } from './schema.ts'

export interface EndpointConfig {
  /** Without a slash at the end. A system with several servers has several URLs. */
  urls: readonly string[]
  auth: AuthConfig
  tls: TlsFiles
  /** Whether connections of a protocol without its own scheme for TLS, such as Thrift, use TLS. */
  usesTls: boolean
}

export interface SystemConfig {
  system: string
  /** The name of the plugin. Default: the name of the system. */
  plugin: string
  endpoint: EndpointConfig
  locationMapping: Readonly<Record<string, readonly string[]>>
  regionMapping: Readonly<Record<string, readonly string[]>>
  retry: RetryPolicy
  refreshIntervalMs: number
  maxConcurrent: number
  maxRequestsPerSecond: number
  extra: Readonly<Record<string, unknown>>
}

/** An entry of the table of plugins: a function that opens the plugin, and the fields of its configuration. */
export interface SystemDefinition extends EndpointRules {
  auth: readonly AuthType[]
  /** JSON Schema of the fields of `extra` that only this plugin has. */
  extra: Readonly<Record<string, object>>
  open(config: SystemConfig, clock: Clock): LocalityPlugin
}

/** The configuration is invalid. The message names the file and every invalid key. */
export class SystemConfigError extends Error {
  override name = 'SystemConfigError'
  /** The invalid keys; empty for a text that cannot be parsed. */
  readonly errors: readonly FieldError[]
  constructor(message: string, { errors = [], cause }: { errors?: readonly FieldError[]; cause?: unknown } = {}) {
    super(message, cause === undefined ? {} : { cause })
    this.errors = errors
  }
}

const DEFAULT_RETRY = { maxRetries: 3, initialBackoff: '1s', maxBackoff: '30s', backoffMultiplier: 2, timeout: '10s' }
const DURATION_HINT = 'must be a duration such as 500ms, 10s or 1m30s'

const validate = compileSchema(systemSchema, 'forbidden')

/**
 * Parses the configuration of a system.
 *
 * @param file the name of the document in errors; relative file names in it are relative to its folder
 * @throws SystemConfigError
 */
export function parseSystemConfig(
  file: string,
  text: string,
  definitions: Readonly<Record<string, SystemDefinition>>,
): SystemConfig {
  const given = withoutNullFields(systemSchema, parseText(file, text))
  const errors: FieldError[] = [...validate(given), ...pluginErrors(given, definitions)]
  refuse(file, errors)
  const checked = given as GivenSystem
  const plugin = checked.plugin ?? checked.system
  const definition = definitions[plugin] as SystemDefinition
  const config = complete(checked, plugin, definition, file, errors)
  refuse(file, errors)
  return config
}

/** The error of a plugin that does not exist. An invalid type is an error of the schema. */
function pluginErrors(given: unknown, definitions: Readonly<Record<string, SystemDefinition>>): FieldError[] {
  if (!isObject(given)) return []
  const path = given['plugin'] === undefined ? 'system' : 'plugin'
  const plugin = given[path]
  if (typeof plugin !== 'string' || plugin === '' || Object.hasOwn(definitions, plugin)) return []
  const known = Object.keys(definitions).sort()
  const remedy = path === 'system' ? '; or name one of them in plugin' : ''
  const message = `must be one of ${known.join(', ')}${remedy}${suggest(plugin, known)}`
  return [{ path, code: 'NotSupported', message }]
}

function complete(
  given: GivenSystem,
  plugin: string,
  definition: SystemDefinition,
  file: string,
  errors: FieldError[],
): SystemConfig {
  const { url, ...endpoint } = completeEndpoint(given.endpoint, definition, file, errors)
  const auth = completeAuth(given.endpoint?.auth, definition.auth, file, errors)
  checkLocations(given.locationMapping, errors)
  const extra = completeExtra(given.extra, definition, errors)
  return {
    system: given.system,
    plugin,
    endpoint: { urls: url, auth, ...endpoint },
    locationMapping: given.locationMapping ?? {},
    regionMapping: given.regionMapping ?? {},
    retry: completeRetry(given.retryConfig, errors),
    refreshIntervalMs: duration('refreshInterval', given.refreshInterval ?? '5m', errors, 1000),
    maxConcurrent: given.maxConcurrent ?? 16,
    maxRequestsPerSecond: given.maxRequestsPerSecond ?? 50,
    extra,
  }
}

function completeRetry(given: GivenSystem['retryConfig'] = {}, errors: FieldError[]): RetryPolicy {
  const of = (key: 'initialBackoff' | 'maxBackoff' | 'timeout', leastMs: number) =>
    duration(`retryConfig.${key}`, given[key] || DEFAULT_RETRY[key], errors, leastMs)
  return {
    maxRetries: given.maxRetries ?? DEFAULT_RETRY.maxRetries,
    initialBackoffMs: of('initialBackoff', 0),
    maxBackoffMs: of('maxBackoff', 0),
    backoffMultiplier: given.backoffMultiplier ?? DEFAULT_RETRY.backoffMultiplier,
    timeoutMs: of('timeout', 1),
  }
}

function duration(path: string, text: string, errors: FieldError[], leastMs: number): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms >= leastMs) return ms
  const message = ms === undefined ? DURATION_HINT : `must be at least ${leastMs} ms`
  errors.push({ path, code: 'Invalid', message })
  return leastMs
}

function checkLocations(mapping: GivenSystem['locationMapping'] = {}, errors: FieldError[]): void {
  for (const prefix of Object.keys(mapping)) {
    if (parseLocation(prefix) !== undefined) continue
    const message = 'must be a location such as s3://bucket/path'
    errors.push({ path: `locationMapping[${prefix}]`, code: 'Invalid', message })
  }
}

function completeExtra(given: unknown, definition: SystemDefinition, errors: FieldError[]): SystemConfig['extra'] {
  const schema = { type: 'object', properties: { ...commonExtra, ...definition.extra } }
  const extra = withoutNullFields(schema, given ?? {})
  for (const error of compileSchema(schema, 'forbidden')(extra)) {
    errors.push({ ...error, path: `extra.${error.path}` })
  }
  return extra as SystemConfig['extra']
}

/**
 * Parses JSON, then YAML, which does not allow the tabs of JSON. The message of the parser may quote a credential, so the error has only
 * its code.
 */
function parseText(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The text is YAML, or JSON with comments that begin with #, which the YAML parser accepts.
  }
  const comment = findJsonComment(text)
  if (comment !== undefined) throw new SystemConfigError(`${file}: line ${comment.line}: ${JSON_COMMENT_MESSAGE}`)
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'silent' })
  const [error] = document.errors
  if (error === undefined) return expand(file, document)
  throw new SystemConfigError(
    `${file}: line ${lines.linePos(error.pos[0]).line}: is neither JSON nor YAML (${error.code})`,
  )
}

function expand(file: string, document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (cause) {
    // Only a document with aliases that would fill the memory fails here.
    throw new SystemConfigError(`${file}: has too many aliases`, { cause })
  }
}

function refuse(file: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new SystemConfigError(`${file}: ${describeErrors(errors)}`, { errors })
}
