/** The JSON Schema of the chart's values, which helm checks: charts/lodestone/values.schema.json. */
import { defined, isObject } from '../../base/json.ts'
import { SUBDOMAIN_PATTERN as SUBDOMAIN } from '../../base/names.ts'
import { closedSchema } from '../../base/schema/closed-schema.ts'
import { QUANTITY } from '../../core/volume-manager/rules/options.ts'
import { RELATED_KIND_NAMES } from '../../core/workload-kinds/related-kinds.ts'
import { systemSchema } from '../../locality/config/schema.ts'
import { plugins } from '../../locality/plugins/index.ts'
import { configSchema, URL_PATTERN } from './config.ts'
import { affinitySchema, dnsConfigSchema, tolerationsSchema, topologySpreadSchema } from './scheduling-schema.ts'

const FILE_NAME = '^[-_a-zA-Z0-9][-._a-zA-Z0-9]*$'
const IN_FILE_NAMES = 'letters, digits, "-", "_" and "."'
const PORT_NAME = '^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$'

const flag = { type: 'boolean' }
const text = { type: 'string', minLength: 1 }
const texts = { type: 'object', additionalProperties: { type: 'string' } }
const name = {
  type: 'string',
  maxLength: 253,
  pattern: `^${SUBDOMAIN}$`,
  errorMessage: 'must be a name of lowercase letters, digits, "-" and "."',
}
const nameOrEmpty = { ...name, pattern: `^(${SUBDOMAIN})?$` }
/** A structure of Kubernetes: the API server checks its fields. */
const open = { type: 'object' }
const portNumber = { type: 'integer', minimum: 1, maximum: 65_535 }
const arraySchema = (items: object) => ({ type: 'array', items })
const peers = arraySchema(open)
const ports = arraySchema({
  type: ['integer', 'string'],
  minimum: 1,
  maximum: 65_535,
  pattern: PORT_NAME,
  errorMessage: 'must be a port from 1 to 65535, or the name of one',
})
/** Kubernetes accepts numbers too. */
const quantities = {
  type: 'object',
  additionalProperties: {
    type: ['number', 'string'],
    pattern: QUANTITY.source,
    errorMessage: 'must be a quantity such as 500m or 1Gi',
  },
}

/** @param required the keys without which the templates fail */
const shape = (properties: Record<string, object>, required: readonly string[] = []) => ({
  type: 'object',
  required,
  properties,
})
const resources = shape({ limits: quantities, requests: quantities, claims: arraySchema(open) })

/** The chart gives each process a port, so the configuration cannot let the operating system choose one. */
const { dependencies, registration, server } = configSchema.properties
const config = lenient({
  ...configSchema,
  properties: {
    ...configSchema.properties,
    dependencies: {
      ...dependencies,
      properties: {
        ...dependencies.properties,
        related: { ...dependencies.properties.related, items: { enum: RELATED_KIND_NAMES } },
      },
    },
    server: {
      ...server,
      properties: { ...server.properties, port: portNumber, healthPort: portNumber },
    },
  },
})

/** Without `plugin`, the name of a system is the name of its plugin. */
const plugin = { enum: Object.keys(plugins).sort() }
const system = {
  ...lenient({ ...systemSchema, properties: { ...systemSchema.properties, plugin } }),
  anyOf: [{ required: ['plugin'] }, { properties: { system: plugin } }],
}

/** Go's durations with the units that Prometheus reads too. */
const duration = {
  type: 'string',
  pattern: '^([0-9]+h)?([0-9]+m)?([0-9]+s)?$',
  minLength: 2,
  errorMessage: 'must be a duration such as 30s, 5m or 2160h',
}
const secretKey = shape(
  {
    name: nameOrEmpty,
    key: { type: 'string', maxLength: 253, pattern: FILE_NAME, errorMessage: `must be a key of ${IN_FILE_NAMES}` },
  },
  ['key'],
)
/** The namespace, labels and annotations of an object for another component. */
const placed = { enabled: flag, namespace: nameOrEmpty, labels: texts, annotations: texts }
/** The API server drops other keys of Prometheus Operator's kinds, and helm does not say so. */
const relabelings = arraySchema(
  shape({
    sourceLabels: arraySchema(text),
    separator: { type: 'string' },
    targetLabel: text,
    regex: { type: 'string' },
    modulus: { type: 'integer', minimum: 0 },
    replacement: { type: 'string' },
    action: {
      enum: [
        ...['Replace', 'Keep', 'Drop', 'HashMod', 'LabelMap', 'LabelDrop'],
        ...['LabelKeep', 'Lowercase', 'Uppercase', 'KeepEqual', 'DropEqual'],
      ].flatMap((action) => [action.toLowerCase(), action]),
    },
  }),
)
const monitor = shape(
  {
    ...placed,
    interval: duration,
    scrapeTimeout: duration,
    honorLabels: flag,
    relabelings,
    metricRelabelings: relabelings,
  },
  ['enabled', 'interval', 'scrapeTimeout', 'honorLabels'],
)
/** The API server checks the many kinds of volumes. */
const volume = { type: 'object', required: ['name'], properties: { name }, additionalProperties: true }

const values = shape(
  {
    mode: { enum: ['member', 'hub', 'hub-objects'] },
    crds: shape({ enabled: flag, keep: flag }, ['enabled', 'keep']),
    absence: shape({ enabled: flag }, ['enabled']),
    commonLabels: texts,
    commonAnnotations: texts,
    replicaCount: { type: 'integer', minimum: 0 },
    image: shape(
      {
        registry: {
          type: 'string',
          pattern: '^([a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?(:[0-9]{1,5})?)?$',
          errorMessage: 'must be the host of a registry, e.g. registry.example.org:5000',
        },
        // Tag and digest have values of their own.
        repository: {
          type: 'string',
          pattern: '^([^/\\s]+/)*[^/:@\\s]+$',
          errorMessage: 'must be an image without tag and digest, e.g. registry.example.org/lodestone',
        },
        tag: {
          type: 'string',
          maxLength: 128,
          pattern: '^[-.\\w]*$',
          errorMessage: `must be a tag of ${IN_FILE_NAMES}; a digest is the value image.digest`,
        },
        digest: {
          type: 'string',
          pattern: '^(sha256:[0-9a-f]{64})?$',
          errorMessage: 'must be sha256: and 64 hexadecimal digits',
        },
        pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
      },
      ['repository', 'pullPolicy'],
    ),
    imagePullSecrets: arraySchema(shape({ name }, ['name'])),
    kubeconfigSecret: secretKey,
    config,
    registration: shape(
      {
        mode: { enum: ['', ...registration.properties.mode.enum] },
        url: { ...registration.properties.url, pattern: `^$|${URL_PATTERN.source}` },
      },
      ['mode'],
    ),
    // The keys are names of files; hidden ones are ignored.
    systems: {
      type: 'object',
      additionalProperties: system,
      ...keysThat({ pattern: FILE_NAME }, `whose keys consist of ${IN_FILE_NAMES}`),
    },
    systemSecrets: { ...arraySchema(name), uniqueItems: true },
    certManager: shape(
      {
        enabled: flag,
        issuerRef: shape({ name: nameOrEmpty, kind: text, group: text }, ['kind', 'group']),
        duration,
        renewBefore: duration,
      },
      ['enabled', 'issuerRef', 'duration', 'renewBefore'],
    ),
    serviceAccount: shape({ create: flag, name: nameOrEmpty, annotations: texts }, ['create']),
    podLabels: texts,
    podAnnotations: texts,
    extraArgs: arraySchema(text),
    extraVolumes: arraySchema(volume),
    extraVolumeMounts: arraySchema(
      shape(
        {
          name,
          mountPath: text,
          subPath: text,
          subPathExpr: text,
          readOnly: flag,
          recursiveReadOnly: text,
          mountPropagation: text,
        },
        ['name', 'mountPath'],
      ),
    ),
    // A number or boolean as the value is a common mistake.
    extraEnv: arraySchema(shape({ name: text, value: { type: ['string', 'null'] }, valueFrom: open }, ['name'])),
    resources,
    hostNetwork: flag,
    dnsPolicy: { enum: ['', 'ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'] },
    dnsConfig: dnsConfigSchema,
    nodeSelector: texts,
    tolerations: tolerationsSchema,
    affinity: affinitySchema,
    topologySpreadConstraints: topologySpreadSchema,
    priorityClassName: nameOrEmpty,
    resourceQuota: shape({ enabled: flag, pods: { type: 'integer', minimum: 1 } }, ['enabled', 'pods']),
    podDisruptionBudget: shape(
      {
        enabled: flag,
        maxUnavailable: {
          type: ['integer', 'string'],
          minimum: 1,
          pattern: '^(100|[1-9][0-9]?)%$',
          errorMessage: 'must be a number of pods, or a percentage such as 50%; 0 blocks the drain of nodes',
        },
      },
      ['maxUnavailable'],
    ),
    uninstallHook: shape(
      {
        enabled: flag,
        keepData: flag,
        timeoutSeconds: { type: 'integer', minimum: 30, maximum: 3600 },
        kubeconfigSecret: secretKey,
      },
      ['enabled', 'keepData', 'timeoutSeconds', 'kubeconfigSecret'],
    ),
    page: shape(
      {
        enabled: flag,
        hosts: arraySchema({
          type: 'string',
          pattern: '^[A-Za-z0-9.-]+(:[0-9]{1,5})?$',
          errorMessage: 'must be a host name, with a port if it has one',
        }),
        tlsSecret: nameOrEmpty,
        kubeconfigSecret: secretKey,
        resources,
      },
      ['enabled', 'kubeconfigSecret'],
    ),
    serviceMonitor: monitor,
    podMonitor: monitor,
    prometheusRule: shape(placed, ['enabled']),
    dashboard: shape(placed, ['enabled']),
    networkPolicy: shape(
      {
        enabled: flag,
        apiServer: shape({ from: peers, to: peers, ports }),
        prometheus: shape({ from: peers }),
        page: shape({ from: peers }),
        dns: shape({ to: peers, ports }),
        systems: arraySchema(shape({ to: peers, ports })),
      },
      ['apiServer', 'prometheus', 'page', 'dns'],
    ),
    // Helm adds `global` to the values of a dependency, and `enabled` is the usual name of its condition.
    global: open,
    enabled: flag,
  },
  [
    'mode',
    'crds',
    'absence',
    'image',
    'kubeconfigSecret',
    'registration',
    'certManager',
    'serviceAccount',
    'resourceQuota',
    'podDisruptionBudget',
    'uninstallHook',
    'page',
    'serviceMonitor',
    'podMonitor',
    'prometheusRule',
    'dashboard',
    'networkPolicy',
  ],
)

/** Returns the schema, in the version of JSON Schema that every helm 3 reads. Its patterns are valid in Go: they have no lookahead. */
export function chartValuesSchema(): object {
  const $schema = 'http://json-schema.org/draft-07/schema#'
  return {
    $schema,
    title: 'Values of the chart lodestone',
    ...(described(closedSchema(values, closeForHelm)) as object),
  }
}

/**
 * Returns a copy of a schema in which helm prints the description of a pattern, not the pattern. A text that does not match it also differs
 * from an enumeration of the description.
 */
function described(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(described)
  if (!isObject(schema)) return schema
  const { pattern, errorMessage, ...rest } = schema
  const others = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, described(value)]))
  if (typeof errorMessage !== 'string') return pattern === undefined ? others : { ...others, pattern }
  return { ...others, if: { pattern }, else: { enum: [errorMessage.replace(/^must be /, '')] } }
}

/**
 * Closes an object so that helm lists the allowed keys. Its message for `additionalProperties` does not list them, and that for
 * `propertyNames` may name another object. So an object with other keys also differs from an enumeration of one sentence.
 */
function closeForHelm(keys: string[]): object {
  return {
    additionalProperties: false,
    ...keysThat({ enum: keys }, `with only these keys: ${keys.toSorted().join(', ')}`),
  }
}

function keysThat(names: object, description: string): object {
  return { if: { propertyNames: names }, else: { enum: [`an object ${description}`] } }
}

/** The schema of a file of Lodestone, which ignores null fields. */
function lenient(schema: object): object {
  return nullable({ ...closedSchema(schema, closeForHelm) })
}

/** Allows null for every field, but not for the members of maps. */
function nullable({ properties, items, ...schema }: Record<string, unknown>): Record<string, unknown> {
  const fields = Object.entries(isObject(properties) ? properties : {}).map(([key, field]) => {
    const { type, enum: values, ...rest } = nullable(field as Record<string, unknown>)
    return [
      key,
      {
        ...defined({ type: type === undefined ? undefined : [type, 'null'] }),
        // Not as one of the values, which helm lists.
        ...(Array.isArray(values) ? { if: { type: 'null' }, else: { enum: values } } : {}),
        ...rest,
      },
    ]
  })
  return {
    ...schema,
    ...defined({
      properties: properties === undefined ? undefined : Object.fromEntries(fields),
      items: isObject(items) ? nullable(items) : undefined,
    }),
  }
}
