/** Reads the body of `POST /v1/locate`. Pure. */
import { compileSchema } from '../../../base/schema/schema-errors.ts'
import type { LocateQuestion } from './locate.ts'
import { TEXT } from './question-files.ts'

const MAX_CLAIMS = 50

const workload = {
  type: 'object',
  required: ['workload'],
  properties: {
    workload: {
      type: 'object',
      required: ['apiVersion', 'kind', 'name'],
      properties: { apiVersion: TEXT, kind: TEXT, namespace: TEXT, name: TEXT },
    },
  },
} as const

/** The spec of a claim is validated as at admission. */
const claims = {
  type: 'object',
  required: ['claims'],
  properties: {
    claims: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_CLAIMS,
      items: {
        type: 'object',
        required: ['spec'],
        properties: {
          metadata: { type: 'object', properties: { namespace: TEXT, name: TEXT } },
          spec: { type: 'object' },
        },
      },
    },
  },
} as const

const validateWorkload = compileSchema(workload, 'forbidden')
const validateClaims = compileSchema(claims)

/** Returns the question, or sentences with the paths of what is wrong. */
export function readLocate(
  body: unknown,
): { question: LocateQuestion; problems?: never } | { question?: never; problems: string[] } {
  const isObject = body !== null && typeof body === 'object' && !Array.isArray(body)
  if (!isObject || 'workload' in body === 'claims' in body) {
    return { problems: ['the body must be an object with either workload or claims'] }
  }
  const errors = ('workload' in body ? validateWorkload : validateClaims)(body)
  if (errors.length > 0) return { problems: errors.map(({ path, message }) => `${path}: ${message}`) }
  return { question: body as LocateQuestion }
}
