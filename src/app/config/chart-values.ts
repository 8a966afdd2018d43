/** The JSON Schema of the chart's values, which helm checks: charts/lodestone/values.schema.json. */

import { isObject } from '../../core/json.ts'
import { closedSchema } from '../../core/schema/closed-schema.ts'
import { systemSchema } from '../../locality/config/schema.ts'
import { plugins } from '../../locality/plugins/index.ts'
import { configSchema, URL_PATTERN } from './config.ts'
import { serverSchema } from './server-config.ts'

const SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'
const FILE_NAME = '^[-_a-zA-Z0-9][-._a-zA-Z0-9]*$'
const PORT_NAME = '^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$'

const flag = { type: 'boolean' }
const texts = { type: 'object', additionalProperties: { type: 'string' } }
const name = { type: 'string', maxLength: 253, pattern: `^${SUBDOMAIN}$` }
const nameOrEmpty = { ...name, pattern: `^(${SUBDOMAIN})?$` }
/** A structure of Kubernetes: the API server checks its fields. */
const open = { type: 'object' }
const named = { ...open, required: ['name'] }
const listOf = (items: object) => ({ type: 'array', items })
const peers = listOf(open)
const ports = listOf({ type: ['integer', 'string'], minimum: 1, maximum: 65_535, pattern: PORT_NAME })

/** @param required the keys without which the templates fail */
const shape = (properties: Record<string, object>, required: readonly string[] = []) => ({
  type: 'object',
  required,
  properties,
})

/** The ports of the Deployment and the Service are fixed, so the configuration cannot have others. */
const config = lenient({
  ...configSchema,
  properties: {
    ...configSchema.properties,
    server: {
      ...serverSchema,
      properties: { ...serverSchema.properties, port: { enum: [9443] }, healthPort: { enum: [8080] } },
    },
  },
})

/** Without `plugin`, the name of a system is the name of its plugin. */
const plugin = { enum: Object.keys(plugins).sort() }
const system = {
  ...lenient({ ...systemSchema, properties: { ...systemSchema.properties, plugin } }),
  anyOf: [{ required: ['plugin'] }, { properties: { system: plugin } }],
}

const values = shape(
  {
    replicaCount: { type: 'integer', minimum: 0 },
    image: shape(
      {
        // Without tag and digest: the tag has its own value.
        repository: { type: 'string', pattern: '^([^/\\s]+/)*[^/:@\\s]+$' },
        tag: { type: 'string', maxLength: 128, pattern: '^[-.\\w]*$' },
        pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
      },
      ['repository', 'pullPolicy'],
    ),
    imagePullSecrets: listOf(named),
    kubeconfigSecret: shape({ name: nameOrEmpty, key: { type: 'string', maxLength: 253, pattern: FILE_NAME } }),
    config,
    registration: shape(
      {
        mode: configSchema.properties.registration.properties.mode,
        url: { type: 'string', pattern: `^$|${URL_PATTERN.source}` },
      },
      ['mode'],
    ),
    // The keys are names of files; hidden ones are ignored.
    systems: {
      type: 'object',
      additionalProperties: system,
      ...keysThat({ pattern: FILE_NAME }, 'whose keys consist of letters, digits, "-", "_" and "."'),
    },
    systemSecrets: { ...listOf(name), uniqueItems: true },
    serviceAccount: shape({ annotations: texts }),
    env: listOf(named),
    resources: open,
    nodeSelector: texts,
    tolerations: listOf(open),
    affinity: open,
    priorityClassName: nameOrEmpty,
    podDisruptionBudget: shape({
      enabled: flag,
      maxUnavailable: { type: ['integer', 'string'], minimum: 0, pattern: '^(100|[0-9]{1,2})%$' },
    }),
    networkPolicy: shape(
      {
        enabled: flag,
        apiServer: shape({ from: peers, to: peers, ports }),
        prometheus: shape({ from: peers }),
        dns: shape({ to: peers }),
        systems: listOf(shape({ to: peers, ports })),
      },
      ['apiServer', 'prometheus', 'dns'],
    ),
    // Helm adds `global` to the values of a dependency, and `enabled` is the usual name of its condition.
    global: open,
    enabled: flag,
  },
  ['image', 'kubeconfigSecret', 'registration', 'serviceAccount', 'podDisruptionBudget', 'networkPolicy'],
)

/** Returns the schema, in the version of JSON Schema that every helm 3 reads. Its patterns are valid in Go: they have no lookahead. */
export function chartValuesSchema(): object {
  const $schema = 'http://json-schema.org/draft-07/schema#'
  return { $schema, title: 'Values of the chart lodestone', ...closedSchema(values, closeForHelm) }
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

/** Allows null for every field with a type, but not for the members of maps. */
function nullable({ properties, items, ...schema }: Record<string, unknown>): Record<string, unknown> {
  const fields = Object.entries(isObject(properties) ? properties : {}).map(([key, field]) => {
    const { type, ...rest } = nullable(field as Record<string, unknown>)
    return [key, type === undefined ? rest : { type: [type, 'null'], ...rest }]
  })
  return {
    ...schema,
    ...(properties !== undefined && { properties: Object.fromEntries(fields) }),
    ...(isObject(items) && { items: nullable(items) }),
  }
}
