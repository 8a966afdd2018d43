/** The configuration of one data system: a JSON or YAML document, checked as a whole, with every mistake named by its key. */
import { LineCounter, parseDocument } from 'yaml'
import type { RetryPolicy } from '../../core/data-source/retry.ts'
import { describeErrors, type FieldError } from '../../core/field-errors.ts'
import { parseDuration } from '../../core/locality/duration.ts'
import { parseLocation } from '../../core/locality/location.ts'
import { compileSchema } from '../../core/schema-errors.ts'
import type { Clock } from '../../time/clock.ts'
import type { AuthConfig, AuthType } from '../auth/credentials.ts'
import type { TlsFiles } from '../http/dispatchers.ts'
import type { LocalityPlugin } from '../plugins/plugin.ts'
import { completeAuth } from './auth.ts'
import { completeEndpoint, type EndpointRules } from './endpoint.ts'
import { commonExtra, type GivenSystem, systemSchema } from './schema.ts'

export interface EndpointConfig {
  /** Without a slash at the end; several for a system with more than one server. */
  urls: readonly string[]
  auth: AuthConfig
  tls: TlsFiles
}

export interface SystemConfig {
  system: string
  /** The plugin that speaks to it: the system's own name, unless the configuration says otherwise. */
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

/** An entry of the table of plugins: how it is opened, and the fields that its configuration may have. */
export interface SystemDefinition extends EndpointRules {
  auth: readonly AuthType[]
  /** JSON Schema of its own members of `extra`. */
  extra: Readonly<Record<string, object>>
  open(config: SystemConfig, clock: Clock): LocalityPlugin
}

/** A configuration is wrong; the message names the file and every wrong key. */
export class SystemConfigError extends Error {
  override name = 'SystemConfigError'
}

const DEFAULT_RETRY = { maxRetries: 3, initialBackoff: '1s', maxBackoff: '30s', backoffMultiplier: 2, timeout: '10s' }
const DURATION_HINT = 'must be a duration such as 500ms, 10s or 1m30s'

const validate = compileSchema(systemSchema, 'forbidden')

/**
 * Reads a system's configuration.
 *
 * @param file names the document in errors; relative file names in it start from its folder
 * @throws SystemConfigError
 */
export function parseSystemConfig(
  file: string,
  text: string,
  definitions: Readonly<Record<string, SystemDefinition>>,
): SystemConfig {
  const given = parseText(file, text)
  refuse(file, validate(given))
  const checked = given as GivenSystem
  const plugin = checked.plugin ?? checked.system
  const definition = Object.hasOwn(definitions, plugin) ? definitions[plugin] : undefined
  if (definition === undefined) {
    const message = `must be one of ${Object.keys(definitions).sort().join(', ')}; or name one of them in plugin`
    const path = checked.plugin === undefined ? 'system' : 'plugin'
    throw new SystemConfigError(`${file}: ${describeErrors([{ path, code: 'NotSupported', message }])}`)
  }
  const errors: FieldError[] = []
  const config = complete(checked, plugin, definition, file, errors)
  refuse(file, errors)
  return config
}

function complete(
  given: GivenSystem,
  plugin: string,
  definition: SystemDefinition,
  file: string,
  errors: FieldError[],
): SystemConfig {
  const { url, tls } = completeEndpoint(given.endpoint, definition, file, errors)
  const auth = completeAuth(given.endpoint?.auth, definition.auth, file, errors)
  checkLocations(given.locationMapping, errors)
  checkExtra(given.extra, definition, errors)
  return {
    system: given.system,
    plugin,
    endpoint: { urls: url, auth, tls },
    locationMapping: given.locationMapping ?? {},
    regionMapping: given.regionMapping ?? {},
    retry: completeRetry(given.retryConfig, errors),
    refreshIntervalMs: duration('refreshInterval', given.refreshInterval ?? '5m', errors, 1000),
    maxConcurrent: given.maxConcurrent ?? 16,
    maxRequestsPerSecond: given.maxRequestsPerSecond ?? 50,
    extra: given.extra ?? {},
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

function checkExtra(extra: unknown, definition: SystemDefinition, errors: FieldError[]): void {
  const schema = { type: 'object', properties: { ...commonExtra, ...definition.extra } }
  for (const error of compileSchema(schema, 'forbidden')(extra ?? {})) {
    errors.push({ ...error, path: `extra.${error.path}` })
  }
}

/** JSON first: YAML takes most of it, but no tabs. The parser's own words may quote a credential, so only its code is kept. */
function parseText(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not plain JSON: YAML then, or JSON with comments, which YAML takes too.
  }
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
    // The one thing that fails here: a small document with aliases that would fill the memory.
    throw new SystemConfigError(`${file}: has too many aliases`, { cause })
  }
}

function refuse(file: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new SystemConfigError(`${file}: ${describeErrors(errors)}`)
}
