/** The type of the JSON Schemas of our resources. The schemas validate in `check` and in webhooks, and the CRDs are generated from them. */

/** The part of JSON Schema that Kubernetes' structural schemas support. */
export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  description?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  required?: string[]
  items?: Schema
  enum?: string[]
  default?: string | Record<string, number>
  format?: 'date-time' | 'int32' | 'int64'
  minimum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  maxProperties?: number
  pattern?: string
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: 'atomic'
  'x-kubernetes-validations'?: { rule: string; message: string; fieldPath?: string }[]
}

/** The properties of an object of this type. A field that only the type or only the schema has does not compile. */
export type FieldsOf<Type> = Record<keyof Type, Schema>
