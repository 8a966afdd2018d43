/** Our CustomResourceDefinitions, generated from the schemas so that the two can never differ. */

import { dataSources } from './data-source.ts'
import { dataSourceClaims } from './data-source-claim.ts'
import type { K8sObject, ResourceType } from './meta.ts'
import { dataSourceClaimSchema, dataSourceSchema, type Schema } from './schema.ts'
import { volumeManagers } from './volume-manager.ts'
import { volumeManagerSchema } from './volume-manager-schema.ts'

interface Column {
  name: string
  type: 'string' | 'integer' | 'date'
  jsonPath: string
  description: string
  priority?: number
}

interface Definition {
  type: ResourceType
  shortNames: string[]
  schema: Schema
  columns: Column[]
}

const definitions: Definition[] = [
  {
    type: dataSourceClaims,
    shortNames: ['dsc'],
    schema: dataSourceClaimSchema,
    columns: [
      { name: 'System', type: 'string', jsonPath: '.spec.system', description: 'The data system' },
      { name: 'Data', type: 'string', jsonPath: '.spec.dataSourceName', description: 'The data in that system' },
      { name: 'Workload', type: 'string', jsonPath: '.spec.workload.name', description: 'Who needs it' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Whether the location is known' },
      {
        name: 'Source',
        type: 'string',
        jsonPath: '.status.boundDataSource',
        description: 'The DataSource that answers',
        priority: 1,
      },
      {
        name: 'Since',
        type: 'date',
        jsonPath: '.status.conditions[?(@.type=="Bound")].lastTransitionTime',
        description: 'Since when it is bound, or is not',
      },
      {
        name: 'Message',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Bound")].message',
        description: 'Where the data is, or why that is not known',
      },
    ],
  },
  {
    type: dataSources,
    shortNames: ['ds'],
    schema: dataSourceSchema,
    columns: [
      { name: 'System', type: 'string', jsonPath: '.spec.system', description: 'The data system' },
      { name: 'Data', type: 'string', jsonPath: '.spec.name', description: 'The data in that system' },
      { name: 'Clusters', type: 'string', jsonPath: '.spec.locality.clusterNames', description: 'Who holds it' },
      { name: 'Bytes', type: 'integer', jsonPath: '.spec.locality.bytes', description: 'How large it is' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Whether the data exists' },
      { name: 'Claims', type: 'integer', jsonPath: '.status.boundClaims', description: 'How many claims use it' },
      {
        name: 'Location',
        type: 'string',
        jsonPath: '.spec.locality.location',
        description: 'Where it is',
        priority: 1,
      },
      {
        name: 'Resolved',
        type: 'date',
        jsonPath: '.status.lastResolvedTime',
        description: 'When it was last confirmed',
      },
    ],
  },
  {
    type: volumeManagers,
    shortNames: ['vm'],
    schema: volumeManagerSchema,
    columns: [
      { name: 'State', type: 'string', jsonPath: '.status.state', description: 'Whether the data can be used' },
      { name: 'Ready', type: 'string', jsonPath: '.status.ready', description: 'How many volumes can be used' },
      {
        name: 'Message',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Ready")].message',
        description: 'How things stand',
      },
      {
        name: 'Replicas',
        type: 'string',
        jsonPath: '.status.volumes[*].readyReplicas',
        description: 'On how many nodes each volume is',
        priority: 1,
      },
      {
        name: 'Nodes',
        type: 'string',
        jsonPath: '.status.nodes',
        description: 'Where the data is',
        priority: 1,
      },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Since when it exists' },
    ],
  },
]

/** The CRDs of all resources that are ours, ready for `kubectl apply`. */
export function customResourceDefinitions(): K8sObject[] {
  return definitions.map(({ type, shortNames, schema, columns }) => ({
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
          schema: { openAPIV3Schema: { ...schema, properties: { ...metaProperties, ...schema.properties } } },
        },
      ],
    },
  }))
}

const metaProperties: Record<string, Schema> = {
  apiVersion: { type: 'string', description: 'The version of this schema that the object is written in.' },
  kind: { type: 'string', description: 'The kind of the object.' },
  metadata: { type: 'object' },
}
