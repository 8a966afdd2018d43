/** Shared parts of JSON Schemas. */
import { type Condition, NOT_OBSERVED } from '../meta.ts'
import type { FieldsOf, Schema } from './schema.ts'

/** A string with a maximum length. */
export const string = (description: string, maxLength = 1024): Schema => ({ type: 'string', description, maxLength })
/** A string that is not empty, with a maximum length. */
export const text = (description: string, maxLength: number): Schema => ({
  type: 'string',
  description,
  minLength: 1,
  maxLength,
})
export const time = (description: string): Schema => ({ type: 'string', format: 'date-time', description })
/** A number of at least 0. */
export const count = (description: string, format: 'int32' | 'int64' = 'int32'): Schema => ({
  type: 'integer',
  format,
  minimum: 0,
  description,
})
export const atomicList = (description: string, items: Schema, maxItems = 100): Schema => ({
  type: 'array',
  description,
  items,
  maxItems,
  'x-kubernetes-list-type': 'atomic',
})
export const strings = (description: string, maxProperties: number, maxLength = 1024): Schema => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string', maxLength },
  maxProperties,
})

const requirements = (about: string): Schema =>
  atomicList(`Requirements for the ${about} of a node; all must match.`, {
    type: 'object',
    required: ['key', 'operator'],
    properties: {
      key: string(`The key of one of the ${about}.`, 317),
      operator: string('In, NotIn, Exists, DoesNotExist, Gt or Lt.', 16),
      values: atomicList('The values of the operator.', { type: 'string', maxLength: 253 }, 1000),
    },
  })

const nodeSelectorTerm: Schema = {
  type: 'object',
  description: 'All requirements must match.',
  properties: { matchExpressions: requirements('labels'), matchFields: requirements('fields') },
}

/** Kubernetes' NodeAffinity. */
export const nodeAffinity = (description: string): Schema => ({
  type: 'object',
  description,
  properties: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      type: 'object',
      description: 'Required: nodes that match one of the terms.',
      required: ['nodeSelectorTerms'],
      properties: { nodeSelectorTerms: atomicList('One matching term is enough.', nodeSelectorTerm) },
    },
    preferredDuringSchedulingIgnoredDuringExecution: atomicList('Preferred nodes.', {
      type: 'object',
      required: ['weight', 'preference'],
      properties: { weight: count('The weight, 1 to 100.'), preference: nodeSelectorTerm },
    }),
  },
})

/** The attributes of data, in claims and sources. */
export const attributes: Schema = {
  type: 'object',
  description:
    'Further identification of the data in its system, e.g. warehouse or snapshot. Claims share a DataSource only if these are equal.',
  additionalProperties: { type: 'string', maxLength: 1024 },
  maxProperties: 32,
}

/** The generation of the spec for which a status was written. */
export const observedGeneration: Schema = {
  type: 'integer',
  format: 'int64',
  minimum: NOT_OBSERVED,
  description: 'The generation of the spec that the status is about; -1 before the first status.',
}

/** The status before the first write. Without it, tools that wait for `observedGeneration` take a new object for a current one (kstatus). */
export const NEW_STATUS = { observedGeneration: NOT_OBSERVED }

/** The conditions of a status. */
export const conditions: Schema = {
  type: 'array',
  description: 'The current conditions of the object, one per type.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: { type: 'string', description: 'The type of the condition.', maxLength: 316 },
      status: { type: 'string', description: 'The status of the condition.', enum: ['True', 'False', 'Unknown'] },
      reason: { type: 'string', description: 'The reason, as one CamelCase word.', minLength: 1, maxLength: 1024 },
      message: { type: 'string', description: 'The reason, as a sentence.', maxLength: 32768 },
      lastTransitionTime: {
        type: 'string',
        format: 'date-time',
        description: 'Time of the last change of the status.',
      },
      observedGeneration: {
        type: 'integer',
        format: 'int64',
        minimum: 0,
        description: 'The generation of the spec that was observed.',
      },
    } satisfies FieldsOf<Condition>,
  },
}
