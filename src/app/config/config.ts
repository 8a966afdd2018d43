/** The configuration: a YAML file that is validated once by schema, with a default for every field. */
import { describeErrors, type FieldError } from '../../base/field-errors.ts'
import { isObject } from '../../base/json.ts'
import { withoutNullFields } from '../../base/schema/null-fields.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import type { ClusterScopedClaims } from '../../core/data-source-claim/permission.ts'
import { KARMADA_VERSION_PATTERN } from '../../core/karmada-rules.ts'
import { type WorkloadKindEntry, workloadKindsSchema } from '../../core/workload-kinds/entry.ts'
import { LOG_LEVELS, type LoggerOptions, type LogLevel } from '../../telemetry/logger.ts'
import { normalizeHosts } from '../../tls/hosts.ts'
import { ConfigError, readConfigFile } from './config-file.ts'
import { DEFAULT_DEPENDENCIES, type DependenciesConfig, dependenciesSchema } from './dependencies-config.ts'
import { DEFAULT_PLACEMENT, type PlacementConfig, placementSchema } from './placement-config.ts'
import { DEFAULT_SERVER, type ServerConfig, serverErrors, serverSchema } from './server-config.ts'
import { type SystemsConfig, systemsErrors, systemsSchema } from './systems-config.ts'
import { DEFAULT_VOLUMES, type VolumesConfig, volumesErrors, volumesSchema } from './volumes-config.ts'
import { workloadKindErrors } from './workload-kinds-config.ts'

export interface Config {
  server: ServerConfig
  registration: {
    /** `url` for a Karmada hub, `service` for a plain cluster, `none` if another tool registers the webhooks. */
    mode: 'url' | 'service' | 'none'
    url?: string
    service: { namespace: string; name: string; port: number }
    timeoutSeconds: number
    excludedNamespaces: string[]
  }
  certificates: {
    /** `directory` and `secret`: Lodestone creates the certificates. `files`: another tool, such as cert-manager, provides them. */
    source: 'directory' | 'secret' | 'files'
    directory: string
    secret: { namespace: string; name: string }
    hosts: string[]
  }
  systems: SystemsConfig
  claims: {
    /** Whether claims apply to cluster-scoped workloads. No namespace can give permission for these. */
    clusterScoped: ClusterScopedClaims
  }
  placement: PlacementConfig
  karmada: {
    /** The version whose rules apply, such as `1.17`; the API server decides if it is absent. */
    version?: string
  }
  loops: {
    enabled: boolean
    /** The maximum number of scheduled workloads that are moved per minute because their data moved. */
    maxMovesPerMinute: number
    /** The maximum number of writes to the API server per second; twice as many in a burst. Events and the Lease do not count. */
    writesPerSecond: number
    /** The interval at which every DataSourceClaim, DataSource and binding is reconciled again. */
    driftIntervalSeconds: number
  }
  dependencies: DependenciesConfig
  volumes: VolumesConfig
  /** Further kinds with pods or dependencies, and replacements of shipped ones. */
  workloadKinds: WorkloadKindEntry[]
  leaderElection: {
    /** Only the holder of the Lease runs the loops; every replica serves admission. */
    enabled: boolean
    namespace: string
    name: string
  }
  log: { level: LogLevel; format: LoggerOptions['format'] }
}

export const DEFAULT_CONFIG: Config = {
  server: DEFAULT_SERVER,
  registration: {
    mode: 'none',
    service: { namespace: 'lodestone-system', name: 'lodestone', port: 443 },
    timeoutSeconds: 3,
    excludedNamespaces: [
      'kube-system',
      'kube-public',
      'kube-node-lease',
      'karmada-system',
      'karmada-cluster',
      'lodestone-system',
    ],
  },
  certificates: {
    source: 'directory',
    directory: 'certs/dev',
    secret: { namespace: 'lodestone-system', name: 'lodestone-certificates' },
    hosts: [],
  },
  systems: {},
  claims: { clusterScoped: 'forbidden' },
  placement: DEFAULT_PLACEMENT,
  karmada: {},
  loops: { enabled: true, maxMovesPerMinute: 60, writesPerSecond: 50, driftIntervalSeconds: 600 },
  dependencies: DEFAULT_DEPENDENCIES,
  volumes: DEFAULT_VOLUMES,
  workloadKinds: [],
  leaderElection: { enabled: false, namespace: 'lodestone-system', name: 'lodestone' },
  log: { level: 'info', format: 'auto' },
}

/** The URLs at which an API server can call a webhook: https, without user, query and fragment. */
export const URL_PATTERN = /^https:\/\/[^/?#@]+(\/[^?#]*)?$/

const EXAMPLE_URL = 'https://lodestone.lodestone-system.svc:443'
const text = { type: 'string', minLength: 1 }
const port = { type: 'integer', minimum: 0, maximum: 65535 }

export const configSchema = {
  type: 'object',
  properties: {
    server: serverSchema,
    registration: {
      type: 'object',
      properties: {
        mode: { enum: ['url', 'service', 'none'] },
        url: {
          type: 'string',
          pattern: URL_PATTERN.source,
          errorMessage: `must be an https URL without user, query and fragment, e.g. ${EXAMPLE_URL}`,
        },
        service: { type: 'object', properties: { namespace: text, name: text, port } },
        timeoutSeconds: { type: 'integer', minimum: 1, maximum: 30 },
        excludedNamespaces: { type: 'array', items: text },
      },
    },
    certificates: {
      type: 'object',
      properties: {
        source: { enum: ['directory', 'secret', 'files'] },
        directory: text,
        secret: { type: 'object', properties: { namespace: text, name: text } },
        hosts: { type: 'array', items: text },
      },
    },
    systems: systemsSchema,
    claims: { type: 'object', properties: { clusterScoped: { enum: ['allowed', 'forbidden'] } } },
    placement: placementSchema,
    karmada: {
      type: 'object',
      properties: {
        version: {
          type: 'string',
          pattern: KARMADA_VERSION_PATTERN.source,
          errorMessage: 'must be a version of Karmada, e.g. "1.17"',
        },
      },
    },
    loops: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        maxMovesPerMinute: { type: 'integer', minimum: 1 },
        writesPerSecond: { type: 'number', minimum: 1 },
        driftIntervalSeconds: { type: 'integer', minimum: 1 },
      },
    },
    dependencies: dependenciesSchema,
    volumes: volumesSchema,
    workloadKinds: workloadKindsSchema,
    leaderElection: {
      type: 'object',
      properties: { enabled: { type: 'boolean' }, namespace: text, name: text },
    },
    log: { type: 'object', properties: { level: { enum: LOG_LEVELS }, format: { enum: ['auto', 'json', 'pretty'] } } },
  },
}

const shape: object = configSchema
const validate = compileSchema(shape, 'forbidden')

/**
 * Reads a configuration file and adds the defaults.
 * @param file path of a YAML or JSON file; without it, the defaults are returned
 * @throws ConfigError if the file is not readable or not valid
 */
export function loadConfig(file: string | undefined, defaults = DEFAULT_CONFIG): Config {
  if (file === undefined) return defaults
  return completeConfig(readConfigFile(file), file, defaults)
}

/** Validates the content of a file and adds the defaults. A section or field without a value counts as absent. */
export function completeConfig(content: unknown, file: string, defaults = DEFAULT_CONFIG): Config {
  const given = withoutNullFields(shape, content ?? {})
  const errors = validate(given)
  if (errors.length > 0) throw new ConfigError(`${file}: ${describeErrors(errors)}`)
  const config = overlay(defaults, given)
  const wrong = [
    ...serverErrors(config.server),
    ...registrationErrors(config),
    ...hostErrors(config),
    ...volumesErrors(config.volumes),
    ...workloadKindErrors(config),
    ...systemsErrors(config.systems),
  ]
  if (wrong.length > 0) throw new ConfigError(`${file}: ${describeErrors(wrong)}`)
  return config
}

function registrationErrors({ registration: { mode, url } }: Config): FieldError[] {
  const message = `is required with mode url, e.g. ${EXAMPLE_URL}`
  return mode === 'url' && !url ? [{ path: 'registration.url', code: 'Required', message }] : []
}

function hostErrors({ certificates: { hosts } }: Config): FieldError[] {
  return hosts.flatMap((host, i) => {
    try {
      normalizeHosts([host])
      return []
    } catch (error) {
      return [{ path: `certificates.hosts[${i}]`, code: 'Invalid', message: (error as Error).message }]
    }
  })
}

/** Merges objects member by member; any other given value replaces the default. */
function overlay<T>(defaults: T, given: unknown): T {
  if (!isObject(defaults) || !isObject(given)) return given as T
  const merged = Object.entries(given).map(([key, value]) => [
    key,
    key in defaults ? overlay(defaults[key], value) : value,
  ])
  return { ...defaults, ...Object.fromEntries(merged) }
}
