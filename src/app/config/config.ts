/** The configuration: a YAML file that is validated once by schema, with a default for every field. */
import { describeErrors, type FieldError } from '../../base/field-errors.ts'
import { isObject } from '../../base/json.ts'
import { withoutNullFields } from '../../base/schema/null-fields.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { MAX_DURATION_MS } from '../../base/time/duration.ts'
import type { ClusterScopedClaims } from '../../core/data-source-claim/permission.ts'
import { KARMADA_VERSION_PATTERN } from '../../core/karmada-rules.ts'
import { type WorkloadKindEntry, workloadKindsSchema } from '../../core/workload-kinds/entry.ts'
import { LOG_LEVELS } from '../../telemetry/log-levels.ts'
import type { LoggerOptions } from '../../telemetry/logger.ts'
import { normalizeHosts } from '../../tls/hosts.ts'
import { ConfigError, readConfigFile } from './config-file.ts'
import { dependenciesSection } from './dependencies-config.ts'
import { placementSection } from './placement-config.ts'
import { choice, field, flag, labelName, list, objectName, optional, port, section, text } from './section.ts'
import { serverErrors, serverSection } from './server-config.ts'
import { systemsErrors, systemsSection } from './systems-config.ts'
import { transferCostErrors, transferCostsSection } from './transfer-costs-config.ts'
import { volumesErrors, volumesSection } from './volumes-config.ts'
import { workloadKindErrors } from './workload-kinds-config.ts'

/** The URLs at which an API server can call a webhook: https, without user, query, fragment and white space. */
export const URL_PATTERN = /^https:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/

/** Of the texts that `normalizeHosts` accepts, for helm, which has this pattern only. */
const host = {
  ...text,
  pattern: '^((\\*\\.)?[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?\\.?|[0-9A-Fa-f.:]+)$',
  errorMessage: 'must be a DNS name or an IP address, e.g. lodestone.example.org',
}

const EXAMPLE_URL = 'https://lodestone.lodestone-system.svc:443'
export const configSection = section({
  server: serverSection,
  registration: section({
    mode: choice(
      ['url', 'service', 'none'],
      'none',
      'How the API server calls Lodestone: `url` (a Karmada hub), `service` (a cluster), `none` (another tool registers the webhooks).',
    ),
    url: optional<string>(
      {
        type: 'string',
        pattern: URL_PATTERN.source,
        errorMessage: `must be an https URL without user, query and fragment, e.g. ${EXAMPLE_URL}`,
      },
      '`https://HOST[:PORT][/PATH]`, required with mode `url`.',
    ),
    service: section({
      namespace: field(labelName, 'lodestone-system', 'Namespace of the Service, with mode `service`.'),
      name: field(labelName, 'lodestone', 'Name of the Service.'),
      port: field({ ...port, minimum: 1 }, 443, 'Port of the Service.'),
    }),
    timeoutSeconds: field({ type: 'integer', minimum: 1, maximum: 30 }, 3, 'Time limit of the API server for a call.'),
    excludedNamespaces: list(
      ['kube-system', 'kube-public', 'kube-node-lease', 'karmada-system', 'karmada-cluster', 'lodestone-system'],
      'Namespaces without admission.',
      labelName,
    ),
  }),
  certificates: section({
    source: choice(
      ['directory', 'secret', 'files'],
      'directory',
      '`directory` or `secret`: Lodestone creates certificates there; `files`: your own files, for instance of cert-manager.',
    ),
    directory: field(
      text,
      'certs/dev',
      'For `directory` and `files`, relative to the working directory. Default with `serve --folder`: in `~/.cache/lodestone`.',
    ),
    secret: section({
      namespace: field(labelName, 'lodestone-system', 'For `secret`: in the cluster of the pod, also for a hub.'),
      name: field(objectName, 'lodestone-certificates', 'Name of that Secret.'),
    }),
    hosts: list([], 'Further DNS names and addresses for the certificate.', host),
  }),
  systems: systemsSection,
  claims: section({
    clusterScoped: choice<ClusterScopedClaims>(
      ['allowed', 'forbidden'],
      'forbidden',
      '`allowed`: claims in any namespace apply to cluster-scoped workloads too, see [trust](../concepts/trust.md).',
    ),
  }),
  placement: placementSection,
  transferCosts: transferCostsSection,
  karmada: section({
    version: optional<string>(
      {
        type: 'string',
        pattern: KARMADA_VERSION_PATTERN.source,
        errorMessage: 'must be a version of Karmada, e.g. "1.17"',
      },
      'The version with the [rules](compatibility.md#rules-by-version) to apply, e.g. `"1.17"`. Default: detected; in a folder the newest.',
    ),
  }),
  loops: section({
    enabled: field(
      flag,
      true,
      'Whether this process runs the loops, which write status, query data systems, rewrite bindings and move scheduled workloads.',
    ),
    maxMovesPerMinute: field({ type: 'integer', minimum: 1 }, 60, 'Scheduled workloads that are moved to their data.'),
    writesPerSecond: field(
      { type: 'number', minimum: 1 },
      50,
      'Writes to the API server, with a burst of twice as many. Events and the Lease do not count.',
    ),
    driftIntervalSeconds: field(
      { type: 'integer', minimum: 1, maximum: MAX_DURATION_MS / 1000 },
      600,
      'Interval of the drift pass over every claim, source and binding.',
    ),
  }),
  dependencies: dependenciesSection,
  volumes: volumesSection,
  kueue: section({
    enabled: field(
      flag,
      false,
      'Whether the loops answer AdmissionChecks of [Kueue](../guides/kueue.md) with the controller name `lodestone.dev/data-ready`.',
    ),
    multiKueue: section({
      enabled: field(
        flag,
        false,
        'With `kueue.enabled`: whether the loops are the [dispatcher](../guides/kueue.md#choose-the-worker-clusters) of MultiKueue.',
      ),
      roundSeconds: field(
        { type: 'integer', minimum: 1, maximum: 86_400 },
        300,
        'How long Lodestone waits for the preferred worker clusters before it nominates the next ones.',
      ),
    }),
  }),
  workloadKinds: field<WorkloadKindEntry[], object>(
    workloadKindsSchema,
    [],
    'Further kinds with pods or dependencies, and replacements of shipped ones.',
  ),
  leaderElection: section({
    enabled: field(
      flag,
      true,
      'Whether only the holder of a Lease runs the loops and registers; a folder needs no Lease.',
    ),
    namespace: field(
      labelName,
      'lodestone-system',
      'Namespace of the Lease: in the cluster of the pod, else in the served one.',
    ),
    name: field(objectName, 'lodestone', 'Name of the Lease.'),
  }),
  log: section({
    level: choice(LOG_LEVELS, 'info', 'The least important messages of the log, which is on standard error.'),
    format: choice<LoggerOptions['format']>(
      ['auto', 'json', 'pretty'],
      'auto',
      '`auto`: pretty at a terminal, JSON elsewhere.',
    ),
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
    ...certificateErrors(config),
    ...volumesErrors(config.volumes),
    ...kueueErrors(config.kueue),
    ...workloadKindErrors(config),
    ...systemsErrors(config.systems),
    ...transferCostErrors(config.transferCosts),
  ]
  if (wrong.length > 0) throw new ConfigError(`${file}: ${describeErrors(wrong)}`)
  return config
}

/** Whether Lodestone is the dispatcher of MultiKueue. */
export function isDispatcher({ kueue }: Pick<Config, 'kueue'>): boolean {
  return kueue.enabled && kueue.multiKueue.enabled
}

function kueueErrors({ enabled, multiKueue }: Config['kueue']): FieldError[] {
  const message = 'requires kueue.enabled: true'
  return multiKueue.enabled && !enabled ? [{ path: 'kueue.multiKueue.enabled', code: 'Invalid', message }] : []
}

function registrationErrors({ registration: { mode, url }, certificates }: Config): FieldError[] {
  const path = 'registration.url'
  if (!url) {
    const message = `is required with mode url, e.g. ${EXAMPLE_URL}`
    return mode === 'url' ? [{ path, code: 'Required', message }] : []
  }
  const parsed = URL.parse(url)
  if (!parsed) return [{ path, code: 'Invalid', message: `is not a URL, e.g. ${EXAMPLE_URL}` }]
  // A certificate in files may have other names.
  return certificates.source === 'files' ? [] : hostErrors(parsed.hostname.replace(/^\[|\]$/g, ''), path)
}

function certificateErrors({ certificates: { hosts } }: Config): FieldError[] {
  return hosts.flatMap((host, i) => hostErrors(host, `certificates.hosts[${i}]`))
}

function hostErrors(host: string, path: string): FieldError[] {
  try {
    normalizeHosts([host])
    return []
  } catch (error) {
    return [{ path, code: 'Invalid', message: (error as Error).message }]
  }
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
