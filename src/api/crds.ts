/** Our CustomResourceDefinitions, generated from the schemas. */
import { dataSources } from './data-source.ts'
import { dataSourceClaims } from './data-source-claim.ts'
import type { K8sObject, ResourceType } from './meta.ts'
import { dataSourceSchema } from './schemas/data-source.ts'
import { dataSourceClaimSchema } from './schemas/data-source-claim.ts'
import type { Schema } from './schemas/schema.ts'
import { volumeManagerSchema } from './schemas/volume-manager.ts'
import { volumeManagers } from './volume-manager.ts'

interface Column {
  name: string
  type: 'string' | 'integer' | 'date'
  jsonPath: string
  description: string
  priority?: number
}

const AGE: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation',
}

interface Definition {
  type: ResourceType
  shortNames: string[]
  schema: Schema
  /**
   * Fields of the spec for which the CRD of volcano-global has no limits; admission checks them. Kubernetes before 1.30 would reject each
   * write of a stored object that breaks a limit, such as the removal of a finalizer.
   */
  unlimited: readonly string[]
  columns: Column[]
}

const definitions: Definition[] = [
  {
    type: dataSourceClaims,
    shortNames: ['dsc'],
    schema: dataSourceClaimSchema,
    unlimited: ['system', 'dataSourceType', 'dataSourceName', 'attributes', 'workload'],
    columns: [
      { name: 'System', type: 'string', jsonPath: '.spec.system', description: 'The data system' },
      { name: 'Data', type: 'string', jsonPath: '.spec.dataSourceName', description: 'The data in that system' },
      {
        name: 'Workload',
        type: 'string',
        jsonPath: '.spec.workload.name',
        description: 'The workload that needs the data',
      },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Whether the location is known' },
      {
        name: 'Placed',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="WorkloadPlaced")].reason',
        description: 'Whether the workload is scheduled with its data, on hold, kept or relaxed',
      },
      {
        name: 'Message',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Resolved")].message',
        description: 'The location of the data, or why it is unknown',
      },
      AGE,
      {
        name: 'Since',
        type: 'date',
        jsonPath: '.status.conditions[?(@.type=="Bound")].lastTransitionTime',
        description: 'Time since the claim was bound or unbound',
        priority: 1,
      },
      {
        name: 'Kind',
        type: 'string',
        jsonPath: '.spec.workload.kind',
        description: 'The kind of the workload',
        priority: 1,
      },
      {
        name: 'Source',
        type: 'string',
        jsonPath: '.status.boundDataSource',
        description: 'The DataSource of the claim',
        priority: 1,
      },
    ],
  },
  {
    type: dataSources,
    shortNames: ['ds'],
    schema: dataSourceSchema,
    unlimited: ['system', 'type', 'name', 'attributes', 'reclaimPolicy', 'locality.clusterNames'],
    columns: [
      { name: 'System', type: 'string', jsonPath: '.spec.system', description: 'The data system' },
      { name: 'Data', type: 'string', jsonPath: '.spec.name', description: 'The data in that system' },
      {
        name: 'Clusters',
        type: 'string',
        jsonPath: '.status.clusters',
        description: 'The clusters with the data',
      },
      { name: 'Size', type: 'string', jsonPath: '.status.size', description: 'Size of the data' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Whether the data exists' },
      { name: 'Claims', type: 'integer', jsonPath: '.status.boundClaims', description: 'Number of claims' },
      {
        name: 'Resolved',
        type: 'date',
        jsonPath: '.status.lastResolvedTime',
        description: 'Time of the last confirmation',
      },
      AGE,
      { name: 'Type', type: 'string', jsonPath: '.spec.type', description: 'The type of the data', priority: 1 },
      {
        name: 'Location',
        type: 'string',
        jsonPath: '.spec.locality.location',
        description: 'URI of the data',
        priority: 1,
      },
      {
        name: 'Error',
        type: 'string',
        jsonPath: '.status.lastError',
        description: 'Error of the last query',
        priority: 1,
      },
    ],
  },
  {
    type: volumeManagers,
    // VCK has `vm`, which is the VirtualMachine of KubeVirt.
    shortNames: ['vmgr'],
    schema: volumeManagerSchema,
    // The CRD of VCK is for API servers that Lodestone does not support (apiextensions.k8s.io/v1beta1).
    unlimited: [],
    columns: [
      { name: 'State', type: 'string', jsonPath: '.status.state', description: 'Whether the data is usable' },
      { name: 'Ready', type: 'string', jsonPath: '.status.ready', description: 'Number of usable volumes' },
      {
        name: 'Replicas',
        type: 'string',
        jsonPath: '.status.replicas',
        description: 'Number of ready and of wanted replicas',
      },
      { name: 'Size', type: 'string', jsonPath: '.status.size', description: 'Size of the data on one node' },
      {
        name: 'Message',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Ready")].message',
        description: 'The status in words',
      },
      AGE,
      {
        name: 'Nodes',
        type: 'string',
        jsonPath: '.status.nodes',
        description: 'The nodes with the data',
        priority: 1,
      },
    ],
  },
]

/** Returns the short names of a kind of Lodestone; none for any other kind. */
export function ownShortNames({ group, kind }: ResourceType): readonly string[] {
  return definitions.find(({ type }) => type.group === group && type.kind === kind)?.shortNames ?? []
}

/** All CRDs of Lodestone, for `kubectl apply`. */
export function customResourceDefinitions(): K8sObject[] {
  return definitions.map(({ type, shortNames, schema, unlimited, columns }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${type.plural}.${type.group}` },
    spec: {
      group: type.group,
      scope: type.namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind: type.kind,
        listKind: `${type.kind}List`,
        plural: type.plural,
        singular: type.kind.toLowerCase(),
        shortNames,
        categories: ['lodestone'],
      },
      versions: [
        {
          name: type.version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: crdSchema(schema, unlimited) },
        },
      ],
    },
  }))
}

function crdSchema(schema: Schema, unlimited: readonly string[]): Schema {
  const relaxed = unlimited.reduce((all, path) => relax(all, ['spec', ...path.split('.')]), schema)
  return { ...relaxed, properties: { ...metaProperties, ...relaxed.properties } }
}

/** Removes the limits of the field at a path. */
function relax(schema: Schema, [name, ...rest]: readonly string[]): Schema {
  if (name === undefined) return withoutLimits(schema)
  const field = schema.properties?.[name]
  if (!field) throw new Error(`the schema has no field ${name}`)
  return { ...schema, properties: { ...schema.properties, [name]: relax(field, rest) } }
}

/** Returns a schema with the types and the required fields only. */
function withoutLimits(schema: Schema): Schema {
  const { minLength: _0, maxLength: _1, maxItems: _2, maxProperties: _3, enum: _4, ...types } = schema
  const { items, properties, additionalProperties } = types
  return {
    ...types,
    ...(items && { items: withoutLimits(items) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, withoutLimits(field)])),
    }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: withoutLimits(additionalProperties) }),
  }
}

const metaProperties: Record<string, Schema> = {
  apiVersion: { type: 'string', description: 'The version of the schema of the object.' },
  kind: { type: 'string', description: 'The kind of the object.' },
  metadata: { type: 'object' },
}
