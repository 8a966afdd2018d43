/** Validates the objects of a snapshot: anyone can write a file, and decisions take the shapes of objects for granted. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  propagationPolicies,
  resourceBindings,
} from '../../api/karmada.ts'
import { type K8sObject, keyOfObject, type ResourceType } from '../../api/meta.ts'
import { dataSourceSchema } from '../../api/schemas/data-source.ts'
import { dataSourceClaimSchema } from '../../api/schemas/data-source-claim.ts'
import { bindingSchema, clusterSchema, policySchema } from '../../api/schemas/karmada.ts'
import type { Schema } from '../../api/schemas/schema.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { printable } from '../../base/printable.ts'
import { compileSchema, type SchemaValidator } from '../../base/schema/schema-errors.ts'
import { kindKey } from '../any-kind.ts'

const strings = { type: 'array', items: { type: 'string' } }
const labels = { type: 'object', additionalProperties: { type: 'string' } }
const metadata = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, namespace: { type: 'string' }, labels, annotations: labels },
}

/** The kinds without a schema of their own: namespaces, and workloads in their cached form. */
const named = { type: 'object', required: ['metadata'], properties: { metadata } }
const workload = {
  type: 'object',
  required: ['metadata', 'dependencies'],
  properties: {
    metadata,
    dependencies: {
      type: 'object',
      required: ['references', 'podLabels', 'volumeManagers', 'preferredVolumeManagers', 'backends'],
      properties: {
        references: { type: 'array', items: { type: 'object' } },
        podLabels: { type: 'array', items: labels },
        volumeManagers: strings,
        preferredVolumeManagers: strings,
        backends: strings,
        claimTemplates: strings,
      },
    },
  },
}

/** The fields of the status that decisions read. A snapshot lacks others, such as the messages of conditions. */
const status = {
  type: 'object',
  properties: {
    phase: { type: 'string' },
    lastResolvedTime: { type: 'string' },
    boundDataSource: { type: 'string' },
    conditions: { type: 'array', items: { type: 'object', properties: { type: { type: 'string' } } } },
  },
}

function ownKind({ properties }: Schema): SchemaValidator {
  return compileSchema({ type: 'object', required: ['spec'], properties: { spec: properties?.['spec'] ?? {}, status } })
}

const validateNamed = compileSchema(named)
const validateWorkload = compileSchema(workload)
const validateBinding = compileSchema(bindingSchema)
const validatePolicy = compileSchema(policySchema)

const SCHEMAS: readonly [type: ResourceType, validate: SchemaValidator][] = [
  [dataSourceClaims, ownKind(dataSourceClaimSchema)],
  [dataSources, ownKind(dataSourceSchema)],
  [clusters, compileSchema(clusterSchema)],
  [resourceBindings, validateBinding],
  [clusterResourceBindings, validateBinding],
  [propagationPolicies, validatePolicy],
  [clusterPropagationPolicies, validatePolicy],
  [volumeManagers, compileSchema({ type: 'object', required: ['spec'], properties: { spec: { type: 'object' } } })],
]

const validators = new Map(SCHEMAS.map(([type, validate]) => [kindKey(type), validate]))

/**
 * Returns the first error of an object, as `Kind namespace/name: path: message`; undefined if it has the shape of its kind.
 *
 * @param kind as `Kind.group`
 */
export function findError(kind: string, object: K8sObject): string | undefined {
  const own = validators.get(kind)
  const validate = own ?? (kind === 'Namespace' ? validateNamed : validateWorkload)
  const [error] = own ? [...validateNamed(object), ...own(object)] : validate(object)
  return error && printable(`${kind} ${keyOfObject(object)}: ${error.path}: ${error.message}`)
}
