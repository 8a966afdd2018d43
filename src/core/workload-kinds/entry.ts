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
export const MOVE_COSTS = ['Restart', 'Work', 'State', 'Unknown'] as const
export type MoveCost = (typeof MOVE_COSTS)[number]

/** A kind with dependencies or pods. Paths are JSONPath as in kubectl: `spec.tasks[*].template` (base/json-path.ts). */
export interface WorkloadKindEntry extends TypeEntry {
  /** Default: Namespaced. */
  scope?: 'Namespaced' | 'Cluster'
  /** Pod templates: objects with `metadata` and `spec`. */
  templates?: string[]
  /** Objects with labels and annotations of pods, in addition to the metadata of templates. */
  podMetadata?: string[]
  /** As `podMetadata`, for all pods of the workload. Admission writes the annotation only there, and creates the object if it is absent. */
  allPods?: string
  /** Workloads that the controller of this kind creates inherit the annotation: no field of this kind can pass it on. */
  inherits?: boolean
  /** Whether pod templates cannot be changed after the creation. */
  immutable?: boolean
  /** What a move to another cluster costs. Default: Unknown. `rebalance: Auto` of a claim moves kinds with the cost Restart. */
  moveCost?: MoveCost
  /** Labels that a controller adds to pods; `{name}` is the name of the workload, and a final `*` an ordinal. */
  podLabels?: Record<string, string>
  /** Objects with some of the fields of a pod spec. */
  podSpecs?: string[]
  /** Objects with the `env` and `envFrom` of a container. */
  containers?: string[]
  /** Templates of PersistentVolumeClaims that a controller creates. */
  claimTemplates?: string[]
  /** Names of other objects. */
  references?: { kind: (typeof REFERENCED_KINDS)[number]; path: string }[]
  /** The Services to which an Ingress sends requests. */
  backends?: string[]
  /** The namespace of all named objects; default: that of the workload. */
  namespace?: string
}

const path = { type: 'string', maxLength: 1024 }
const paths = { type: 'array', maxItems: 64, items: path }

const workloadKindSchema = {
  type: 'object',
  required: typeFields,
  properties: {
    ...typeProperties,
    scope: { enum: ['Namespaced', 'Cluster'] },
    templates: paths,
    podMetadata: paths,
    allPods: path,
    inherits: { type: 'boolean' },
    immutable: { type: 'boolean' },
    moveCost: { enum: MOVE_COSTS },
    podLabels: { type: 'object', additionalProperties: { type: 'string', maxLength: 253 } },
    podSpecs: paths,
    containers: paths,
    claimTemplates: paths,
    references: {
      type: 'array',
      maxItems: 64,
      items: { type: 'object', required: ['kind', 'path'], properties: { kind: { enum: REFERENCED_KINDS }, path } },
    },
    backends: paths,
    namespace: path,
  },
}

/** The form of a table: at most as many kinds as an API server can be asked to watch with reason. */
export const workloadKindsSchema = { type: 'array', maxItems: 200, items: workloadKindSchema }
