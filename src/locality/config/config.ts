/** Parses the configuration of one data system, a JSON or YAML document. It reports all errors at once, each with its key. */
import { dirname } from 'node:path'
import { LineCounter, parseDocument } from 'yaml'
import { describeErrors, type FieldError } from '../../base/field-errors.ts'
import { isObject } from '../../base/json.ts'
import { findJsonComment, JSON_COMMENT_MESSAGE } from '../../base/json-comment.ts'
import { withoutNullFields } from '../../base/schema/null-fields.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { suggest } from '../../base/suggest.ts'
import type { Clock } from '../../base/time/clock.ts'
import { MAX_DURATION_MS, parseDuration } from '../../base/time/duration.ts'
import type { RetryPolicy } from '../../core/data-source/retry.ts'
import { problemOfLocationKey } from '../answers/location.ts'
import type { LocationMapping, LocationMatching } from '../answers/location-index.ts'
import type { AuthConfig, AuthType } from '../auth/credentials.ts'
import type { TlsFiles } from '../http/dispatchers.ts'
import type { LocalityPlugin } from '../locality.ts'
import { completeAuth } from './auth.ts'
import { completeEndpoint, type EndpointRules } from './endpoint.ts'
import type { FieldWarning } from './go-json.ts'
import { commonExtra, type GivenSystem, systemSchema } from './schema.ts'
import { SystemConfigError } from './system-config-error.ts'
import { readVolcanoGlobal } from './volcano-global.ts'

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
  locationMapping: LocationMapping
  /** Decided by the format of the file. */
  locationMatching: LocationMatching
  regionMapping: Readonly<Record<string, readonly string[]>>
  retry: RetryPolicy
  refreshIntervalMs: number
  maxConcurrent: number
  maxRequestsPerSecond: number
  extra: Readonly<Record<string, unknown>>
  /** The fields of a file of volcano-global that are ignored or replaced. */
  warnings: readonly FieldWarning[]
}

/** An entry of the table of plugins: a function that opens the plugin, and the fields of its configuration. */
export interface SystemDefinition extends EndpointRules {
  auth: readonly AuthType[]
  /** JSON Schema of the fields of `extra` that only this plugin has. */
  extra: Readonly<Record<string, object>>
  open(config: SystemConfig, clock: Clock): LocalityPlugin
}

const DEFAULT_RETRY = { maxRetries: 3, initialBackoff: '1s', maxBackoff: '30s', backoffMultiplier: 2, timeout: '10s' }
const DURATION_HINT = 'must be a duration such as 500ms, 10s or 1m30s'

/** Stands in for an unknown plugin, whose rules are not known, so that the other sections are checked too. */
const UNKNOWN_DEFINITION: Omit<SystemDefinition, 'open'> = { endpoint: 'none', auth: ['none'], extra: {} }

const validate = compileSchema(systemSchema, 'forbidden')
/** An unknown field does not prevent the check of its section. */
const validateTypes = compileSchema(systemSchema)

/**
 * Parses the configuration of a system.
 *
 * @param file the name of the document in errors
 * @param folder to which relative file names in it are relative; by default that of the document
 * @throws SystemConfigError
 */
export function parseSystemConfig(
  file: string,
  text: string,
  definitions: Readonly<Record<string, SystemDefinition>>,
  folder = dirname(file),
): SystemConfig {
  const foreign = readVolcanoGlobal(file, text, Object.keys(definitions))
  const given = foreign?.given ?? withoutNullFields(systemSchema, parseText(file, text))
  const errors: FieldError[] = [...(foreign?.errors ?? []), ...validate(given), ...pluginErrors(given, definitions)]
  const mistyped = validateTypes(given)
  // With an error that has no section, it is not known which sections can be completed.
  if (!isObject(given) || mistyped.some(({ count }) => count !== undefined)) throw invalid(file, errors)
  const unsound = new Set(mistyped.map(errorSection))
  const definition = findDefinition(given, definitions)
  if (!definition) for (const section of ['endpoint', 'extra']) unsound.add(section)
  const completed: FieldError[] = []
  const sound = Object.fromEntries(
    Object.entries(given).filter(([name]) => !unsound.has(name)),
  ) as unknown as GivenSystem
  const config = complete(sound, definition ?? UNKNOWN_DEFINITION, folder, foreign?.warnings, completed)
  errors.push(...completed.filter((error) => !unsound.has(errorSection(error))))
  if (errors.length > 0) throw invalid(file, errors)
  return config
}

/** The top-level field of an error. */
function errorSection({ path }: FieldError): string {
  return path.replace(/[.[].*$/s, '')
}

function invalid(file: string, errors: readonly FieldError[]): SystemConfigError {
  return new SystemConfigError(file, { reason: describeErrors(errors), errors })
}

function findDefinition(
  { plugin, system }: Record<string, unknown>,
  definitions: Readonly<Record<string, SystemDefinition>>,
): SystemDefinition | undefined {
  const name = plugin ?? system
  return typeof name === 'string' && Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

/** The error of a system that another file configures too. The first file by name counts. */
export function duplicateSystem(system: string, other: string): FieldError {
  return { path: 'system', code: 'Duplicate', message: `${system} is already configured in ${other}` }
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
  definition: Omit<SystemDefinition, 'open'>,
  folder: string,
  warnings: readonly FieldWarning[] | undefined,
  errors: FieldError[],
): SystemConfig {
  const { url, ...endpoint } = completeEndpoint(given.endpoint, definition, folder, errors)
  const auth = completeAuth(given.endpoint?.auth, definition.auth, folder, errors)
  // Keys of volcano-global are prefixes of any text.
  if (warnings === undefined) checkLocations(given.locationMapping, errors)
  const extra = completeExtra(given.extra, definition, errors)
  return {
    system: given.system,
    plugin: given.plugin ?? given.system,
    endpoint: { urls: url, auth, ...endpoint },
    locationMapping: given.locationMapping ?? {},
    locationMatching: warnings === undefined ? 'segments' : 'prefix',
    regionMapping: given.regionMapping ?? {},
    retry: completeRetry(given.retryConfig, errors),
    refreshIntervalMs: duration('refreshInterval', given.refreshInterval ?? '5m', errors, 1000),
    maxConcurrent: given.maxConcurrent ?? 16,
    maxRequestsPerSecond: given.maxRequestsPerSecond ?? 50,
    extra,
    warnings: warnings ?? [],
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
  if (ms !== undefined && ms >= leastMs && ms <= MAX_DURATION_MS) return ms
  const bound = ms !== undefined && ms < leastMs ? `at least ${leastMs} ms` : `at most ${MAX_DURATION_MS / 3_600_000}h`
  const message = ms === undefined ? DURATION_HINT : `must be ${bound}`
  errors.push({ path, code: 'Invalid', message })
  return leastMs
}

function checkLocations(mapping: GivenSystem['locationMapping'] = {}, errors: FieldError[]): void {
  for (const key of Object.keys(mapping)) {
    const message = problemOfLocationKey(key)
    if (message !== undefined) errors.push({ path: `locationMapping[${key}]`, code: 'Invalid', message })
  }
}

function completeExtra(
  given: unknown,
  definition: Pick<SystemDefinition, 'extra'>,
  errors: FieldError[],
): SystemConfig['extra'] {
  const schema = { type: 'object', properties: { ...commonExtra, ...definition.extra } }
  const extra = withoutNullFields(schema, given ?? {})
  for (const error of compileSchema(schema, 'forbidden')(extra)) {
    errors.push({ ...error, path: `extra.${error.path}` })
  }
  return extra as SystemConfig['extra']
}

/** The errors of the YAML parser in words. Its own messages may quote the text. */
const MISTAKES: Readonly<Record<string, string>> = {
  BAD_DQ_ESCAPE: 'a text in double quotes has an unknown escape sequence; use single quotes',
  BAD_INDENT: 'the indentation is wrong, or a bracket is not closed',
  BAD_SCALAR_START: 'a value begins with a reserved character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'the line has a second colon; put the value in quotes',
  DUPLICATE_KEY: 'the field is given twice',
  MISSING_CHAR: 'a colon, comma, quote or bracket is missing',
  MULTIPLE_DOCS: 'a second document begins here; put each data system into its own file',
  TAB_AS_INDENT: 'tabs are not allowed as indentation',
}

/**
 * Parses JSON, then YAML, which does not allow the tabs of JSON. Throws `SystemConfigError` with the line of the first error. No error quotes
 * the text, which may have credentials.
 */
function parseText(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The text is YAML, or JSON with comments that begin with #, which the YAML parser accepts.
  }
  const comment = findJsonComment(text)
  if (comment !== undefined) throw new SystemConfigError(file, { line: comment.line, reason: JSON_COMMENT_MESSAGE })
  const lines = new LineCounter()
  // With the level `silent`, the parser ignores a second document.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const [error] = document.errors
  if (error !== undefined) {
    const { line } = lines.linePos(error.pos[0])
    throw new SystemConfigError(file, {
      line,
      reason: `is not valid JSON or YAML: ${MISTAKES[error.code] ?? error.code}`,
    })
  }
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (cause) {
    // Aliases alone fail here: those without an anchor, and those that would fill the memory.
    throw new SystemConfigError(file, { reason: 'has too many aliases, or an alias without an anchor', cause })
  }
}
