/** JSON Schema of pods, as far as admission reads them. */

const text = { type: 'string' }
const listOf = (items: object) => ({ type: 'array', items })
const containers = {
  items: {
    type: 'object',
    required: ['name'],
    properties: {
      name: text,
      volumeMounts: listOf({
        type: 'object',
        required: ['name', 'mountPath'],
        properties: { name: text, mountPath: text },
      }),
    },
  },
}
const requirements = {
  type: 'array',
  items: {
    type: 'object',
    required: ['key', 'operator'],
    properties: { key: text, operator: text, values: { type: 'array', items: text } },
  },
}
const term = { type: 'object', properties: { matchExpressions: requirements, matchFields: requirements } }

/** What is read of a pod's spec, and what has to be so for the rest to be put in. */
export const podSpecSchema = {
  type: 'object',
  required: ['containers'],
  properties: {
    containers: { type: 'array', ...containers },
    initContainers: { type: 'array', ...containers },
    volumes: listOf({
      type: 'object',
      required: ['name'],
      properties: {
        name: text,
        hostPath: { type: 'object', required: ['path'], properties: { path: text, type: text } },
        persistentVolumeClaim: { type: 'object', required: ['claimName'], properties: { claimName: text } },
      },
    }),
    affinity: {
      type: 'object',
      properties: {
        nodeAffinity: {
          type: 'object',
          properties: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              type: 'object',
              required: ['nodeSelectorTerms'],
              properties: { nodeSelectorTerms: { type: 'array', minItems: 1, items: term } },
            },
            preferredDuringSchedulingIgnoredDuringExecution: {
              type: 'array',
              items: { type: 'object', required: ['weight', 'preference'], properties: { preference: term } },
            },
          },
        },
      },
    },
    schedulingGates: listOf({ type: 'object', required: ['name'], properties: { name: text } }),
    nodeName: text,
  },
} as const
