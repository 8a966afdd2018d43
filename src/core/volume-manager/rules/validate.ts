/** Validates VolumeManagers by the schema and by the rules of each volume. It reports all errors at once. */
import { REFRESH_ANNOTATION } from '../../../api/lodestone.ts'
import { apiVersionOf } from '../../../api/meta.ts'
import { volumeManagerSchema } from '../../../api/schemas/volume-manager.ts'
import { type VolumeConfig, type VolumeManager, volumeManagers } from '../../../api/volume-manager.ts'
import { ErrorList, type FieldError, MAX_LISTED_ERRORS } from '../../../base/field-errors.ts'
import { defined, isObject, jsonEqual, membership } from '../../../base/json.ts'
import { compileSchema } from '../../../base/schema/schema-errors.ts'
import { suggest } from '../../../base/suggest.ts'
import { jsonBytes } from '../../admission/object-size.ts'
import { cut, type Outcome } from '../../outcome.ts'
import { shardNames } from './distribution.ts'
import { DEFAULT_DATA_PATH } from './names.ts'
import { namesNamespace } from './option-rules.ts'
import { parseBoolean } from './options.ts'
import { isRefreshable } from './published.ts'
import type { VolumeLimits } from './settings.ts'
import { sourceTypeOptions } from './source-types.ts'
import { MAX_REPLICAS, volumeProblems } from './volume-rules.ts'

const validateShape = compileSchema(volumeManagerSchema, 'forbidden')

/** The API groups of earlier versions of VCK. */
const OLDER_GROUPS = /^(aipg\.intel\.com|kvc\.kubeflow\.org|vck\.intelai\.org)\/v\d+$/

/** Whether an object is a VolumeManager of any version of VCK. */
export function isVolumeManager({ apiVersion, kind }: { apiVersion: string; kind: string }): boolean {
  return kind === volumeManagers.kind && (apiVersion === apiVersionOf(volumeManagers) || OLDER_GROUPS.test(apiVersion))
}

/** All errors of a VolumeManager, by path; none means valid. The rules apply only where the schema matches. */
export function validateVolumeManager(manager: VolumeManager, limits: VolumeLimits): FieldError[] {
  const { apiVersion, spec } = manager
  const shape = validateShape({ spec })
  const wrong = shape.map(({ path }) => path)
  const configs: unknown = spec?.volumeConfigs
  // The rules do not apply to a list that is too long.
  const isTooLong = shape.some(({ path, code }) => path === 'spec.volumeConfigs' && code === 'TooLong')
  const configProblems = Array.isArray(configs) && !isTooLong ? configErrors(configs, limits, shape.length === 0) : []
  return [
    ...versionErrors(apiVersion),
    ...shape,
    ...configProblems.filter(({ path }) => !wrong.some((one) => path === one || path.startsWith(`${one}.`))),
  ]
}

/**
 * The decision of admission. An unchanged spec and an object that is being deleted are allowed. An object that was stored without this
 * webhook must not block writes of its own status or finalizer.
 */
export function admitVolumeManager(
  manager: VolumeManager,
  stored: VolumeManager | undefined,
  limits: VolumeLimits,
): Outcome {
  if (manager.metadata.deletionTimestamp) return { kind: 'allow' }
  const unused = unusedRefresh(manager, stored)
  if (stored && jsonEqual(stored.spec, manager.spec))
    return defined({ kind: 'allow', warnings: unused ? [unused] : undefined })
  const errors = validateVolumeManager(manager, limits)
  const warnings = [...listWarnings(manager), ...(unused ? [unused] : [])]
  const extra = warnings.length > 0 ? { warnings } : {}
  return errors.length > 0 ? { kind: 'deny', errors, ...extra } : { kind: 'allow', ...extra }
}

/** Returns a warning if a refresh is requested that no volume can have. */
function unusedRefresh({ metadata, spec }: VolumeManager, stored: VolumeManager | undefined): string | undefined {
  const requested = metadata.annotations?.[REFRESH_ANNOTATION]
  if (requested === undefined || requested === stored?.metadata.annotations?.[REFRESH_ANNOTATION]) return undefined
  const configs: unknown = spec?.volumeConfigs
  const mayRefresh = (config: unknown) => isObject(config) && isRefreshable(config as unknown as VolumeConfig)
  if (!Array.isArray(configs) || configs.some(mayRefresh)) return undefined
  return `metadata.annotations[${REFRESH_ANNOTATION}]: has no effect: no downloaded volume has readOnly: true; set it to refresh the data`
}

function listWarnings({ spec }: VolumeManager): string[] {
  const configs: unknown = spec?.volumeConfigs
  if (!Array.isArray(configs)) return []
  return configs.flatMap((config: unknown, i) => {
    if (!isObject(config)) return []
    const { sourceType, options } = config
    const at = `spec.volumeConfigs[${i}]`
    const { resync, resyncInterval } = isObject(options) ? options : {}
    return [
      ...(sourceType === 'S3-Dev' ? [`${at}.sourceType: S3-Dev is treated as S3; write S3`] : []),
      ...(resyncInterval && !parseBoolean(String(resync ?? ''))
        ? [`${at}.options.resyncInterval: has no effect without resync: "true"; set it to write changes back`]
        : []),
    ]
  })
}

function versionErrors(apiVersion: string): FieldError[] {
  const current = apiVersionOf(volumeManagers)
  if (apiVersion === current) return []
  return [
    {
      path: 'apiVersion',
      code: 'NotSupported',
      message: `${apiVersion} is no longer the version of VolumeManagers; write apiVersion: ${current}`,
    },
  ]
}

/** @param areShaped whether all volumes match the schema */
function configErrors(configs: readonly unknown[], limits: VolumeLimits, areShaped: boolean): FieldError[] {
  const ids = configs.map((config) => (isObject(config) ? config['id'] : undefined))
  const together = areShaped ? replicasTogether(configs as readonly VolumeConfig[]) : 0
  // A suggestion costs more than the validation of a volume, so the volumes share one number of listed errors.
  let listed = 0
  const each = configs.flatMap((config, i) => {
    if (!isObject(config)) return []
    const at = `spec.volumeConfigs[${i}]`
    const unknown = unknownOptions(config, at, MAX_LISTED_ERRORS - listed)
    listed = Math.min(MAX_LISTED_ERRORS, listed + unknown.length)
    return [
      ...(ids[i] !== undefined && ids.indexOf(ids[i]) < i ? [duplicate(`${at}.id`, String(ids[i]))] : []),
      ...unknown,
      ...(isVolume(config, areShaped) ? volumeProblems(config, limits) : []).map(
        ({ field, code, message }): FieldError => ({ path: `${at}.${field}`, code, message }),
      ),
    ]
  })
  if (each.length > 0 || !areShaped) return each
  if (together > MAX_REPLICAS) return [tooManyReplicas(together)]
  const bytes = estimateStatusBytes(configs as readonly VolumeConfig[])
  return bytes > MAX_STATUS_BYTES ? [tooLargeStatus(bytes)] : []
}

function tooLargeStatus(bytes: number): FieldError {
  return {
    path: 'spec.volumeConfigs',
    code: 'TooLong',
    message: `the status of the volumes would have about ${bytes} bytes, of at most ${MAX_STATUS_BYTES}; shorten dataPath and the patterns of distributionStrategy, or divide the volumes between several VolumeManagers`,
  }
}

/** The volumes share one status, and the number of replicas determines its size. `onEveryNode` shares the same limit by itself. */
function replicasTogether(configs: readonly VolumeConfig[]): number {
  return configs.reduce((sum, { replicas = 0 }) => sum + replicas, 0)
}

function tooManyReplicas(together: number): FieldError {
  return {
    path: 'spec.volumeConfigs',
    code: 'Invalid',
    message: `the volumes cannot have more than ${MAX_REPLICAS} replicas together, and have ${together}; divide them between several VolumeManagers`,
  }
}

function duplicate(path: string, id: string): FieldError {
  return { path, code: 'Duplicate', message: `Cannot have duplicate id: ${id}.` }
}

/** The most options of a volume that are compared with the known ones; the schema allows fewer. */
const MAX_OPTIONS = 100

/** The options that the source type does not have. An option that names a namespace has its own error (`ownNamespace`). */
function unknownOptions({ sourceType, options }: Record<string, unknown>, at: string, most: number): FieldError[] {
  const known = typeof sourceType === 'string' ? sourceTypeOptions(sourceType) : undefined
  if (!known || !isObject(options)) return []
  const errors = new ErrorList(most)
  const isKnown = membership(known)
  for (const name of Object.keys(options).slice(0, MAX_OPTIONS)) {
    if (isKnown(name) || namesNamespace(name)) continue
    errors.add(() => ({
      path: `${at}.options.${cut(name)}`,
      code: 'NotSupported',
      message: `unknown option of ${sourceType}${suggest(name, known)}`,
    }))
  }
  return errors.errors()
}

/** Whether the rules apply to a volume. They do not if it violates the schema, which is reported already. */
function isVolume(
  config: Record<string, unknown>,
  isShaped: boolean,
): config is Record<string, unknown> & VolumeConfig {
  return isShaped || validateShape({ spec: { volumeConfigs: [config] } }).every(({ path }) => path.endsWith('.id'))
}

/** A larger status cannot be written: an object has at most 1.5 MiB, and spec, metadata and messages of failures need the rest. */
const MAX_STATUS_BYTES = 1024 * 1024

/** The bytes of each entry without its path and its pattern, with a short message. */
const ENTRY_BYTES = { volume: 800, replica: 700, shard: 300 } as const

/** About how many bytes the status of these volumes has when all replicas are placed. */
export function estimateStatusBytes(configs: readonly VolumeConfig[]): number {
  return configs.reduce((sum, config) => {
    const { replicas = 0, options = {} } = config
    const path = jsonBytes(options['dataPath'] || options['path'] || DEFAULT_DATA_PATH)
    const shards = shardNames(config).map((name) => jsonBytes(name))
    const replica = ENTRY_BYTES.replica + path + Math.max(0, ...shards)
    const parts = shards.reduce((bytes, shard) => bytes + ENTRY_BYTES.shard + shard, 0)
    return sum + ENTRY_BYTES.volume + path + replicas * replica + parts
  }, 0)
}
