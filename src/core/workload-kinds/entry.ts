/** An entry of the table of workload kinds, and its schema. The shipped table and the configuration have the same form. */
import { type TypeEntry, typeFields, typeProperties } from './type-entry.ts'

/** The kinds of objects that a reference of the table may name. */
export const REFERENCED_KINDS = ['ConfigMap', 'PersistentVolumeClaim', 'Secret', 'Service', 'ServiceAccount'] as const

/**
 * What a move of a running workload costs:
 *
 * - Restart: the workload starts again elsewhere, and nothing is lost.
 * - Work: what it has computed so far is lost.
 * - State: its state may be lost.
 * - Unknown: nothing is known about the kind.
 */
const MOVE_COSTS = ['Restart', 'Work', 'State', 'Unknown'] as const
export type MoveCost = (typeof MOVE_COSTS)[number]

/**
 * A kind with dependencies or pods. Paths are JSONPath as in kubectl: `spec.tasks[*].template` (base/json-path.ts). The schema has the meaning
 * of each field.
 */
export interface WorkloadKindEntry extends TypeEntry {
  scope?: 'Namespaced' | 'Cluster'
  templates?: string[]
  podMetadata?: string[]
  allPods?: string
  inherits?: boolean
  immutable?: boolean
  moveCost?: MoveCost
  podLabels?: Record<string, string>
  podSpecs?: string[]
  containers?: string[]
  accountSecrets?: boolean
  claimTemplates?: string[]
  references?: { kind: (typeof REFERENCED_KINDS)[number]; path: string }[]
  backends?: string[]
  namespace?: string
}

const path = { type: 'string', maxLength: 1024 }
const pathList = (description: string) => ({ type: 'array', maxItems: 64, items: path, description })

/** The properties are those of `WorkloadKindEntry`. */
const properties: Record<keyof WorkloadKindEntry, object> = {
  ...typeProperties,
  scope: { enum: ['Namespaced', 'Cluster'], description: 'Default: `Namespaced`.' },
  templates: pathList('Pod templates: objects with `metadata` and `spec`. Templates without containers are allowed.'),
  podMetadata: pathList('Further objects with labels and annotations of pods, such as `spec.driver` of Spark.'),
  allPods: {
    ...path,
    description:
      'One such object for all pods. The annotation of the workload is written only there; the object is created if it is absent.',
  },
  inherits: {
    type: 'boolean',
    description:
      '`true`: no field of the kind passes the annotation on. Workloads that its controller creates inherit it, such as the JobSet of a TrainJob.',
  },
  immutable: {
    type: 'boolean',
    description: '`true`: templates cannot be changed later; a changed annotation gets a warning.',
  },
  moveCost: {
    enum: MOVE_COSTS,
    description:
      'What a [move](../concepts/claims.md#when-the-data-moves) of a running workload costs. Default: `Unknown`. `rebalance: Auto` of a claim moves kinds with the cost `Restart`.',
  },
  podLabels: {
    type: 'object',
    additionalProperties: { type: 'string', maxLength: 253 },
    description:
      'Labels that the controller adds to pods, for Services. `{name}` is the name of the workload, a final `*` the ordinal of a StatefulSet.',
  },
  podSpecs: pathList('Objects with some of the fields of a pod spec.'),
  containers: pathList('Objects with the `env` and `envFrom` of a container.'),
  accountSecrets: {
    type: 'boolean',
    description:
      '`true`: the controller also reads the `secrets` of its ServiceAccounts, such as credentials of KServe for models.',
  },
  claimTemplates: pathList('Templates of PersistentVolumeClaims, as `volumeClaimTemplates` of a StatefulSet.'),
  references: {
    type: 'array',
    maxItems: 64,
    items: {
      type: 'object',
      required: ['kind', 'path'],
      properties: {
        kind: { enum: REFERENCED_KINDS, description: 'The kind of the named objects.' },
        path: { ...path, description: 'The path of their names.' },
      },
    },
    description: 'Names of other objects.',
  },
  backends: pathList('Names of Services to which an Ingress sends requests.'),
  namespace: {
    ...path,
    description:
      'The path of the namespace of all named objects, for cluster-scoped kinds. Default: that of the workload.',
  },
}

const workloadKindSchema = { type: 'object', required: typeFields, properties }

/** The form of a table: at most as many kinds as an API server can be asked to watch with reason. */
export const workloadKindsSchema = { type: 'array', maxItems: 200, items: workloadKindSchema }
