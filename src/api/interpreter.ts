/** Karmada's protocol and registration of interpreter webhooks (config.karmada.io/v1alpha1). */
import type { DependentObjectReference } from './dependencies.ts'
import type { K8sObject, ResourceType } from './meta.ts'
import type { WebhookClientConfig } from './registration.ts'

export interface InterpreterRequest {
  uid: string
  /** The operation; Lodestone supports only `InterpretDependency`. */
  operation: string
  object: K8sObject
}

export interface InterpreterResponse {
  /** The uid of the request. */
  uid: string
  successful: boolean
  /** The reason of a failure; required by Karmada. */
  status?: { message: string; code: number }
  dependencies?: readonly DependentObjectReference[]
}

export interface InterpreterContext {
  apiVersion: 'config.karmada.io/v1alpha1'
  kind: 'ResourceInterpreterContext'
  response: InterpreterResponse
}

export const INTERPRET_DEPENDENCY = 'InterpretDependency'

/** JSON Schema of the fields of a request that Lodestone reads. Unknown fields are valid. */
export const interpreterContextSchema = {
  type: 'object',
  required: ['apiVersion', 'kind', 'request'],
  properties: {
    apiVersion: { const: 'config.karmada.io/v1alpha1' },
    kind: { const: 'ResourceInterpreterContext' },
    request: {
      type: 'object',
      required: ['uid', 'operation', 'object'],
      properties: {
        uid: { type: 'string', minLength: 1, maxLength: 256 },
        operation: { type: 'string', minLength: 1 },
        object: {
          type: 'object',
          required: ['apiVersion', 'kind', 'metadata'],
          properties: {
            apiVersion: { type: 'string', minLength: 1 },
            kind: { type: 'string', minLength: 1 },
            metadata: {
              type: 'object',
              required: ['name'],
              properties: {
                name: { type: 'string', minLength: 1 },
                namespace: { type: 'string' },
                labels: { type: 'object', additionalProperties: { type: 'string' } },
                annotations: { type: 'object', additionalProperties: { type: 'string' } },
              },
            },
          },
        },
      },
    },
  },
} as const

export interface InterpreterWebhookEntry {
  /** A domain name with at least two parts. */
  name: string
  clientConfig: WebhookClientConfig
  /** A rule matches every combination of its values. */
  rules: { operations: string[]; apiGroups: string[]; apiVersions: string[]; kinds: string[] }[]
  timeoutSeconds: number
  interpreterContextVersions: ['v1alpha1']
}

export interface InterpreterWebhookConfiguration extends K8sObject {
  webhooks?: InterpreterWebhookEntry[]
}

export const interpreterWebhookConfigurations: ResourceType<InterpreterWebhookConfiguration> = {
  group: 'config.karmada.io',
  version: 'v1alpha1',
  kind: 'ResourceInterpreterWebhookConfiguration',
  plural: 'resourceinterpreterwebhookconfigurations',
  namespaced: false,
}
