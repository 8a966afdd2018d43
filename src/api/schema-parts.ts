/** Parts of JSON Schemas that several resources, or several parts of one, are made of. */
import type { Schema } from './schema.ts'

/** A text of bounded length. */
export const string = (description: string, maxLength = 1024): Schema => ({ type: 'string', description, maxLength })
export const time = (description: string): Schema => ({ type: 'string', format: 'date-time', description })
/** A number that is not negative. */
export const count = (description: string, format: 'int32' | 'int64' = 'int32'): Schema => ({
  type: 'integer',
  format,
  minimum: 0,
  description,
})
export const listOf = (description: string, items: Schema, maxItems = 100): Schema => ({
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
  listOf(`What a node’s ${about} have to be; all of it.`, {
    type: 'object',
    required: ['key', 'operator'],
    properties: {
      key: string(`Which of the ${about}.`, 317),
      operator: string('In, NotIn, Exists, DoesNotExist, Gt or Lt.', 16),
      values: listOf('What the operator compares with.', { type: 'string', maxLength: 253 }, 1000),
    },
  })

const nodeSelectorTerm: Schema = {
  type: 'object',
  description: 'All of it has to hold.',
  properties: { matchExpressions: requirements('labels'), matchFields: requirements('fields') },
}

/** Kubernetes' NodeAffinity. */
export const nodeAffinity = (description: string): Schema => ({
  type: 'object',
  description,
  properties: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      type: 'object',
      description: 'Only nodes that match one of the terms.',
      required: ['nodeSelectorTerms'],
      properties: { nodeSelectorTerms: listOf('Any of them is enough.', nodeSelectorTerm) },
    },
    preferredDuringSchedulingIgnoredDuringExecution: listOf('Rather nodes that match.', {
      type: 'object',
      required: ['weight', 'preference'],
      properties: { weight: count('How much it counts, 1 to 100.'), preference: nodeSelectorTerm },
    }),
  },
})
