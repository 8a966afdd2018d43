/** The admission protocol, admission.k8s.io/v1: requests of kube-apiserver and their responses. */
import type { K8sObject } from './meta.ts'

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export interface GroupVersionKind {
  group: string
  version: string
  kind: string
}

export interface GroupVersionResource {
  group: string
  version: string
  resource: string
}

export interface AdmissionRequest {
  uid: string
  kind: GroupVersionKind
  resource: GroupVersionResource
  subResource?: string
  name?: string
  namespace?: string
  operation: Operation
  userInfo?: { username?: string; groups?: string[] }
  object?: K8sObject | null
  oldObject?: K8sObject | null
  dryRun?: boolean
}

export interface AdmissionResponse {
  uid: string
  allowed: boolean
  status?: { code: number; reason?: string; message: string }
  patchType?: 'JSONPatch'
  patch?: string
  warnings?: string[]
  auditAnnotations?: Record<string, string>
}

export interface AdmissionReview {
  apiVersion: 'admission.k8s.io/v1'
  kind: 'AdmissionReview'
  request?: AdmissionRequest
  response?: AdmissionResponse
}

const groupVersion = (last: string) => ({
  type: 'object',
  required: ['group', 'version', last],
  properties: { group: { type: 'string' }, version: { type: 'string' }, [last]: { type: 'string' } },
})

const strings = { type: 'object', additionalProperties: { type: 'string' } }

/**
 * The fields of an object of any kind that Lodestone reads. The API server decodes metadata before it calls a webhook, so an object with
 * other types does not come from an API server.
 */
const objectOrNull = {
  type: ['object', 'null'],
  required: ['apiVersion', 'kind', 'metadata'],
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        generateName: { type: 'string' },
        namespace: { type: 'string' },
        uid: { type: 'string' },
        resourceVersion: { type: 'string' },
        generation: { type: 'integer' },
        creationTimestamp: { type: ['string', 'null'] },
        deletionTimestamp: { type: 'string' },
        labels: strings,
        annotations: strings,
        finalizers: { type: 'array', items: { type: 'string' } },
        ownerReferences: {
          type: 'array',
          items: {
            type: 'object',
            required: ['apiVersion', 'kind', 'name', 'uid'],
            properties: {
              apiVersion: { type: 'string' },
              kind: { type: 'string' },
              name: { type: 'string' },
              uid: { type: 'string' },
              controller: { type: 'boolean' },
            },
          },
        },
      },
    },
  },
}

/** JSON Schema of the fields of a review that Lodestone reads. Unknown fields are valid: newer API servers add some. */
export const admissionReviewSchema = {
  type: 'object',
  required: ['apiVersion', 'kind', 'request'],
  properties: {
    apiVersion: { const: 'admission.k8s.io/v1' },
    kind: { const: 'AdmissionReview' },
    request: {
      type: 'object',
      required: ['uid', 'kind', 'resource', 'operation'],
      properties: {
        uid: { type: 'string', minLength: 1, maxLength: 256 },
        kind: groupVersion('kind'),
        resource: groupVersion('resource'),
        subResource: { type: 'string' },
        name: { type: 'string' },
        namespace: { type: 'string' },
        operation: { enum: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] },
        userInfo: { type: 'object', properties: { username: { type: 'string' } } },
        object: objectOrNull,
        oldObject: objectOrNull,
        dryRun: { type: 'boolean' },
      },
    },
  },
} as const
