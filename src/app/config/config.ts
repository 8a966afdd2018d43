/** The configuration: a YAML file that is validated once by schema, with a default for every field. */
import { describeErrors, type FieldError } from '../../base/field-errors.ts'
import { isObject } from '../../base/json.ts'
import { withoutNullFields } from '../../base/schema/null-fields.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import type { ClusterScopedClaims } from '../../core/data-source-claim/permission.ts'
import { KARMADA_VERSION_PATTERN } from '../../core/karmada-rules.ts'
import { type WorkloadKindEntry, workloadKindsSchema } from '../../core/workload-kinds/entry.ts'
import { LOG_LEVELS } from '../../telemetry/log-levels.ts'
import type { LoggerOptions } from '../../telemetry/logger.ts'
import { normalizeHosts } from '../../tls/hosts.ts'
import { ConfigError, readConfigFile } from './config-file.ts'
import { dependenciesSection } from './dependencies-config.ts'
import { placementSection } from './placement-config.ts'
import { choice, field, flag, list, optional, port, section, text } from './section.ts'
import { serverErrors, serverSection } from './server-config.ts'
import { systemsErrors, systemsSection } from './systems-config.ts'
import { volumesErrors, volumesSection } from './volumes-config.ts'
import { workloadKindErrors } from './workload-kinds-config.ts'

/** The URLs at which an API server can call a webhook: https, without user, query and fragment. */
export const URL_PATTERN = /^https:\/\/[^/?#@]+(\/[^?#]*)?$/

const EXAMPLE_URL = 'https://lodestone.lodestone-system.svc:443'
const configSection = section({
  server: serverSection,
  registration: section({
    /** `url` for a Karmada hub, `service` for a plain cluster, `none` if another tool registers the webhooks. */
    mode: choice(['url', 'service', 'none'], 'none'),
    url: optional<string>({
      type: 'string',
      pattern: URL_PATTERN.source,
      errorMessage: `must be an https URL without user, query and fragment, e.g. ${EXAMPLE_URL}`,
    }),
    service: section({
      namespace: field(text, 'lodestone-system'),
      name: field(text, 'lodestone'),
      port: field(port, 443),
    }),
    timeoutSeconds: field({ type: 'integer', minimum: 1, maximum: 30 }, 3),
    excludedNamespaces: list([
      'kube-system',
      'kube-public',
      'kube-node-lease',
      'karmada-system',
      'karmada-cluster',
      'lodestone-system',
    ]),
  }),
  certificates: section({
    /** `directory` and `secret`: Lodestone creates the certificates. `files`: another tool, such as cert-manager, provides them. */
    source: choice(['directory', 'secret', 'files'], 'directory'),
    directory: field(text, 'certs/dev'),
    secret: section({ namespace: field(text, 'lodestone-system'), name: field(text, 'lodestone-certificates') }),
    hosts: list(),
  }),
  systems: systemsSection,
  claims: section({
    /** Whether claims apply to cluster-scoped workloads. No namespace can give permission for these. */
    clusterScoped: choice<ClusterScopedClaims>(['allowed', 'forbidden'], 'forbidden'),
  }),
  placement: placementSection,
  karmada: section({
    /** The version whose rules apply, such as `1.17`; the API server decides if it is absent. */
    version: optional<string>({
      type: 'string',
      pattern: KARMADA_VERSION_PATTERN.source,
      errorMessage: 'must be a version of Karmada, e.g. "1.17"',
    }),
  }),
  loops: section({
    enabled: field(flag, true),
    /** The maximum number of scheduled workloads that are moved per minute because their data moved. */
    maxMovesPerMinute: field({ type: 'integer', minimum: 1 }, 60),
    /** The maximum number of writes to the API server per second; twice as many in a burst. Events and the Lease do not count. */
    writesPerSecond: field({ type: 'number', minimum: 1 }, 50),
    /** The interval at which every DataSourceClaim, DataSource and binding is reconciled again. */
    driftIntervalSeconds: field({ type: 'integer', minimum: 1 }, 600),
  }),
  dependencies: dependenciesSection,
  volumes: volumesSection,
  /** Further kinds with pods or dependencies, and replacements of shipped ones. */
  workloadKinds: field<WorkloadKindEntry[], object>(workloadKindsSchema, []),
  leaderElection: section({
    /** Only the holder of the Lease runs the loops and registers; every replica serves admission. A folder is served without a Lease. */
    enabled: field(flag, true),
    namespace: field(text, 'lodestone-system'),
    name: field(text, 'lodestone'),
  }),
  log: section({
    level: choice(LOG_LEVELS, 'info'),
    format: choice<LoggerOptions['format']>(['auto', 'json', 'pretty'], 'auto'),
  }),
})

export type Config = typeof configSection.default
export const { schema: configSchema, default: DEFAULT_CONFIG } = configSection

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
