/** The form of the JSON Schemas of our resources, for validation in `check` and webhooks, and for the CRDs. */

/** The part of JSON Schema that is also a Kubernetes structural schema. */
export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  description?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  required?: string[]
  items?: Schema
  enum?: string[]
  default?: string
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

/** The properties of an object of this type: a field in the type and not in the schema, or the reverse, does not compile. */
export type FieldsOf<Type> = Record<keyof Type, Schema>
